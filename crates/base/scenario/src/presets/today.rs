//! Hosts of today. No study calibrates them: their numbers are data sheets where there are, else the class of host.

use super::Preset;
use super::PresetKind::Host;

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "xeon-2023-100g",
        kind: Host,
        about: "A two-socket server of 2023 with a 100 Gbit/s interface on its first node, tuned for long paths",
        source: "wirespeed; data sheets of the Xeon Gold 6430 and ConnectX-6 Dx, settings of kit-2019-tuned; costs are \
                 kit-2019's, scaled by assumption: docs/models/hosts.md",
        settings: r#"
            mtu = "9000 B"
            nic_rate = "100 Gbit/s"
            qdisc = "fq"
            tso = true
            gso = true
            gro = true
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
            netdev_max_backlog = 250000
            rx_ring = 8192                  # ConnectX-6: the largest
            tx_ring = 8192                  # the same
            rx_queues = 63                  # mlx5: one for each core, 63 at most on most firmware
            rss = "hash"
            irq = "node 0"
            apps = "node 0"
            adaptive_rx = true              # mlx5's default
            nic_node = 0
            nic_bus = { kind = "pcie", generation = 4, lanes = 16 }    # by kit-2019's formula: 251 Gbit/s

            [machine]
            nodes = 2
            cores_per_node = 32             # data sheet
            twin_speed = 0.6                # as kit-2019
            cache = "8 MB"                  # DDIO: the interface fills 2 of the 15 ways of the last-level cache, 60 MB (data sheet)
            memory = "2253 Gbit/s"          # data sheet: 8 channels of DDR5-4400, 35.2 GB/s each
            interlink = "204 Gbit/s"        # assumption: 3 UPI links of 256 Gbit/s, of which the part that kit-2019 measured
                                            # of its two QPI links of 128 Gbit/s: 27 %
            granularity = "3 ms"            # base_slice of 8 cores and more

            # Assumption: kit-2019's costs over 1.7, a core of 2023 against one of 2014; not calibrated on anything.
            [costs]
            interrupt = "0.5 us"
            poll = "0.2 us"
            rx_packet = "0.25 us"
            rx_packet_remote = "0.5 us"     # latency between sockets has not fallen: four misses of 125 ns
            rx_segment = "0.6 us"
            rx_datagram = "0.5 us"
            rx_ack = "0.35 us"
            tx_ack = "0.35 us"
            tx_segment = "1.2 us"
            tx_packet = "0.15 us"
            syscall = "0.6 us"
            wakeup = "1 us"
            copy_cached = "0.07 ns"
            copy_memory = "0.12 ns"         # one flow of about 60 Gbit/s if nothing is cached
            copy_remote = "0.2 ns"
            capture = "0.7 us"
            call = "128 KiB"
        "#,
    },
    Preset {
        name: "epyc-2024-400g",
        kind: Host,
        about: "A one-socket server of 2024 with a 400 Gbit/s interface, tuned for long paths",
        source: "wirespeed; data sheets of the EPYC 9554P and ConnectX-7, settings of kit-2019-tuned; costs are \
                 kit-2019's, scaled by assumption: docs/models/hosts.md",
        settings: r#"
            mtu = "9000 B"
            nic_rate = "400 Gbit/s"
            qdisc = "fq"
            tso = true
            gso = true
            gro = true
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
            netdev_max_backlog = 250000
            rx_ring = 8192                  # ConnectX-7: the largest
            tx_ring = 8192                  # the same
            rx_queues = 63                  # mlx5: one for each core, 63 at most on most firmware
            rss = "hash"
            irq = "node 0"
            apps = "free"
            adaptive_rx = true              # mlx5's default
            nic_bus = { kind = "pcie", generation = 5, lanes = 16 }    # by kit-2019's formula: 503 Gbit/s

            [machine]
            nodes = 1
            cores_per_node = 64             # data sheet
            twin_speed = 0.6                # as kit-2019
            cache = "32 MB"                 # data sheet: a core reaches the 32 MB of its own die; 256 MB in all
            memory = "3686 Gbit/s"          # data sheet: 12 channels of DDR5-4800, 38.4 GB/s each
            granularity = "3 ms"            # base_slice of 8 cores and more

            # Assumption: kit-2019's costs over 1.9, a core of 2024 against one of 2014; not calibrated on anything.
            [costs]
            interrupt = "0.45 us"
            poll = "0.2 us"
            rx_packet = "0.22 us"
            rx_packet_remote = "0 s"        # there is no other node
            rx_segment = "0.55 us"
            rx_datagram = "0.45 us"
            rx_ack = "0.3 us"
            tx_ack = "0.3 us"
            tx_segment = "1.1 us"
            tx_packet = "0.13 us"
            syscall = "0.55 us"
            wakeup = "0.9 us"
            copy_cached = "0.06 ns"
            copy_memory = "0.11 ns"         # one flow of about 65 Gbit/s if nothing is cached
            copy_remote = "0.11 ns"         # there is no other node
            capture = "0.6 us"
            call = "128 KiB"
        "#,
    },
];
