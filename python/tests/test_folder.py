from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import Copy

import wirespeed
from wirespeed.command import report_json
from wirespeed.results import FLOW_RESULTS, GROUP_RESULTS, RESULTS

RUN = "congestion=reno,loss=1e-4,rtt=20ms,r0"


def test_runs_have_identity_factors_and_metrics(results: wirespeed.Folder) -> None:
    runs = results.runs
    assert len(results) == len(runs) == 24
    assert set(runs["flow.congestion"]) == {"reno", "cubic"}
    assert set(runs["path.loss"]) == {"0", "1e-4"}
    assert set(runs["path.rtt.value"]) == {0.005, 0.02}
    assert runs["repeat"].max() == 2
    assert (runs["goodput_bps"].between(1e6, 1e8)).all()
    assert (runs["cost_wall_s"] >= 0).all()


def test_polars_and_pandas_have_the_same_rows(results: wirespeed.Folder) -> None:
    assert isinstance(results.runs_polars(), pl.DataFrame)
    assert results.runs_polars()["goodput_bps"].to_list() == list(results.runs["goodput_bps"])
    assert results.flows_polars()["label"].to_list() == list(results.flows["label"])
    assert results.groups_polars()["group"].to_list() == list(results.groups["group"])


def test_every_flow_of_every_run_has_a_row(results: wirespeed.Folder) -> None:
    flows = results.flows
    assert len(flows) == 48
    assert list(flows.loc[flows["id"] == RUN, "flow"]) == [0, 1]
    assert set(flows["kind"]) == {"tcp"}
    assert "late" in set(flows["label"])


def test_every_group_of_every_run_has_a_row(results: wirespeed.Folder) -> None:
    groups = results.groups
    assert len(groups) == 48
    assert list(groups.loc[groups["id"] == RUN, "group"]) == ["reno", "late"]
    assert set(groups["class"]) == {"tcp"}
    assert set(groups["flows"]) == {1}
    shares = groups.groupby("id")["goodput_share"].sum()
    assert list(shares) == pytest.approx([1.0] * 24)
    doc = results.group_results.schema.field("goodput_share").metadata[b"doc"]
    assert b"over that of all TCP flows of the run" in doc


