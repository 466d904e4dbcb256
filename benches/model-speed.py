#!/usr/bin/env python3
"""Speed of the model: against its targets, and how its cost grows. Standard library only.

Targets are ratios to ns-2 in the packets a CPU second carries, in one interleaved run of ../shared/baseline/bench.py
(see its README). Where ns-2 is missing only our own figures are printed. Packets are data packets sent, samples are
taken every 10 ms, and CPU seconds are those of the run phase, on one core. Memory is the most that was resident in
the run phase, but in the first part that of the whole process, which reads the recording again for metrics and report.
Nothing is asserted: the exit code is 0 whatever the figures are.

  model-speed.py                                all parts
  model-speed.py --targets                      the scenarios of the targets, beside ns-2
  model-speed.py --memory                       memory: of one flow, of each further one, of packets in flight
  model-speed.py --scaling                      cost against rate, RTT, flows and duration; two long runs
  model-speed.py --hosts                        with and without the inside of hosts
  model-speed.py --flows-400g                   cost of a packet against the number of flows at 400 Gbit/s
  model-speed.py --result --rate 1e9 --rtt 0.02 --flows 1 --mss 1448 --p 0 --dur 10 --cca reno [--trains off]
          one run, one line RESULT ..., for ../shared/baseline/bench.py:
          bench.py --groups al --sims ns2 --extra 'ours=benches/model-speed.py --result --rate {rate} --rtt {rtt}
                   --flows {flows} --mss {mss} --p {p} --dur {dur} --cca {cca}'
"""
import argparse
import csv
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASELINE = os.path.join(ROOT, "..", "shared", "baseline", "bench.py")
# IPv4 and TCP headers with timestamps.
HEADERS = 52
# Hosts of today, whose cores carry what the scenarios ask for.
HOST = "xeon-2023-100g"
FAST_HOST = "epyc-2024-400g"
# The most that a packet may cost, in that of the cheapest number of flows.
MOST_BY_FLOWS = 4
PLACEHOLDERS = "--rate {rate} --rtt {rtt} --flows {flows} --mss {mss} --p {p} --dur {dur} --cca {cca}"

# Scenario of bench.py (group, name), our variant, times the packets per CPU second of ns-2 at least.
TARGETS = [
    ("al", "a-1G-20ms-100s", "ours", 25),
    ("b", "b-10G-6.2ms-p1e-05-bic", "ours", 15),
    ("b", "b-10G-6.2ms-p1e-05-scalable", "ours", 15),
    ("b", "b-10G-6.2ms-p0.0001-reno", "ours", 6),
    ("c", "c-4x100G-1ms-reno", "ours", 18),
    ("m", "m-100x10G-20ms-10s", "ours", 16),
    ("m", "m-1000x100G-20ms-3s", "ours", 22),
    ("a", "a-1G-20ms", "ours-packets", 2.5),
]
# Packets per CPU second with so many flows at least; ns-2 takes too long for it.
MANY = dict(rate=1e11, rtt=0.02, flows=10000, dur=3.0)
MANY_TARGET = 8e6

SCENARIO = """\
schema = 1
name = "model-speed"
about = "How many packets a second does the model carry?"

[path]
rate = "{rate} bit/s"
rtt = "{rtt_us} us"
loss = {loss}
buffer = "{buffer}"

[host.sender]
{preset}mtu = "{mtu} B"

[host.receiver]
{preset}mtu = "{mtu} B"

[[flow]]
congestion = "{cca}"
count = {flows}

[run]
duration = "{duration_ms} ms"
sample = "{sample}"
trains = {trains}
"""


class Missing(Exception):
    """Something that the bench needs is not there."""


def scenario(rate=1e9, rtt=0.02, flows=1, mss=1448, p=0.0, dur=10.0, cca="reno", trains=True, sample="10 ms",
             host=None, buffer="1 bdp"):
    return SCENARIO.format(
        preset='preset = "%s"\n' % host if host else "", buffer=buffer,
        rate=round(rate), rtt_us=round(rtt * 1e6), loss=p, mtu=mss + HEADERS, cca=cca, flows=flows,
        duration_ms=round(dur * 1e3), sample=sample, trains=str(trains).lower())


