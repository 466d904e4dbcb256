"""Charts as Matplotlib figures."""

from __future__ import annotations

import io
import math
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from ..frames import load
from . import palette
from .chart import Axis, Bars, Cells, Chart, Line, Marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAND_OPACITY = 0.18
_SIZE_IN = (7.5, 4.5)
_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_DARK = 0.55
"""Text on cells with a smaller share of the scale is white."""


def figure(chart: Chart) -> Figure:
    """The chart as a `matplotlib.figure.Figure`, which pyplot does not keep.

    Raises:
        MissingPackage: Matplotlib is not installed.
    """
    drawn: Figure = load("matplotlib.figure").Figure(figsize=_SIZE_IN, layout="constrained")
    axes = drawn.add_subplot()
    labels = [layer.label for layer in chart.layers if isinstance(layer, Line | Marks)]
    style = dict(zip(labels, palette.styles(labels), strict=True))
    for layer in chart.layers:
        match layer:
            case Line():
                _line(axes, layer, *style[layer.label])
            case Marks():
                _marks(axes, layer, style[layer.label][0])
            case Bars():
                _bars(axes, layer)
            case Cells():
                _cells(drawn, axes, layer)
            case _:
                assert_never(layer)
    _axis(axes, "x", chart.x)
    _axis(axes, "y", chart.y)
    # Two lines, so that long conditions do not make the title small.
    axes.set_title(_plain(f"{chart.title}\n{chart.conditions}"), loc="left", fontsize="medium")
    if len(labels) > 1:
        axes.legend(title=_plain(chart.legend) or None, frameon=False)
    if not any(isinstance(layer, Cells) for layer in chart.layers):
        axes.grid(alpha=0.25)
    # A notebook shows figures of pyplot only, and asks others for their picture.
    setattr(drawn, "_repr_png_", partial(_png, drawn))  # noqa: B010
    return drawn


def _png(drawn: Figure) -> bytes:
    picture = io.BytesIO()
    drawn.savefig(picture, format="png")
    return picture.getvalue()


def _plain(text: str) -> str:
    """Text of others is no formula."""
    return text.replace("$", r"\$")


def _axis(axes: Axes, name: str, axis: Axis) -> None:
    getattr(axes, f"set_{name}label")(_plain(axis.title))
    if axis.log:
        getattr(axes, f"set_{name}scale")("log")
    elif axis.from_zero:
        getattr(axes, f"set_{name}lim")(**{"left" if name == "x" else "bottom": 0})


def _line(axes: Axes, line: Line, colour: str, dash: str) -> None:
    x: list[Any] = [_plain(value) if isinstance(value, str) else value for value in line.x]
    if line.low:
        axes.fill_between(
            x, _gaps(line.low), _gaps(line.high), color=colour, alpha=_BAND_OPACITY, linewidth=0
        )
    axes.plot(
        x,
        _gaps(line.y),
        label=_plain(line.label),
        color=colour,
        linestyle=_DASHES[dash],
        drawstyle="steps-post" if line.steps else "default",
        marker="o" if line.marks else "",
    )


def _gaps(values: Any) -> list[float]:
    return [math.nan if value is None else value for value in values]


def _marks(axes: Axes, marks: Marks, colour: str) -> None:
    axes.errorbar(
        marks.x,
        marks.y,
        xerr=marks.x_error,
        yerr=marks.y_error,
        fmt="o",
        color=colour,
        elinewidth=1,
        label=_plain(marks.label),
    )


def _bars(axes: Axes, bars: Bars) -> None:
    drawn = axes.barh([_plain(name) for name in bars.names], list(bars.values), color=palette.COLOURS[0])
    axes.bar_label(drawn, labels=[f"{value:,.0f}" for value in bars.values], padding=3)
    axes.invert_yaxis()


def _cells(drawn: Figure, axes: Axes, cells: Cells) -> None:
    values = [_gaps(row) for row in cells.values]
    present = [value for row in values for value in row if not math.isnan(value)]
    least, largest = min(present), max(present)
    image = axes.imshow(values, cmap=palette.MAP, origin="lower", aspect="auto")
    axes.set_xticks(range(len(cells.x)), [_plain(text) for text in cells.x])
    axes.set_yticks(range(len(cells.y)), [_plain(text) for text in cells.y])
    for row, notes in enumerate(cells.notes):
        for column, note in enumerate(notes):
            value = values[row][column]
            share = (value - least) / (largest - least) if largest > least else 1.0
            ink = "white" if share < _DARK else "black"
            axes.text(column, row, _plain(note), ha="center", va="center", color=ink, fontsize="small")
    drawn.colorbar(image, ax=axes, label=_plain(cells.scale))
