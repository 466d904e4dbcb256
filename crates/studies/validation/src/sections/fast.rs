//! 25 to 100 Gbit/s with an MTU of 9000.

use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use super::SHARED_LINK;
use wirespeed_scenario::{Scenario, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "fast",
        about: "Paths of 25 to 100 Gbit/s with an MTU of 9000.",
        folder: "fast",
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "htcp", "bbr", "bic", "highspeed"]),
            // Every window, also that of a slow start that overshoots, stays below the 1 GiB of TCP's window. At 40 Gbit/s
            // and 40 ms a guest of 24 GiB ran out of memory with BBR and random loss.
            Factor::two(
                &["rate_gbit", "rtt_ms"],
                &[
                    ["25", "1"],
                    ["25", "10"],
                    ["25", "40"],
                    ["40", "1"],
                    ["40", "10"],
                    ["100", "1"],
                    ["100", "10"],
                ],
            ),
            Factor::one(&["loss"], &["0", "1e-6", "1e-5"]),
            Factor::one(&["buffer_bdp"], &["0.3", "1"]),
            Factor::one(&["flows"], &["1", "4"]),
        ],
        seed: 2029,
        rounds: 7,
        repeats: 3,
        scenario,
        both_modes: false,
        lifts_host_limits: false,
        is_region: true,
        bars: &SHARED_LINK,
        method: include_str!("fast.md"),
    }
}

fn scenario(cell: &Cell) -> Scenario {
    // At 40 ms slow start takes half a second.
    let times_ms = if cell.value("rtt_ms") > 10.0 { (4_000, 10) } else { (3_000, 10) };
    let path = cell.path().set("loss", cell.value("loss"));
    let parts = Parts {
        hosts: Some(["9000 B"; 2].map(|mtu| Table::new().set("mtu", mtu))),
        ..Parts::of_equal_flows(cell, path, times_ms, 30_000)
    };
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}
