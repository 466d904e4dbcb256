//! The servers of kit-2019 (Hock et al., TCP at 100 Gbit/s, LCN 2019).

use super::Preset;
use super::PresetKind::Host;

/// Machine, interface and costs of both; what they publish is marked "published".
macro_rules! machine {
    () => {
        r#"
            tx_ring = 1024                  # mlx5's default; only the receive ring is in their tuning table
            rx_queues = 32                  # mlx5: one for each core
            rx_wqe = "256 KiB"              # mlx5/core/en.h of 4.15: MLX5_MPWRQ_LOG_WQE_SZ; ConnectX-4 and 5 have striding queues
            rss = "hash"
            adaptive_rx = true              # mlx5's default; not in their tuning table
            nic_node = 1                    # published
            nic_bus = { kind = "pcie", generation = 3, lanes = 16 }    # published: 16 x 8 GT/s x 128/130 - 1

            [machine]
            nodes = 2                       # published: two E5-2630 v3 or E5-2640 v3
            cores_per_node = 8              # published
            twin_speed = 0.6                # assumption: two hyper-threads together do 1.2 times the work of one
            cache = "2 MB"                  # Intel DDIO brief: the interface fills at most 10 % of the last-level cache (20 MB)
            interlink = "68 Gbit/s"         # published: QPI, each direction, measured
            granularity = "3 ms"            # sched_min_granularity of 8 cores and more
            memory = "239 Gbit/s"           # two channels of DDR4-1866, 14.9 GB/s each; that two of four are populated is kit-4:
                                            # one receiver loses at 100 Gbit/s, two do not at 50
            kernel = "4.15"                 # published

            [costs]
            interrupt = "0.8 us"            # class of host
            poll = "0.3 us"                 # class of host
            rx_packet = "0.36 us"           # kit-5-1500: 25 Gbit/s is 2.16 million packets/s of one core, 463 ns each in
                                            # all, less what pages, the merged 64 KiB, polls and interrupts share
            rx_page = "0.14 us"             # commit message of 4518085e127d (Linux 4.15): 343 cycles to allocate and free a
                                            # page on a 2-socket Broadwell whose threads all do; at 2.4 GHz
            rx_packet_remote = "0.52 us"    # four cache misses of 130 ns to the other socket: descriptor, header, buffer, page
            rx_segment = "1 us"             # class of host
            rx_datagram = "0.8 us"          # class of host
            rx_ack = "0.6 us"               # class of host
            tx_ack = "0.6 us"               # class of host
            tx_segment = "2 us"             # class of host
            tx_packet = "0.25 us"           # class of host
            syscall = "1 us"                # class of host, with what iperf3 does around it
            wakeup = "1.5 us"               # class of host
            copy_cached = "0.11 ns"         # class of host: 9 GB/s out of the last-level cache
            copy_memory = "0.163 ns"        # kit-1-single: 43 Gbit/s of the reading core are 24.4 us a call, less what else it does
            copy_remote = "0.3 ns"          # class of host: memory of the other socket has 1.7 times the latency
            capture = "1.2 us"              # class of host
            call = "128 KiB"                # iperf3's default for TCP
        "#
    };
}

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "kit-2019-tuned",
        kind: Host,
        about: "A 100 Gbit/s server after tuning; offloads on, so lose whole packets only at queues, not at random. \
                tcp_mem belongs to the whole kernel and is left to the substrate",
        source: "Hock et al., TCP at 100 Gbit/s, LCN 2019, tuning table (their 2147483648 does not fit the sysctl); \
                 costs: docs/models/hosts.md",
        settings: concat!(
            r#"
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
            adv_win_scale = 1               # Linux 4.15
            sysctls = { "net.ipv4.tcp_mtu_probing" = "1" }
            rx_ring = 8192                  # published
            irq = "node 1"                  # published: the NIC is on socket 2, and interrupts too unless said otherwise
            apps = "node 1"                 # published (socket placement, case 1)
            "#,
            machine!()
        ),
    },
    Preset {
        name: "kit-2019-default",
        kind: Host,
        about: "The same server as Ubuntu 18.04 left it; offloads on, interrupts balanced",
        source: "Hock et al., TCP at 100 Gbit/s, LCN 2019, tuning table; costs: docs/models/hosts.md",
        settings: concat!(
            r#"
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
            adv_win_scale = 1               # Linux 4.15
            rx_ring = 1024                  # published
            irq = "balanced"                # published: irqbalance on
            apps = "free"
            "#,
            machine!()
        ),
    },
];