def test_results_of_a_build_without_groups_have_no_rows_of_groups(
    copy: Copy, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy(True)
    (path / GROUP_RESULTS).unlink()
    # The table of runs is there, and the program is asked for groups only.
    folder = wirespeed.open(path)
    assert folder.groups_polars().height == 48
    older = report_json(path)
    for run in older["runs"]:
        del run["groups"]
    monkeypatch.setattr("wirespeed.results.report_json", lambda *_: older)
    folder = wirespeed.open(path)
    assert folder.groups_polars().columns == ["id", "group", "class", "flows"]
    assert len(folder.groups) == 0


def test_factors_and_metrics_are_told_apart(results: wirespeed.Folder) -> None:
    assert results.factors.keys() == {"flow.congestion", "path.loss", "path.rtt"}
    assert sorted(results.factors["path.rtt"]) == ["20 ms", "5 ms"]
    metric = results.metrics["goodput_bps"]
    assert metric.unit == "bit/s"
    assert "Payload that reached the receivers" in metric.definition
    assert results.metrics["jain_index"].unit == ""
    assert "cost_wall_s" not in results.metrics
    assert "path.rtt.value" not in results.metrics


def test_table_of_a_run_has_units_and_definitions(results: wirespeed.Folder) -> None:
    run = results.run(RUN)
    flows = run.table("flows")
    assert isinstance(flows, pd.DataFrame)
    assert {"t_ns", "flow", "delivered_bytes"} <= set(flows.columns)
    # A folder's name such as `congestion=reno,...` is not a partition.
    assert "congestion" not in flows.columns
    assert run.table("flows", "polars", ["t_ns"]).columns == ["t_ns"]
    assert run.table("queues", "arrow").num_rows > 0
    assert run.definitions("flows")["t_ns"] == "Time since the start of the run."
    assert run.factors == {"flow.congestion": "reno", "path.loss": 1e-4, "path.rtt": "20 ms"}
    assert run.labels[1] == "late"


def test_unknown_names_are_listed_with_the_known_ones(results: wirespeed.Folder) -> None:
    run = results.run(RUN)
    with pytest.raises(wirespeed.NoSuchName, match="no table `flow`; those there are: counters, "):
        run.table("flow")
    with pytest.raises(wirespeed.NoSuchName, match="no column of flows `rtt`.*t_ns"):
        run.table("flows", "arrow", ["rtt"])
    with pytest.raises(wirespeed.NoSuchName, match="no flow `early`; those there are: reno, late"):
        run.flow_number("early")
    with pytest.raises(wirespeed.NoSuchName, match="those there are: 0, 1$"):
        run.flow_number(2)
    with pytest.raises(wirespeed.NoSuchName, match=r"no run `x`.*congestion=.*\.\.\.$"):
        results.run("x")


@pytest.mark.parametrize("name", ["", ".", "..", "../copy", "a/b", "\0"])
def test_an_id_is_never_a_path(results: wirespeed.Folder, name: str) -> None:
    with pytest.raises(wirespeed.NoSuchName):
        results.run(name)


def test_ledger_of_all_runs_balances(results: wirespeed.Folder) -> None:
    ledger = results.ledger()
    assert set(ledger["id"]) == set(results.ids)
    packets = ledger.pivot_table(index=["id", "direction"], columns="entry", values="packets", aggfunc="sum")
    packets = packets.fillna(0)
    others = packets.drop(columns="sent").sum(axis=1)
    assert (packets["sent"] == others).all()
    assert results.ledger("polars").height == len(ledger)


def test_metrics_agree_with_the_tables(results: wirespeed.Folder) -> None:
    row = results.runs.set_index("id").loc[RUN]
    flows = results.run(RUN).table("flows")
    delivered = flows.groupby("flow")["delivered_bytes"].max().sum()
    assert row["goodput_bps"] == pytest.approx(delivered * 8 / 1.5, rel=1e-6)


def test_folder_without_results_file_gives_the_same_tables(copy: Copy, results: wirespeed.Folder) -> None:
    built = wirespeed.open(copy(False))
    assert built.results.schema.metadata == {b"wirespeed.format_version": b"1"}
    shared = [name for name in built.results.column_names if name in results.results.column_names]
    assert {"id", "seed", "path.loss", "path.loss.value", "path.rtt.value", "goodput_bps"} <= set(shared)
    assert len(shared) >= len(results.results.column_names) - 1
    mine, theirs = (folder.results.select(shared).sort_by("id") for folder in (built, results))
    assert mine.to_pylist() == theirs.to_pylist()
    units = {
        name: built.results.schema.field(name).metadata.get(b"unit")
        for name in ("goodput_bps", "path.rtt.value")
    }
    assert units == {"goodput_bps": b"bit/s", "path.rtt.value": b"s"}
    assert built.flow_results.num_rows == 48
    of_flows, of_groups = (
        [
            folder.flow_results.sort_by([("id", "ascending"), ("flow", "ascending")])
            for folder in (built, results)
        ],
        [
            folder.group_results.sort_by([("id", "ascending"), ("group", "ascending")])
            for folder in (built, results)
        ],
    )
    assert of_flows[0].to_pylist() == of_flows[1].to_pylist()
    assert of_groups[0].to_pylist() == of_groups[1].to_pylist()


def test_opening_with_results_file_lists_no_runs(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a folder was listed")

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "listdir", refuse)
    folder = wirespeed.open(recorded)
    assert len(folder) == 24
    assert folder.flows_polars().height == folder.groups_polars().height == 48
    assert folder.run(RUN).info["repeat"] == 0


def test_a_run_directory_is_a_folder_with_one_run(recorded: Path) -> None:
    folder = wirespeed.open(recorded / "runs" / RUN)
    assert folder.ids == [RUN]
    assert folder.damaged == []


def test_a_folder_of_folders_has_the_runs_of_all(tmp_path: Path, recorded: Path) -> None:
    (tmp_path / "pair").mkdir()
    (tmp_path / "pair/2026-11-27").symlink_to(recorded)
    with pytest.raises(wirespeed.NotResults):
        wirespeed.open(tmp_path / "pair")  # a link is counted already
    (tmp_path / "pair/2026-11-28/runs").mkdir(parents=True)
    (tmp_path / "pair/2026-11-28/runs" / RUN).symlink_to(recorded / "runs" / RUN)
    folder = wirespeed.open(tmp_path / "pair")
    assert folder.ids == [RUN]
    assert folder.run(RUN).id == RUN


def test_a_path_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wirespeed.NotResults, match="does not exist"):
        wirespeed.open(tmp_path / "none")
    with pytest.raises(wirespeed.NotResults, match="no runs"):
        wirespeed.open(tmp_path)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(wirespeed.NotResults, match="not a folder"):
        wirespeed.open(file)
    (tmp_path / "runs").mkdir()
    with pytest.raises(wirespeed.NotResults, match="no complete run"):
        _ = wirespeed.open(tmp_path).results


def test_results_files_of_others_are_refused_with_the_reason(copy: Copy) -> None:
    path = copy(True)
    table = pq.read_table(path / RESULTS)
    pq.write_table(table.replace_schema_metadata({"wirespeed.format_version": "2"}), path / RESULTS)
    with pytest.raises(wirespeed.NewerFormat, match="format version 2, and this package reads up to 1"):
        _ = wirespeed.open(path).results
    pq.write_table(table.replace_schema_metadata(None), path / RESULTS)
    with pytest.raises(wirespeed.Foreign, match="another program wrote it"):
        _ = wirespeed.open(path).results
    (path / RESULTS).write_bytes((path / FLOW_RESULTS).read_bytes()[:-20])
    folder = wirespeed.open(path)
    with pytest.raises(wirespeed.Damaged, match="not a readable Parquet file"):
        _ = folder.results
    [problem] = folder.damaged
    assert (problem.kind, problem.path.name) == (wirespeed.ProblemKind.DAMAGED, RESULTS)
