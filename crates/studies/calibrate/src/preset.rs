//! The costs as a preset that a scenario names.

use crate::cost::Cost;
use crate::fit::Fit;
use crate::text::digits;
use std::fmt::Write;
use wirespeed_scenario::run::KernelVersion;
use wirespeed_units::{Bytes, Span};

/// The measured machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Model of its processor.
    pub processor: String,
    /// NUMA nodes.
    pub nodes: u32,
    /// Cores of a node.
    pub cores_per_node: u32,
    /// Last-level cache of a node, if it is known.
    pub cache: Option<Bytes>,
    /// Its kernel.
    pub kernel: KernelVersion,
    /// The day of the measurement, year first.
    pub day: String,
}

/// The part of `rx_packet` in receiving a packet that is not merged, by `kit-2019-tuned`: 0.36 us, beside 1 us of `rx_segment`.
const RX_PACKET_SHARE: f64 = 0.36 / 1.36;
/// The model charges a wake-up to the waker and again to the woken thread.
const PARTS_OF_A_WAKEUP: f64 = 2.0;
/// Packets of 1448 B in a GSO packet of 64 KiB, which software cuts where the interface does not.
const PACKETS_OF_A_GSO_PACKET: f64 = 45.0;
/// A cost that a calibration over a virtual pair cannot see, in nanoseconds: `capture` of `xeon-2023-100g`.
const CAPTURE_NS: f64 = 700.0;

/// A line of the file.
struct Line {
    key: &'static str,
    ns: f64,
    origin: String,
}

/// The preset as TOML. Each cost has its interval and origin beside it.
pub fn preset(fit: &Fit, machine: &Machine, call: Bytes) -> String {
    let Machine { name, processor, nodes, cores_per_node, cache, kernel, day } = machine;
    let mut text = format!(
        "# Costs of {name} ({processor}), Linux {kernel}, measured by `wirespeed calibrate` on {day} over a virtual pair of\n\
         # interfaces. Busy times are explained within {:.1} % (root mean square). Use it as `preset = \"FILE\"` in [host.NAME].\n\
         irq = \"one-cpu\"\napps = \"free\"\n\n[machine]\nnodes = {nodes}\ncores_per_node = {cores_per_node}\n",
        fit.rms * 100.0
    );
    match cache {
        Some(cache) => {
            let _ =
                writeln!(text, "cache = \"{} B\"                  # sysfs: last-level cache", cache.get());
        }
        None => {
            text.push_str("cache = \"1 MB\"                     # assumption: sysfs does not report it\n")
        }
    }
    let _ = writeln!(
        text,
        "granularity = \"3 ms\"                # base_slice of 8 cores and more\nkernel = \"{kernel}\"\n\n[costs]"
    );
    for line in lines(fit) {
        let value = value(line.ns);
        let _ = writeln!(text, "{:<35} # {}", format!("{} = \"{value}\"", line.key), line.origin);
    }
    let _ = writeln!(
        text,
        "{:<35} # calls of the calibration that were most common",
        format!("call = \"{} B\"", call.get())
    );
    text
}

/// Nanoseconds as scenarios have them, in whole picoseconds.
fn value(ns: f64) -> Span {
    Span::ps((ns * 1e3).round() as i64)
}

