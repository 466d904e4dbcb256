#!/usr/bin/env python3
"""Speed of the virtual-time kernel, and what sampling costs. Standard library only.

One loss-free TCP flow of 10 Gbit/s, 6.2 ms, MTU 1500, through sender, router and receiver, sampled every 100 ms,
10 ms and 1 ms; the same with the moderated interrupts of an interface card, which hand packets over in batches that GRO
merges; beside it ns-3, where it is installed. Repetitions are interleaved (the first of each, then the
second, ...), so that a slow spell of a shared machine hits all alike; medians are printed. Packets are data
packets sent. Nothing is asserted: the exit code is 0 whatever the figures are.

  kernel-speed.py                               the table
  kernel-speed.py --reps 5 --duration 10        more of it
  kernel-speed.py --result --rate 1e9 --rtt 0.02 --flows 1 --mss 1448 --p 0 --dur 10 --cca reno
          one run, one line RESULT ..., for ../shared/baseline/bench.py:
          bench.py --groups b --extra 'ours=benches/kernel-speed.py --result --rate {rate} --rtt {rtt}
                   --flows {flows} --mss {mss} --p {p} --dur {dur} --cca {cca}'
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# IPv4 and TCP headers with timestamps.
HEADERS = 52
SAMPLING = ["100 ms", "10 ms", "1 ms"]
# The sampling that the figures are compared at.
REFERENCE = "10 ms"
# Moderation and offloads that the speed of batches is measured with, and the packets per wall second that are to be reached
# with the first of them.
MODERATED = {
    "50 us, GRO": 'coalesce = "50 us"\ngro = true',
    "50 us, GRO and TSO": 'coalesce = "50 us"\ngro = true\ntso = true\ngso = true',
}
MODERATED_TARGET = 1.2e6
# CPU seconds above which a run is not repeated.
LONG_S = 30

SCENARIO = """\
schema = 1
name = "kernel-speed"
about = "How many packets a second does the virtual-time kernel carry?"

[path]
rate = "{rate} bit/s"
rtt = "{rtt_us} us"
loss = {loss}
buffer = "1 bdp"

[host.sender]
mtu = "{mtu} B"
{host}

[host.receiver]
mtu = "{mtu} B"
{host}

[[flow]]
congestion = "{cca}"
count = {flows}
{window}

