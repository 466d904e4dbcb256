"""The queries of the page answer what they promise, over Parquet files without this package."""

from __future__ import annotations

import csv
import datetime
import json
import math
import shutil
import statistics
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from query_page import Session, scenario, sections

import wirespeed
from wirespeed.command import Value, output

FOLDER = "wirespeed-out/share"
ALGORITHM = "flow.tested.congestion"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, binary: Path) -> Iterator[Path]:
    """The current directory, with the results of the page's commands. Its campaigns have fewer repetitions."""
    place = tmp_path_factory.mktemp("queries")
    (place / "share.toml").write_text(scenario())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        wirespeed.run("share.toml")
        for day in (26, 27):
            few: dict[str, Value] = {"run.repeat": 1, "run.duration": "3 s"}
            wirespeed.run("share.toml", seed=day, out=f"campaigns/day=2026-11-{day}", set=few)
        yield place


@pytest.fixture(scope="module")
def runs(place: Path) -> Rows:
    """The rows of the runs, by the package."""
    rows: Rows = wirespeed.open(FOLDER).results.to_pylist()
    assert len(rows) == 30
    return rows


@pytest.fixture(scope="module")
def answers(place: Path) -> dict[str, Rows]:
    """The rows of each section. Both languages give the same."""
    session = Session()
    found = {}
    for section in session.queries:
        by_sql, by_polars = session.sql(section), session.python(section)
        assert by_polars is not None, section.heading
        assert_frame_equal(by_sql, by_polars, check_dtypes=False)
        found[section.heading] = by_sql.to_dicts()
    return found


@pytest.fixture(scope="module")
def report(place: Path) -> Any:
    """What the program computes of the same folder."""
    return json.loads(output(["report", FOLDER, "--json", "--out", "page"]))