fn lines(fit: &Fit) -> Vec<Line> {
    let ns = |cost: Cost| fit.of(cost).map_or(0.0, |estimate| estimate.ns);
    let measured = |cost: Cost, part: f64, note: &str| match fit.of(cost) {
        Some(estimate) => {
            let (low, high) = (estimate.ns - estimate.half_width_ns, estimate.ns + estimate.half_width_ns);
            let known = if estimate.is_known() { "" } else { "; not separated from other costs" };
            format!(
                "measured: {} to {} ns (95 %), {}{note}{known}",
                digits((low * part).max(0.0)),
                digits(high * part),
                cost.origin()
            )
        }
        None => format!("measured: none, {}{note}", cost.origin()),
    };
    let assumed = |why: &str| format!("assumption: {why}");
    let rx = ns(Cost::RxData);
    let (rx_packet, rx_segment) = (rx * RX_PACKET_SHARE, rx * (1.0 - RX_PACKET_SHARE));
    let line = |key, ns, origin| Line { key, ns, origin };
    vec![
        line("interrupt", ns(Cost::Interrupt), measured(Cost::Interrupt, 1.0, ", from the other core")),
        line("poll", 0.0, assumed("part of interrupt")),
        line("rx_packet", rx_packet, measured(Cost::RxData, RX_PACKET_SHARE, "; split as in kit-2019-tuned")),
        line("rx_packet_remote", 0.0, assumed("one node was measured")),
        line("rx_segment", rx_segment, measured(Cost::RxData, 1.0 - RX_PACKET_SHARE, "; the other part")),
        line("rx_datagram", rx_segment, assumed("as rx_segment")),
        line(
            "rx_ack",
            (ns(Cost::RxAck) - rx_packet).max(0.0),
            measured(Cost::RxAck, 1.0, ", less rx_packet"),
        ),
        line("tx_ack", ns(Cost::TxAck), measured(Cost::TxAck, 1.0, "")),
        line("tx_segment", ns(Cost::TxSegment), measured(Cost::TxSegment, 1.0, "")),
        line(
            "tx_packet",
            ns(Cost::TxPacket) + ns(Cost::TxSegment) / PACKETS_OF_A_GSO_PACKET,
            measured(Cost::TxPacket, 1.0, ", and its part of sending a GSO packet"),
        ),
        line("syscall", ns(Cost::Syscall), measured(Cost::Syscall, 1.0, "")),
        line(
            "wakeup",
            ns(Cost::Wakeup) / PARTS_OF_A_WAKEUP,
            measured(Cost::Wakeup, 1.0 / PARTS_OF_A_WAKEUP, ", half for each of waker and woken"),
        ),
        line("copy_cached", ns(Cost::CopyWritten), measured(Cost::CopyWritten, 1.0, "")),
        line("copy_memory", ns(Cost::CopyRead), measured(Cost::CopyRead, 1.0, "")),
        line("copy_remote", ns(Cost::CopyRead), assumed("as copy_memory: one node was measured")),
        line("capture", CAPTURE_NS, assumed("as xeon-2023-100g")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Estimate;
    use wirespeed_scenario::run::KernelVersion;

    fn fit() -> Fit {
        let estimate = |(cost, ns): (Cost, f64)| Estimate { cost, ns, half_width_ns: ns / 4.0 };
        let costs = [
            (Cost::Syscall, 400.0),
            (Cost::RxData, 1360.0),
            (Cost::TxPacket, 500.0),
            (Cost::TxSegment, 4500.0),
        ];
        Fit { estimates: costs.map(estimate).to_vec(), residuals: Vec::new(), rms: 0.1 }
    }

    #[test]
    fn preset_has_all_costs_with_their_origin_and_scenarios_take_it() {
        let machine = Machine {
            name: "dtn1".into(),
            processor: "some".into(),
            nodes: 1,
            cores_per_node: 4,
            cache: None,
            kernel: KernelVersion::new(6, 12, 0),
            day: "2026-11-29".into(),
        };
        let text = preset(&fit(), &machine, Bytes::new(128 << 10));
        assert!(
            text.contains("syscall = \"400 ns\"") && text.contains("300 to 500 ns (95 %), calls of write(2)"),
            "{text}"
        );
        assert!(text.contains("rx_packet = \"360 ns\"") && text.contains("rx_segment = \"1 us\""), "{text}");
        assert!(text.contains("tx_packet = \"600 ns\""), "{text}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("p.toml"), &text).unwrap();
        let scenario = "schema = 1\nname = \"s\"\nabout = \"s\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"1 ms\"\n\
                        [host.sender]\npreset = \"p.toml\"\n[host.receiver]\n[[flow]]\ncongestion = \"reno\"\n[run]\nduration = \"1 s\"\n";
        let file = folder.path().join("s.toml");
        std::fs::write(&file, scenario).unwrap();
        let study = wirespeed_scenario::load(&file, &[], None).unwrap();
        let hardware = study.runs[0].host("sender").hardware.as_ref().unwrap();
        assert_eq!(hardware.costs.syscall.nanoseconds(), 400);
        assert_eq!(study.data_files, [folder.path().join("p.toml")]);
    }
}
