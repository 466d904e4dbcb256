use super::*;
use crate::reading::row;

/// Intel 800 series. `rx_dropped.nic` counts what the whole port discarded, `rx_dropped` what this interface did:
/// one is part of the other where the interface is the port's only one.
pub const DRIVER: Driver = Driver {
    name: "ice",
    about: "Intel E800",
    documented: "Linux 6.12: ice_ethtool.c, ice_main.c",
    rows: &[
        row("rx_dropped.nic", RX_RING).about("the port had no room: no descriptor, or its buffer was full"),
        row("rx_dropped", RX_RING)
            .duplicate_of(&["ethtool/rx_dropped.nic"])
            .about("the same for this interface only"),
        row("rx_alloc_fail", RX_TROUBLE).about("no memory for a packet"),
        row("rx_pg_alloc_fail", RX_TROUBLE)
            .about("no memory for a descriptor; the ring runs dry if it lasts"),
        row("rx_unknown_protocol", INTENTIONAL.hardware()),
        row("tx_errors", TX_RING.hardware()),
        row("tx_errors.nic", TX_RING.hardware()).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_dropped_link_down.nic", CounterMeaning::loss(Stage::Network, Way::Tx).hardware())
            .about("the link was down"),
        row("tx_busy", TX_STOP).about("the ring was full, and the packet went back to the qdisc"),
        row("tx_restart", TX_STOP),
        row("tx_timeout.nic", TX_TROUBLE),
        row("rx_crc_errors.nic", LINE),
        row("illegal_bytes.nic", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("rx_undersize.nic", LINE),
        row("rx_fragments.nic", LINE),
        row("rx_oversize.nic", LINE),
        row("rx_jabber.nic", LINE),
        row("rx_len_errors.nic", LINE),
        row("rx_csum_bad.nic", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
        row("rx_eipe_error.nic", CounterMeaning::hint().rx()),
        row("mac_local_faults.nic", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("mac_remote_faults.nic", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("link_xoff_rx.nic", PAUSE_RX),
        row("link_xoff_tx.nic", PAUSE_TX),
        row("link_xon_rx.nic", PAUSE_RX).about("end of a pause"),
        row("link_xon_tx.nic", PAUSE_TX).about("end of a pause"),
        row("rx_priority_{n}_xoff.nic", PAUSE_RX),
        row("tx_priority_{n}_xoff.nic", PAUSE_TX),
        row("rx_priority_{n}_xon.nic", PAUSE_RX),
        row("tx_priority_{n}_xon.nic", PAUSE_TX),
        row("tx_hwtstamp_discarded", CounterMeaning::hint().software()),
        row("rx_unicast", RX_PACKETS.hardware()),
        row("tx_unicast", TX_PACKETS.hardware()),
        row("rx_bytes", RX_BYTES.hardware()),
        row("tx_bytes", TX_BYTES.hardware()),
        row("rx_unicast.nic", RX_PACKETS.hardware()),
        row("tx_unicast.nic", TX_PACKETS.hardware()),
        row("rx_bytes.nic", RX_BYTES.hardware()),
        row("tx_bytes.nic", TX_BYTES.hardware()),
        row("rx_queue_{queue}_packets", RX_PACKETS.software()),
        row("tx_queue_{queue}_packets", TX_PACKETS.software()),
        row("rx_queue_{queue}_bytes", RX_BYTES.software()),
        row("tx_queue_{queue}_bytes", TX_BYTES.software()),
    ],
    link: &[
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_dropped.nic"]),
        row("rx_dropped", RX_RING)
            .duplicate_of(&["ethtool/rx_dropped"])
            .about("the interface's discards, and drops by the stack"),
        row("tx_dropped", TX_RING),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors.nic"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_undersize.nic"]),
        row("rx_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors.nic"]),
    ],
};
