//! Links that change while flows use them.

use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use super::SHARED_LINK;
use std::ops::RangeInclusive;
use wirespeed_scenario::run::{Direction, Run};
use wirespeed_scenario::{Scenario, Setting, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "changing",
        about: "Links whose rate, round-trip time or loss changes while flows use them.",
        folder: "changing",
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "htcp", "bbr", "bic", "vegas"]),
            Factor::one(&["change"], &["down", "up", "ramp", "wave", "still", "longer", "shorter", "lossy"]),
            Factor::one(&["rate_gbit"], &["0.1", "1", "5"]),
            Factor::one(&["rtt_ms"], &["5", "20", "60"]),
            Factor::one(&["buffer_bdp"], &["0.5", "2"]),
            Factor::one(&["flows"], &["1", "4"]),
        ],
        seed: 2031,
        rounds: 8,
        repeats: 3,
        scenario,
        both_modes: true,
        lifts_host_limits: false,
        is_region: true,
        bars: &SHARED_LINK,
        method: include_str!("changing.md"),
    }
}

/// Ranges of the section's changes: parts of the first rate and of the first round-trip time, and the largest loss.
const RATES: RangeInclusive<f64> = 0.25..=2.0;
const RTTS: RangeInclusive<f64> = 0.4..=2.5;
const MOST_LOSS: f64 = 1e-3;

/// How a change of that name is written; what it does begins at 4 s.
fn changes(cell: &Cell) -> Vec<Table> {
    let rate = |part: f64| format!("{} Mbit/s", cell.value("rate_gbit") * 1000.0 * part);
    let rtt = |part: f64| format!("{} ms", cell.value("rtt_ms") * part);
    let at = |at: &str| Table::new().set("at", at);
    match cell.text("change") {
        "down" => vec![at("4 s").set("rate", rate(*RATES.start()))],
        "up" => vec![at("4 s").set("rate", rate(*RATES.end()))],
        "ramp" => vec![at("4 s").set("over", "4 s").set("rate", rate(*RATES.start()))],
        "wave" => {
            vec![
                at("4 s").set("every", "2 s").set("rate", rate(0.5)),
                at("5 s").set("every", "2 s").set("rate", rate(1.0)),
            ]
        }
        "still" => vec![at("4 s").set("rate", "0 bit/s"), at("4.3 s").set("rate", rate(1.0))],
        "longer" => vec![at("4 s").set("rtt", rtt(*RTTS.end()))],
        "shorter" => vec![at("4 s").set("rtt", rtt(*RTTS.start()))],
        "lossy" => vec![at("4 s").set("loss", MOST_LOSS), at("8 s").set("loss", 0.0)],
        other => unreachable!("{other} is not a level"),
    }
}

/// Changes in a run beyond those of the section's cells; `None` if there are none.
pub fn beyond(run: &Run) -> Option<String> {
    let mut ways = run.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    let is_within = |direction: &Direction| {
        direction.states().all(|state| {
            let rate = state.rate.get() as f64 / direction.rate.get().max(1) as f64;
            let delay = state.delay.picoseconds() as f64 / direction.delay.picoseconds().max(1) as f64;
            (rate == 0.0 || RATES.contains(&rate))
                && (RTTS.contains(&delay) || state.delay == direction.delay)
                && (state.loss <= MOST_LOSS || state.loss == direction.loss)
                && state.buffer == direction.buffer
        })
    };
    (!ways.all(is_within)).then(|| "changes of a link beyond those compared".into())
}

fn scenario(cell: &Cell) -> Scenario {
    let changes: Vec<Setting> = changes(cell).into_iter().map(Setting::Table).collect();
    let path = cell.path().set("change", Setting::List(changes));
    let parts = Parts::of_equal_flows(cell, path, (12_000, 10), 50_000);
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}
