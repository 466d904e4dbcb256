//! Named sets of settings for hosts and paths. One row each; the text of a row is what one would write in the
//! file, so everything a file can say a preset can say. A file's own lines win over its preset's.

use serde::Serialize;

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// What to write after `preset =`.
    pub name: &'static str,
    /// Whether it goes under `[host.NAME]` or `[path]`.
    pub kind: PresetKind,
    /// What it stands for.
    pub about: &'static str,
    /// Where its values come from.
    pub source: &'static str,
    /// The settings, as TOML.
    pub settings: &'static str,
}

/// What a preset describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PresetKind {
    /// Goes under `[host.NAME]`.
    Host,
    /// Goes under `[path]`.
    Path,
}

/// The preset of hosts that name none.
pub const DEFAULT_HOST_PRESET: &str = "tuned";

/// All presets, hosts first.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// The preset of that kind and name.
pub fn preset(kind: PresetKind, name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.kind == kind && p.name == name)
}

use PresetKind::{Host, Path};

const PRESETS: &[Preset] = &[
    Preset {
        name: "tuned",
        kind: Host,
        about: "Linux 6.12 with socket buffers that never limit a flow; the default",
        source: "wirespeed; the buffer sizes are those of kit-2019",
        settings: r#"
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
        "#,
    },
    Preset {
        name: "linux-6.12",
        kind: Host,
        about: "Linux 6.12 as it comes, but for offloads (off) and metrics kept over connections (off)",
        source: "Documentation/networking/ip-sysctl.rst and net/core/sock.c of Linux 6.12",
        settings: "",
    },
    Preset {
        name: "kit-2019-tuned",
        kind: Host,
        about: "A 100 Gbit/s server after tuning; offloads on, so lose whole packets only at queues, not at random. \
                tcp_mem belongs to the whole kernel and is left to the substrate",
        source: "Hock et al., TCP at 100 Gbit/s, LCN 2019, tuning table (their 2147483648 does not fit the sysctl)",
        settings: r#"
            mtu = "9000 B"
            qdisc = "fq"
            tso = true
            gso = true
            gro = true
            tcp_rmem = ["4096 B", "87380 B", "2147483647 B"]
            tcp_wmem = ["4096 B", "87380 B", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
            netdev_max_backlog = 250000
            sysctls = { "net.ipv4.tcp_mtu_probing" = "1" }
        "#,
    },
    Preset {
        name: "kit-2019-default",
        kind: Host,
        about: "The same server as Ubuntu 18.04 left it; offloads on",
        source: "Hock et al., TCP at 100 Gbit/s, LCN 2019, tuning table",
        settings: r#"
            mtu = "1500 B"
            qdisc = "fq_codel"
            tso = true
            gso = true
            gro = true
            tcp_rmem = ["4096 B", "87380 B", "6291456 B"]
            tcp_wmem = ["4096 B", "16384 B", "4194304 B"]
            rmem_max = "212992 B"
            wmem_max = "212992 B"
            netdev_max_backlog = 1000
            no_metrics_save = false
        "#,
    },
    Preset {
        name: "ulm-2016",
        kind: Host,
        about: "A 10 Gbit/s host with windows up to 1 GiB, timestamps off, merging off; its NIC's 9.5 Gbit/s is \
                the path's rate in the path preset ulm-12ms",
        source: "Lukaseder et al., TCP Congestion Control Algorithms in 10G Networks, LCN 2016, testbed",
        settings: r#"
            mtu = "1500 B"
            gro = false
            timestamps = false
            sack = true
            window_scaling = true
            tcp_rmem = ["4 KiB", "128 KiB", "1 GiB"]
            tcp_wmem = ["4 KiB", "16 KiB", "1 GiB"]
            rmem_max = "1 GiB"
            wmem_max = "1 GiB"
        "#,
    },
    Preset {
        name: "cornell-2010",
        kind: Host,
        about: "A 10 GbE host of 2010 without segmentation offload; give each flow the study's `window` \
                (2, 9.4, 17.3 or 24.4 MB by path)",
        source: "Marian et al., Uncongested Lambda Networks and 10GbE Commodity Endpoints, DSN 2010, testbed",
        settings: r#"
            mtu = "1500 B"
            nic_rate = "10 Gbit/s"
            gso = false
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
        "#,
    },
    Preset {
        name: "onl-pc1core",
        kind: Host,
        about: "A gigabit host with 16 MB of socket buffer (32 MB with overhead) and short queues",
        source: "ARL ONL wiki, Some Gigabit TCP Experiments, Washington University",
        settings: r#"
            mtu = "1500 B"
            nic_rate = "1 Gbit/s"
            txqueuelen = 1000
            netdev_max_backlog = 300
            tcp_rmem = ["4 KiB", "128 KiB", "32 MB"]
            tcp_wmem = ["4 KiB", "16 KiB", "32 MB"]
            rmem_max = "16 MB"
            wmem_max = "16 MB"
        "#,
    },
    Preset {
        name: "slac-sc03",
        kind: Host,
        about: "A jumbo-frame host of 2003 with a 10 Gbit/s card; give each flow the study's `window`",
        source: "Cottrell, TCP Stack Measurements on SC03 10 Gbit/s Links, SLAC 2003",
        settings: r#"
            mtu = "9000 B"
            nic_rate = "10 Gbit/s"
            txqueuelen = 2000
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
        "#,
    },
    Preset {
        name: "xeon-2015-10g",
        kind: Host,
        about: "A two-socket server of 2015 with a 10 Gbit/s NIC, MTU 1500, buffers that do not limit",
        source: "wirespeed; the class of host of ulm-2016 and, with another NIC, of kit-2019",
        settings: r#"
            mtu = "1500 B"
            nic_rate = "10 Gbit/s"
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
        "#,
    },
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
