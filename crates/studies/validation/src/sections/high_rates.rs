//! 25 to 400 Gbit/s: MTU 1500 and 9000, many flows in several arrangements, queues that mark, small and fixed buffers.

use super::super::cell::{Cell, Parts, Stagger, heading};
use super::super::column::Column;
use super::super::section::{Factor, Section};
use super::super::shape;
use super::SHARED_LINK;
use wirespeed_scenario::{Run, Scenario, Table};

/// Its name.
const NAME: &str = "high-rates";

/// The section.
pub fn section() -> Section {
    Section {
        name: NAME,
        about: "Paths of 25 to 400 Gbit/s: small and large packets, up to 16 flows in several arrangements, queues that \
                mark, socket buffers, offloads.",
        folder: NAME,
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "bbr", "bic", "htcp", "highspeed", "dctcp"]),
            // Path and queue hold at most half of the 1 GiB of TCP's window.
            Factor::two(
                &["rate_gbit", "rtt_ms"],
                &[
                    ["25", "0.2"],
                    ["25", "2"],
                    ["25", "10"],
                    ["25", "40"],
                    ["25", "100"],
                    ["100", "0.2"],
                    ["100", "1"],
                    ["100", "10"],
                    ["400", "0.2"],
                    ["400", "1"],
                    ["400", "2.5"],
                ],
            ),
            Factor::two(
                &["flows", "arrangement"],
                &[
                    ["1", "alone"],
                    ["4", "alone"],
                    ["16", "alone"],
                    ["4", "unequal-rtt"],
                    ["16", "unequal-rtt"],
                    ["4", "parking-lot"],
                    ["16", "parking-lot"],
                    ["4", "two-way"],
                    ["16", "two-way"],
                    ["4", "against"],
                    ["16", "against"],
                    ["1", "udp"],
                    ["4", "udp"],
                ],
            ),
            Factor::one(&["mtu"], &["1500", "9000"]),
            Factor::two(
                &["queue", "qdisc"],
                &[
                    ["drop-tail", "pfifo_fast"],
                    ["drop-tail", "fq"],
                    ["marking", "pfifo_fast"],
                    ["marking", "fq"],
                    ["fq_codel", "fq_codel"],
                ],
            ),
            Factor::one(&["buffer_bdp"], &["0.2", "0.5"]),
            Factor::one(&["sockets"], &["ample", "linux", "fixed"]),
            Factor::one(&["offloads"], &["off", "on"]),
            Factor::one(&["loss"], &["0", "1e-6"]),
        ],
        seed: 2035,
        rounds: 30,
        repeats: 3,
        scenario,
        both_modes: true,
        lifts_host_limits: false,
        is_region: true,
        bars: &SHARED_LINK,
        method: include_str!("high_rates.md"),
    }
}

/// Packets that one of the runs carries at full rate, unless the least duration is longer.
const PACKETS: f64 = 3e6;

/// Bounds of a run's duration.
const LEAST_MS: f64 = 150.0;
const MOST_MS: f64 = 3_000.0;

/// Round trips that a run lasts at least: slow start takes up to 16 of them.
const LEAST_ROUNDS: f64 = 30.0;

/// A marking queue marks what finds more than this waiting, in bandwidth-delay products: above the seventh of RFC 8257, section 4.2.
const MARK_ABOVE: &str = "0.15 bdp";

/// Time between interrupts of the interfaces whose offloads are on.
const MODERATION: &str = "10 us";

/// Share of the rate that UDP sends.
const UDP_SHARE: f64 = 0.2;

/// Whether several algorithms are what a section compares: those of cells whose flows are `against` one another.
pub fn opposes(section: &Section, column: &Column, run: &Run) -> bool {
    let names: Vec<&str> = run.algorithms().into_iter().collect();
    let [a, b] = names[..] else { return false };
    let are_compared = || [a, b].iter().all(|name| section.levels("congestion").contains(name));
    (section.name, column.name) == (NAME, "congestion")
        && are_compared()
        && (opponent(a) == b || opponent(b) == a)
}

/// Arrangements beyond those of the section's cells; `None` if there are none.
pub fn beyond(run: &Run) -> Option<String> {
    let rtts = shape::rtts(run);
    let is_far = *rtts.last()? > *rtts.first()? * 2;
    is_far.then(|| "round-trip times that differ more than twofold".into())
}

/// The algorithm that competes with it.
fn opponent(congestion: &str) -> &'static str {
    if congestion == "cubic" { "reno" } else { "cubic" }
}

