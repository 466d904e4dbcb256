"""Loads exported files with the loaders of other programs, and prints what these read as JSON.

Usage: loaders.py flent FILE.flent.gz | loaders.py iperf3 FILE.json
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Plots of tcp_nup: of rates, of TCP's state in the raw values, and some that leave out the time before and after the flows.
PLOTS = ["totals", "upload", "upload_box", "tcp_rtt", "tcp_cwnd", "box_totals", "bar_fairness", "upload_with_ping_and_tcp_rtt"]


def flent(path):
    """flent's own loader, its statistics, and its plots of the test of the file."""
    from flent.resultset import ResultSet

    results = ResultSet.load_file(path)
    series = {}
    for name in results.series_names:
        values = [value for value in results.series(name) if value is not None]
        series[name] = {"mean": sum(values) / len(values) if values else None, "points": len(values)}
    flows = [name for name in results.series_names if "::" in name]
    rtts = {name: list(results.raw_series(name, raw_key="tcp_rtt"))[:1] for name in flows}

    flent = [sys.executable, "-m", "flent"]
    command = flent + ["-i", path]
    listed = run(flent + [results.meta("NAME"), "--list-plots"])
    plots = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line.split()]
    drawn = []
    with tempfile.TemporaryDirectory() as folder:
        for plot in PLOTS:
            image = Path(folder) / "plot.svg"
            run(command + ["-p", plot, "-o", str(image)])
            if image.exists() and image.stat().st_size > 0:
                drawn.append(plot)
                image.unlink()
    table = run(command + ["-f", "csv"])
    return {
        "name": results.meta("NAME"),
        "title": results.title,
        "step": results.meta("STEP_SIZE"),
        "length": results.meta("TOTAL_LENGTH"),
        "series": series,
        "first_rtt": {name: rtt[0] if rtt else None for name, rtt in rtts.items()},
        "plots": plots,
        "drawn": drawn,
        "csv_lines": sum("," in line for line in table.splitlines()),
        "stats": run(command + ["-f", "stats"]),
    }


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or "Traceback" in done.stderr:
        raise RuntimeError(f"{command[1:]}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def iperf3(path):
    """The package iperf3 of PyPI, which wraps libiperf and reads the JSON that it returns."""
    from iperf3 import TestResult

    result = TestResult(Path(path).read_text())
    fields = {name: value for name, value in vars(result).items() if name not in ("text", "json")}
    return fields | {"type": result.type, "reverse": result.reverse}


if __name__ == "__main__":
    reader = {"flent": flent, "iperf3": iperf3}[sys.argv[1]]
    print(json.dumps(reader(sys.argv[2])))