def run(binary, **settings):
    """Carries out one run; -> packets, seconds, memory, goodput, retransmissions."""
    with tempfile.TemporaryDirectory(prefix="wirespeed-bench-") as folder:
        file = os.path.join(folder, "model-speed.toml")
        with open(file, "w") as f:
            f.write(scenario(**settings))
        command = [binary, "run", file, "--on", "model", "--json", "--fresh", "--jobs", "1",
                   "--out", os.path.join(folder, "out")]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):
            raise Missing("exit code %d of: %s\n%s" % (done.returncode, " ".join(command), done.stderr.strip()))
        found = json.loads(done.stdout)["runs"][0]
        if not found.get("complete"):
            raise Missing("the run is incomplete: %s\n%s" % (found, done.stderr.strip()))
    cost, metrics = found["cost"], found["metrics"]
    return {
        "packets": cost["packets"],
        "wall_s": cost["wall_s"],
        "cpu_s": cost["cpu_s"],
        "rss_mb": cost["peak_rss_bytes"] / 2**20,
        "goodput_gbps": metrics.get("goodput_bps", float("nan")) / 1e9,
        "rtt_s": metrics.get("rtt_mean_ns", float("nan")) / 1e9,
        "retrans": metrics.get("retransmissions_packets", 0),
    }


def median(binary, reps, **settings):
    rows = [run(binary, **settings) for _ in range(reps)]
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def result(args):
    settings = dict(rate=args.rate, rtt=args.rtt, flows=args.flows, mss=args.mss, p=args.p, dur=args.dur, cca=args.cca)
    m = run(args.wirespeed, trains=args.trains == "on", sample=args.sample, **settings)
    print("RESULT data_pkts=%d wall_s=%.4f cpu_s=%.4f dur=%g goodput_gbps=%.4f retrans=%d rss_mb=%.1f" % (
        m["packets"], m["wall_s"], m["cpu_s"], args.dur, m["goodput_gbps"], m["retrans"], m["rss_mb"]))


def targets(args):
    """The scenarios of the targets, ns-2 and ours interleaved by bench.py; what ns-2 lacks is left out by it."""
    if not os.path.exists(BASELINE) or not os.path.exists("/usr/bin/time"):
        print("targets: NOT measured; they need %s and GNU time (apt-get install time ns2)" % os.path.relpath(BASELINE))
        return
    if not os.path.exists("/usr/bin/ns"):
        print("note: no ns-2, so no ratios: apt-get install ns2")
    ours = " ".join(
        map(shlex.quote, (sys.executable, os.path.abspath(__file__), "--result", "--wirespeed", args.wirespeed)))
    extra = {"ours": "%s %s" % (ours, PLACEHOLDERS), "ours-packets": "%s %s --trains off" % (ours, PLACEHOLDERS)}
    print("%-30s %-12s %2s %12s %12s %7s %7s %9s  %s" % (
        "scenario", "", "n", "packets/CPU", "ns-2", "ratio", "target", "MiB", ""))
    with tempfile.TemporaryDirectory(prefix="wirespeed-bench-") as folder:
        for group, name, ours, least in TARGETS:
            log = os.path.join(folder, name + ".csv")
            command = [sys.executable, BASELINE, "--groups", group, "--only", name, "--sims", "ns2", "--reps", str(args.reps),
                       "--out", log, "--extra", "%s=%s" % (ours, extra[ours])]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            rows = {"ns2": [], ours: []}
            if os.path.exists(log):
                with open(log, newline="") as f:
                    for row in csv.DictReader(f):
                        if row["scenario"] == name and row["data_pkts"]:
                            rows[row["sim"]].append(row)
            if not rows[ours]:
                raise Missing("no result of %s:\n%s" % (name, done.stdout.strip()[-500:]))
            per_cpu = {sim: statistics.median(float(r["data_pkts"]) / float(r["cpu_s"]) for r in found)
                       for sim, found in rows.items() if found}
            memory = statistics.median(float(r["proc_rss_mb"]) for r in rows[ours])
            ratio = per_cpu[ours] / per_cpu["ns2"] if "ns2" in per_cpu else None
            print("%-30s %-12s %2d %12d %12s %7s %7s %9.1f  %s" % (
                name, "" if ours == "ours" else "trains off", len(rows[ours]), per_cpu[ours],
                "%d" % per_cpu["ns2"] if ratio else "-", "%.1f" % ratio if ratio else "-", "%gx" % least, memory,
                "" if not ratio else "reached" if ratio >= least else "MISSED"), flush=True)
    many = median(args.wirespeed, args.reps, **MANY)
    speed = many["packets"] / many["cpu_s"]
    print("%-30s %-12s %2d %12d %12s %7s %6gM %9.1f  %s" % (
        "%d flows, 100 Gbit/s, 20 ms" % MANY["flows"], "", args.reps, speed, "-", "-", MANY_TARGET / 1e6, many["rss_mb"],
        "reached" if speed >= MANY_TARGET else "MISSED"), flush=True)


