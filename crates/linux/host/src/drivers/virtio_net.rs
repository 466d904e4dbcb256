use super::*;
use crate::reading::row;

/// The interface of a virtual machine. `drops` are the guest's driver; what the hypervisor drops for want of a
/// descriptor is told only by `rx-hw-drop-overruns` of source qstats, and only if it offers device statistics
/// (VIRTIO_NET_F_DEVICE_STATS).
pub const DRIVER: Driver = Driver {
    name: "virtio_net",
    about: "virtio network interface",
    documented: "Linux 6.12: drivers/net/virtio_net.c; the virtio specification, network device, device statistics",
    rows: &[
        row("rx{queue}_hw_ratelimit_bytes", CounterMeaning::hint().rx().unit(Unit::Bytes).hardware())
            .about("held back by the hypervisor's limit of rate"),
        row("tx{queue}_hw_ratelimit_bytes", CounterMeaning::hint().tx().unit(Unit::Bytes).hardware())
            .about("held back by the hypervisor's limit of rate"),
        row("*_hw_notifications", CounterMeaning::work().hardware()),
        row("*_hw_interrupts", CounterMeaning::work().hardware()),
        row("rx_drops", RX_DRIVER).about("no memory, or a malformed buffer; XDP's drops are among them"),
        row("rx{queue}_drops", RX_DRIVER).duplicate_of(&["ethtool/rx_drops"]),
        row("rx_queue_{queue}_drops", RX_DRIVER).about("older name"),
        row("rx_xdp_drops", INTENTIONAL).duplicate_of(&["ethtool/rx_drops"]),
        row("tx_xdp_tx_drops", TX_RING.software()),
        row("tx_tx_timeouts", TX_TROUBLE),
        row("rx{queue}_xdp_drops", INTENTIONAL).duplicate_of(&["ethtool/rx_drops"]),
        row("rx_queue_{queue}_xdp_drops", INTENTIONAL).duplicate_of(&["ethtool/rx_queue_{queue}_drops"]),
        row("tx{queue}_xdp_tx_drops", TX_RING.software()).duplicate_of(&["ethtool/tx_xdp_tx_drops"]),
        row("tx_queue_{queue}_xdp_tx_drops", TX_RING.software()),
        row("tx{queue}_tx_timeouts", TX_TROUBLE),
        row("tx_queue_{queue}_tx_timeouts", TX_TROUBLE),
        row("rx{queue}_kicks", CounterMeaning::work().rx().software())
            .about("times the device was told of new descriptors"),
        row("tx{queue}_kicks", CounterMeaning::work().tx().software())
            .about("times the device was told of new packets"),
        row("rx_queue_{queue}_kicks", CounterMeaning::work().rx().software()),
        row("tx_queue_{queue}_kicks", CounterMeaning::work().tx().software()),
        row("tx{queue}_stop", TX_STOP).about("the ring was full"),
        row("tx{queue}_wake", TX_STOP),
        row("tx_queue_{queue}_stop", TX_STOP),
        row("tx_queue_{queue}_wake", TX_STOP),
        row("rx{queue}_packets", RX_PACKETS),
        row("tx{queue}_packets", TX_PACKETS),
        row("rx{queue}_bytes", RX_BYTES),
        row("tx{queue}_bytes", TX_BYTES),
        row("rx_queue_{queue}_packets", RX_PACKETS.software()),
        row("tx_queue_{queue}_packets", TX_PACKETS.software()),
        row("rx_queue_{queue}_bytes", RX_BYTES.software()),
        row("tx_queue_{queue}_bytes", TX_BYTES.software()),
    ],
    link: &[
        row("rx_dropped", RX_DRIVER)
            .duplicate_of(&["ethtool/rx_drops", "ethtool/rx_queue_{queue}_drops"])
            .about("the driver's drops, and those of the stack"),
        row("tx_dropped", TX_RING.software()).about("could not be added to the ring, or by the stack"),
        row("rx_length_errors", RX_DRIVER).about("the device handed over a length that cannot be"),
        row("rx_frame_errors", RX_DRIVER).about("the device handed over a header that cannot be"),
        row("tx_fifo_errors", TX_RING.software()).duplicate_of(&["link/tx_dropped"]),
    ],
};
