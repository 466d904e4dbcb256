//! Every congestion control alone, over paths of 1 and 10 Gbit/s: the first grid.

use super::super::bar::{Bar, Rule};
use super::super::cell::{Cell, Parts};
use super::super::control::controls;
use super::super::section::{Factor, Section};
use wirespeed_scenario::{Scenario, Table};

/// Least room before the link, in full frames. At 1 Gbit/s and 0.2 ms a tenth of a bandwidth-delay product would
/// be a single frame, in which no sender of bursts gets anywhere.
pub const LEAST_BUFFER_PACKETS: u32 = 10;

/// An Ethernet frame without preamble, FCS and gap, as links count.
const FRAME_BITS: f64 = 1514.0 * 8.0;

/// The section.
pub fn section() -> Section {
    let names: Vec<&'static str> = controls().iter().map(|control| control.name.as_str()).collect();
    Section {
        name: "paths",
        about: "Every congestion control alone over paths of 1 and 10 Gbit/s, with random loss and short buffers.",
        folder: "",
        factors: vec![
            Factor::one(&["congestion"], &names),
            Factor::one(&["rtt_ms"], &["0.2", "6.2", "24.2", "100"]),
            Factor::one(&["rate_gbit"], &["1", "10"]),
            Factor::one(&["loss"], &["0", "1e-6", "1e-5", "1e-4", "1e-3", "1e-2"]),
            Factor::one(&["buffer_bdp"], &["0.1", "1"]),
            Factor::one(&["flows"], &["1", "4"]),
        ],
        seed: 2026,
        rounds: 15,
        repeats: 3,
        scenario,
        both_modes: false,
        lifts_host_limits: false,
        is_region: true,
        bars: &BARS,
        method: include_str!("paths.md"),
    }
}

const BARS: [Bar; 5] = [
    Bar::new("goodput_bps", Rule::Within { tolerance: 0.10, least_share: 0.98 }),
    Bar::new("goodput_bps", Rule::EachBlock { tolerance: 0.10, most_outside: 0.25 }),
    Bar::new("goodput_bps", Rule::MedianError { most: 0.01 }),
    Bar::new("rtt_mean_ns", Rule::Within { tolerance: 0.10, least_share: 0.95 }),
    Bar::new("retransmissions_packets", Rule::Within { tolerance: 0.30, least_share: 0.95 }),
];

/// How long a run lasts and how often it is sampled, in ms. Slow start takes up to 17 round trips; what follows is
/// long enough for many loss epochs where there is random loss, and at 0.2 and 6.2 ms for several that the queue
/// causes.
fn times_ms(rtt_ms: f64) -> (u32, u32) {
    match rtt_ms {
        ..=1.0 => (4_000, 10),
        ..=10.0 => (8_000, 10),
        ..=50.0 => (15_000, 10),
        _ => (30_000, 50),
    }
}

/// Room before the link, as a scenario writes it.
fn buffer(cell: &Cell) -> String {
    let bdp_bits = cell.value("rate_gbit") * 1e6 * cell.value("rtt_ms");
    match cell.value("buffer_bdp") * bdp_bits < f64::from(LEAST_BUFFER_PACKETS) * FRAME_BITS {
        true => format!("{LEAST_BUFFER_PACKETS} packets"),
        false => cell.quantity("buffer_bdp", "bdp"),
    }
}

fn scenario(cell: &Cell) -> Scenario {
    let number = cell.number;
    let parts = Parts {
        path: Table::new()
            .set("rate", cell.quantity("rate_gbit", "Gbit/s"))
            .set("rtt", cell.quantity("rtt_ms", "ms"))
            .set("loss", cell.value("loss"))
            .set("buffer", buffer(cell)),
        hosts: None,
        flows: cell.equal_flows(),
        times_ms: times_ms(cell.value("rtt_ms")),
        seed: number,
        stagger: cell.stagger_of_equal_flows(),
        // Those that cannot differ, too: the committed data has three.
        repeats: cell.section.repeats,
    };
    let about = format!("Cell {number} of the validation grid: {}", cell.title());
    parts.scenario(&format!("validation-{number:04}"), &about)
}

#[cfg(test)]
mod tests {
    use crate::grid::generate;
    use crate::section::sections;

    #[test]
    fn the_buffer_holds_ten_frames_at_least() {
        let run = |rtt: &str, rate: &str| {
            let mut cell = generate(&sections()[0], 1).pop().unwrap();
            cell.values = ["reno", rtt, rate, "0", "0.1", "1"].map(String::from).to_vec();
            cell.runs(&[]).unwrap()[0].links[0].forward.buffer.get()
        };
        assert_eq!(run("0.2", "1"), 15_140);
        assert_eq!(run("0.2", "10"), 25_000);
        assert_eq!(run("100", "10"), 12_500_000);
    }

    /// The scenarios of the first grid are those the committed kernel data was made with.
    #[test]
    fn a_scenario_is_written_as_ever() {
        let cell = generate(&sections()[0], 1).pop().unwrap();
        let wanted = "schema = 1\nname = \"validation-0001\"\nabout = \"Cell 1 of the validation grid: reno, 0.2 ms, \
                      10 Gbit/s, loss 1e-6, 0.1 bdp, 4 flows\"\n\n[path]\nrate = \"10 Gbit/s\"\nrtt = \"0.2 ms\"\n\
                      loss = 1e-6\nbuffer = \"0.1 bdp\"\n\n[[flow]]\ncongestion = \"reno\"\ncount = 4\n\n[run]\n\
                      duration = \"4000 ms\"\nsample = \"10 ms\"\nseed = 1\n\n[sweep]\n\"flow.stagger\" = [\"10 ms\", \
                      \"11 ms\", \"13 ms\"]\n";
        assert_eq!(cell.scenario().text(), wanted);
    }
}
