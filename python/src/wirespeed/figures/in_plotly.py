"""Charts as Plotly figures."""

from __future__ import annotations

import html
from typing import Any, assert_never

from ..frames import load
from . import palette
from .chart import Axis, Bars, Cells, Chart, Line, Marks

_BAND_OPACITY = 0.18


def figure(chart: Chart) -> Any:
    """The chart as a `plotly.graph_objects.Figure`.

    Raises:
        MissingPackage: Plotly is not installed.
    """
    go = load("plotly.graph_objects")
    drawn = go.Figure()
    labels = [layer.label for layer in chart.layers if isinstance(layer, Line | Marks)]
    style = dict(zip(labels, palette.styles(labels), strict=True))
    for layer in chart.layers:
        match layer:
            case Line():
                _line(go, drawn, layer, *style[layer.label])
            case Marks():
                _marks(go, drawn, layer, style[layer.label][0])
            case Bars():
                drawn.add_trace(_bars(go, layer))
            case Cells():
                drawn.add_trace(_cells(go, layer))
            case _:
                assert_never(layer)
    drawn.update_layout(
        template="plotly_white",
        title={"text": f"{_plain(chart.title)}<br><sub>{_plain(chart.conditions)}</sub>"},
        showlegend=len(labels) > 1,
        legend={"title": {"text": _plain(chart.legend)}},
        xaxis=_axis(chart.x),
        yaxis=_axis(chart.y) | _order(chart),
    )
    return drawn


def _plain(text: str) -> str:
    """Text of others is no markup."""
    return html.escape(text, quote=False)


def _axis(axis: Axis) -> dict[str, Any]:
    settings: dict[str, Any] = {"title": {"text": _plain(axis.title)}}
    if axis.log:
        settings["type"] = "log"
    elif axis.from_zero:
        settings["rangemode"] = "tozero"
    return settings


def _order(chart: Chart) -> dict[str, Any]:
    return {"autorange": "reversed"} if any(isinstance(layer, Bars) for layer in chart.layers) else {}


def _line(go: Any, drawn: Any, line: Line, colour: str, dash: str) -> None:
    label = _plain(line.label)
    for x, low, high in _bands(line):
        drawn.add_trace(
            go.Scatter(
                x=[*x, *reversed(x)],
                y=[*high, *reversed(low)],
                fill="toself",
                fillcolor=colour,
                opacity=_BAND_OPACITY,
                line={"width": 0},
                hoverinfo="skip",
                legendgroup=label,
                showlegend=False,
            )
        )
    drawn.add_trace(
        go.Scatter(
            x=list(line.x),
            y=list(line.y),
            name=label,
            legendgroup=label,
            mode="lines+markers" if line.marks else "lines",
            line={"color": colour, "dash": dash, "shape": "hv" if line.steps else "linear"},
            connectgaps=False,
        )
    )


def _bands(line: Line) -> list[tuple[list[float | str], list[float], list[float]]]:
    """The parts of a band between its gaps."""
    parts: list[tuple[list[float | str], list[float], list[float]]] = [([], [], [])]
    for x, low, high in zip(line.x, line.low, line.high, strict=False):
        if low is None or high is None:
            parts.append(([], [], []))
        else:
            parts[-1][0].append(x)
            parts[-1][1].append(low)
            parts[-1][2].append(high)
    return [part for part in parts if len(part[0]) > 1]


def _marks(go: Any, drawn: Any, marks: Marks, colour: str) -> None:
    drawn.add_trace(
        go.Scatter(
            x=list(marks.x),
            y=list(marks.y),
            error_x={"array": list(marks.x_error), "thickness": 1},
            error_y={"array": list(marks.y_error), "thickness": 1},
            text=[_plain(note) for note in marks.notes],
            name=_plain(marks.label),
            mode="markers",
            marker={"color": colour, "size": 9},
        )
    )


def _bars(go: Any, bars: Bars) -> Any:
    return go.Bar(
        x=list(bars.values),
        y=[_plain(name) for name in bars.names],
        orientation="h",
        marker={"color": palette.COLOURS[0]},
        text=[f"{value:,.0f}" for value in bars.values],
    )


def _cells(go: Any, cells: Cells) -> Any:
    return go.Heatmap(
        x=list(cells.x),
        y=list(cells.y),
        z=[list(row) for row in cells.values],
        text=[[_plain(note).replace("\n", "<br>") for note in row] for row in cells.notes],
        texttemplate="%{text}",
        colorscale=palette.MAP,
        colorbar={"title": {"text": _plain(cells.scale)}},
        xgap=1,
        ygap=1,
    )
