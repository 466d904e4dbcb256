//! The columns in which factors stand: how a value is shown, and which value a run has.

use super::shape;
use std::collections::BTreeSet;
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Host, Moderation, Qdisc, Reorder};

/// A column of the grid's files.
#[derive(Debug)]
pub struct Column {
    /// Its name in files.
    pub name: &'static str,
    /// Name of the quantity, printed before a value: `rate 10 Gbit/s`.
    pub what: &'static str,
    /// What stands behind a value.
    pub unit: &'static str,
    /// Text of a value in a cell's title.
    pub title: fn(&str) -> String,
    /// Text of a value in the table by level, where a title would be ambiguous.
    pub level: fn(&str) -> String,
    /// The value of a run; `None` where the column does not apply to it.
    pub read: fn(&Run) -> Option<Reading>,
}

/// A run's value in a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// Least and largest of its flows, hosts or links.
    Range(f64, f64),
    /// A name.
    Name(String),
}

/// What stands for the names of several algorithms in a run.
pub const MIXED: &str = "mixed";

/// Every column that a section may use.
pub static COLUMNS: [Column; 23] = [
    Column {
        name: "congestion",
        what: "congestion control",
        unit: "",
        title: str::to_owned,
        level: str::to_owned,
        read: congestion,
    },
    Column {
        name: "beside",
        what: "BBR beside",
        unit: "",
        title: |v| format!("bbr beside {v}"),
        level: str::to_owned,
        read: beside,
    },
    Column {
        name: "arrangement",
        what: "arrangement of flows",
        unit: "",
        title: str::to_owned,
        level: str::to_owned,
        read: |run| Some(Reading::Name(shape::arrangement(run))),
    },
    Column {
        name: "queue",
        what: "queue",
        unit: "",
        title: |v| format!("queue {v}"),
        level: |v| format!("queue {v}"),
        read: |run| Some(Reading::Name(shape::queue(run))),
    },
    Column {
        name: "sockets",
        what: "socket buffers",
        unit: "",
        title: |v| format!("socket buffers {v}"),
        level: |v| format!("socket buffers {v}"),
        read: |run| Some(Reading::Name(shape::sockets(run).into())),
    },
    Column {
        name: "change",
        what: "change",
        unit: "",
        title: |v| format!("change {v}"),
        level: |v| format!("change {v}"),
        // A run has the changes and not their name; how far they go is an aspect of the region.
        read: |_| None,
    },
    Column {
        name: "reorder_probability",
        what: "share of late packets",
        unit: "",
        title: |v| format!("late {v}"),
        level: |v| format!("late {v}"),
        read: |run| range(reorder(run).map(|reorder| reorder.probability)),
    },
    Column {
        name: "reorder_delay_ms",
        what: "delay of late packets",
        unit: " ms",
        title: |v| format!("by {v} ms"),
        level: |v| format!("late by {v} ms"),
        read: |run| range(reorder(run).map(|reorder| reorder.delay.nanoseconds() as f64 / 1e6)),
    },
    Column {
        name: "sizes",
        what: "sizes",
        unit: "",
        title: str::to_owned,
        level: str::to_owned,
        // A run has flows with sizes and not where they are from; how much they offer is an aspect of the region.
        read: |_| None,
    },
    Column {
        name: "load",
        what: "load",
        unit: "",
        title: |v| format!("load {v}"),
        level: |v| format!("load {v}"),
        read: |_| None,
    },
    Column {
        name: "preset",
        what: "host preset",
        unit: "",
        title: str::to_owned,
        level: str::to_owned,
        // A run has the settings of a preset and not its name.
        read: |_| None,
    },
    Column {
        name: "rtt_ms",
        what: "round-trip time",
        unit: " ms",
        title: |v| format!("{v} ms"),
        level: |v| format!("{v} ms"),
        // Flows that have longer ones are an arrangement.
        read: |run| range(shape::rtts(run).first().map(|rtt| rtt.nanoseconds() as f64 / 1e6).into_iter()),
    },
    Column {
        name: "rate_gbit",
        what: "rate",
        unit: " Gbit/s",
        title: |v| format!("{v} Gbit/s"),
        level: |v| format!("{v} Gbit/s"),
        read: |run| {
            range(run.links.iter().map(|link| link.forward.rate.bytes_per_second() as f64 * 8.0 / 1e9))
        },
    },
    Column {
        name: "loss",
        what: "loss",
        unit: "",
        title: |v| format!("loss {v}"),
        level: |v| format!("loss {v}"),
        read: |run| range(run.links.iter().map(|link| link.forward.loss)),
    },
    Column {
        name: "buffer_bdp",
        what: "buffer",
        unit: " bdp",
        title: |v| format!("{v} bdp"),
        level: |v| format!("buffer {v} bdp"),
        read: buffer,
    },
    Column {
        name: "flows",
        what: "number of flows",
        unit: "",
        title: flows,
        level: flows,
        // Of flows that end, only some are there at a time.
        read: |run| {
            let is_endless = run.flows.iter().any(|flow| flow.bytes.is_none());
            let count = run.flows.iter().filter(|flow| flow.is_tcp()).count();
            range(is_endless.then_some(count as f64).into_iter())
        },
    },
    Column {
        name: "mtu",
        what: "MTU",
        unit: " B",
        title: |v| format!("MTU {v}"),
        level: |v| format!("MTU {v}"),
        read: |run| range(run.hosts.iter().map(|host| host.mtu.get() as f64)),
    },
    Column {
        name: "qdisc",
        what: "queueing discipline of the sender",
        unit: "",
        title: str::to_owned,
        level: str::to_owned,
        read: |run| of_senders(run, |host| host.qdisc.name().into()),
    },
    Column {
        name: "txqueuelen",
        what: "txqueuelen",
        unit: "",
        title: |v| format!("txqueuelen {v}"),
        level: |v| format!("txqueuelen {v}"),
        // The other disciplines do not use it.
        read: |run| {
            let used = senders(run).filter(|host| host.qdisc == Qdisc::PfifoFast);
            range(used.map(|host| f64::from(host.txqueuelen)))
        },
    },
    Column {
        name: "offloads",
        what: "offloads",
        unit: "",
        title: |v| format!("offloads {v}"),
        level: |v| format!("offloads {v}"),
        read: |run| {
            of_senders(run, |host| match (host.offloads.tso, host.offloads.gso) {
                (false, false) => "off".into(),
                (true, true) => "on".into(),
                (true, false) => "TSO alone".into(),
                (false, true) => "GSO alone".into(),
            })
        },
    },
    Column {
        name: "coalesce_us",
        what: "moderation of interrupts",
        unit: " us",
        title: |v| format!("interrupts by {v} us"),
        level: |v| format!("interrupts by {v} us"),
        read: |run| range(moderation(run).map(|moderation| moderation.interval.nanoseconds() as f64 / 1e3)),
    },
    Column {
        name: "coalesce_frames",
        what: "packets of an interrupt",
        unit: "",
        title: |v| if v == "0" { "apart".into() } else { format!("or {v} packets") },
        level: |v| if v == "0" { "interrupts apart".into() } else { format!("interrupts by {v} packets") },
        read: |run| range(moderation(run).map(|moderation| moderation.frames.into())),
    },
    Column {
        name: "gro",
        what: "GRO",
        unit: "",
        title: |v| format!("GRO {v}"),
        level: |v| format!("GRO {v}"),
        read: |run| {
            one(run
                .hosts
                .iter()
                .map(|host| if host.offloads.gro { "on".into() } else { "off".into() })
                .collect())
        },
    },
];