[run]
duration = "{duration_ms} ms"
sample = "{sample}"
"""


def scenario(rate=1e10, rtt=0.0062, loss=0.0, mss=1448, cca="cubic", flows=1, duration=5.0, sample="10 ms", window=None,
             host=""):
    return SCENARIO.format(
        host=host, rate=round(rate), rtt_us=round(rtt * 1e6), loss=loss, mtu=mss + HEADERS, cca=cca, flows=flows,
        duration_ms=round(duration * 1e3), sample=sample, window='window = "%s"' % window if window else "")


class Missing(Exception):
    """Something that the bench needs is not there."""


def run_wirespeed(binary, text):
    """Carries out one scenario with one run; -> its JSON."""
    with tempfile.TemporaryDirectory(prefix="wirespeed-bench-") as folder:
        file = os.path.join(folder, "kernel-speed.toml")
        with open(file, "w") as f:
            f.write(text)
        command = [binary, "run", file, "--on", "kernel", "--json", "--fresh", "--jobs", "1",
                   "--out", os.path.join(folder, "out")]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):
            raise Missing("exit code %d of: %s\n%s" % (done.returncode, " ".join(command), done.stderr.strip()))
        run = json.loads(done.stdout)["runs"][0]
        if not run.get("complete"):
            raise Missing("the run is incomplete: %s\n%s" % (run, done.stderr.strip()))
        return run


def measure(run):
    cost = run["cost"]
    return {
        "packets": cost["packets"],
        "wall_s": cost["wall_s"],
        "cpu_s": cost["cpu_s"],
        "per_wall_s": cost["packets"] / cost["wall_s"],
        "per_cpu_s": cost["packets"] / cost["cpu_s"],
        "rss_mib": cost["peak_rss_bytes"] / 2**20,
        "goodput_gbps": run["metrics"].get("goodput_bps", float("nan")) / 1e9,
        "retransmitted": run["metrics"].get("retransmissions_packets", float("nan")),
    }


def find_ns3():
    """-> the ns-3 program of the baseline, or None and the reason."""
    folder = os.environ.get("BASELINE_BIN", os.path.join(tempfile.gettempdir(), "baseline"))
    program = os.path.join(folder, "ns3deb")
    if os.path.exists(program):
        return program, ""
    bench = os.path.join(ROOT, "..", "shared", "baseline", "bench.py")
    if not os.path.exists(bench):
        return None, "no %s (BASELINE_BIN), and no ../shared/baseline to compile it from" % program
    if not shutil.which("g++") or not os.path.isdir("/usr/include/ns3"):
        return None, "not compiled; apt-get install libns3-dev g++, then %s --build" % os.path.relpath(bench)
    print("compiling ns-3's program: %s --build" % os.path.relpath(bench), flush=True)
    done = subprocess.run([sys.executable, bench, "--build"], stdin=subprocess.DEVNULL)
    if done.returncode:
        return None, "%s --build failed" % os.path.relpath(bench)
    return program, ""


def run_ns3(program, duration):
    """The same flow on ns-3, on its fastest topology: two nodes and one link."""
    command = [program, "--rate=10000000000bps", "--rtt=0.0062s", "--flows=1", "--mss=1448", "--p=0",
               "--dur=%g" % duration, "--cca=TcpCubic", "--topo=line", "--queueBdp=1", "--bufBdp=1.5"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = next((l for l in done.stdout.splitlines() if l.startswith("RESULT ")), None)
    if line is None:
        raise Missing("ns-3 printed no RESULT line: %s" % done.stdout[-300:])
    d = dict(word.split("=", 1) for word in line.split()[1:] if "=" in word)
    packets, wall, cpu = int(d["data_pkts"]), float(d["wall_s"]), float(d["cpu_s"])
    return {"packets": packets, "wall_s": wall, "cpu_s": cpu, "per_wall_s": packets / wall, "per_cpu_s": packets / cpu,
            "rss_mib": float(d["rss_mb"]), "goodput_gbps": float(d["goodput_gbps"]), "retransmitted": float(d["retrans"])}


def table(args):
    text = lambda sample: scenario(duration=args.duration, sample=sample, window="1.5 bdp")
    cases = {"wirespeed, " + s: lambda s=s: measure(run_wirespeed(args.wirespeed, text(s))) for s in SAMPLING}
    moderated = lambda host: scenario(duration=args.duration, sample=REFERENCE, window="1.5 bdp", host=host)
    for name, host in MODERATED.items():
        cases["wirespeed, " + name] = lambda host=host: measure(run_wirespeed(args.wirespeed, moderated(host)))
    program, reason = (None, "left out by --no-ns3") if args.no_ns3 else find_ns3()
    if program:
        cases["ns-3"] = lambda: run_ns3(program, args.ns3_duration)
    print("One flow, 10 Gbit/s, 6.2 ms, MTU 1500, no loss; %g virtual seconds%s; %d repetitions, interleaved; load %.1f"
          % (args.duration, ", ns-3 %g" % args.ns3_duration if program else "", args.reps, os.getloadavg()[0]), flush=True)
    found = {name: [] for name in cases}
    for repetition in range(args.reps):
        for name, measured in cases.items():
            # What takes long is not repeated: it is ns-3, and a minute of it is no matter of chance.
            if found[name] and found[name][-1]["cpu_s"] > LONG_S:
                continue
            start = time.monotonic()
            found[name].append(measured())
            print("  %d/%d %-29s %6.1f s" % (repetition + 1, args.reps, name, time.monotonic() - start),
                  file=sys.stderr, flush=True)
    middle = {name: {key: statistics.median(r[key] for r in rows) for key in rows[0]} for name, rows in found.items()}
    print("\n%-29s %2s %10s %8s %8s %12s %12s %9s %8s %8s" % (
        "", "n", "packets", "wall s", "CPU s", "packets/wall", "packets/CPU", "MiB", "Gbit/s", "retrans"))
    for name, m in middle.items():
        print("%-29s %2d %10d %8.2f %8.2f %12d %12d %9.1f %8.3f %8d" % (
            name, len(found[name]), m["packets"], m["wall_s"], m["cpu_s"], m["per_wall_s"], m["per_cpu_s"], m["rss_mib"],
            m["goodput_gbps"], m["retransmitted"]))
    print()
    coarse = middle["wirespeed, " + SAMPLING[0]]
    for sample in SAMPLING[1:]:
        m = middle["wirespeed, " + sample]
        print("sampling every %-5s costs %+5.1f %% of CPU time, %+5.1f %% of wall time against every %s" % (
            sample, cost(m, coarse, "per_cpu_s"), cost(m, coarse, "per_wall_s"), SAMPLING[0]))
    ours = middle["wirespeed, " + REFERENCE]
    for number, name in enumerate(MODERATED):
        m = middle["wirespeed, " + name]
        reached = "reached" if m["per_wall_s"] >= MODERATED_TARGET else "MISSED"
        print("%s: %.2f times the packets per wall second of single packets%s" % (
            name, m["per_wall_s"] / ours["per_wall_s"],
            "" if number else "; target %.1f M a second: %s" % (MODERATED_TARGET / 1e6, reached)))
    if program:
        ns3 = middle["ns-3"]
        print("against ns-3: %.1f times the packets per CPU second, %.1f times per wall second" % (
            ours["per_cpu_s"] / ns3["per_cpu_s"], ours["per_wall_s"] / ns3["per_wall_s"]))
    else:
        print("ns-3: not measured (%s)" % reason)
    if ours["retransmitted"]:
        print("note: the flow was to be loss-free and retransmitted %d packets" % ours["retransmitted"])


def cost(m, base, key):
    """How much more time a packet takes, in percent."""
    return (base[key] / m[key] - 1) * 100


def result(args):
    text = scenario(args.rate, args.rtt, args.p, args.mss, args.cca, args.flows, args.dur, args.sample)
    m = measure(run_wirespeed(args.wirespeed, text))
    print("RESULT data_pkts=%d wall_s=%.4f cpu_s=%.4f dur=%g goodput_gbps=%.4f retrans=%d rss_mb=%.1f" % (
        m["packets"], m["wall_s"], m["cpu_s"], args.dur, m["goodput_gbps"], m["retransmitted"], m["rss_mib"]))


def default_binary():
    candidates = [os.path.join(ROOT, "target", profile, "wirespeed") for profile in ("release", "debug")]
    return next((c for c in candidates if os.path.exists(c)), candidates[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wirespeed", default=default_binary(), help="the binary (default: target/release/wirespeed)")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--duration", type=float, default=5.0, help="virtual seconds of each of our runs")
    parser.add_argument("--ns3-duration", type=float, default=0.3, help="simulated seconds of ns-3, which is slower")
    parser.add_argument("--no-ns3", action="store_true")
    one = parser.add_argument_group("one run for bench.py")
    one.add_argument("--result", action="store_true")
    one.add_argument("--rate", type=float, default=1e10)
    one.add_argument("--rtt", type=float, default=0.0062)
    one.add_argument("--flows", type=int, default=1)
    one.add_argument("--mss", type=int, default=1448)
    one.add_argument("--p", type=float, default=0.0)
    one.add_argument("--dur", type=float, default=5.0)
    one.add_argument("--cca", default="cubic")
    one.add_argument("--sample", default=REFERENCE)
    args = parser.parse_args()
    args.wirespeed = os.path.abspath(args.wirespeed)
    try:
        if not os.path.exists(args.wirespeed):
            raise Missing("there is no %s; make build" % args.wirespeed)
        if "/debug/" in args.wirespeed:
            print("note: this is a debug build; its figures say nothing", file=sys.stderr)
        result(args) if args.result else table(args)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


sys.exit(main())
