//! Paths.

use super::Preset;
use super::PresetKind::Path;

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "10g-lan",
        kind: Path,
        about: "10 Gbit/s through one switch of 4 MiB",
        source: "wirespeed; 0.2 ms is the ring-less path of ulm-2016",
        settings: r#"
            rate = "10 Gbit/s"
            rtt = "0.2 ms"
            buffer = "4 MiB"
        "#,
    },
    Preset {
        name: "10g-wan",
        kind: Path,
        about: "10 Gbit/s across a continent, router buffer of one bandwidth-delay product",
        source: "wirespeed",
        settings: r#"
            rate = "10 Gbit/s"
            rtt = "50 ms"
            buffer = "1 bdp"
        "#,
    },
    Preset {
        name: "100g-lan",
        kind: Path,
        about: "100 Gbit/s at 1 ms, buffer of one bandwidth-delay product",
        source: "wirespeed; the round-trip time is the upper end of kit-2019's LAN",
        settings: r#"
            rate = "100 Gbit/s"
            rtt = "1 ms"
            buffer = "1 bdp"
        "#,
    },
    Preset {
        name: "100g-wan",
        kind: Path,
        about: "100 Gbit/s at 20 ms, all of the delay on the ACKs' way, buffer of 1.25 GB",
        source: "Hock et al., TCP at 100 Gbit/s, LCN 2019, testbed",
        settings: r#"
            rate = "100 Gbit/s"
            rtt = "20 ms"
            buffer = "1.25 GB"
            forward = { delay = "0 ms" }
        "#,
    },
    Preset {
        name: "ulm-12ms",
        kind: Path,
        about: "Two rings of 534 km at the 9.5 Gbit/s a NIC delivers with MTU 1500. The study calls the switch \
                buffer shallow and gives no size; one bandwidth-delay product is ours",
        source: "Lukaseder et al., TCP Congestion Control Algorithms in 10G Networks, LCN 2016, testbed",
        settings: r#"
            rate = "9.5 Gbit/s"
            rtt = "12.2 ms"
            buffer = "1 bdp"
        "#,
    },
    Preset {
        name: "onl-50ms",
        kind: Path,
        about: "1 Gbit/s at 50 ms with a queue of 6,225,000 bytes; the delay sits on the sender's side",
        source: "ARL ONL wiki, Some Gigabit TCP Experiments, Washington University",
        settings: r#"
            rate = "1 Gbit/s"
            rtt = "50 ms"
            buffer = "6225000 B"
        "#,
    },
];