@pytest.fixture(scope="module")
def means_of_the_program(place: Path) -> list[dict[str, str]]:
    with Path(FOLDER, "means.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["metric"] == "goodput_bps"]


def test_every_section_is_tested(answers: dict[str, Rows]) -> None:
    assert list(answers) == [
        "Mean and interval of each setting",
        "Best algorithm in each setting",
        "Pairs of runs with the same seed",
        "Outliers with their limiting factor",
        "Runs with their groups and flows",
        "Several folders",
        "Samples of the slowest run",
    ]


def test_means_and_intervals_are_those_of_the_program(
    answers: dict[str, Rows], means_of_the_program: list[dict[str, str]]
) -> None:
    rows = answers["Mean and interval of each setting"]
    expected = {
        (row[ALGORITHM], float(row["path.loss"])): (
            int(row["n"]),
            float(row["mean"]) / 1e6,
            (float(row["high"]) - float(row["low"])) / 2e6,
        )
        for row in means_of_the_program
    }
    assert {(row["algorithm"], row["loss"]) for row in rows} == set(expected)
    for row in rows:
        found = (row["n"], row["mean_mbit_s"], row["half_interval_mbit_s"])
        # The quantiles of the page have five digits.
        assert found == pytest.approx(expected[row["algorithm"], row["loss"]], rel=2e-4)


def test_best_algorithms_have_the_highest_means(answers: dict[str, Rows], runs: Rows) -> None:
    rows = answers["Best algorithm in each setting"]
    assert [row["loss"] for row in rows] == [1e-4, 1e-3]
    for row in rows:
        means = {
            name: statistics.mean(values) for (name, loss), values in _goodputs(runs) if loss == row["loss"]
        }
        first, second, _ = sorted(means, key=lambda name: -means[name])
        assert (row["best"], row["second"]) == (first, second)
        assert row["mean_mbit_s"] == pytest.approx(means[first] / 1e6)
        assert row["ratio"] == pytest.approx(means[first] / means[second])


def _goodputs(runs: Rows) -> list[tuple[tuple[str, float], list[float]]]:
    """The goodputs of each algorithm and loss rate, without copies."""
    own = [run for run in runs if run["copy_of"] is None]

    def key(run: dict[str, Any]) -> tuple[str, float]:
        return run[ALGORITHM], run["path.loss.value"]

    return [(of, [run["goodput_bps"] for run in group]) for of, group in groupby(sorted(own, key=key), key)]


def test_pairs_are_those_of_the_report(answers: dict[str, Rows], report: Any, runs: Rows) -> None:
    rows = answers["Pairs of runs with the same seed"]
    expected = {
        (one["other"], one["setting"]["path.loss"]): one
        for one in report["comparisons"]
        if one["first"] == "bbr" and one["setting"]
    }
    assert {(row["algorithm"], row["loss"]) for row in rows} == set(expected)
    means = {key: statistics.mean(values) for key, values in _goodputs(runs)}
    for row in rows:
        one = expected[row["algorithm"], row["loss"]]
        assert one["pairing"] == "same_seed"
        assert row["pairs"] == 5
        found = (row["ratio"], row["low"], row["high"])
        assert found == pytest.approx(
            (one["value"], one["interval"]["low"], one["interval"]["high"]), rel=1e-4
        )
        difference = means[row["algorithm"], row["loss"]] - means["bbr", row["loss"]]
        assert row["difference_mbit_s"] == pytest.approx(difference / 1e6)


def test_outliers_are_those_of_the_program(
    answers: dict[str, Rows], means_of_the_program: list[dict[str, str]], runs: Rows
) -> None:
    rows = answers["Outliers with their limiting factor"]
    marked = sorted(id for row in means_of_the_program for id in row["outliers"].split(";") if id)
    assert marked, "the scenario of the page has outliers"
    assert [row["id"] for row in rows] == marked
    by_id = {run["id"]: run for run in runs}
    for row in rows:
        run = by_id[row["id"]]
        assert row["limit"] == run["limit"] is not None
        assert row["mbit_s"] == pytest.approx(run["goodput_bps"] / 1e6)


@pytest.mark.parametrize(
    ("values", "marked"),
    [
        ([10.0] * 5, []),  # nothing is far from the median
        ([10.0, 10.0, 10.0, 10.0, 10.1], [4]),  # the median of the distances is 0
        ([10.0, 10.2, 9.9, 3.0, 10.1, 19.0], [3, 5]),
        ([1.0, 1.0, 1.0, 9.0], []),  # too few
        ([10.0, 10.2, 9.9, None, 10.1, 19.0], [5]),
        ([10.0, 10.2, 9.9, None, 19.0], []),
    ],
)
def test_outliers_of_few_equal_and_missing_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[float | None], marked: list[int]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(FOLDER).mkdir(parents=True)
    count = len(values)
    table = pl.DataFrame(
        {
            "id": [str(number) for number in range(count)],
            "copy_of": pl.Series([None] * count, dtype=pl.String),
            "limit": ["none"] * count,
            ALGORITHM: ["bbr"] * count,
            "path.loss.value": [0.0] * count,
            "goodput_bps": pl.Series(values, dtype=pl.Float64),
        }
    )
    for name in ("results", "flow_results", "group_results"):
        table.write_parquet(f"{FOLDER}/{name}.parquet")
    session = Session()
    [section] = [one for one in session.queries if one.heading.startswith("Outliers")]
    for rows in (session.sql(section), session.python(section)):
        assert rows is not None
        assert rows["id"].to_list() == [str(number) for number in marked]


def test_shares_and_slowest_flows_are_those_of_the_report(answers: dict[str, Rows], report: Any) -> None:
    rows = answers["Runs with their groups and flows"]
    assert len(rows) == 6
    for row in rows:
        of = [
            run
            for run in report["runs"]
            if run["factors"] == {ALGORITHM: row["algorithm"], "path.loss": row["loss"]}
        ]
        assert len(of) == 5
        shares = [
            group["metrics"]["goodput_share"]
            for run in of
            for group in run["groups"]
            if group["label"] == "tested"
        ]
        flows = [flow for run in of for flow in run["flows"]]
        slowest = min(flows, key=lambda flow: flow["metrics"]["goodput_bps"])
        assert row["share"] == pytest.approx(statistics.mean(shares))
        assert row["slowest"] == slowest["label"]
        assert row["slowest_mbit_s"] == pytest.approx(slowest["metrics"]["goodput_bps"] / 1e6)


def test_campaigns_are_told_apart_by_their_folder(answers: dict[str, Rows], place: Path) -> None:
    rows = answers["Several folders"]
    expected = []
    for day in (26, 27):
        runs = wirespeed.open(f"campaigns/day=2026-11-{day}").results.to_pylist()
        for loss in (1e-4, 1e-3):
            goodputs = [run["goodput_bps"] for run in runs if run["path.loss.value"] == loss]
            mean = pytest.approx(statistics.mean(goodputs) / 1e6)
            expected.append({"day": datetime.date(2026, 11, day), "loss": loss, "n": 3, "mean_mbit_s": mean})
    assert rows == expected


def test_campaigns_may_have_other_columns(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (26, 27):
        shutil.copytree(place / f"campaigns/day=2026-11-{day}", tmp_path / f"campaigns/day=2026-11-{day}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wirespeed-out").symlink_to(place / "wirespeed-out")
    path = "campaigns/day=2026-11-26/results.parquet"
    frame = pl.read_parquet(path, hive_partitioning=False)
    frame.with_columns(more=pl.lit(1.5)).drop("goodput_bps").write_parquet(path)
    session = Session()
    [section] = [one for one in session.queries if one.heading == "Several folders"]
    for rows in (session.sql(section), session.python(section)):
        assert rows is not None
        assert rows["n"].to_list() == [0, 0, 3, 3]
        assert rows["mean_mbit_s"].null_count() == 2


def test_samples_are_those_of_the_slowest_run(answers: dict[str, Rows], runs: Rows) -> None:
    rows = answers["Samples of the slowest run"]
    slowest = min(runs, key=lambda run: run["goodput_bps"])
    table = wirespeed.open(FOLDER).run(slowest["id"]).table("flows")
    assert len(rows) == 4 * 11
    for flow in range(4):
        of = [row for row in rows if row["flow"] == flow]
        assert [row["until_s"] for row in of] == [float(second) for second in range(11)]
        assert of[0]["mbit_s"] is None
        delivered = math.fsum(row["mbit_s"] for row in of[1:]) * 1e6 / 8
        assert delivered == pytest.approx(table[table["flow"] == flow]["delivered_bytes"].max())


def test_names_of_run_directories_are_no_columns(place: Path) -> None:
    """What the last paragraph of the page warns of."""
    pattern = f"{FOLDER}/runs/*/flows.parquet"
    own = duckdb.execute(f"SELECT * FROM read_parquet('{pattern}', hive_partitioning = false) LIMIT 0")
    assert "congestion" not in [column[0] for column in own.description or ()]
    lazy = pl.scan_parquet(pattern, include_file_paths="file", hive_partitioning=False)
    ids = lazy.select(pl.col("file").str.extract(r"/runs/([^/]+)/").unique()).collect()["file"]
    assert set(ids) == set(wirespeed.open(FOLDER).ids)


def test_recorded_output_has_the_columns_of_its_query(answers: dict[str, Rows]) -> None:
    for section in sections()[1:]:
        columns = list(answers[section.heading][0])
        assert section.output is not None, section.heading
        assert section.output.splitlines()[0].split() == columns, section.heading
