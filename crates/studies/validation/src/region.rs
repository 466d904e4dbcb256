//! The validated region: whether a run lies within what the sections compare with the kernel.
//!
//! The region has no numbers of its own. A section covers what lies between the levels of its factors, and of everything
//! else what its scenarios have. A factor of several columns covers the rectangles whose corners are levels.

use super::cell::Cell;
use super::column::{COLUMNS, Column, MIXED, Reading, named, senders};
use super::section::{Factor, Section, sections};
use super::sections::{changing, finite, high_rates};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wirespeed_record::ValidatedRegion;
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{FlowKind, Host, Link, LossModel, Queue};

/// A value this far beyond a level, as a share of it, is the level's own: buffers are whole bytes.
const ROUNDING: f64 = 1e-3;

/// The stamp of a run on the model: inside if a section covers it, else what sets it apart from the nearest section.
pub fn stamp(run: &Run) -> ValidatedRegion {
    let apart = regions().map(|section| {
        let outside = outside(section, &template(section, run), run);
        // Of two sections as near, the one that has the run's algorithms, then the one that has its rate.
        let lacks =
            [section.block(), "rate_gbit"].map(|name| beyond_levels(section, named(name), run).is_some());
        (lacks, ValidatedRegion { is_inside: outside.is_empty(), section: section.name.into(), outside })
    });
    let nearest = apart.min_by_key(|(lacks, stamp)| (stamp.outside.len(), *lacks));
    nearest.map(|(_, stamp)| stamp).expect("the grid has sections")
}

/// The sections whose levels make the region.
fn regions() -> impl Iterator<Item = &'static Section> {
    sections().iter().filter(|section| section.is_region)
}

