"""Figures over the settings of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import NothingToDraw
from ..folder import Folder
from ..results import NUMBER
from .backend import Backend, draw
from .chart import Axis, Cells, Chart, Line, Marks
from .scale import Scale, metric_title, scale_of
from .statistics import Estimate
from .sweep_data import SweepData, Where


def line_with_interval(
    folder: Folder,
    metric: str,
    x: str,
    *,
    by: str | None = None,
    where: Where | None = None,
    log_x: bool = False,
    log_y: bool = False,
    backend: Backend = "plotly",
) -> Any:
    """The mean of a metric over a factor, with its 95 % interval over the repetitions.

    Repetitions that are copies are not counted, and a setting with one repetition has no interval. Intervals assume that
    repetitions are normally distributed.

    Args:
        folder: the results.
        metric: name of a metric, for example `goodput_bps`.
        x: factor of the horizontal axis, for example `path.rtt`; `rtt` is enough if no other factor ends so.
        by: factor with a line for each level.
        where: level, as text, of each other factor: `{"path.loss": "0"}`.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axis.
        backend: `plotly` or `matplotlib`.

    Raises:
        NoSuchName: there is no such metric, factor or level.
        NothingToDraw: no run has the metric, or another factor has several levels and is not in `where`.
        MissingPackage: the library is not installed.
    """
    data = SweepData.of(folder, metric, where, [x, *([by] if by else [])])
    horizontal, split = data.factor(x), data.factor(by) if by else None
    numbers = data.numbers(horizontal)
    scale = scale_of(data.units.get(horizontal + NUMBER, ""), numbers.values()) if numbers else None
    cells = data.estimates([horizontal, *([split] if split else [])])
    vertical = scale_of(data.unit, [cell.mean for cell in cells.values()])
    levels = data.levels(horizontal)
    if numbers:
        levels.sort(key=lambda level: numbers[level])
    layers = []
    for name in data.levels(split) if split else [metric_title(metric)]:
        keys = [(level, name) if split else (level,) for level in levels]
        found = [(key[0], cells[key]) for key in keys if key in cells]
        at = [numbers[level] / scale.divisor if scale else level for level, _ in found]
        layers.append(_line_of(name, at, [cell for _, cell in found], vertical))
    chart = Chart(
        title=f"{metric_title(metric).capitalize()} over {horizontal}",
        conditions=data.conditions(cells.values(), "mean, 95 % interval"),
        x=Axis(scale.title(horizontal) if scale else horizontal, log=log_x and scale is not None),
        y=Axis(vertical.title(metric_title(metric)), log=log_y, from_zero=True),
        layers=layers,
        legend=split or "",
    )
    return draw(chart, backend)


def _line_of(label: str, at: Sequence[float | str], cells: Sequence[Estimate], scale: Scale) -> Line:
    low = [None if cell.half_width is None else cell.mean - cell.half_width for cell in cells]
    high = [None if cell.half_width is None else cell.mean + cell.half_width for cell in cells]
    means = [cell.mean for cell in cells]
    return Line(label, at, scale.of(means), scale.of(low), scale.of(high), marks=True)


def heat_map(
    folder: Folder,
    metric: str,
    x: str,
    y: str,
    *,
    where: Where | None = None,
    backend: Backend = "plotly",
) -> Any:
    """The mean of a metric over two factors, with the number of repetitions in each cell.

    Args:
        folder: the results.
        metric: name of a metric.
        x: factor of the columns.
        y: factor of the rows.
        where: level, as text, of each other factor.
        backend: `plotly` or `matplotlib`.

    Raises:
        NoSuchName: there is no such metric, factor or level.
        NothingToDraw: no run has the metric, or another factor has several levels and is not in `where`.
        MissingPackage: the library is not installed.
    """
    data = SweepData.of(folder, metric, where, [x, y])
    across, up = data.factor(x), data.factor(y)
    cells = data.estimates([across, up])
    scale = scale_of(data.unit, [cell.mean for cell in cells.values()])
    columns, rows = (data.ordered(factor) for factor in (across, up))
    found = [[cells.get((column, row)) for column in columns] for row in rows]
    chart = Chart(
        title=f"{metric_title(metric).capitalize()} over {across} and {up}",
        conditions=data.conditions(cells.values(), "mean"),
        x=Axis(across),
        y=Axis(up),
        layers=[
            Cells(
                x=columns,
                y=rows,
                values=[[cell.mean / scale.divisor if cell else None for cell in row] for row in found],
                notes=[
                    [f"{cell.mean / scale.divisor:.3g}\nn = {cell.n}" if cell else "" for cell in row]
                    for row in found
                ],
                scale=scale.title(metric_title(metric)),
            )
        ],
    )
    return draw(chart, backend)


def throughput_delay(
    folder: Folder,
    *,
    by: str | None = None,
    throughput: str = "goodput_bps",
    delay: str = "rtt_q95_ns",
    where: Where | None = None,
    backend: Backend = "plotly",
) -> Any:
    """Throughput against delay, with a mark for each setting and its 95 % intervals.

    Args:
        folder: the results.
        by: factor with a colour for each level; by default the congestion control if it is swept, else the first factor.
        throughput: metric of the vertical axis.
        delay: metric of the horizontal axis.
        where: level, as text, of factors; other levels are left out.
        backend: `plotly` or `matplotlib`.

    Raises:
        NoSuchName: there is no such metric, factor or level.
        NothingToDraw: no run has both metrics.
        MissingPackage: the library is not installed.
    """
    data = SweepData.of(folder, throughput, where, None)
    other = SweepData.of(folder, delay, where, None)
    factors = data.factors
    ups, acrosses = data.estimates(factors), other.estimates(factors)
    keys = [key for key in ups if key in acrosses]
    if not keys:
        raise NothingToDraw(f"{folder.path}: no run has {throughput} and {delay}")
    vertical = scale_of(data.unit, [ups[key].mean for key in keys])
    horizontal = scale_of(other.unit, [acrosses[key].mean for key in keys])
    split = data.factor(by) if by else next((name for name in factors if name.endswith("congestion")), None)
    split = split or (factors[0] if factors else None)
    layers = []
    for level in data.levels(split) if split else ["all runs"]:
        mine = [key for key in keys if split is None or key[factors.index(split)] == level]
        if mine:
            layers.append(_marks_of(level, mine, acrosses, ups, horizontal, vertical))
    chart = Chart(
        title=f"{metric_title(throughput).capitalize()} against {metric_title(delay)}",
        conditions=data.conditions([ups[key] for key in keys], "a mark for each setting, 95 % intervals"),
        x=Axis(horizontal.title(metric_title(delay))),
        y=Axis(vertical.title(metric_title(throughput)), from_zero=True),
        layers=layers,
        legend=split or "",
    )
    return draw(chart, backend)


_Cells = Mapping[tuple[str, ...], Estimate]


def _marks_of(
    label: str,
    keys: Sequence[tuple[str, ...]],
    acrosses: _Cells,
    ups: _Cells,
    horizontal: Scale,
    vertical: Scale,
) -> Marks:
    return Marks(
        label=label,
        x=[acrosses[key].mean / horizontal.divisor for key in keys],
        y=[ups[key].mean / vertical.divisor for key in keys],
        x_error=[(acrosses[key].half_width or 0.0) / horizontal.divisor for key in keys],
        y_error=[(ups[key].half_width or 0.0) / vertical.divisor for key in keys],
        notes=[", ".join(key) for key in keys],
    )


def cdf(
    folder: Folder,
    metric: str,
    *,
    by: str | None = None,
    where: Where | None = None,
    log_x: bool = False,
    backend: Backend = "plotly",
) -> Any:
    """The share of runs whose metric is at most a value: a step for each run.

    Args:
        folder: the results.
        metric: name of a metric.
        by: factor with a line for each level.
        where: level, as text, of factors; other levels are left out.
        log_x: logarithmic horizontal axis.
        backend: `plotly` or `matplotlib`.

    Raises:
        NoSuchName: there is no such metric, factor or level.
        NothingToDraw: no run has the metric.
        MissingPackage: the library is not installed.
    """
    data = SweepData.of(folder, metric, where, None)
    split = data.factor(by) if by else None
    scale = scale_of(data.unit, data.values)
    layers = []
    for level in data.levels(split) if split else ["all runs"]:
        values = sorted(
            value
            for row, value in zip(data.rows, data.values, strict=True)
            if split is None or row[split] == level
        )
        shares = [0.0] + [(rank + 1) / len(values) for rank in range(len(values))]
        label = f"{level} (n = {len(values)})"
        layers.append(
            Line(label, [value or 0.0 for value in scale.of([values[0], *values])], shares, steps=True)
        )
    chart = Chart(
        title=f"Distribution of {metric_title(metric)}",
        conditions=data.conditions([], f"{len(data.values)} runs"),
        x=Axis(scale.title(metric_title(metric)), log=log_x),
        y=Axis("share of runs", from_zero=True),
        layers=layers,
        legend=split or "",
    )
    return draw(chart, backend)
