from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.figure import Figure

import wirespeed
from wirespeed import figures
from wirespeed.figures import palette
from wirespeed.figures.of_runs import _thinned
from wirespeed.figures.scale import scale_of
from wirespeed.figures.statistics import estimate, student

RUN = "congestion=reno,loss=1e-4,rtt=20ms,r0"
NO_LOSS = {"path.loss": "0"}

OF_RUN: dict[str, Callable[..., Any]] = {
    name: getattr(figures, name)
    for name in ("goodput_over_time", "rtt_over_time", "cwnd_over_time", "queue_over_time", "losses")
}
OF_SWEEP: dict[str, Callable[..., Any]] = {
    "line": lambda folder, **k: figures.line_with_interval(
        folder, "goodput_bps", "rtt", by="congestion", where=NO_LOSS, **k
    ),
    "heat": lambda folder, **k: figures.heat_map(
        folder, "goodput_bps", "path.rtt", "path.loss", where={"flow.congestion": "reno"}, **k
    ),
    "scatter": figures.throughput_delay,
    "cdf": lambda folder, **k: figures.cdf(folder, "rtt_q95_ns", by="flow.congestion", **k),
}


@pytest.mark.parametrize("name", [*OF_RUN, *OF_SWEEP])
def test_both_libraries_draw_each_figure(results: wirespeed.Folder, name: str) -> None:
    subject, make = (results.run(RUN), OF_RUN[name]) if name in OF_RUN else (results, OF_SWEEP[name])
    drawn = make(subject)
    assert drawn.to_dict()["data"]
    assert drawn.layout.title.text
    assert drawn.layout.xaxis.title.text
    other = make(subject, backend="matplotlib")
    assert isinstance(other, Figure)
    picture = io.BytesIO()
    other.savefig(picture, format="png")
    assert len(picture.getvalue()) > 5000


def test_goodput_over_time_is_the_rate_of_the_table(results: wirespeed.Folder) -> None:
    run = results.run(RUN)
    drawn = figures.goodput_over_time(run, flows=["late"], step_s=0.1)
    [line] = drawn.data
    assert line.name == "late"
    flow = run.table("flows").query("flow == 1")
    # The steps end where the rates do: together they are all that was delivered.
    assert drawn.layout.yaxis.title.text == "goodput / Mbit/s"
    gaps = [line.x[0] - 0.5, *(b - a for a, b in zip(line.x, line.x[1:], strict=False))]
    delivered = sum(y * 1e6 / 8 * gap for y, gap in zip(line.y, gaps, strict=True))
    assert delivered == pytest.approx(flow["delivered_bytes"].max(), rel=1e-6)
    assert "averaged over 0.1 s" in drawn.layout.title.text


def test_line_has_the_mean_and_interval_of_the_repetitions(results: wirespeed.Folder) -> None:
    lossy = {"loss": "1e-4"}
    drawn = figures.line_with_interval(results, "goodput_bps", "path.rtt", by="congestion", where=lossy)
    band, line = (
        next(t for t in drawn.data if (t.name == "reno") is named and t.legendgroup == "reno")
        for named in (False, True)
    )
    assert list(line.x) == [5.0, 20.0]
    assert drawn.layout.xaxis.title.text == "path.rtt / ms"
    runs = results.runs.query(
        "`flow.congestion` == 'reno' and `path.loss` == '1e-4' and `path.rtt` == '5 ms'"
    )
    mean, sd = runs["goodput_bps"].mean() / 1e6, runs["goodput_bps"].std() / 1e6
    assert line.y[0] == pytest.approx(mean)
    assert max(y for x, y in zip(band.x, band.y, strict=True) if x == 5.0) == pytest.approx(
        mean + 4.3027 * sd / 3**0.5
    )
    assert "n = 3" in drawn.layout.title.text
    assert "path.loss 1e-4" in drawn.layout.title.text


def test_copies_are_not_counted(results: wirespeed.Folder) -> None:
    # Without losses nothing depends on the seed.
    assert results.runs.query("`path.loss` == '0'")["copy_of"].notna().sum() == 8
    drawn = figures.line_with_interval(results, "goodput_bps", "path.rtt", by="congestion", where=NO_LOSS)
    assert "n = 1" in drawn.layout.title.text
    assert [trace.fill for trace in drawn.data] == [None, None]


def test_heat_map_has_values_and_counts(results: wirespeed.Folder) -> None:
    drawn = OF_SWEEP["heat"](results)
    [cells] = drawn.data
    assert (list(cells.x), list(cells.y)) == (["5 ms", "20 ms"], ["0", "1e-4"])
    assert cells.text[0][0].endswith("<br>n = 1")
    assert cells.text[1][1].endswith("<br>n = 3")
    assert cells.colorbar.title.text == "goodput / Mbit/s"


