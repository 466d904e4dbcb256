"""Figures of one run: over time, and its losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import NothingToDraw
from ..recorded_run import RecordedRun
from .backend import Backend, draw
from .chart import Axis, Bars, Chart, Line
from .scale import scale_of

_NS = 1e9
_MOST_POINTS = 600
"""Points of a line; a figure of usual width shows no more."""

_TIME = Axis("time / s", from_zero=True)


def goodput_over_time(
    run: RecordedRun,
    *,
    flows: Sequence[int | str] | None = None,
    step_s: float | None = None,
    backend: Backend = "plotly",
) -> Any:
    """The rate at which payload arrived in order at the receiver of each flow, averaged over steps.

    Args:
        run: the run.
        flows: numbers or labels of flows; by default all.
        step_s: length of a step in seconds; at least the sampling interval. By default the run has at most 600 steps.
        backend: `plotly` or `matplotlib`.

    Raises:
        NothingToDraw: `step_s` is not positive, or no flow has samples.
        NoSuchName: there is no such flow.
        MissingPackage: the library is not installed.
        Unreadable: the run cannot be read.
    """
    step = _step_ns(run, step_s)
    series = {
        label: _rates(times, values, step) for label, times, values in _samples(run, "delivered_bytes", flows)
    }
    return _over_time(run, "Goodput", "goodput", "bit/s", series, backend, f"averaged over {step / _NS:g} s")


def rtt_over_time(
    run: RecordedRun, *, flows: Sequence[int | str] | None = None, backend: Backend = "plotly"
) -> Any:
    """The smoothed round-trip time of each TCP flow.

    Args:
        run: the run.
        flows: numbers or labels of flows; by default all.
        backend: `plotly` or `matplotlib`.

    Raises:
        NothingToDraw: no flow has a round-trip time.
        NoSuchName: there is no such flow.
        MissingPackage: the library is not installed.
        Unreadable: the run cannot be read.
    """
    return _sampled(run, "rtt_ns", flows, "Round-trip time", "smoothed round-trip time", "ns", backend)


def cwnd_over_time(
    run: RecordedRun, *, flows: Sequence[int | str] | None = None, backend: Backend = "plotly"
) -> Any:
    """The congestion window of each TCP flow.

    Args:
        run: the run.
        flows: numbers or labels of flows; by default all.
        backend: `plotly` or `matplotlib`.

    Raises:
        NothingToDraw: no flow has a congestion window.
        NoSuchName: there is no such flow.
        MissingPackage: the library is not installed.
        Unreadable: the run cannot be read.
    """
    return _sampled(run, "cwnd_bytes", flows, "Congestion window", "cwnd", "bytes", backend)


def queue_over_time(
    run: RecordedRun, *, queues: Sequence[str] | None = None, backend: Backend = "plotly"
) -> Any:
    """The backlog of queues.

    Args:
        run: the run.
        queues: names such as `bottleneck/forward`; by default all that ever held a packet.
        backend: `plotly` or `matplotlib`.

    Raises:
        NothingToDraw: no queue has samples.
        MissingPackage: the library is not installed.
        Unreadable: the run cannot be read.
    """
    table = run.table("queues", "arrow", ["t_ns", "queue", "backlog_bytes"])
    series = {}
    for name in table["queue"].unique().to_pylist():
        rows = table.filter(pc.equal(table["queue"], name))
        times, values = rows["t_ns"].to_pylist(), rows["backlog_bytes"].to_pylist()
        if name in queues if queues is not None else any(values):
            series[name] = _thinned(times, values)
    return _over_time(run, "Queues", "backlog", "bytes", series, backend)


def losses(run: RecordedRun, *, direction: str = "data", backend: Backend = "plotly") -> Any:
    """The lost packets of the whole run by place and cause, from the loss ledger.

    Args:
        run: the run.
        direction: `data` or `ack`.
        backend: `plotly` or `matplotlib`.

    Raises:
        NothingToDraw: nothing was lost, or the ledger has no such direction.
        MissingPackage: the library is not installed.
        Unreadable: the run cannot be read.
    """
    rows = [row for row in run.table("ledger", "arrow").to_pylist() if row["direction"] == direction]
    lost = [row for row in rows if row["entry"] == "lost" and row["packets"]]
    if not lost:
        raise NothingToDraw(f"{run.id}: the ledger has no lost packets in direction {direction}")
    lost.sort(key=lambda row: -row["packets"])
    sent = sum(row["packets"] for row in rows if row["entry"] == "sent")
    names = [f"{row['stage']}, {row['place']}{_cause(row['cause'])}" for row in lost]
    chart = Chart(
        title=f"Losses ({direction})",
        conditions=f"{_conditions(run)}; {sent:,} packets sent",
        x=Axis("lost packets", from_zero=True),
        y=Axis(""),
        layers=[Bars(names, [row["packets"] for row in lost])],
    )
    return draw(chart, backend)


def _cause(cause: str | None) -> str:
    return f": {cause.replace('_', ' ')}" if cause else ""


_Series = tuple[list[float], list[float | None]]


def _sampled(
    run: RecordedRun,
    column: str,
    flows: Sequence[int | str] | None,
    title: str,
    name: str,
    unit: str,
    backend: Backend,
) -> Any:
    series = {label: _thinned(times, values) for label, times, values in _samples(run, column, flows)}
    return _over_time(run, title, name, unit, series, backend)


def _over_time(
    run: RecordedRun,
    title: str,
    name: str,
    unit: str,
    series: dict[str, _Series],
    backend: Backend,
    note: str = "",
) -> Any:
    values = [value for _, line in series.values() for value in line if value is not None]
    if not values:
        raise NothingToDraw(f"{run.id}: there is no sample of {name}")
    scale = scale_of(unit, values)
    chart = Chart(
        title=f"{title}: {run.id}",
        conditions="; ".join(filter(None, [_conditions(run), note])),
        x=_TIME,
        y=Axis(scale.title(name), from_zero=True),
        layers=[Line(label, times, scale.of(line)) for label, (times, line) in series.items()],
        legend="queue" if title == "Queues" else "flow",
    )
    return draw(chart, backend)


def _conditions(run: RecordedRun) -> str:
    info = run.info
    return f"{info['study']} on {info.get('substrate', 'an unknown substrate')}"


def _samples(
    run: RecordedRun, column: str, flows: Sequence[int | str] | None
) -> list[tuple[str, list[int], list[int | None]]]:
    """-> for each flow a distinct label, times in ns and values."""
    table: pa.Table = run.table("flows", "arrow", ["t_ns", "flow", column])
    labels = run.labels
    numbers = range(len(labels)) if flows is None else [run.flow_number(flow) for flow in flows]
    found = []
    for number in dict.fromkeys(numbers):
        rows = table.filter(pc.equal(table["flow"], number))
        label = labels[number] if labels.count(labels[number]) == 1 else f"{labels[number]} ({number})"
        if rows.num_rows and rows[column].null_count < rows.num_rows:
            found.append((label, rows["t_ns"].to_pylist(), rows[column].to_pylist()))
    return found


def _step_ns(run: RecordedRun, step_s: float | None) -> int:
    sample = int(run.info.get("sample_ns", 1)) or 1
    if step_s is not None:
        if not (math.isfinite(step_s) and step_s > 0):
            raise NothingToDraw(f"step_s is {step_s}; write a positive number of seconds")
        return max(sample, round(step_s * _NS / sample) * sample)
    steps = int(run.info.get("duration_ns", 0)) / sample
    return sample * max(1, math.ceil(steps / _MOST_POINTS))


def _rates(times: Sequence[int], values: Sequence[int | None], step: int) -> _Series:
    """The growth of a counter in bit/s, over steps of at least `step` ns. A rate is at the end of its step."""
    at: list[float] = []
    rates: list[float | None] = []
    begin: tuple[int, int] | None = None
    for time, value in zip(times, values, strict=True):
        if value is None:
            continue
        if begin is None:
            begin = time, value
        elif time - begin[0] >= step:
            at.append(time / _NS)
            rates.append((value - begin[1]) * 8 * _NS / (time - begin[0]))
            begin = time, value
    return at, rates


def _thinned(times: Sequence[int], values: Sequence[int | None]) -> _Series:
    """At most some samples: of each stretch the least and the largest, so that no peak is lost."""
    stretch = max(1, math.ceil(2 * len(times) / _MOST_POINTS))
    if stretch <= 2:
        return [time / _NS for time in times], [None if value is None else float(value) for value in values]
    kept: list[int] = []
    for begin in range(0, len(times), stretch):
        present = [
            index for index in range(begin, min(begin + stretch, len(times))) if values[index] is not None
        ]
        least = min(present, key=lambda index: values[index] or 0, default=begin)
        largest = max(present, key=lambda index: values[index] or 0, default=begin)
        kept += sorted({least, largest})
    return [times[index] / _NS for index in kept], [_real(values[index]) for index in kept]


def _real(value: int | None) -> float | None:
    return None if value is None else float(value)
