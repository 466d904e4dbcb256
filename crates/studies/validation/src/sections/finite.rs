//! Flows that end: transfers of many sizes that arrive at random.

use super::super::bar::{Bar, Rule};
use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use std::collections::BTreeMap;
use wirespeed_scenario::{Run, Scenario, Setting, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "finite",
        about: "Transfers of published sizes that arrive at random and end.",
        folder: "finite",
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "htcp", "bbr", "bic", "vegas"]),
            // Few of those of data mining fit in a slow run: one in 30 has more than 10 MB.
            Factor::two(
                &["sizes", "rate_gbit"],
                &[
                    ["lognormal", "0.1"],
                    ["lognormal", "1"],
                    ["web-search", "0.1"],
                    ["web-search", "1"],
                    ["data-mining", "1"],
                ],
            ),
            Factor::one(&["load"], &["0.3", "0.6", "0.9"]),
            Factor::one(&["rtt_ms"], &["1", "10", "50"]),
            Factor::one(&["buffer_bdp"], &["0.5", "2"]),
        ],
        seed: 2033,
        rounds: 8,
        repeats: 3,
        scenario,
        both_modes: true,
        lifts_host_limits: false,
        is_region: true,
        bars: &COMPLETION,
        method: include_str!("finite.md"),
    }
}

/// Its stated agreement. The load decides the goodput of transfers that end. So their completion time is compared instead.
const COMPLETION: [Bar; 5] = [
    Bar::new("fct_mean_ns", Rule::Within { tolerance: 0.10, least_share: 0.95 }),
    Bar::new("fct_mean_ns", Rule::MedianError { most: 0.01 }),
    Bar::new("slowdown_q99", Rule::Within { tolerance: 0.10, least_share: 0.90 }),
    Bar::new("rtt_mean_ns", Rule::Within { tolerance: 0.10, least_share: 0.90 }),
    Bar::new("retransmissions_packets", Rule::Within { tolerance: 0.30, least_share: 0.90 }),
];

/// New transfers arrive until then; the rest of the run is for those that have begun.
const ARRIVALS_UNTIL: &str = "8 s";

/// The most that a run may have of it ([`offered`]).
const MOST_OFFERED: f64 = 0.8;

/// Transfers that begin in the same nanosecond: of those that arrive at random, hardly two do.
const MOST_TOGETHER: usize = 2;

/// Transfers of a run beyond those of the section's cells; `None` if there are none.
pub fn beyond(run: &Run) -> Option<String> {
    let count = run.flows.iter().filter(|flow| flow.bytes.is_some()).count();
    if count == 0 {
        return None;
    }
    if count < run.flows.len() {
        return Some("flows without a size beside flows with one".into());
    }
    let mut beginning: BTreeMap<_, usize> = BTreeMap::new();
    run.flows.iter().for_each(|flow| *beginning.entry(flow.start).or_default() += 1);
    let most = beginning.into_values().max().unwrap_or(0);
    if most > MOST_TOGETHER {
        return Some(format!("{most} transfers that begin together"));
    }
    let share = offered(run);
    (share > MOST_OFFERED).then(|| format!("transfers of {share:.1} times what the link carries"))
}

/// The payload of a run's transfers over what the slowest link carries in that time.
fn offered(run: &Run) -> f64 {
    let carried = run.links.iter().map(|link| link.forward.rate.volume(run.duration).get()).min();
    let bytes: u64 = run.flows.iter().filter_map(|flow| flow.bytes).map(|bytes| bytes.get()).sum();
    bytes as f64 / carried.unwrap_or(0).max(1) as f64
}

/// The sizes of that name.
fn sizes(name: &str) -> Setting {
    match name {
        // A mean of 308 kB, and one in 40 above 1.9 MB.
        "lognormal" => Table::new().set("kind", name).set("median", "100 kB").set("sigma", 1.5).into(),
        published => published.into(),
    }
}

fn scenario(cell: &Cell) -> Scenario {
    let arrivals = Table::new().set("load", cell.value("load")).set("until", ARRIVALS_UNTIL);
    let flow = Table::new()
        .set("congestion", cell.text("congestion"))
        .set("arrivals", arrivals)
        .set("sizes", sizes(cell.text("sizes")));
    let parts = Parts {
        path: cell.path(),
        hosts: None,
        flows: vec![flow],
        // Thousands of connections sampled every 10 ms would take most of the kernel's time.
        times_ms: (30_000, 50),
        seed: 70_000 + cell.number,
        stagger: None,
        repeats: cell.repeats(),
    };
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}

#[cfg(test)]
mod tests {
    use super::super::super::grid::generate;
    use super::*;

    #[test]
    fn the_region_has_what_the_cells_offer() {
        let section = Section::named("finite").unwrap();
        let runs =
            generate(section, section.committed_size()).into_iter().flat_map(|cell| cell.runs(&[]).unwrap());
        let runs: Vec<Run> = runs.collect();
        let most = runs.iter().map(offered).fold(0.0, f64::max);
        assert!(runs.iter().all(|run| beyond(run).is_none()) && most > MOST_OFFERED / 2.0, "{most}");
        let mut mixed = runs[0].clone();
        mixed.flows[0].bytes = None;
        assert!(beyond(&mixed).is_some_and(|told| told.contains("without a size")));
        let mut together = runs[0].clone();
        let first = together.flows[0].start;
        together.flows.iter_mut().for_each(|flow| flow.start = first);
        assert!(beyond(&together).is_some_and(|told| told.ends_with("begin together")));
        let mut shorter = runs[0].clone();
        shorter.duration = first;
        assert!(beyond(&shorter).is_some_and(|told| told.contains("what the link carries")));
    }
}
