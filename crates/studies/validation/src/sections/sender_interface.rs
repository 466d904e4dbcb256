//! Senders whose own interface is the slowest link.

use super::super::bar::{Bar, Rule};
use super::super::cell::{Cell, Parts, heading};
use super::super::section::{Factor, Section};
use wirespeed_scenario::{Scenario, Table};

/// The section.
pub fn section() -> Section {
    Section {
        name: "sender-interface",
        about: "Senders whose own interface is the slowest link: queueing disciplines, queue lengths, offloads, 1 to \
                100 Gbit/s.",
        folder: "sender-interface",
        factors: vec![
            Factor::one(&["congestion"], &["reno", "cubic", "highspeed", "htcp", "bic", "bbr"]),
            // The queue length bounds pfifo_fast only.
            Factor::two(
                &["qdisc", "txqueuelen"],
                &[
                    ["pfifo_fast", "100"],
                    ["pfifo_fast", "1000"],
                    ["pfifo_fast", "10000"],
                    ["fq", "1000"],
                    ["fq_codel", "1000"],
                ],
            ),
            Factor::one(&["offloads"], &["off", "on"]),
            Factor::one(&["flows"], &["1", "4"]),
            Factor::two(
                &["rate_gbit", "mtu"],
                &[
                    ["1", "1500"],
                    ["1", "9000"],
                    ["10", "1500"],
                    ["10", "9000"],
                    ["40", "9000"],
                    ["100", "9000"],
                ],
            ),
            Factor::one(&["rtt_ms"], &["1", "10", "24"]),
        ],
        seed: 2027,
        rounds: 8,
        repeats: 3,
        scenario,
        both_modes: false,
        lifts_host_limits: false,
        is_region: true,
        bars: &BARS,
        method: include_str!("sender_interface.md"),
    }
}

const BARS: [Bar; 4] = [
    Bar::new("goodput_bps", Rule::Within { tolerance: 0.10, least_share: 0.95 }),
    Bar::new("goodput_bps", Rule::MedianError { most: 0.01 }),
    Bar::new("rtt_mean_ns", Rule::Within { tolerance: 0.10, least_share: 0.95 }),
    Bar::new("qdisc_drops", Rule::ZeroWhereKernelHasZero),
];

fn scenario(cell: &Cell) -> Scenario {
    let (rate, mtu) = (cell.quantity("rate_gbit", "Gbit/s"), cell.quantity("mtu", "B"));
    let offloads = cell.text("offloads") == "on";
    let path = Table::new()
        .set("rate", rate.as_str())
        .set("rtt", cell.quantity("rtt_ms", "ms"))
        .set("buffer", "1 bdp");
    // Slow start takes at most 14 round trips of 24 ms; the kernel needs a minute for 2 s at 100 Gbit/s.
    let times_ms = if cell.value("rate_gbit") > 10.0 { (2_000, 10) } else { (3_000, 10) };
    let parts = Parts {
        hosts: Some([
            Table::new()
                .set("nic_rate", rate)
                .set("mtu", mtu.as_str())
                .set("qdisc", cell.text("qdisc"))
                .set("txqueuelen", cell.value("txqueuelen"))
                .set("tso", offloads)
                .set("gso", offloads),
            Table::new().set("mtu", mtu),
        ]),
        ..Parts::of_equal_flows(cell, path, times_ms, 10_000)
    };
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}