/// Of its hosts whose interrupts are moderated.
fn moderation(run: &Run) -> impl Iterator<Item = Moderation> {
    run.hosts.iter().filter_map(|host| host.moderation)
}

/// The column of that name.
///
/// # Panics
/// If there is none: a section names a column that [`COLUMNS`] lacks.
pub fn named(name: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no column {name}"))
}

fn flows(value: &str) -> String {
    if value == "1" { "1 flow".into() } else { format!("{value} flows") }
}

/// The hosts that send.
pub fn senders(run: &Run) -> impl Iterator<Item = &Host> {
    let names: BTreeSet<&str> = run.flows.iter().map(|flow| flow.from.as_str()).collect();
    run.hosts.iter().filter(move |host| names.contains(host.name.as_str()))
}

fn range(values: impl Iterator<Item = f64>) -> Option<Reading> {
    let (least, most) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)));
    (least <= most).then_some(Reading::Range(least, most))
}

/// The name that all senders share.
fn of_senders(run: &Run, name: impl Fn(&Host) -> String) -> Option<Reading> {
    let names: BTreeSet<String> = senders(run).map(name).collect();
    one(names)
}

fn one(names: BTreeSet<String>) -> Option<Reading> {
    match names.len() {
        0 => None,
        1 => names.into_iter().next().map(Reading::Name),
        _ => Some(Reading::Name(MIXED.into())),
    }
}

