use super::*;
use crate::reading::row;

/// A pair of virtual interfaces. What one sends enters the other's softnet backlog, or its NAPI ring where GRO or
/// XDP is on: a drop there is counted as the sender's `tx_dropped`, and nowhere at the receiver but in the host's
/// softnet counters.
pub const DRIVER: Driver = Driver {
    name: "veth",
    about: "pair of virtual interfaces",
    documented: "Linux 6.12: drivers/net/veth.c",
    rows: &[
        row("rx_queue_{queue}_drops", RX_DRIVER).about("no memory, or XDP could not hand it on"),
        row("rx_queue_{queue}_xdp_drops", INTENTIONAL),
        row("rx_queue_{queue}_xdp_tx_errors", INTENTIONAL),
        row("tx_queue_{queue}_xdp_xmit_errors", INTENTIONAL.tx()),
        row("rx_queue_{queue}_xdp_packets", RX_PACKETS.software()),
        row("rx_queue_{queue}_xdp_bytes", RX_BYTES.software()),
        row("tx_queue_{queue}_xdp_xmit", TX_PACKETS.software()),
        row("peer_ifindex", CounterMeaning::gauge(Unit::Number)),
    ],
    link: &[
        row("tx_dropped", CounterMeaning::loss(Stage::SoftnetBacklog, Way::Tx).unit(Unit::Buffers).software()).about(
            "the peer had no room: its softnet backlog, whose drops softnet counts too, or the ring of its NAPI, whose drops \
             nobody else counts",
        ),
        row("rx_dropped", RX_DRIVER)
            .duplicate_of(&["ethtool/rx_queue_{queue}_drops"])
            .about("the driver's drops, and those of the stack: a full softnet backlog, or nobody wants the protocol"),
    ],
};
