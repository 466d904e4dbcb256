//! Hosts: their presets, and settings of their inside.

use super::{MTUS, Writer};
use std::fmt::Write;

/// Nodes and whole cores.
type Machine = Option<(usize, usize)>;

/// The presets of hosts and their machines, those without one more often.
const PRESETS: [(&str, Machine); 12] = [
    ("tuned", None),
    ("tuned", None),
    ("tuned", None),
    ("linux-6.12", None),
    ("kit-2019-tuned", Some((2, 16))),
    ("cornell-2010", Some((4, 16))),
    ("kit-2019-default", Some((2, 16))),
    ("onl-pc1core", Some((1, 1))),
    ("slac-sc03", Some((1, 2))),
    ("xeon-2023-100g", Some((2, 64))),
    ("epyc-2024-400g", Some((1, 64))),
    ("cornell-2010", Some((4, 16))),
];

/// A setting and its values. Those that name cores come with the number of cores that they need.
type Knob = (&'static str, &'static [(&'static str, usize)]);

const KNOBS: [Knob; 23] = [
    ("rx_ring", &[("1", 1), ("2", 1), ("64", 1), ("1000", 1)]),
    ("rx_wqe", &[("\"128 KiB\"", 1), ("\"1 MB\"", 1)]),
    ("adaptive_rx", &[("true", 1), ("false", 1)]),
    (
        "machine",
        &[
            ("{ kernel = \"3.10\" }", 1),
            ("{ kernel = \"6.6\" }", 1),
            ("{ memory = \"1 Gbit/s\" }", 1),
            ("{ interlink = \"100 Mbit/s\" }", 1),
            ("{ twin_speed = 0.3 }", 1),
            ("{ cache = \"0 B\" }", 1),
        ],
    ),
    ("tx_ring", &[("1", 1), ("8", 1), ("256", 1)]),
    ("rx_queues", &[("1", 1), ("3", 1), ("16", 1)]),
    ("rss", &[("\"spread\"", 1), ("\"hash\"", 1)]),
    ("irq", &[("\"balanced\"", 1), ("\"one-cpu\"", 1), ("\"0-3\"", 4), ("\"node 0\"", 1)]),
    ("apps", &[("\"free\"", 1), ("\"0\"", 1), ("\"0-3\"", 4), ("\"node 0\"", 1), ("\"0,1\"", 2)]),
    ("rps", &[("\"0\"", 1), ("\"1-3\"", 4), ("\"1\"", 2)]),
    ("coalesce", &[("\"0 s\"", 1), ("\"1 ms\"", 1), ("\"50 us\"\ncoalesce_frames = 64", 1)]),
    ("coalesce_from", &[("1", 1), ("64", 1)]),
    ("napi", &[("false", 1)]),
    ("netdev_budget", &[("1", 1), ("64", 1), ("100000", 1)]),
    ("dev_weight", &[("1", 1), ("1000", 1)]),
    ("capture_core", &[("0", 1), ("1", 2)]),
    ("netdev_max_backlog", &[("1", 1), ("10", 1), ("300", 1)]),
    ("speed", &[("0.5", 1), ("10", 1), ("0.01", 1)]),
    ("rx_buffer", &[("\"2 KiB\"", 1), ("\"64 B\"", 1), ("\"1 MiB\"", 1)]),
    (
        "nic_bus",
        &[
            ("\"10 Gbit/s\"", 1),
            ("\"50 Mbit/s\"", 1),
            ("{ kind = \"pci\", mhz = 2, bits = 32 }", 1),
            ("{ kind = \"pcie\", generation = 1, lanes = 1, shared = true }", 1),
        ],
    ),
    // What only matters between nodes.
    ("nic_node", &[("0", 1), ("1", 16)]),
    ("costs", &[("{ call = \"1 B\" }", 1), ("{ wakeup = \"0 s\" }", 1)]),
    ("gro", &[("true", 1), ("false", 1)]),
];

impl Writer<'_> {
    /// Settings of the inside of a host, small and odd ones among them.
    fn inside(&mut self, table: &mut String, nodes: usize, cores: usize) {
        for (key, values) in KNOBS {
            if self.draws.once_in(6) {
                let (value, needs) = values[self.draws.below(values.len())];
                // Packets of which no window has room for one, and the model sends full packets only.
                let closes = self.is_long && value == "\"1 MiB\"";
                if needs <= cores && (key != "nic_node" || nodes > 1) && !closes {
                    let _ = writeln!(table, "{key} = {value}");
                }
            }
        }
        // What goes on for as long as the run lasts.
        if self.is_long {
            return;
        }
        if self.draws.once_in(6) {
            let _ = writeln!(table, "irqbalance_interval = \"1 ms\"");
        }
        if self.draws.once_in(6) {
            let share = self.draws.pick(&["0.5", "1", "0.01"]);
            let core = self.draws.below(cores);
            let _ =
                writeln!(table, "load = [{{ core = {core}, share = {share} }}, {{ core = 0, share = 0.3 }}]");
        }
    }

    /// Writes the hosts' tables.
    pub(super) fn hosts(&mut self) {
        for (host, mtu) in ["sender", "receiver"].into_iter().zip(self.mtus) {
            let mut table = String::new();
            let (preset, machine) = PRESETS[self.draws.below(PRESETS.len())];
            if preset != "tuned" {
                let _ = writeln!(table, "preset = \"{preset}\"");
            }
            if let Some((nodes, cores)) = machine {
                self.inside(&mut table, nodes, cores);
            }
            if mtu != MTUS[0] {
                let _ = writeln!(table, "mtu = \"{mtu} B\"");
            }
            for setting in ["sack", "timestamps", "window_scaling"] {
                if self.draws.once_in(6) {
                    let _ = writeln!(table, "{setting} = false");
                }
            }
            let ecn = self.draws.below(4);
            if ecn < 3 && ecn != 0 {
                let _ = writeln!(table, "ecn = 1");
            }
            if self.draws.once_in(4) {
                let rate = self.rate * [2, 1, 10][self.draws.below(3)] / [1, 2][self.draws.below(2)];
                let _ = writeln!(table, "nic_rate = \"{rate} bit/s\"");
            }
            if self.draws.once_in(3) {
                let length = [1000, 1, 2, 10, 100][self.draws.below(5)];
                let _ = writeln!(table, "txqueuelen = {length}");
            }
            let qdisc = self.draws.pick(&["pfifo_fast", "fq", "fq_codel"]);
            if qdisc != "pfifo_fast" {
                let _ = writeln!(table, "qdisc = \"{qdisc}\"");
            }
            if self.draws.once_in(5) {
                let delay = self.draws.pick(&["1 ms", "1 us", "20 ms"]);
                let _ = writeln!(table, "access_delay = \"{delay}\"");
            }
            if self.draws.once_in(8) {
                let _ = writeln!(table, "sysctls = {{ \"net.ipv4.tcp_slow_start_after_idle\" = 0 }}");
            }
            if self.draws.once_in(8) {
                let _ =
                    writeln!(table, "tcp_rmem_max = \"{}\"", self.draws.pick(&["64 KiB", "8 KiB", "1 MiB"]));
            }
            if self.draws.once_in(8) {
                let _ =
                    writeln!(table, "tcp_wmem_max = \"{}\"", self.draws.pick(&["64 KiB", "8 KiB", "1 MiB"]));
            }
            if machine.is_none() && self.draws.once_in(4) {
                let moderation =
                    self.draws.pick(&["\"50 us\"", "\"1 ms\"", "\"1 ms\"\ncoalesce_frames = 8", "\"20 ms\""]);
                let _ = writeln!(table, "coalesce = {moderation}\ngro = {}", self.draws.once_in(2));
            }
            if !table.is_empty() {
                self.line(format!("\n[host.{host}]\n{table}"));
            }
        }
    }
}
