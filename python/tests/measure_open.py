"""Measures a folder of 100,000 runs: python tests/measure_open.py [RUNS]. Prints seconds; no test calls it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from wirespeed.parquet import with_version

METRICS = 80


def make(folder: Path, runs: int) -> None:
    """A folder with `results.parquet` and a run directory, without content, for each row."""
    ids = [f"congestion={('reno', 'cubic')[n % 2]},rtt={n // 20 % 5000}us,r{n % 10}" for n in range(runs)]
    ids = [f"{name},n{n}" for n, name in enumerate(ids)]
    columns = {
        "id": pa.array(ids),
        "study": pa.array(["large"] * runs),
        "substrate": pa.array(["model"] * runs),
        "repeat": pa.array([n % 10 for n in range(runs)], pa.uint64()),
        "seed": pa.array([n * 7919 for n in range(runs)], pa.uint64()),
        "copy_of": pa.array([None] * runs, pa.string()),
        "flow.congestion": pa.array([("reno", "cubic")[n % 2] for n in range(runs)]),
        "path.rtt": pa.array([f"{n // 20 % 50} ms" for n in range(runs)]),
        "path.rtt.value": pa.array([n // 20 % 50 / 1e3 for n in range(runs)]),
    }
    for metric in range(METRICS - 1):
        columns[f"metric_{metric}"] = pa.array([(n * (metric + 3)) % 9973 / 1.7 for n in range(runs)])
    columns["goodput_bps"] = pa.array([1e9 + n % 1000 for n in range(runs)], pa.float64())
    pq.write_table(with_version(pa.table(columns)), folder / "results.parquet")
    for name in ids:
        (folder / "runs" / name).mkdir(parents=True)


TASKS = {
    "import wirespeed": "",
    "open": "r = wirespeed.open(folder)",
    "one column of Arrow": "r = wirespeed.open(folder); r.results['goodput_bps']",
    "runs (pandas)": "r = wirespeed.open(folder); r.runs",
    "runs_polars()": "r = wirespeed.open(folder); r.runs_polars()",
    "line_with_interval": (
        "r = wirespeed.open(folder)\n"
        "wirespeed.figures.line_with_interval(r, 'goodput_bps', 'path.rtt', by='flow.congestion')"
    ),
    "damaged (stats each run)": "r = wirespeed.open(folder); r.damaged",
    "DuckDB: mean by setting": (
        "import duckdb\n"
        'duckdb.sql(f"""SELECT '
        '"flow.congestion", "path.rtt.value", avg(goodput_bps) FROM \'{folder}/results.parquet\' GROUP BY ALL""")'
        ".fetchall()"
    ),
    "Polars: mean by setting": (
        "import polars as pl\n"
        "pl.scan_parquet(folder + '/results.parquet')"
        ".group_by('flow.congestion', 'path.rtt.value').agg(pl.col('goodput_bps').mean()).collect()"
    ),
}


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="wirespeed-open-") as folder:
        begin = time.perf_counter()
        make(Path(folder), runs)
        size = (Path(folder) / "results.parquet").stat().st_size / 1e6
        print(f"{runs:,} runs, results.parquet of {size:.0f} MB, made in {time.perf_counter() - begin:.0f} s")
        for name, task in TASKS.items():
            # A process of its own, so that no task finds what another has loaded. Modules are imported before the time counts.
            code = (
                "import sys, time\n"
                "folder = sys.argv[1]\n"
                + ("begin = time.perf_counter()\nimport wirespeed\n" if not task else "import wirespeed\n")
                + (
                    "import pandas, polars, duckdb, plotly.graph_objects\nbegin = time.perf_counter()\n"
                    if task
                    else ""
                )
                + task
                + "\nprint(time.perf_counter() - begin)"
            )
            printed = subprocess.run(
                [sys.executable, "-c", code, folder], check=True, capture_output=True, text=True
            )
            print(f"{name:26} {float(printed.stdout):6.2f} s", flush=True)


if __name__ == "__main__":
    main()