def memory(args):
    """Memory of the run phase: of one flow, of each further one, and of each packet in flight."""
    one_flow = dict(rate=1e9, rtt=0.02, dur=10.0)
    one = run(args.wirespeed, **one_flow)
    print("\n%-52s %12s %10s %10s" % ("memory of the run phase", "", "measured", "target"))

    def row(what, detail, value, unit, most):
        print("%-52s %12s %7.1f %-2s %7g %-2s  %s" % (
            what, detail, value, unit, most, unit, "reached" if value <= most else "MISSED"), flush=True)

    row("one flow (1 Gbit/s, 20 ms)", "", one["rss_mb"] * 2**20 / 1e6, "MB", 16)
    flows = 1000
    many = run(args.wirespeed, flows=flows, **one_flow)
    row("each further flow (of %d)" % flows, "", (many["rss_mb"] - one["rss_mb"]) * 2**20 / 1e3 / (flows - 1), "kB", 2)
    # Mean in flight by Little's law: what is delivered in a mean round-trip time.
    window = dict(rate=1e11, rtt=0.1, dur=8.0)
    m = run(args.wirespeed, **window)
    packets = m["goodput_gbps"] * 1e9 / 8 / 1448 * m["rtt_s"]
    row("each packet in flight (100 Gbit/s, 100 ms, no loss)", "%d" % packets,
        (m["rss_mb"] - one["rss_mb"]) * 2**20 / packets, "B", 16)
    # A slow start that overshot: the queue was full, and every second packet is a hole of its own.
    window = dict(rate=1e10, rtt=0.2, dur=20.0)
    m = run(args.wirespeed, **window)
    packets = 2 * window["rate"] * window["rtt"] / 8 / (1448 + HEADERS + 14)
    row("each packet in flight (10 Gbit/s, 200 ms, overshot)", "%d" % packets,
        (m["rss_mb"] - one["rss_mb"]) * 2**20 / packets, "B", 16)


def scaling(args):
    """How cost grows with one thing while the others stay."""
    base = dict(rate=1e9, rtt=0.02, dur=20.0, cca="cubic")
    tables = [
        ("rate, Gbit/s (20 ms, 20 s, cubic)", [("%g" % g, dict(base, rate=g * 1e9, dur=20.0 if g < 100 else 5.0))
                                               for g in (0.01, 0.1, 1, 10, 100)]),
        ("RTT, ms (1 Gbit/s, 20 s, cubic)", [("%g" % r, dict(base, rtt=r / 1e3)) for r in (0.2, 2, 20, 200)]),
        ("flows (10 Gbit/s, 20 ms, 5 s, cubic)", [("%d" % n, dict(base, rate=1e10, flows=n, dur=5.0))
                                                  for n in (1, 10, 100, 1000, 10000)]),
        ("duration, s (1 Gbit/s, 20 ms, cubic)", [("%g" % d, dict(base, dur=float(d))) for d in (1, 10, 100, 1000)]),
    ]
    for title, rows in tables:
        print("\nCost against %s" % title)
        heading()
        for name, settings in rows:
            line(name, settings, median(args.wirespeed, args.reps if settings["dur"] < 500 else 1, **settings))
    print("\nLong runs")
    heading()
    minutes = dict(rate=1e10, rtt=0.0062, p=1e-5, dur=900.0)
    for name, settings in [
        ("10G 6.2ms 1e-5 15min scalable", dict(minutes, cca="scalable")),
        ("10G 6.2ms 1e-5 15min cubic", dict(minutes, cca="cubic")),
        ("100G 100ms 60s cubic", dict(rate=1e11, rtt=0.1, mss=8948, dur=60.0, cca="cubic")),
    ]:
        line(name, settings, run(args.wirespeed, **settings))


