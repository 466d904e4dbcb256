"""The queries of the page on Python, over Parquet files without this package."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import polars as pl
import pytest
from conftest import ROOT

import wirespeed

PAGE = ROOT / "docs/how-to/use-the-results-in-python.md"
FOLDER = "wirespeed-out/first-look"


def snippets(language: str, word: str) -> list[str]:
    """The blocks of code of the page that contain a word."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.S)
    return [block for block in blocks if word in block]


@pytest.fixture
def working(tmp_path: Path, listed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory in which the folder of the page has the results of the tests."""
    (tmp_path / "wirespeed-out").mkdir()
    (tmp_path / FOLDER).symlink_to(listed)
    monkeypatch.chdir(tmp_path)
    return listed


def test_queries_of_the_page_give_rows(working: Path) -> None:
    queries = snippets("sql", "FROM")
    assert len(queries) == 2
    for query in queries:
        assert duckdb.execute(query).fetchall(), query


def test_sql_over_results_agrees_with_the_package(working: Path, results: wirespeed.Folder) -> None:
    means = dict(
        duckdb.execute(
            f"""SELECT "flow.congestion", avg(goodput_bps) FROM '{FOLDER}/results.parquet' GROUP BY ALL"""
        ).fetchall()
    )
    assert means == pytest.approx(results.runs.groupby("flow.congestion")["goodput_bps"].mean().to_dict())


def test_samples_of_all_runs_have_their_id_and_no_column_from_the_path(working: Path) -> None:
    samples = duckdb.execute(f"SELECT * FROM read_parquet('{FOLDER}/runs/*/flows.parquet', filename = true)")
    assert "congestion" not in [column[0] for column in samples.description or ()]
    lazy = pl.scan_parquet(f"{FOLDER}/runs/*/flows.parquet", include_file_paths="file")
    frame = (
        lazy.with_columns(id=pl.col("file").str.extract(r"/runs/([^/]+)/")).select("id", "rtt_ns").collect()
    )
    assert set(frame["id"]) == set(wirespeed.open(FOLDER).ids)


def test_polars_query_of_the_page(working: Path) -> None:
    [block] = snippets("python", "scan_parquet")
    names: dict[str, object] = {}
    exec(block, names)
    frame = names["peaks"]
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == 24
