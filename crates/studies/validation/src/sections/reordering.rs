//! Links on which packets overtake others.

use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use super::SHARED_LINK;
use wirespeed_scenario::{Scenario, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "reordering",
        about: "Links that deliver some packets late, so that others overtake them.",
        folder: "reordering",
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "htcp", "bbr", "bic", "vegas"]),
            Factor::one(&["reorder_probability"], &["1e-4", "1e-3", "1e-2"]),
            // Within a few packets, within RACK's window of a quarter of the RTT, beyond it, and beyond the RTT.
            Factor::one(&["reorder_delay_ms"], &["0.1", "1", "8", "30"]),
            Factor::one(&["rate_gbit"], &["0.1", "1"]),
            Factor::one(&["rtt_ms"], &["5", "20", "60"]),
            Factor::one(&["buffer_bdp"], &["0.5", "2"]),
            Factor::one(&["flows"], &["1", "4"]),
        ],
        seed: 2032,
        rounds: 8,
        repeats: 3,
        scenario,
        both_modes: true,
        lifts_host_limits: false,
        is_region: true,
        bars: &SHARED_LINK,
        method: include_str!("reordering.md"),
    }
}

fn scenario(cell: &Cell) -> Scenario {
    let reorder = Table::new()
        .set("probability", cell.value("reorder_probability"))
        .set("delay", cell.quantity("reorder_delay_ms", "ms"));
    let parts = Parts::of_equal_flows(cell, cell.path().set("reorder", reorder), (12_000, 10), 60_000);
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}
