//! BBR beside one flow of another congestion control.

use super::super::bar::{Bar, Rule};
use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use wirespeed_scenario::{Scenario, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "beside",
        about: "One flow of BBR that starts beside one flow of another algorithm, with buffers from 0.3 to 4 \
                bandwidth-delay products.",
        folder: "beside",
        factors: vec![
            Factor::one(&["beside"], &["cubic", "reno", "bic", "htcp", "vegas", "yeah"]),
            Factor::one(&["buffer_bdp"], &["0.3", "1", "4"]),
            Factor::two(&["rate_gbit", "mtu"], &[["1", "1500"], ["5", "1500"], ["10", "9000"]]),
            Factor::one(&["rtt_ms"], &["10", "40"]),
        ],
        seed: 2028,
        rounds: 6,
        repeats: 3,
        scenario,
        both_modes: true,
        lifts_host_limits: false,
        is_region: true,
        bars: &BARS,
        method: include_str!("beside.md"),
    }
}

const BARS: [Bar; 5] = [
    Bar::new("goodput_bps", Rule::Within { tolerance: 0.10, least_share: 0.95 }),
    Bar::new("retransmissions_packets", Rule::Within { tolerance: 0.30, least_share: 0.90 }),
    Bar::new("retransmissions_packets", Rule::Within { tolerance: 0.30, least_share: 0.90 }).without_trains(),
    Bar::new("jain_index", Rule::Near { distance: 0.05, least_share: 0.90 }),
    Bar::new("jain_index", Rule::Near { distance: 0.05, least_share: 0.90 }).without_trains(),
];

fn scenario(cell: &Cell) -> Scenario {
    let mtu = cell.quantity("mtu", "B");
    let parts = Parts {
        path: Table::new()
            .set("rate", cell.quantity("rate_gbit", "Gbit/s"))
            .set("rtt", cell.quantity("rtt_ms", "ms"))
            .set("buffer", cell.quantity("buffer_bdp", "bdp")),
        hosts: Some([mtu.clone(), mtu].map(|mtu| Table::new().set("mtu", mtu))),
        flows: [cell.text("beside"), "bbr"].map(|name| Table::new().set("congestion", name)).to_vec(),
        times_ms: (10_000, 10),
        seed: 20_000 + cell.number,
        stagger: Some(cell.stagger("flow.1.start", |ms| format!("{ms} ms"))),
        repeats: 1,
    };
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}
