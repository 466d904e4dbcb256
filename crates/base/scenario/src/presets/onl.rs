//! The hosts of onl-wiki (ARL ONL wiki, Some Gigabit TCP Experiments, Washington University).

use super::Preset;
use super::PresetKind::Host;

pub(super) const PRESETS: &[Preset] = &[Preset {
    name: "onl-pc1core",
    kind: Host,
    about: "A gigabit host of one core with 16 MB of socket buffer (32 MB with overhead), 256 descriptors and short \
            queues; it can feed its interface at 1.8 Gbit/s",
    source: "ARL ONL wiki, Some Gigabit TCP Experiments, Washington University; costs: docs/models/hosts.md",
    settings: r#"
            mtu = "1500 B"
            nic_rate = "1 Gbit/s"
            txqueuelen = 1000               # published
            netdev_max_backlog = 300        # published
            tcp_rmem = ["4 KiB", "128 KiB", "32 MB"]
            tcp_wmem = ["4 KiB", "16 KiB", "32 MB"]
            rmem_max = "16 MB"
            wmem_max = "16 MB"
            adv_win_scale = 2               # Linux 2.6
            small_queues = false            # Linux 2.6: since 3.6
            stretch_acks = false            # Linux 2.6: ACKs count as packets since 4.0
            initial_window = 2              # published: round K of slow start sends 2^K packets
            rx_ring = 256                   # published
            tx_ring = 256                   # published
            rx_queues = 1
            irq = "one-cpu"
            apps = "free"
            coalesce = "125 us"             # e1000: InterruptThrottleRate 8000
            coalesce_from = 4               # e1000, dynamic mode: at once while there is little
            rx_buffer = "1600 B"            # 1522 B and alignment: truesize was what was asked for, not what kmalloc gave

            [machine]
            nodes = 1
            cores_per_node = 1              # published: pc1core
            cache = "1 MB"                  # assumption: L2 of a single core of its time
            granularity = "4 ms"            # sched_min_granularity of 2.6.24, one core
            kernel = "2.6.24"               # assumption: published is 2.6

            [costs]                         # published: it feeds its interface at 1.8 Gbit/s, 6.7 us a packet of 1500 B.
                                            # The split of these 6.7 us is ours:
            tx_packet = "4.6 us"            # TCP, qdisc and driver
            tx_segment = "3.6 us"           # class of host: a datagram goes the same way, without TCP's own 1 us
            syscall = "1 us"                # 0.2 us a packet with calls of 8 KiB
            copy_cached = "0.5 ns"          # 0.7 us a packet
            rx_ack = "1.2 us"               # with half an rx_packet 1.2 us a data packet, at an ACK for two
            rx_packet = "1.2 us"
            copy_memory = "0.7 ns"          # class of host
            copy_remote = "0.7 ns"          # there is no other node
            rx_packet_remote = "0 s"        # there is no other node
            interrupt = "1.5 us"            # class of host
            poll = "0.6 us"                 # class of host
            rx_segment = "1.5 us"           # class of host
            rx_datagram = "1.3 us"          # class of host
            tx_ack = "1.3 us"               # class of host
            wakeup = "2 us"                 # class of host
            capture = "2.5 us"              # assumption: a packet and half an ACK cost 7.5 us more in all, which leaves less
            capture_tap = "2.5 us"          # than the 900 Mbit/s that the flow exceeds without tcpdump; half of it where the
                                            # packet passes
            call = "8 KiB"                  # iperf 2's buffer of its time
    "#,
}];
