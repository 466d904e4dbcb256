"""Folders whose runs have fewer rows of their series, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

import wirespeed


def recorded(scenario: Path, out: Path, series: str) -> wirespeed.Folder:
    wirespeed.run(
        scenario, set={"run.series": series, "run.repeat": 1, "run.series_every": "500 ms"}, out=out
    )
    return wirespeed.open(out)


@pytest.mark.parametrize("series", ["thin", "none"])
def test_metrics_do_not_depend_on_the_series_that_are_kept(
    scenario: Path, results: wirespeed.Folder, tmp_path: Path, series: str
) -> None:
    reduced = recorded(scenario, tmp_path / series, series)
    assert not reduced.damaged
    expected = results.runs.set_index("id").loc[list(reduced.ids)]
    for metric in results.metrics:
        assert list(reduced.runs[metric].fillna(-1.0)) == list(expected[metric].fillna(-1.0)), metric
    assert len(reduced.ledger()) > 0


def test_series_that_are_not_kept_are_reported(scenario: Path, tmp_path: Path) -> None:
    reduced = recorded(scenario, tmp_path / "none", "none")
    run = reduced.run(reduced.ids[0])
    assert run.series == "none"
    assert "flows" not in run.tables
    run.verify()
    with pytest.raises(wirespeed.NotKept, match="not kept"):
        run.table("flows")
    with pytest.raises(wirespeed.NotKept, match="not kept"):
        reduced.table("queues")


def test_thin_series_have_a_row_for_each_interval(scenario: Path, tmp_path: Path) -> None:
    run = recorded(scenario, tmp_path / "thin", "thin").run("congestion=reno,loss=1e-4,rtt=20ms,r0")
    flows = run.table("flows")
    assert run.series == "thin"
    assert list(flows.loc[flows["flow"] == 0, "t_ns"] // 1_000_000) == [0, 500, 1000, 1500]
    assert flows["delivered_bytes"].is_monotonic_increasing or flows["flow"].nunique() > 1