/// How links let packets overtake others, those that do.
fn reorder(run: &Run) -> impl Iterator<Item = Reorder> {
    run.links.iter().filter_map(|link| link.forward.reorder)
}

fn congestion(run: &Run) -> Option<Reading> {
    one(run.algorithms().into_iter().map(str::to_owned).collect())
}

/// The algorithm of the other one of two flows of which one is BBR.
fn beside(run: &Run) -> Option<Reading> {
    let names: Vec<&str> = run.algorithms().into_iter().collect();
    let [a, b] = names[..] else { return None };
    match (a == "bbr", b == "bbr") {
        (false, true) => Some(Reading::Name(a.into())),
        (true, false) => Some(Reading::Name(b.into())),
        _ => None,
    }
}

/// Room before each link, in bandwidth-delay products of the flow with the shortest round-trip time.
fn buffer(run: &Run) -> Option<Reading> {
    let shortest = *shape::rtts(run).first()?;
    range(run.links.iter().map(|link| {
        let product = link.forward.rate.volume(shortest).get().max(1);
        link.forward.buffer.get() as f64 / product as f64
    }))
}

#[cfg(test)]
mod tests {
    use super::super::grid::generate;
    use super::super::section::sections;
    use super::*;

    #[test]
    fn a_level_names_its_factor() {
        assert_eq!((named("buffer_bdp").title)("0.1"), "0.1 bdp");
        assert_eq!((named("buffer_bdp").level)("0.1"), "buffer 0.1 bdp");
        assert_eq!((named("flows").level)("1"), "1 flow");
    }

    /// Else the region would not be that of the levels.
    #[test]
    fn a_run_of_a_cell_has_the_cells_own_values() {
        for section in sections() {
            for cell in generate(section, section.committed_size()) {
                let run = cell.runs(&[]).unwrap().remove(0);
                for (name, value) in section.columns().zip(&cell.values) {
                    let Some(reading) = (named(name).read)(&run) else {
                        assert!(
                            ["preset", "change", "sizes", "load"].contains(&name)
                                || name == "txqueuelen" && cell.text("qdisc") != "pfifo_fast",
                            "{name}"
                        );
                        continue;
                    };
                    let is_floor = name == "buffer_bdp" && cell.scenario().text().contains(" packets\"");
                    match reading {
                        // Of two algorithms, the cell's is one.
                        Reading::Name(found)
                            if found == MIXED && cell.get("arrangement") == Some("against") => {}
                        Reading::Name(found) => assert_eq!(found, *value),
                        Reading::Range(least, most) => {
                            let value: f64 = value.parse().unwrap();
                            let is_near = |found: f64| (found - value).abs() <= value * 1e-3;
                            assert!(
                                is_floor || is_near(least) && is_near(most),
                                "{name}: {least} {most} {value}"
                            );
                        }
                    }
                }
            }
        }
    }
}
