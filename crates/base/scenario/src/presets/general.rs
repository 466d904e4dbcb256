//! Hosts without a machine: their settings, and nothing that costs time.

use super::Preset;
use super::PresetKind::Host;

pub(super) const PRESETS: &[Preset] = &[
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
];
