"""Measures a folder of 100,000 runs: python tests/measure_large.py [RUNS] [--keep FOLDER]. Prints seconds. No test calls it.

The runs are synthetic. Those of the page on queries are executed with $WIRESPEED, and their rows are repeated with other ids,
seeds, loss rates and values until there are enough. Columns, types and metadata stay those of the program. Each run has a
directory with its own `run.json`, and a link to the samples of an executed one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from query_page import scenario, sections

import wirespeed
from wirespeed.results import FLOW_RESULTS, GROUP_RESULTS, RESULTS

FOLDER = Path("wirespeed-out/share")


@dataclass(frozen=True)
class Copies:
    """Repeats the rows of an executed sweep. A copy has loss rates of its own, so that the settings multiply as well."""

    count: int
    random: np.random.Generator

    def of(self, table: pa.Table) -> pa.Table:
        """The rows, once for each copy."""
        rows = table.num_rows
        copy = np.repeat(np.arange(self.count), rows)
        repeated = table.take(pa.array(np.tile(np.arange(rows), self.count)))
        for index, field in enumerate(table.schema):
            column = repeated.column(index)
            match field.name:
                case "id":
                    column = pc.binary_join_element_wise(self._text("n", copy), column, ",")
                case "seed":
                    column = pa.array(column.to_numpy() ^ copy.astype(np.uint64))
                case "path.loss":
                    column = pc.cast(self._losses(repeated, copy), pa.string())
                case "path.loss.value":
                    column = self._losses(repeated, copy)
                case _ if pa.types.is_floating(field.type):
                    # Of its own for each value, so that compression does not find copies.
                    noise = self.random.normal(1.0, 0.02, len(column))
                    column = pc.multiply(column, pa.array(noise))
            repeated = repeated.set_column(index, field, column)
        return repeated.replace_schema_metadata(table.schema.metadata)

    def _losses(self, repeated: pa.Table, copy: np.ndarray[Any, Any]) -> pa.Array:
        return pa.array(repeated["path.loss.value"].to_numpy() * (1 + copy / self.count))

    @staticmethod
    def _text(prefix: str, numbers: np.ndarray[Any, Any]) -> pa.Array:
        return pc.binary_join_element_wise(pa.scalar(prefix), pc.cast(pa.array(numbers), pa.string()), "")


def make(runs: int) -> None:
    """Writes the folder of the page, and two campaigns with half of the rows each, below the current directory."""
    Path("share.toml").write_text(scenario())
    small = wirespeed.run("share.toml", out="small")
    copies = Copies(-(-runs // len(small)), np.random.default_rng(1))
    FOLDER.mkdir(parents=True)
    for name, table in (
        (RESULTS, small.results),
        (FLOW_RESULTS, small.flow_results),
        (GROUP_RESULTS, small.group_results),
    ):
        pq.write_table(copies.of(table), FOLDER / name)
    for id in small.ids:
        info = (small.run(id).path / "run.json").read_text()
        quoted = json.dumps(id)
        for copy in range(copies.count):
            directory = FOLDER / "runs" / f"n{copy},{id}"
            directory.mkdir(parents=True)
            (directory / "run.json").write_text(info.replace(quoted, json.dumps(directory.name), 1))
            (directory / "flows.parquet").hardlink_to(small.run(id).path / "flows.parquet")
    table = pq.read_table(FOLDER / RESULTS)
    half = table.num_rows // 2
    for day, rows in (("2026-11-26", table.slice(0, half)), ("2026-11-27", table.slice(half))):
        Path(f"campaigns/day={day}").mkdir(parents=True)
        pq.write_table(rows, f"campaigns/day={day}/results.parquet")


READER = {
    "open": "r = wirespeed.open(folder)",
    "results (Arrow)": "wirespeed.open(folder).results",
    "runs (pandas)": "wirespeed.open(folder).runs",
    "runs_polars()": "wirespeed.open(folder).runs_polars()",
    "flows (pandas)": "wirespeed.open(folder).flows",
    "groups (pandas)": "wirespeed.open(folder).groups",
    "run(ID).table('flows')": "r = wirespeed.open(folder); r.run(r.ids[-1]).table('flows')",
    "line_with_interval": (
        "wirespeed.figures.line_with_interval(wirespeed.open(folder), 'goodput_bps', 'path.loss',"
        " by='flow.tested.congestion')"
    ),
    "damaged": "assert wirespeed.open(folder).damaged == []",
}
"""What the package does."""


def tasks() -> Iterator[tuple[str, str, str]]:
    """-> name, what is done before the time counts, what is measured."""
    ready = "import sys, wirespeed, pandas, polars, duckdb, plotly.graph_objects\nfolder = sys.argv[1]\n"
    yield "import wirespeed", "", "import wirespeed"
    for name, code in READER.items():
        yield name, ready, code
    opening, *queries = sections()
    for query in queries:
        before = f"import duckdb\nc = duckdb.connect()\nc.execute({opening.sql!r})"
        yield f"DuckDB: {query.heading}", before, f"print(len(c.execute({query.sql!r}).fetchall()), 'rows')"
    for query in queries:
        yield f"Polars: {query.heading}", opening.python, query.python


def measure(before: str, code: str) -> tuple[float, float]:
    """Elapsed and processor seconds in a process of its own, so that no task finds what another has loaded."""
    begin = "import time as clock\nbegan, used = clock.perf_counter(), clock.process_time()"
    end = "print(clock.perf_counter() - began, clock.process_time() - used)"
    program = "\n".join([before, begin, code, end])
    printed = subprocess.run(
        [sys.executable, "-c", program, str(FOLDER)], check=True, capture_output=True, text=True
    )
    elapsed, used = printed.stdout.split()[-2:]
    return float(elapsed), float(used)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="a folder that is made once, and kept")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = arguments.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="wirespeed-large-"))
        )
        place.mkdir(exist_ok=True)
        stack.enter_context(contextlib.chdir(place))
        if not FOLDER.exists():
            begin = time.perf_counter()
            make(arguments.runs)
            print(f"made in {time.perf_counter() - begin:.0f} s")
        for name in (RESULTS, FLOW_RESULTS, GROUP_RESULTS):
            file = pq.ParquetFile(FOLDER / name)
            size = (FOLDER / name).stat().st_size / 1e6
            columns = file.metadata.num_columns
            print(f"{name}: {file.metadata.num_rows:,} rows, {columns} columns, {size:.0f} MB")
        print(f"{os.cpu_count()} cores; load of the machine at each line in brackets")
        for name, before, code in tasks():
            # The better of two: the files are in memory then, as after a first query.
            elapsed, used = min(measure(before, code), measure(before, code))
            load = os.getloadavg()[0]
            print(f"{name:48} {elapsed:7.2f} s elapsed {used:7.2f} s CPU  [{load:.1f}]", flush=True)


if __name__ == "__main__":
    main()
