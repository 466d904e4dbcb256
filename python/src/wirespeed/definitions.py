"""Definitions of metrics."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from .command import PathLike, output

_UNITS = frozenset({"bit/s", "bytes", "ns", "packets", "1/s", "s"})


@dataclass(frozen=True)
class Metric:
    """What a metric is."""

    name: str
    unit: str
    """Unit of its values, such as `bit/s` or `ns`; empty for counts and ratios."""
    definition: str


def metrics(binary: PathLike | None = None) -> dict[str, Metric]:
    """All metrics that the installed program computes, by name, with the first sentence of the definition.

    :attr:`Folder.metrics` has the full definitions of the metrics of a folder.

    Raises:
        BinaryNotFound: wirespeed is not installed.
    """
    return dict(_lines(output(["list", "metrics"], binary=binary)))


def _lines(text: str) -> list[tuple[str, Metric]]:
    found = []
    for line in text.splitlines():
        # A metric without a unit has no second column.
        name, *rest = re.split(r" {2,}", line.strip(), maxsplit=2)
        if name and rest:
            unit, definition = rest if len(rest) == 2 and rest[0] in _UNITS else ("", "  ".join(rest))
            found.append((name, Metric(name, unit, definition)))
    return found


def of_schema(schema: pa.Schema, names: list[str]) -> dict[str, Metric]:
    """The definitions in the metadata of a file with results."""
    found = {}
    for name in names:
        notes = schema.field(name).metadata or {}
        found[name] = Metric(name, notes.get(b"unit", b"").decode(), notes.get(b"doc", b"").decode())
    return found
