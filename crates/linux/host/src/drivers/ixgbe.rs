use super::*;
use crate::reading::row;

/// Intel 82598, 82599, X540, X550. `rx_missed_errors` is the port's buffer that overflowed (MPC),
/// `rx_no_dma_resources` the queues without a descriptor (QPRDC): different packets, both count.
pub const DRIVER: Driver = Driver {
    name: "ixgbe",
    about: "Intel 82598, 82599, X540, X550",
    documented: "Linux 6.12: ixgbe_ethtool.c, ixgbe_main.c",
    rows: &[
        row("rx_missed_errors", RX_RING)
            .about("the port's buffer was full (MPC): the rings did not take over in time"),
        row("rx_no_dma_resources", RX_RING)
            .about("a queue had no descriptor (QPRDC); only where queues may drop"),
        row("rx_no_buffer_count", CounterMeaning::hint().at(Stage::RxRing).rx().hardware())
            .about("no descriptor at the moment; the packet waited in the port's buffer (82598 only)"),
        row("rx_dropped", INTENTIONAL).about("dropped by the stack; the driver adds nothing"),
        row("rx_over_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("rx_fifo_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("rx_fcoe_dropped", RX_RING).about("of FCoE"),
        row("alloc_rx_page_failed", RX_TROUBLE)
            .about("no memory for a descriptor; the ring runs dry if it lasts"),
        row("alloc_rx_buff_failed", RX_TROUBLE).about("no memory for a packet"),
        row("tx_dropped", CounterMeaning::lost(Way::Tx).software())
            .about("dropped by the stack; the driver adds nothing"),
        row("tx_errors", TX_RING),
        row("tx_aborted_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_carrier_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_fifo_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_heartbeat_errors", TX_TROUBLE),
        row("tx_busy", TX_STOP).about("the ring was full, and the packet went back to the qdisc"),
        row("tx_restart_queue", TX_STOP).about("the ring had room again after it had been full"),
        row("tx_timeout_count", TX_TROUBLE),
        row("rx_crc_errors", LINE),
        row("rx_length_errors", LINE),
        row("rx_long_length_errors", LINE).about("longer than the MTU: the two ends disagree"),
        row("rx_short_length_errors", LINE),
        row("rx_frame_errors", LINE),
        row("rx_errors", LINE)
            .duplicate_of(&["ethtool/rx_crc_errors"])
            .about("sum of wrong checksums and lengths"),
        row("rx_csum_offload_errors", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
        row("fdir_miss", CounterMeaning::hint().rx()).about("no rule of Flow Director for it; no loss"),
        row("fdir_overflow", CounterMeaning::hint().rx()),
        row("fcoe_noddp*", CounterMeaning::hint().rx()),
        row("rx_flow_control_xoff", PAUSE_RX),
        row("tx_flow_control_xoff", PAUSE_TX),
        row("rx_flow_control_xon", PAUSE_RX).about("end of a pause"),
        row("tx_flow_control_xon", PAUSE_TX).about("end of a pause"),
        row("rx_pb_{n}_pxoff", PAUSE_RX),
        row("tx_pb_{n}_pxoff", PAUSE_TX),
        row("rx_pb_{n}_pxon", PAUSE_RX),
        row("tx_pb_{n}_pxon", PAUSE_TX),
        row("rx_packets", RX_PACKETS.software()),
        row("tx_packets", TX_PACKETS.software()),
        row("rx_bytes", RX_BYTES.software()),
        row("tx_bytes", TX_BYTES.software()),
        row("rx_pkts_nic", RX_PACKETS.hardware()),
        row("tx_pkts_nic", TX_PACKETS.hardware()),
        row("rx_bytes_nic", RX_BYTES.hardware()),
        row("tx_bytes_nic", TX_BYTES.hardware()),
        row("rx_queue_{queue}_packets", RX_PACKETS.software()),
        row("tx_queue_{queue}_packets", TX_PACKETS.software()),
        row("rx_queue_{queue}_bytes", RX_BYTES.software()),
        row("tx_queue_{queue}_bytes", TX_BYTES.software()),
    ],
    link: &[
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_length_errors"]),
    ],
};
