//! Every shipped host preset with every congestion control.

use super::super::bar::{Bar, Rule};
use super::super::cell::{Cell, Parts, heading};
use super::super::control::controls;
use super::super::section::{Factor, Section};
use wirespeed_scenario::{Scenario, Table};

/// The section.
pub fn section() -> Section {
    let controls: Vec<&'static str> = controls().iter().map(|control| control.name.as_str()).collect();
    let hosts: Vec<&'static str> = PATHS.iter().map(|path| path.preset).collect();
    Section {
        name: "hosts",
        about: "One flow between two hosts of every shipped preset, with every congestion control.",
        folder: "hosts",
        factors: vec![Factor::one(&["congestion"], &controls), Factor::one(&["preset"], &hosts)],
        seed: 2030,
        // All combinations.
        rounds: PATHS.len(),
        repeats: 3,
        scenario,
        both_modes: false,
        lifts_host_limits: true,
        is_region: false,
        bars: &BARS,
        method: include_str!("hosts.md"),
    }
}

const BARS: [Bar; 2] = [
    Bar::new("goodput_bps", Rule::Within { tolerance: 0.15, least_share: 0.90 }),
    Bar::new("goodput_bps", Rule::Factor { most: 2.0 }),
];

/// The path between two hosts of a preset: of their interfaces' rate, or of the rate that they are made for.
struct Path {
    preset: &'static str,
    rate_gbit: &'static str,
    rtt_ms: u32,
    duration_ms: u32,
    /// `flow_limit` of both hosts' `fq`, in packets; `None`: the preset's.
    flow_limit: Option<u32>,
}

const fn path(preset: &'static str, rate_gbit: &'static str, duration_ms: u32) -> Path {
    Path { preset, rate_gbit, rtt_ms: 10, duration_ms, flow_limit: None }
}

/// The token bucket of an interface splits GSO packets before fq. So 700 packets are what 100 GSO packets of seven
/// packets of 9000 bytes are on a real host.
const WHOLE: Option<u32> = Some(700);

const PATHS: [Path; 11] = [
    path("tuned", "10", 1500),
    path("linux-6.12", "10", 1500),
    path("ulm-2016", "9.5", 1500),
    path("xeon-2015-10g", "10", 1500),
    path("kit-2019-tuned", "100", 1000),
    path("kit-2019-default", "100", 1000),
    path("cornell-2010", "10", 1500),
    path("onl-pc1core", "1", 3000),
    path("slac-sc03", "10", 1500),
    Path { flow_limit: WHOLE, ..path("xeon-2023-100g", "100", 1000) },
    // A longer path would take more memory than a small machine has.
    Path { flow_limit: WHOLE, rtt_ms: 4, ..path("epyc-2024-400g", "400", 600) },
];

fn scenario(cell: &Cell) -> Scenario {
    let preset = cell.text("preset");
    let path = PATHS.iter().find(|path| path.preset == preset).expect("every level has a path");
    let fq = path.flow_limit.map(|limit| Table::new().set("flow_limit", limit));
    let host = Table::new().set("preset", preset).set_if("fq", fq);
    let parts = Parts {
        path: Table::new()
            .set("rate", format!("{} Gbit/s", path.rate_gbit))
            .set("rtt", format!("{} ms", path.rtt_ms))
            .set("buffer", "1 bdp"),
        hosts: Some([host.clone(), host]),
        flows: cell.equal_flows(),
        times_ms: (path.duration_ms, 10),
        seed: 40_000 + cell.number,
        stagger: None,
        repeats: cell.repeats(),
    };
    let (name, about) = heading(cell);
    parts.scenario(&name, &about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generate;
    use crate::section::Section;
    use std::collections::BTreeSet;
    use wirespeed_scenario::{PresetKind, presets};

    fn this() -> &'static Section {
        Section::named("hosts").unwrap()
    }

    #[test]
    fn every_preset_meets_every_control_once() {
        let cells = generate(this(), usize::MAX);
        let pairs: BTreeSet<(&str, &str)> =
            cells.iter().map(|cell| (cell.text("preset"), cell.text("congestion"))).collect();
        assert_eq!((cells.len(), pairs.len()), (PATHS.len() * controls().len(), cells.len()));
        assert_eq!(this().committed_size(), cells.len());
    }

    #[test]
    fn every_shipped_host_preset_is_a_level() {
        let shipped: BTreeSet<&str> = presets()
            .iter()
            .filter(|preset| preset.kind == PresetKind::Host)
            .map(|preset| preset.name)
            .collect();
        assert_eq!(shipped, PATHS.iter().map(|path| path.preset).collect());
    }

    #[test]
    fn hosts_have_no_limits_that_the_kernel_lacks() {
        for cell in generate(this(), this().committed_size()) {
            for host in &cell.runs(&[]).unwrap()[0].hosts {
                assert!(host.hardware.is_none() && host.tcp.small_queues && host.tcp.stretch_acks);
                assert_eq!((host.tcp.initial_window, host.tcp.adv_win_scale), (None, None));
            }
        }
    }
}
