#!/usr/bin/env python3
"""Traffic between two namespaces of this machine: wirespeed beside iperf3, and what observing costs.

Everything is measured in turns within one run, and told as medians and ratios: the machine may be shared. Needs root (namespaces), and
iperf3 for the comparison; without iperf3 only the cost of observing is measured.
"""

import argparse
import atexit
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

NAMES = [f"wsb{os.getpid()}{end}" for end in "ab"]
ADDRESSES = ["10.88.0.1", "10.88.0.2"]


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more)


def inside(end, *words, **more):
    return run("ip", "netns", "exec", NAMES[end], *words, **more)


def take_down():
    for name in NAMES:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


def build():
    atexit.register(take_down)
    for name in NAMES:
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    run("ip", "-n", NAMES[0], "link", "add", "eth", "type", "veth", "peer", "name", "eth", "netns", NAMES[1])
    for name, address in zip(NAMES, ADDRESSES):
        run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth")
        run("ip", "-n", name, "link", "set", "eth", "up")


def stand_in(folder):
    """A program in the place of ssh that goes into a namespace; `ordinary@NAME` is an ordinary user there."""
    path = os.path.join(folder, "ssh")
    for name in NAMES:
        for user in ["", "ordinary@"]:
            os.makedirs(os.path.join(folder, user + name), mode=0o777)
            os.chmod(os.path.join(folder, user + name), 0o777)
    os.chmod(folder, 0o755)
    with open(path, "w") as file:
        file.write(f"""#!/bin/bash
while [[ $1 != -- ]]; do shift; done
export HOME={folder}/$2
if [[ $2 == ordinary@* ]]; then
    exec ip netns exec "${{2#ordinary@}}" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all sh -c "${{*:3}}"
fi
exec ip netns exec "$2" sh -c "${{*:3}}"
""")
    os.chmod(path, 0o755)
    return path


def wirespeed(program, ssh, folder, seconds, *more, user=""):
    command = [program, "probe", *(f"{user}{name}={address}" for name, address in zip(NAMES, ADDRESSES)),
               "--time", f"{seconds} s", "--json", "--out", folder, *more]
    shutil.rmtree(folder, ignore_errors=True)
    result = subprocess.run(command, env={**os.environ, "WIRESPEED_SSH": ssh}, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr}")
    probe = json.loads(result.stdout)["runs"][0]
    data = probe["ledger"]["data"]
    return {
        "gbit": probe["metrics"]["goodput_bps"] / 1e9,
        "busy": probe["cost"]["cpu_s"],
        "packets": data["sent"] / seconds,
        "lost": sum(place["packets"] for place in data["lost"]),
        "unexplained": data["unexplained"],
    }


def iperf3(seconds, *more):
    server = subprocess.Popen(["ip", "netns", "exec", NAMES[1], "iperf3", "-s", "-1"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        text = inside(0, "iperf3", "-c", ADDRESSES[1], "-t", str(seconds), "-J", *more, timeout=seconds + 30).stdout
    finally:
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    end = json.loads(text)["end"]
    cpu = end["cpu_utilization_percent"]
    got = end.get("sum_received", end.get("sum"))
    return {
        "gbit": got["bits_per_second"] / 1e9,
        # Of one core, both processes.
        "busy": (cpu["host_total"] + cpu["remote_total"]) / 100 * seconds,
        "packets": end.get("sum", {}).get("packets", 0) / seconds,
        "lost": end.get("sum", {}).get("lost_packets", 0),
    }


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wirespeed", default="target/release/wirespeed")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    program, seconds = os.path.abspath(arguments.wirespeed), arguments.seconds
    if os.geteuid() != 0:
        sys.exit("namespaces of two machines need root")
    build()
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    ssh, out = stand_in(folder), os.path.join(folder, "out")
    ours = lambda *more, **options: wirespeed(program, ssh, out, seconds, *more, **options)

    if shutil.which("iperf3"):
        print(run("iperf3", "--version").stdout.splitlines()[0])
        print("CPU: of the two processes, as each program tells it, in core seconds per Gbit\n")
        cases = [
            ("TCP, 1 flow", ["--congestion", "cubic"], ["-C", "cubic"]),
            ("TCP, 4 flows", ["--congestion", "cubic", "--flows", "4"], ["-C", "cubic", "-P", "4"]),
            ("TCP, 1 flow, zero copy", ["--congestion", "cubic", "--zero-copy"], ["-C", "cubic", "-Z"]),
            ("UDP, 64 B", ["--udp", "20 Gbit/s", "--datagram", "64"], ["-u", "-b", "0", "-l", "64"]),
            ("UDP, 1472 B", ["--udp", "100 Gbit/s", "--datagram", "1472"], ["-u", "-b", "0", "-l", "1472"]),
        ]
        for name, our_words, their_words in cases:
            mine, theirs = [], []
            for _ in range(arguments.rounds):
                mine.append(ours(*our_words))
                theirs.append(iperf3(seconds, *their_words))
            if name.startswith("TCP"):
                cost = [median(rows, "busy") / (median(rows, "gbit") * seconds) for rows in (mine, theirs)]
                print(f"{name}: wirespeed {median(mine, 'gbit'):.1f} Gbit/s, {cost[0]:.4f}; "
                      f"iperf3 {median(theirs, 'gbit'):.1f} Gbit/s, {cost[1]:.4f}; "
                      f"rate x {median(mine, 'gbit') / median(theirs, 'gbit'):.2f}, CPU x {cost[0] / cost[1]:.2f}")
            else:
                print(f"{name}: wirespeed {median(mine, 'packets') / 1e3:.0f} k/s sent, {median(mine, 'lost'):.0f} lost, "
                      f"{median(mine, 'unexplained'):.0f} unexplained; "
                      f"iperf3 {median(theirs, 'packets') / 1e3:.0f} k/s, {median(theirs, 'lost'):.0f} lost; "
                      f"rate x {median(mine, 'packets') / median(theirs, 'packets'):.2f}")

    print("\nWhat observing costs: goodput of one flow, of that with a sample in 100 ms by an ordinary user")
    ways = [
        ("100 ms, ordinary user", ["--sample", "100 ms"], "ordinary@"),
        ("10 ms, ordinary user", ["--sample", "10 ms"], "ordinary@"),
        ("1 ms, ordinary user", ["--sample", "1 ms"], "ordinary@"),
        ("10 ms, root with BPF", ["--sample", "10 ms"], ""),
        ("1 ms, root with BPF", ["--sample", "1 ms"], ""),
    ]
    rows = {name: [] for name, _, _ in ways}
    for _ in range(arguments.rounds):
        for name, words, user in ways:
            # What every user may choose.
            rows[name].append(ours("--congestion", "reno", *words, user=user))
    base = median(rows[ways[0][0]], "gbit")
    for name, _, _ in ways:
        gbit = median(rows[name], "gbit")
        print(f"{name}: {gbit:.1f} Gbit/s, x {gbit / base:.3f}")


if __name__ == "__main__":
    main()