def hosts(args):
    """What the stages inside hosts cost: rings, interrupts, cores, sockets, readers. The same work without them beside it."""
    print("\nInside of hosts (%s): the same work without and with it" % HOST)
    heading()
    for name, settings in [
        ("10G 20ms MTU 1500 cubic", dict(rate=1e10, rtt=0.02, dur=10.0, cca="cubic")),
        ("10G 6.2ms 1e-5 bic", dict(rate=1e10, rtt=0.0062, p=1e-5, dur=10.0, cca="bic")),
        ("4x100G 1ms MTU 9000 reno", dict(rate=1e11, rtt=0.001, flows=4, mss=8948, dur=5.0, cca="reno")),
        ("100 flows 10G 20ms cubic", dict(rate=1e10, rtt=0.02, flows=100, dur=5.0, cca="cubic")),
    ]:
        without, inside = (median(args.wirespeed, args.reps, host=host, **settings) for host in (None, HOST))
        line(name, settings, without)
        line("  with the inside", settings, inside)
        speed = [m["packets"] / m["cpu_s"] for m in (without, inside)]
        print("  packets per CPU second: 1 / %.1f of what it is without" % (speed[0] / speed[1]), flush=True)


def flows_400g(args):
    """What a packet costs with 1 to 64 flows at 400 Gbit/s, as a ratio to the cheapest of all these runs."""
    print("\nFlows at 400 Gbit/s, 80 ms, a buffer of 50 MB, 3 s: cost of a packet; the target is %gx the cheapest" % MOST_BY_FLOWS)
    print("%-34s %6s %11s %8s %10s %8s %8s" % ("", "flows", "packets", "CPU s", "ns/packet", "Gbit/s", "ratio"))
    path = dict(rate=4e11, rtt=0.08, mss=8948, dur=3.0, buffer="50 MB")
    rows = [(cca, host, flows, median(args.wirespeed, args.reps, flows=flows, cca=cca, host=host, **path))
            for host in (FAST_HOST, None) for cca in ("cubic", "bbr") for flows in (1, 2, 4, 8, 16, 32, 64)]
    cost = [m["cpu_s"] / max(m["packets"], 1) for _, _, _, m in rows]
    for (cca, host, flows, m), each in zip(rows, cost):
        ratio = each / min(cost)
        print("%-34s %6d %11d %8.3f %10.1f %8.1f %7.2fx  %s" % (
            "%s, %s" % (cca, host or "no host model"), flows, m["packets"], m["cpu_s"], each * 1e9, m["goodput_gbps"],
            ratio, "reached" if ratio <= MOST_BY_FLOWS else "MISSED"), flush=True)


def heading():
    print("%-30s %11s %8s %8s %12s %12s %10s %8s %8s" % (
        "", "packets", "wall s", "CPU s", "packets/wall", "packets/CPU", "sim s/wall", "MiB", "Gbit/s"))


def line(name, settings, m):
    print("%-30s %11d %8.3f %8.3f %12d %12d %10.1f %8.1f %8.3f" % (
        name, m["packets"], m["wall_s"], m["cpu_s"], m["packets"] / m["wall_s"], m["packets"] / m["cpu_s"],
        settings["dur"] / m["wall_s"], m["rss_mb"], m["goodput_gbps"]), flush=True)


def default_binary():
    candidates = [os.path.join(ROOT, "target", profile, "wirespeed") for profile in ("release", "debug")]
    return next((c for c in candidates if os.path.exists(c)), candidates[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wirespeed", default=default_binary(), help="the binary (default: target/release/wirespeed)")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--flows-400g", action="store_true")
    one = parser.add_argument_group("one run for bench.py")
    one.add_argument("--result", action="store_true")
    one.add_argument("--rate", type=float, default=1e9)
    one.add_argument("--rtt", type=float, default=0.02)
    one.add_argument("--flows", type=int, default=1)
    one.add_argument("--mss", type=int, default=1448)
    one.add_argument("--p", type=float, default=0.0)
    one.add_argument("--dur", type=float, default=10.0)
    one.add_argument("--cca", default="reno")
    one.add_argument("--sample", default="10 ms")
    one.add_argument("--trains", choices=["on", "off"], default="on")
    args = parser.parse_args()
    args.wirespeed = os.path.abspath(args.wirespeed)
    try:
        if not os.path.exists(args.wirespeed):
            raise Missing("there is no %s; make build" % args.wirespeed)
        if "/debug/" in args.wirespeed:
            print("note: this is a debug build; its figures say nothing", file=sys.stderr)
        if args.result:
            result(args)
            return 0
        parts = [targets, memory, scaling, hosts, flows_400g]
        wanted = [part for part in parts if getattr(args, part.__name__)]
        for part in wanted or parts:
            part(args)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
