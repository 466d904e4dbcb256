//! The hosts of cornell-2010 (Marian et al., DSN 2010).

use super::Preset;
use super::PresetKind::Host;

pub(super) const PRESETS: &[Preset] = &[Preset {
    name: "cornell-2010",
    kind: Host,
    about: "A 10 GbE host of 2010: four packages of four cores, one receive queue of 1000, 8000 interrupts/s, no \
            segmentation offload; give each flow the study's `window` (2, 9.4, 17.3 or 24.4 MB by path)",
    source: "Marian et al., Uncongested Lambda Networks and 10GbE Commodity Endpoints, DSN 2010, testbed; costs: \
             docs/models/hosts.md",
    settings: r#"
            mtu = "1500 B"
            nic_rate = "10 Gbit/s"
            gso = false
            tcp_rmem = ["4 KiB", "128 KiB", "64 MiB"]   # assumption: room for twice the largest window that they publish
            tcp_wmem = ["4 KiB", "16 KiB", "64 MiB"]
            rmem_max = "64 MiB"
            wmem_max = "64 MiB"
            adv_win_scale = 2               # Linux 2.6.24
            small_queues = false            # Linux 2.6.24: since 3.6
            stretch_acks = false            # Linux 2.6.24: ACKs count as packets since 4.0
            initial_window = 3              # Linux 2.6.24: tcp_init_cwnd, RFC 3390 for an MSS of 1448
            rx_ring = 1000                  # published
            tx_ring = 1000                  # published
            rx_queues = 1                   # assumption: four flows share the one core's 3 Gbit/s that they publish
            irq = "balanced"                # published: the default of their experiments
            apps = "free"
            coalesce = "125 us"             # published: at most 8000 interrupts/s
            coalesce_frames = 0             # ixgbe 1.3.47: a fixed throttle
            rx_buffer = "1600 B"            # 1522 B and alignment: truesize was what was asked for, not what kmalloc gave

            [machine]
            nodes = 4                       # published: 4 x quad-core Xeon; a package counts as a node
            cores_per_node = 4              # published
            cache = "4 MB"                  # Intel ARK, Xeon X7350: 2 x 4 MB L2 in a package, 4 MB for each pair of cores
            granularity = "20 ms"           # sched_min_granularity of 2.6.24: 4 ms x (1 + log2 of 16 cores)
            kernel = "2.6.24"               # published

            [costs]
            interrupt = "2.3 us"            # cornell-3.4: 1.9 Gbit/s at an interrupt a packet is 6.3 us, 2.3 more than with
            poll = "0.8 us"                 # throttling, where interrupts are few
            rx_packet = "1.4 us"            # with rx_segment, and an ACK for each call of the reader, 3.9 us: four flows back to
                                            # back reach 3 Gbit/s (cornell-9a)
            rx_packet_remote = "0 s"        # one memory for all packages
            rx_segment = "2.4 us"           # see rx_packet
            rx_datagram = "1.6 us"          # cornell-6: with rx_packet and the reader's 2.1 us just over a core at 204,000
                                            # datagrams/s (2400 Mbit/s), well below one at 170,000 (2000 Mbit/s)
            rx_ack = "2.4 us"               # assumption: as a data packet
            sack_walk = "0.1 us"            # class of host: a miss of the cache for each, out of memory
            tx_ack = "1.6 us"               # class of host
            tx_segment = "2.2 us"           # class of host; with a call and a copy 4.3 us a datagram: the sender keeps up
            tx_packet = "3.5 us"            # cornell-8-single: slow start does not overflow the receiver's ring; cornell-9a: on
                                            # the short path four flows get what they get back to back
            syscall = "1.55 us"             # cornell-6: a call a datagram, with iperf's own bookkeeping
            wakeup = "2 us"                 # class of host
            copy_cached = "0.37 ns"         # cornell-6: 0.55 us a datagram
            copy_memory = "0.54 ns"         # cornell-6: what makes 4 MB lose more than 1 MB, and both 0.1 to 0.2
            copy_remote = "0.6 ns"          # assumption: out of another package's cache, over the bus
            capture = "2.5 us"              # class of host
            call = "8 KiB"                  # iperf 2 until 2.0.5 (August 2010)
    "#,
}];
