//! BBR beside one flow of another congestion control.

use super::super::bar::{Bar, Rule};
use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};

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

fn scenario(cell: &Cell) -> String {
    let (rate, mtu) = (cell.text("rate_gbit"), cell.text("mtu"));
    let parts = Parts {
        path: format!(
            "rate = \"{rate} Gbit/s\"\nrtt = \"{} ms\"\nbuffer = \"{} bdp\"\n",
            cell.text("rtt_ms"),
            cell.text("buffer_bdp")
        ),
        hosts: format!("[host.sender]\nmtu = \"{mtu} B\"\n\n[host.receiver]\nmtu = \"{mtu} B\"\n\n"),
        flows: format!(
            "[[flow]]\ncongestion = \"{}\"\n\n[[flow]]\ncongestion = \"bbr\"\n",
            cell.text("beside")
        ),
        times_ms: (10_000, 10),
        seed: 20_000 + cell.number,
        stagger: Some("flow.1.start"),
        repeats: 1,
    };
    let (name, about) = heading(cell);
    parts.render(&name, &about)
}