fn duration_ms(cell: &Cell) -> u32 {
    let packets_per_ms = cell.value("rate_gbit") * 1e6 / 8.0 / cell.value("mtu");
    let least = LEAST_MS.max(LEAST_ROUNDS * cell.value("rtt_ms"));
    (PACKETS / packets_per_ms).max(least).min(MOST_MS).round() as u32
}

fn scenario(cell: &Cell) -> Scenario {
    let duration = duration_ms(cell);
    let flows = flows(cell, duration);
    let parts = Parts {
        path: path(cell),
        hosts: Some([host(cell), host(cell)]),
        flows,
        times_ms: (duration, if duration < 1_000 { 1 } else { 10 }),
        seed: 90_000 + cell.number,
        stagger: (cell.flows() > 1).then(|| stagger(cell, duration)),
        repeats: cell.repeats(),
    };
    let (name, about) = heading(cell);
    let scenario = parts.scenario(&name, &about);
    match cell.text("arrangement") {
        "unequal-rtt" => {
            let delay = format!("{} us", cell.value("rtt_ms") * 1e3 / 2.0);
            scenario.host("far", host(cell).set("router", 0).set("access_delay", delay))
        }
        "parking-lot" => scenario
            .topology(Table::new().set("kind", "parking-lot").set("hops", 2))
            .host("cross", host(cell)),
        _ => scenario,
    }
}

/// The staggers of other sections are for runs of some 2 s; a shorter run has them in proportion.
fn stagger(cell: &Cell, duration_ms: u32) -> Stagger {
    // The one flow of UDP has nothing to stagger.
    let setting = if cell.text("arrangement") == "udp" { "flow.0.stagger" } else { "flow.stagger" };
    cell.stagger(setting, |ms| format!("{} us", ms * duration_ms / 2))
}

fn path(cell: &Cell) -> Table {
    let queue = Table::new().set("kind", "drop-tail").set("mark_above", MARK_ABOVE);
    Table::new()
        .set("rate", cell.quantity("rate_gbit", "Gbit/s"))
        .set("rtt", cell.quantity("rtt_ms", "ms"))
        .set("buffer", cell.quantity("buffer_bdp", "bdp"))
        .set("loss", cell.value("loss"))
        .set_if("queue", (cell.text("queue") == "marking").then_some(queue))
}

fn host(cell: &Cell) -> Table {
    let queue = cell.text("queue");
    let offloads = cell.text("offloads") == "on";
    Table::new()
        .set_if("preset", (cell.text("sockets") == "linux").then_some("linux-6.12"))
        .set("mtu", cell.quantity("mtu", "B"))
        .set("qdisc", cell.text("qdisc"))
        .set_if("nic_rate", (queue == "fq_codel").then(|| cell.quantity("rate_gbit", "Gbit/s")))
        .set_if("ecn", (queue != "drop-tail").then_some(1))
        .set("tso", offloads)
        .set("gso", offloads)
        .set("gro", offloads)
        .set_if("coalesce", offloads.then_some(MODERATION))
}

/// The flows: those of TCP in groups of which the later ones start later.
fn flows(cell: &Cell, duration_ms: u32) -> Vec<Table> {
    let congestion = cell.text("congestion");
    let group = |place: u32, congestion: &str, count: u32| {
        let start = format!("{} us", place * duration_ms * 3);
        Table::new()
            .set("congestion", congestion)
            .set_if("count", (cell.flows() > 1).then_some(count))
            .set_if("start", (place > 0).then_some(start))
            .set_if("window", (cell.text("sockets") == "fixed").then_some("1 bdp"))
    };
    let (all, half, quarter) = (cell.flows(), cell.flows() / 2, cell.flows() / 4);
    let between = |table: Table, from: &str, to: &str| table.set("from", from).set("to", to);
    match cell.text("arrangement") {
        "alone" => vec![group(0, congestion, all)],
        "unequal-rtt" => {
            let far = between(group(1, congestion, half), "far", "receiver");
            vec![between(group(0, congestion, half), "sender", "receiver"), far]
        }
        "two-way" => vec![
            between(group(0, congestion, half), "sender", "receiver"),
            between(group(1, congestion, half), "receiver", "sender"),
        ],
        "against" => vec![group(0, congestion, half), group(1, opponent(congestion), half)],
        "parking-lot" => vec![
            group(0, congestion, half),
            between(group(1, congestion, quarter), "cross1-sender", "cross1-receiver"),
            between(group(2, congestion, quarter), "cross2-sender", "cross2-receiver"),
        ],
        "udp" => {
            let rate = format!("{} Gbit/s", cell.value("rate_gbit") * UDP_SHARE);
            vec![group(0, congestion, all), Table::new().set("kind", "udp").set("rate", rate)]
        }
        other => unreachable!("{other} is not a level"),
    }
}
