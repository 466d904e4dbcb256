use super::*;
use crate::reading::row;

/// Intel 700 series. `rx_missed_errors` (of older kernels, a part of `rx_dropped`) is what this interface's queues
/// had no descriptor for; `port.rx_discards` is the port's, for want of room in its buffer.
pub const DRIVER: Driver = Driver {
    name: "i40e",
    about: "Intel X710, XL710, XXV710, X722",
    documented: "Linux 6.12: i40e_ethtool.c, i40e_main.c",
    rows: &[
        row("rx_missed_errors", RX_RING).about("no receive descriptor (GLV_RDPC)"),
        row("rx_dropped", RX_RING)
            .about("other discards of this interface; of older kernels also those without a descriptor"),
        row("port.rx_discards", RX_RING).about("the port's buffer was full"),
        row("veb.rx_discards", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("tx_dropped", TX_RING.hardware()),
        row("veb.tx_discards", TX_RING.hardware()).duplicate_of(&["ethtool/tx_dropped"]),
        row("tx_errors", TX_RING.hardware()),
        row("port.tx_errors", TX_RING.hardware()).duplicate_of(&["ethtool/tx_errors"]),
        row("veb.tx_errors", TX_RING.hardware()).duplicate_of(&["ethtool/tx_errors"]),
        row("port.tx_dropped_link_down", CounterMeaning::loss(Stage::Network, Way::Tx).hardware())
            .about("the link was down"),
        row("rx_alloc_fail", RX_TROUBLE).about("no memory for a packet"),
        row("rx_pg_alloc_fail", RX_TROUBLE)
            .about("no memory for a descriptor; the ring runs dry if it lasts"),
        row("rx_unknown_protocol", INTENTIONAL.hardware()),
        row("veb.rx_unknown_protocol", INTENTIONAL.hardware()),
        row("tx_busy", TX_STOP).about("the ring was full, and the packet went back to the qdisc"),
        row("tx_stopped", TX_STOP),
        row("tx_restart", TX_STOP),
        row("tx_force_wb", TX_TROUBLE),
        row("port.tx_timeout", TX_TROUBLE),
        row("port.rx_crc_errors", LINE),
        row("port.illegal_bytes", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("port.rx_length_errors", LINE),
        row("port.rx_undersize", LINE).duplicate_of(&["ethtool/port.rx_length_errors"]),
        row("port.rx_oversize", LINE).duplicate_of(&["ethtool/port.rx_length_errors"]),
        row("port.rx_fragments", LINE).duplicate_of(&["ethtool/port.rx_crc_errors"]),
        row("port.rx_jabber", LINE).duplicate_of(&["ethtool/port.rx_crc_errors"]),
        row("port.rx_csum_bad", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/port.rx_crc_errors"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/port.rx_length_errors"]),
        row("rx_errors", LINE)
            .duplicate_of(&["ethtool/port.rx_crc_errors"])
            .about("damaged frames and illegal bytes"),
        row("port.mac_local_faults", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("port.mac_remote_faults", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("port.arq_overflows", CounterMeaning::hint()),
        row("port.link_xoff_rx", PAUSE_RX),
        row("port.link_xoff_tx", PAUSE_TX),
        row("port.link_xon_rx", PAUSE_RX).about("end of a pause"),
        row("port.link_xon_tx", PAUSE_TX).about("end of a pause"),
        row("port.rx_priority_{n}_xoff_rx", PAUSE_RX),
        row("port.tx_priority_{n}_xoff_tx", PAUSE_TX),
        row("port.rx_priority_{n}_xon_rx", PAUSE_RX),
        row("port.tx_priority_{n}_xon_tx", PAUSE_TX),
        row("port.rx_priority_{n}_xon_2_xoff", PAUSE_RX.unit(Unit::Events)),
        row("rx_packets", RX_PACKETS),
        row("tx_packets", TX_PACKETS),
        row("rx_bytes", RX_BYTES),
        row("tx_bytes", TX_BYTES),
        row("port.rx_unicast", RX_PACKETS.hardware()),
        row("port.tx_unicast", TX_PACKETS.hardware()),
        row("port.rx_bytes", RX_BYTES.hardware()),
        row("port.tx_bytes", TX_BYTES.hardware()),
        row("rx-{queue}.packets", RX_PACKETS.software()),
        row("tx-{queue}.packets", TX_PACKETS.software()),
        row("rx-{queue}.bytes", RX_BYTES.software()),
        row("tx-{queue}.bytes", TX_BYTES.software()),
        row("rx-{queue}.rx_packets", RX_PACKETS.software()).about("older name"),
        row("tx-{queue}.tx_packets", TX_PACKETS.software()).about("older name"),
        row("rx-{queue}.rx_bytes", RX_BYTES.software()),
        row("tx-{queue}.tx_bytes", TX_BYTES.software()),
    ],
    link: &[
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("rx_dropped", RX_RING)
            .duplicate_of(&["ethtool/rx_dropped"])
            .about("the interface's discards, and drops by the stack"),
        row("tx_dropped", TX_RING).duplicate_of(&["ethtool/tx_dropped"]),
        row("tx_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/port.rx_crc_errors"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/port.rx_length_errors"]),
        row("rx_errors", LINE).duplicate_of(&["ethtool/rx_errors"]),
    ],
};