/// A run of the section with what all its runs have in common: of each factor the level by whose names `run` goes, else the first.
fn template(section: &'static Section, run: &Run) -> Arc<Run> {
    type Templates = BTreeMap<(&'static str, Vec<usize>), Arc<Run>>;
    static TEMPLATES: Mutex<Templates> = Mutex::new(BTreeMap::new());
    let chosen: Vec<usize> = section.factors.iter().map(|factor| named_level(factor, run)).collect();
    let of_levels = || {
        let levels = section.factors.iter().zip(&chosen).flat_map(|(factor, level)| &factor.levels[*level]);
        let cell = Cell { section, number: 1, values: levels.map(|v| (*v).to_owned()).collect() };
        Arc::new(cell.runs(&[]).expect("a test makes every cell a scenario").swap_remove(0))
    };
    let mut templates = TEMPLATES.lock().expect("making a template does not panic");
    templates.entry((section.name, chosen.clone())).or_insert_with(of_levels).clone()
}

/// Index of the first level whose names are those of the run; 0 if there is none.
fn named_level(factor: &Factor, run: &Run) -> usize {
    let names: Vec<Option<String>> = factor
        .columns
        .iter()
        .map(|column| match (named(column).read)(run) {
            Some(Reading::Name(name)) => Some(name),
            _ => None,
        })
        .collect();
    let is_named = |level: &Vec<&str>| {
        level.iter().zip(&names).all(|(value, name)| name.as_ref().is_none_or(|name| name == value))
    };
    factor.levels.iter().position(is_named).unwrap_or(0)
}

/// What of a run is outside a section.
fn outside(section: &Section, template: &Run, run: &Run) -> Vec<String> {
    let mut outside = Vec::new();
    for factor in &section.factors {
        let before = outside.len();
        outside.extend(factor.columns.iter().filter_map(|name| beyond_levels(section, named(name), run)));
        if outside.len() == before && factor.columns.len() == 2 && !is_in_rectangle(factor, run) {
            let words = factor.columns.iter().filter_map(|name| {
                let column = named(name);
                (column.read)(run).map(|reading| words(column, &reading))
            });
            outside.push(words.collect::<Vec<_>>().join(" with "));
        }
    }
    let is_apart = |column: &&Column| {
        !section.columns().any(|name| name == column.name) && !TOLD_BY_ASPECTS.contains(&column.name)
    };
    for column in COLUMNS.iter().filter(is_apart) {
        if let (Some(reading), Some(wanted)) = ((column.read)(run), (column.read)(template))
            && !is_alike(&reading, &wanted)
        {
            outside.push(format!("{} is not {}", words(column, &reading), value(column, &wanted)));
        }
    }
    for aspect in ASPECTS {
        let found = aspect(run);
        if let Some(found) = found.filter(|found| aspect(template).as_ref() != Some(found)) {
            outside.push(found);
        }
    }
    outside.extend(settings(section, template, run));
    outside
}

/// Columns that aspects and settings of hosts stand for in sections without them.
const TOLD_BY_ASPECTS: [&str; 3] = ["arrangement", "queue", "sockets"];

/// The value of a run that lies beyond a section's levels.
fn beyond_levels(section: &Section, column: &Column, run: &Run) -> Option<String> {
    let levels = section.levels(column.name);
    let Some(reading) = (column.read)(run) else {
        // Queue lengths do not matter to every discipline; another one beside BBR there is or is not.
        return (column.name == "beside").then(|| "not BBR beside one other flow".into());
    };
    match &reading {
        Reading::Name(name) if name == MIXED && high_rates::opposes(section, column, run) => None,
        Reading::Name(name) if name == MIXED => Some(format!("{}: several", column.what)),
        Reading::Name(name) => {
            (!levels.contains(&name.as_str())).then(|| format!("{} {name} is not compared", column.what))
        }
        Reading::Range(least, most) => {
            let numbers = || levels.iter().filter_map(|level| level.parse::<f64>().ok());
            let low = numbers().fold(f64::INFINITY, f64::min);
            let high = numbers().fold(f64::NEG_INFINITY, f64::max);
            let shown = |v: f64| value(column, &Reading::Range(v, v));
            let what = column.what;
            if *most > high * (1.0 + ROUNDING) {
                Some(format!("{what} {} is above {}", shown(*most), shown(high)))
            } else if *least < low * (1.0 - ROUNDING) {
                Some(format!("{what} {} is below {}", shown(*least), shown(low)))
            } else {
                None
            }
        }
    }
}

/// Whether a run lies in a rectangle whose four corners are levels of a factor of two columns.
fn is_in_rectangle(factor: &Factor, run: &Run) -> bool {
    let [first, second] = [0, 1].map(|place| (named(factor.columns[place]).read)(run));
    let has = |a: &str, b: &str| factor.levels.iter().any(|level| level[0] == a && level[1] == b);
    factor.levels.iter().any(|a| {
        factor.levels.iter().any(|b| {
            has(a[0], b[1])
                && has(b[0], a[1])
                && is_between(first.as_ref(), a[0], b[0])
                && is_between(second.as_ref(), a[1], b[1])
        })
    })
}

fn is_between(reading: Option<&Reading>, low: &str, high: &str) -> bool {
    match reading {
        None => true,
        Some(Reading::Name(name)) => name == low && name == high,
        Some(Reading::Range(least, most)) => {
            let (Ok(low), Ok(high)) = (low.parse::<f64>(), high.parse::<f64>()) else { return false };
            low * (1.0 - ROUNDING) <= *least && *most <= high * (1.0 + ROUNDING)
        }
    }
}

fn is_alike(reading: &Reading, wanted: &Reading) -> bool {
    match (reading, wanted) {
        (Reading::Range(a, b), Reading::Range(c, d)) => {
            let is_near = |x: &f64, y: &f64| (x - y).abs() <= y.abs() * ROUNDING;
            is_near(a, c) && is_near(b, d)
        }
        _ => reading == wanted,
    }
}

/// A value of a column in words, with what it is.
fn words(column: &Column, reading: &Reading) -> String {
    format!("{} {}", column.what, value(column, reading))
}

fn value(column: &Column, reading: &Reading) -> String {
    let number = |v: f64| {
        if v != 0.0 && v.abs() < 1e-2 { format!("{v:e}") } else { format!("{}", (v * 1e3).round() / 1e3) }
    };
    match reading {
        Reading::Name(name) => name.clone(),
        Reading::Range(least, most) if least == most => format!("{}{}", number(*least), column.unit),
        Reading::Range(least, most) => format!("{} to {}{}", number(*least), number(*most), column.unit),
    }
}

/// What no section varies, in words; `None` where there is nothing to report.
type Aspect = fn(&Run) -> Option<String>;

/// What sets runs apart that no section's factor does. Each is compared with the section's own.
const ASPECTS: [Aspect; 21] = [
    |run| run.links.iter().any(Link::changes).then(|| "a link that changes".into()),
    changing::beyond,
    high_rates::beyond,
    |run| run.flows.iter().any(|f| matches!(f.kind, FlowKind::Udp { .. })).then(|| "UDP".into()),
    |run| run.splits().then(|| "a splitter".into()),
    |run| (run.links.len() > 1).then(|| format!("{} links", run.links.len())),
    |run| (run.hosts.len() > 2).then(|| format!("{} hosts", run.hosts.len())),
    |run| (senders(run).count() > 1 && run.hosts.len() <= 2).then(|| "data both ways".into()),
    |run| {
        let has_parameters = |kind: &FlowKind| matches!(kind, FlowKind::Tcp { congestion, .. } if !congestion.parameters.is_empty());
        run.flows.iter().any(|f| has_parameters(&f.kind)).then(|| "parameters of a congestion control".into())
    },
    |run| any_flow(run, |kind| matches!(kind, FlowKind::Tcp { window: Some(_), .. }), "a fixed window"),
    |run| {
        any_flow(run, |kind| matches!(kind, FlowKind::Tcp { max_rate: Some(_), .. }), "a limited pacing rate")
    },
    |run| run.flows.iter().any(|f| f.ecn.is_some()).then(|| "ECN fields of flows".into()),
    |run| run.flows.iter().any(|f| f.bytes.is_some()).then(|| "flows of limited size".into()),
    finite::beyond,
    |run| {
        let exchanges = run.flows.iter().any(|f| f.application.is_some());
        exchanges.then(|| "files of data sets, or requests".into())
    },
    |run| {
        let late = |flow: &&wirespeed_scenario::run::Flow| (flow.stop - flow.start) * 2 < run.duration;
        run.flows.iter().any(|f| late(&f)).then(|| "flows that last less than half the run".into())
    },
    |run| {
        let slower =
            senders(run).filter_map(|host| host.nic_rate).find(|rate| *rate != run.links[0].forward.rate);
        slower.map(|rate| format!("an interface of {rate} at the sender"))
    },
    |run| {
        let is_limit = |host: &Host| host.nic_rate == Some(run.links[0].forward.rate);
        Some(if senders(run).any(is_limit) {
            "a sender's interface as slow as the path".into()
        } else {
            "a sender's interface faster than the path".into()
        })
    },
    |run| link_differs(run, |link| link.reverse.loss > 0.0, "lost acknowledgements"),
    |run| link_differs(run, |link| link.reverse.rate != link.forward.rate, "a reverse path of another rate"),
    |run| {
        let mut kinds = run.links.iter().map(|link| {
            let direction = &link.forward;
            let mut parts: Vec<String> = Vec::new();
            if serde_json::to_value(&direction.queue).ok() != serde_json::to_value(Queue::default()).ok() {
                parts.push(format!("queue {}", direction.queue.name()));
            }
            if direction.loss_model != LossModel::default() {
                parts.push(format!("loss model {}", direction.loss_model.name()));
            }
            if direction.reorder.is_some() {
                parts.push("reordering".into());
            }
            if direction.duplicate.is_some() {
                parts.push("duplication".into());
            }
            if direction.fec.is_some() {
                parts.push("forward error correction".into());
            }
            if !direction.outages.is_empty() {
                parts.push("outages".into());
            }
            if direction.policer.is_some() {
                parts.push("a policer".into());
            }
            if direction.port_limit.is_some() {
                parts.push("a port's limit".into());
            }
            parts.join(", ")
        });
        kinds.find(|kind| !kind.is_empty())
    },
];

fn any_flow(run: &Run, is: fn(&FlowKind) -> bool, words: &str) -> Option<String> {
    run.flows.iter().any(|flow| is(&flow.kind)).then(|| words.into())
}

fn link_differs(run: &Run, is: fn(&Link) -> bool, words: &str) -> Option<String> {
    run.links.iter().any(is).then(|| words.into())
}

/// Settings of a host that a column or an aspect covers, or that cannot matter on the model.
const COVERED: [&str; 12] = [
    "name",
    "router",
    "nic_rate",
    "access_delay",
    "mtu",
    "qdisc",
    "txqueuelen",
    "offloads",
    "reach",
    "hardware",
    "moderation",
    "splitter",
];

/// Socket buffers: they may be larger than those of the section, or hold what the path does several times.
const BUFFERS: [&str; 4] = ["rmem", "wmem", "rmem_max", "wmem_max"];

/// Settings of the hosts that differ from the section's.
fn settings(section: &Section, template: &Run, run: &Run) -> Vec<String> {
    let flat = |host: &Host| {
        let mut flat = BTreeMap::new();
        let value = serde_json::to_value(host).expect("a host is plain data");
        for (name, value) in value.as_object().into_iter().flatten() {
            match value {
                Value::Object(fields) if name == "tcp" => {
                    flat.extend(fields.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                _ if COVERED.contains(&name.as_str()) => {}
                _ => {
                    flat.insert(name.clone(), value.clone());
                }
            }
        }
        flat
    };
    let wanted = flat(&template.hosts[0]);
    let mut outside = Vec::new();
    for host in &run.hosts {
        if host.hardware.is_some() {
            outside.push(format!("a host model at {}", host.name));
        }
        if host.moderation.is_some() != template.hosts[0].moderation.is_some() {
            let not = if host.moderation.is_some() { "" } else { "no " };
            outside.push(format!("{not}moderated interrupts (coalesce) at {}", host.name));
        }
        let found = flat(host);
        let names = found.keys().chain(wanted.keys().filter(|name| !found.contains_key(*name)));
        for name in names.filter(|name| !BUFFERS.contains(&name.as_str())) {
            if found.get(name) != wanted.get(name) {
                let shown = found.get(name).map_or("not set".into(), |v| v.to_string().replace('"', ""));
                outside.push(format!("{name} {shown} at {}", host.name));
            }
        }
        if !section.columns().any(|name| name == "sockets") && !has_room(host, run) {
            outside.push(format!("socket buffers of {} limit the window", host.name));
        }
    }
    outside
}

/// Whether the largest socket buffers hold four times what path and queue do, so that they never limit a flow.
fn has_room(host: &Host, run: &Run) -> bool {
    let held: u64 = run
        .links
        .iter()
        .map(|link| {
            link.forward.rate.volume(link.rtt() + host.access_delay * 2).get() + link.forward.buffer.get()
        })
        .sum();
    // Beyond 1 GiB there is no window, so more room cannot be used.
    let needed = (held * 4).min(1 << 30);
    let is_sender = senders(run).any(|sender| sender.name == host.name);
    let is_receiver = run.flows.iter().any(|flow| flow.to == host.name);
    (!is_sender || host.tcp.wmem[2].get() >= needed) && (!is_receiver || host.tcp.rmem[2].get() >= needed)
}

#[cfg(test)]
mod tests {
    use super::super::grid::generate;
    use super::*;
    use wirespeed_scenario::parse;

    fn stamp_of(path: &str, rest: &str) -> ValidatedRegion {
        let text = format!(
            "schema = 1\nname = \"a\"\nabout = \"Is it inside?\"\n[path]\n{path}\n{rest}\n[run]\nduration = \"10 s\"\n"
        );
        stamp(&parse(&text, "a.toml", &[], None).unwrap().runs[0])
    }

    const PATH: &str = "rate = \"10 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"";
    const CUBIC: &str = "[[flow]]\ncongestion = \"cubic\"";

    #[test]
    fn every_cell_is_inside() {
        for section in regions() {
            for cell in generate(section, section.committed_size()) {
                let stamp = stamp(&cell.runs(&[]).unwrap()[0]);
                assert!(stamp.is_inside, "{} {}: {stamp}", section.name, cell.title());
            }
        }
    }

    #[test]
    fn a_run_between_levels_is_inside() {
        let stamp =
            stamp_of("rate = \"5 Gbit/s\"\nrtt = \"40 ms\"\nloss = 3e-5\nbuffer = \"0.5 bdp\"", CUBIC);
        assert_eq!(stamp.to_string(), "Validated region: inside (section paths)");
    }

    #[test]
    fn factors_outside_the_region_are_named() {
        let shown = |path: &str, rest: &str| stamp_of(path, rest).to_string();
        let jumbo = "[host.sender]\nmtu = \"9000 B\"\n[host.receiver]\nmtu = \"9000 B\"\n[[flow]]\ncongestion = \"cubic\"";
        let at = |rate: &str, rtt: &str| format!("rate = \"{rate}\"\nrtt = \"{rtt}\"\nbuffer = \"1 bdp\"");
        for (path, rest, wanted) in [
            (at("400 Gbit/s", "10 ms"), jumbo, "outside (rate 400 Gbit/s is above 100 Gbit/s)"),
            (at("10 Gbit/s", "300 ms"), CUBIC, "outside (round-trip time 300 ms is above 100 ms)"),
            (at("100 Gbit/s", "30 ms"), jumbo, "outside (rate 100 Gbit/s with round-trip time 30 ms)"),
            (
                PATH.into(),
                "[[flow]]\ncongestion = \"fast\"",
                "outside (congestion control fast is not compared)",
            ),
            (
                PATH.into(),
                "[[flow]]\ncongestion = \"cubic\"\ncount = 16",
                "outside (number of flows 16 is above 4)",
            ),
            (
                PATH.into(),
                "[host.sender]\necn = 1\n[[flow]]\ncongestion = \"cubic\"",
                "outside (ecn 1 at sender)",
            ),
            (
                PATH.into(),
                "[host.sender]\nqdisc = \"fq\"\n[[flow]]\ncongestion = \"cubic\"",
                "outside (queueing discipline of the sender fq is not pfifo_fast)",
            ),
            (
                PATH.into(),
                "[host.sender]\nnic_rate = \"5 Gbit/s\"\n[[flow]]\ncongestion = \"cubic\"",
                "outside (an interface of 5 Gbit/s at the sender)",
            ),
            (
                PATH.into(),
                "[[flow]]\ncongestion = \"cubic\"\n[[flow]]\ncongestion = \"reno\"",
                "outside (congestion control: several)",
            ),
            (PATH.into(), "[[flow]]\ncongestion = \"cubic\"\nwindow = \"1 MiB\"", "outside (a fixed window)"),
        ] {
            assert_eq!(shown(&path, rest), format!("Validated region: {wanted}"));
        }
    }

    #[test]
    fn bbr_beside_another_one_is_inside_in_either_order() {
        let flows = "[[flow]]\ncongestion = \"bbr\"\n[[flow]]\ncongestion = \"cubic\"";
        let at = |rate: &str| {
            stamp_of(&format!("rate = \"{rate}\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\""), flows).to_string()
        };
        assert_eq!(at("5 Gbit/s"), "Validated region: inside (section beside)");
        assert_eq!(at("10 Gbit/s"), "Validated region: outside (rate 10 Gbit/s with MTU 1500 B)");
    }

    #[test]
    fn a_rectangle_needs_all_its_corners() {
        let factor = Factor::two(&["rate_gbit", "rtt_ms"], &[["1", "1"], ["10", "1"], ["10", "10"]]);
        let at = |rate: &str, rtt: &str| {
            let text = format!(
                "schema = 1\nname = \"a\"\nabout = \"?\"\n[path]\nrate = \"{rate} Gbit/s\"\nrtt = \"{rtt} ms\"\n{CUBIC}\n\
                 [run]\nduration = \"1 s\"\n"
            );
            is_in_rectangle(&factor, &parse(&text, "a.toml", &[], None).unwrap().runs[0])
        };
        assert!(at("5", "1") && at("10", "5"));
        assert!(!at("5", "5"), "nothing was compared at 1 Gbit/s and 10 ms");
    }
}
