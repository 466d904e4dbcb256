//! The hosts of slac-sc03 (Cottrell, TCP Stack Measurements on SC03 10 Gbit/s Links, SLAC 2003).

use super::Preset;
use super::PresetKind::Host;

pub(super) const PRESETS: &[Preset] = &[Preset {
    name: "slac-sc03",
    kind: Host,
    about: "A jumbo-frame host of 2003, two Xeons and a 10 Gbit/s card on PCI-X; give each flow the study's `window`",
    source: "Cottrell, TCP Stack Measurements on SC03 10 Gbit/s Links, SLAC 2003; costs: docs/models/hosts.md",
    settings: r#"
            mtu = "9000 B"
            nic_rate = "10 Gbit/s"
            txqueuelen = 2000               # published
            tcp_rmem = ["4 KiB", "128 KiB", "2147483647 B"]
            tcp_wmem = ["4 KiB", "16 KiB", "2147483647 B"]
            rmem_max = "2147483647 B"
            wmem_max = "2147483647 B"
            adv_win_scale = 2               # Linux 2.4: net/ipv4/tcp.c
            small_queues = false            # Linux 2.4: since 3.6
            stretch_acks = false            # Linux 2.4: ACKs count as packets since 4.0
            initial_window = 2              # Linux 2.4: tcp_init_cwnd, RFC 3390 for an MSS above 1460
            rx_ring = 512                   # drivers/net/ixgb: DEFAULT_RXD
            tx_ring = 256                   # drivers/net/ixgb: DEFAULT_TXD
            rx_queues = 1                   # the 82597 has one
            irq = "one-cpu"                 # 2.4 without irqbalance: the first processor takes them
            apps = "1"                      # assumption: a process runs on the processor that does not serve the interrupts
            coalesce = "59 us"              # drivers/net/ixgb: DEFAULT_RDTR 72 x 0.8192 us
            coalesce_frames = 0             # the same drivers set RAIDC with RXT_GATE: the timer holds back every interrupt
            rx_buffer = "16384 B"           # drivers/net/ixgb: 2048, 4096, 8192 or 16384 B, the first that holds a frame
            nic_bus = { kind = "pci", mhz = 133, bits = 64, shared = true }     # published: PCI-X, one way at a time

            [machine]
            nodes = 1
            cores_per_node = 2              # published: dual Xeon 3.06 GHz; hyper-threads off is an assumption
            cache = "1 B"                   # the card writes to memory; nothing it wrote is in a cache
            granularity = "10 ms"           # a tick of 2.4 (HZ = 100)
            kernel = "2.4.20"               # published: 2.4.19 to 22

            [costs]
            interrupt = "3 us"              # class of host
            poll = "1 us"                   # class of host
            tx_segment = "5.2 us"           # sc03 back to back, UDP: 1.5 Gbit/s with 1500 B and 5.0 with 9000 B are 6.6 us a
            syscall = "1.4 us"              # datagram and 0.86 ns a byte; 6.6 us is one call and one piece
            tx_packet = "5.2 us"            # a packet goes the way of a datagram
            copy_cached = "0.86 ns"
            copy_memory = "1.39 ns"         # 4.3 Gbit/s with MTU 9000 (sc03-paix-reno-16): 16.6 us a packet of the reading
                                            # processor, less its calls and what was behind the lock
            copy_remote = "1.39 ns"         # there is no other node
            rx_packet_remote = "0 s"        # there is no other node
            rx_packet = "2 us"              # class of host
            rx_segment = "2.5 us"           # class of host
            rx_datagram = "2 us"            # class of host
            rx_ack = "2 us"                 # class of host
            tx_ack = "2 us"                 # class of host
            wakeup = "2 us"                 # class of host
            capture = "4 us"                # class of host
            call = "8 KiB"                  # iperf until 2.0.5 (August 2010)
    "#,
}];
