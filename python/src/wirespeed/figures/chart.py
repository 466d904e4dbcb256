"""A figure as data, before a library draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Axis:
    """An axis: its text with the unit, and its scale."""

    title: str
    log: bool = False
    from_zero: bool = False


@dataclass(frozen=True)
class Line:
    """A line; `None` is a gap. With `low` and `high` it has a band."""

    label: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    steps: bool = False
    marks: bool = False


@dataclass(frozen=True)
class Marks:
    """Points, each with an interval in both directions; 0 where there is none."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    x_error: Sequence[float]
    y_error: Sequence[float]
    notes: Sequence[str]


@dataclass(frozen=True)
class Bars:
    """Horizontal bars, the first at the top."""

    names: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True)
class Cells:
    """Values over two factors: a row for each `y`, the first at the bottom. `None` is an empty cell."""

    x: Sequence[str]
    y: Sequence[str]
    values: Sequence[Sequence[float | None]]
    notes: Sequence[Sequence[str]]
    scale: str
    """Text of the colour scale, with the unit."""


Layer: TypeAlias = Line | Marks | Bars | Cells


@dataclass(frozen=True)
class Chart:
    """A figure: what it shows, its conditions, and its layers."""

    title: str
    conditions: str
    x: Axis
    y: Axis
    layers: Sequence[Layer] = field(default_factory=tuple)
    legend: str = ""
    """What the labels of the layers are levels of."""
