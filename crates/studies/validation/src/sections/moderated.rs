//! Hosts whose interfaces interrupt for many packets.

use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use super::SHARED_LINK;
use wirespeed_scenario::{Scenario, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "moderated",
        about: "Hosts whose interfaces interrupt for many packets, and merge them or not.",
        folder: "moderated",
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "htcp", "bbr", "bic", "vegas"]),
            // Interrupts that are so far apart, then those that wait for so many packets.
            Factor::two(
                &["coalesce_us", "coalesce_frames"],
                &[["20", "0"], ["100", "0"], ["500", "0"], ["50", "16"], ["200", "64"]],
            ),
            Factor::one(&["gro"], &["off", "on"]),
            Factor::one(&["rate_gbit"], &["0.5", "2", "10"]),
            Factor::one(&["rtt_ms"], &["1", "10", "40"]),
            Factor::one(&["loss"], &["0", "1e-5"]),
            Factor::one(&["buffer_bdp"], &["0.5", "2"]),
            Factor::one(&["flows"], &["1", "4"]),
        ],
        seed: 2034,
        rounds: 8,
        repeats: 3,
        scenario,
        both_modes: true,
        lifts_host_limits: false,
        is_region: true,
        bars: &SHARED_LINK,
        method: include_str!("moderated.md"),
    }
}

fn scenario(cell: &Cell) -> Scenario {
    let frames = cell.value("coalesce_frames");
    let host = Table::new()
        .set("coalesce", cell.quantity("coalesce_us", "us"))
        .set("coalesce_frames", frames)
        .set("gro", cell.text("gro") == "on");
    let path = cell.path().set("loss", cell.value("loss"));
    let parts =
        Parts { hosts: Some([host.clone(), host]), ..Parts::of_equal_flows(cell, path, (8_000, 10), 80_000) };
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}
