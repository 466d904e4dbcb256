//! Every threshold of the diagnosis, with unit and source. No rule has a number of its own.

use serde::Serialize;

/// A bound that a value has to cross before a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// Its name in this file and in `--json`.
    pub name: &'static str,
    /// The bound.
    pub value: f64,
    /// `ratio`, `factor` or `ns`.
    #[serde(skip)]
    pub unit: &'static str,
    /// A paper, a document of the kernel, or a measurement of this project.
    #[serde(skip)]
    pub source: &'static str,
}

/// Fault injection on virtual pairs of hosts of this kernel, with and without a busy loop on every core.
const FAULTS: &str = "measurement: crates/app/cli/tests/faults.rs, twelve_faults.rs and verdict.rs";

/// No measurement shows a better value.
const CHOICE: &str = "choice of this project";

macro_rules! thresholds {
    ($($(#[$doc:meta])* $name:ident = $value:expr, $unit:literal, $source:expr;)+) => {
        $(
            $(#[$doc])*
            pub const $name: Threshold =
                Threshold { name: stringify!($name), value: $value, unit: $unit, source: $source };
        )+

        /// All of them, in the order of this file.
        pub const ALL: &[Threshold] = &[$($name),+];
    };
}

thresholds! {
    /// A core that is busy for this part of the time has no room for more.
    FULL_CORE = 0.95, "ratio", FAULTS;
    /// A link with this utilisation carries all it can. Metric `link_utilisation` counts Ethernet frames without preamble,
    /// check sequence and gap, so that full frames of 1500 bytes reach 0.98.
    FULL_LINK = 0.97, "ratio", "RFC 5136, IP-layer link utilisation; IEEE 802.3, 24 bytes of preamble, check sequence and gap";
    /// The test's part of a full core's time from which on the core can limit it.
    OWN_WORK = 0.5, "ratio", FAULTS;
    /// A thread that waited for a core for this part of the time is late for its packets.
    LATE_THREAD = 0.2, "ratio", FAULTS;
    /// A thread that ran or was ready to run for this part of the time was short of a core.
    SPENT_THREAD = 0.9, "ratio", FAULTS;
    /// Most of the time, or most of the samples.
    MOSTLY = 0.5, "ratio", CHOICE;
    /// Below this part of retransmissions a queue is large enough for the path.
    HEAVY_LOSS = 0.01, "ratio", FAULTS;
    /// With a standing queue the 10th percentile of the round trips is at least this part of the median.
    STEADY_QUEUE = 0.3, "ratio", FAULTS;
    /// A host that is short of cores adds less than this to most round trips.
    HOST_DELAY = 200_000.0, "ns", FAULTS;
    /// Threads that wait for a core add less than this to most round trips.
    SCHEDULER_DELAY = 2e7, "ns", "several slices of the scheduler (base_slice_ns, kernel/sched/fair.c)";
    /// A reader can be away from its core for this long as soon as anything else runs there.
    READER_PAUSE = 1e6, "ns", "about one slice of the scheduler (base_slice_ns, kernel/sched/fair.c)";
    /// A receive buffer with this unread part has a reader that is too slow.
    UNREAD_BUFFER = 0.5, "ratio", FAULTS;
    /// Data was outstanding or waiting for less than this part of the time: the application did not write.
    BUSY_SENDER = 0.9, "ratio", FAULTS;
    /// Packets wait if the round-trip time is this many times its minimum.
    WAITING = 1.25, "factor", FAULTS;
    /// Burst if the delivery rate is this many times the mean. A flow behind a full queue has 1.0, behind a policer 2 to 15.
    BURST = 2.0, "factor", "measurement: virtual pairs of hosts, Linux 6.18";
    /// From this multiple of the minimum round-trip time on, the queue of the path holds as much as the path itself.
    OVERFULL = 2.0, "factor", "queue and path hold rate x (RTT - minimum) and rate x minimum";
    /// A sender may wait this long after its link is up again, for its retransmission timer.
    AFTER_OUTAGE = 5e9, "ns", "RFC 6298, section 5.5: the timer doubles at each retransmission";
    /// A smaller part of lost packets is not reported.
    LEAST_LOSS = 1e-6, "ratio", "Mathis et al. (1997): with MSS 8948 bytes and 10 ms, a loss of 1e-6 allows 8.7 Gbit/s to Reno";
    /// A host stands out if its pairs lose this many times the median of all other pairs.
    STANDS_OUT = 10.0, "factor", CHOICE;
    /// A flow with this part of all delivered data is large.
    LARGE_FLOW = 0.1, "ratio", CHOICE;
    /// A core with a smaller part of a flow's samples does not count.
    SEEN_CORE = 0.05, "ratio", CHOICE;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_threshold_has_a_name_of_its_own_a_unit_and_a_source() {
        let names: BTreeSet<&str> = ALL.iter().map(|threshold| threshold.name).collect();
        assert_eq!(names.len(), ALL.len());
        for threshold in ALL {
            assert!(["ratio", "factor", "ns"].contains(&threshold.unit), "{threshold:?}");
            assert!(!threshold.source.is_empty() && threshold.value > 0.0, "{threshold:?}");
            assert!(threshold.unit != "ratio" || threshold.value < 1.0, "{threshold:?}");
        }
    }

    #[test]
    fn no_other_file_of_the_diagnosis_has_a_threshold() {
        // A number of a rule is a constant of type f64. Presentation and steadiness have their own.
        let others = [
            include_str!("limiting_factor.rs"),
            include_str!("limiting_factor/cores.rs"),
            include_str!("limiting_factor/evidence.rs"),
            include_str!("limiting_factor/places.rs"),
            include_str!("limits.rs"),
            include_str!("losses.rs"),
            include_str!("placement.rs"),
            include_str!("outliers.rs"),
        ];
        for text in others {
            assert!(!text.lines().any(|line| line.trim_start().starts_with("const") && line.contains("f64")));
        }
    }
}