def test_scatter_has_a_mark_for_each_setting(results: wirespeed.Folder) -> None:
    drawn = figures.throughput_delay(results)
    assert sorted(trace.name for trace in drawn.data) == ["cubic", "reno"]
    assert [len(trace.x) for trace in drawn.data] == [4, 4]


def test_cdf_ends_at_one(results: wirespeed.Folder) -> None:
    drawn = figures.cdf(results, "goodput_bps", by="congestion")
    # A copy is not a second observation: 2 settings of 1 and 2 of 3.
    assert sorted(trace.name for trace in drawn.data) == ["cubic (n = 8)", "reno (n = 8)"]
    for trace in drawn.data:
        assert (trace.y[0], trace.y[-1]) == (0.0, 1.0)
        assert list(trace.x) == sorted(trace.x)


def test_factor_with_several_levels_must_be_chosen(results: wirespeed.Folder) -> None:
    with pytest.raises(wirespeed.NothingToDraw, match=r"path.loss has the levels `0`, `1e-4`; choose one"):
        figures.line_with_interval(results, "goodput_bps", "path.rtt", by="congestion")
    with pytest.raises(wirespeed.NoSuchName, match="no metric `goodput`.*goodput_bps"):
        figures.cdf(results, "goodput")
    with pytest.raises(wirespeed.NoSuchName, match="no factor `delay`.*path.rtt"):
        figures.cdf(results, "goodput_bps", by="delay")
    with pytest.raises(wirespeed.NoSuchName, match="no level of path.loss `1`"):
        figures.cdf(results, "goodput_bps", where={"path.loss": "1"})


def test_missing_data_is_an_error(results: wirespeed.Folder) -> None:
    run = results.run(RUN)
    with pytest.raises(wirespeed.NothingToDraw, match="positive"):
        figures.goodput_over_time(run, step_s=0)
    with pytest.raises(wirespeed.NothingToDraw, match="no sample of backlog"):
        figures.queue_over_time(run, queues=[])
    with pytest.raises(wirespeed.NothingToDraw, match="direction sideways"):
        figures.losses(run, direction="sideways")


def test_text_of_others_is_not_markup(results: wirespeed.Folder) -> None:
    run = results.run(RUN)
    run.info["study"] = "<b>$x_1$</b> $"
    drawn = figures.goodput_over_time(run)
    assert "&lt;b&gt;" in drawn.layout.title.text
    figures.goodput_over_time(run, backend="matplotlib").savefig(io.BytesIO(), format="png")


def test_colours_are_those_of_the_report() -> None:
    assert palette.styles(["reno", "x", "cubic"]) == [
        ("#bb5f94", "solid"),
        ("#d55e00", "solid"),
        ("#0072b2", "solid"),
    ]
    many = palette.styles([str(number) for number in range(20)])
    assert len(set(many)) == 20


def test_peaks_survive_thinning() -> None:
    values: list[int | None] = [0] * 10_000
    values[4321] = 7
    values[100:200] = [None] * 100
    times, thin = _thinned(list(range(10_000)), values)
    assert max(value for value in thin if value is not None) == 7.0
    assert None in thin
    assert len(times) == len(thin) <= 600


@pytest.mark.parametrize(
    ("unit", "largest", "expected"),
    [
        ("bit/s", 2.5e9, (1e9, "Gbit/s")),
        ("bit/s", 10.0, (1.0, "bit/s")),
        ("ns", 12.2e6, (1e6, "ms")),
        ("s", 0.02, (1e-3, "ms")),
        ("B", 0.0, (1.0, "B")),
        ("", 1e12, (1.0, "")),
        ("packets", 1e12, (1.0, "packets")),
    ],
)
def test_scale(unit: str, largest: float, expected: tuple[float, str]) -> None:
    assert scale_of(unit, [None, 0.0, -largest]) == expected


def test_interval_of_the_mean() -> None:
    assert estimate([3.0]) == (3.0, None, 1)
    mean, half, n = estimate([1.0, 2.0, 3.0, 4.0])
    assert (mean, n) == (2.5, 4)
    assert half == pytest.approx(3.1824 * 1.2909944 / 2)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (30, 2.0423), (31, 2.0395), (60, 2.0003), (120, 1.9799)]
)
def test_student(freedom: int, quantile: float) -> None:
    assert student(freedom) == pytest.approx(quantile, abs=1e-4)
