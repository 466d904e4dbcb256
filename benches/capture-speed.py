#!/usr/bin/env python3
"""Speed of reading a capture: wirespeed beside cat, tcptrace and tshark. Standard library only.

A capture is generated, and every program reads it in turns within one run. Printed are medians, packets a second and ratios to ours: the
machine may be shared. Programs that are not installed are skipped. Nothing is asserted: the exit code is 0 whatever the figures are.

  capture-speed.py                           64 MB of whole frames, and of headers
  capture-speed.py --megabytes 2000          the size of the target: 10 times tcptrace, 30 times tshark
  capture-speed.py --connections 1000000     memory with a million connections
  capture-speed.py --file FILE               a file of your own instead
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "target", "dist", "examples", "capture_speed")
WHOLE, HEADERS = 262144, 96


def commands(program, file):
    """What reads the file, by name. `ours` is first: the ratios are to it."""
    tools = {
        "wirespeed": [program, "read", file],
        "wirespeed, super-packets apart": [program, "separate", file],
        "wirespeed, headers alone": [program, "headers", file],
        "cat": ["cat", file],
        "tcptrace": ["tcptrace", "-n", file],
        "tshark": ["tshark", "-n", "-q", "-r", file, "-z", "conv,tcp"],
    }
    return {name: command for name, command in tools.items() if shutil.which(command[0])}


def measure(command):
    """Seconds by the clock, of the processor, and most memory in MB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, process.returncode


def compare(program, file, rounds, slow):
    facts = json.loads(subprocess.run([program, "read", file], check=True, capture_output=True, text=True).stdout)
    size = os.path.getsize(file)
    print(f"\n{size / 1e6:.0f} MB, {facts['frames']} frames, {facts['connections']} connections, at most {facts['most_open']} at once")
    tools = {name: command for name, command in commands(program, file).items() if slow or name not in ("tcptrace", "tshark")}
    samples = {name: [] for name in tools}
    for _ in range(rounds):
        for name, command in tools.items():
            samples[name].append(measure(command))
    ours = statistics.median(seconds for seconds, *_ in samples["wirespeed"])
    print(f"{'program':32}{'s':>9}{'CPU s':>9}{'GB/s':>8}{'Mpackets/s':>12}{'MB':>8}{'time of ours':>14}")
    for name, rows in samples.items():
        seconds, processor, memory = (statistics.median(row[at] for row in rows) for at in range(3))
        failed = "" if all(row[3] == 0 for row in rows) else "   exit code is not 0"
        print(f"{name:32}{seconds:9.3f}{processor:9.3f}{size / seconds / 1e9:8.2f}{facts['frames'] / seconds / 1e6:12.2f}"
              f"{memory:8.0f}{seconds / ours:13.1f}x{failed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=PROGRAM, help="example capture_speed of crate capture")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file")
    parser.add_argument("--no-slow", action="store_true", help="without tcptrace and tshark")
    arguments = parser.parse_args()
    if arguments.file:
        compare(arguments.program, arguments.file, arguments.rounds, not arguments.no_slow)
        return
    with tempfile.TemporaryDirectory() as folder:
        for snaplen in (WHOLE, HEADERS):
            file = os.path.join(folder, f"{snaplen}.pcap")
            subprocess.run([arguments.program, "generate", file, str(arguments.megabytes * 1_000_000), str(arguments.connections),
                            str(snaplen)], check=True)
            compare(arguments.program, file, arguments.rounds, not arguments.no_slow)
            os.unlink(file)


if __name__ == "__main__":
    main()
