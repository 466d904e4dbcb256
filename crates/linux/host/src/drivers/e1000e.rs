use super::*;
use crate::reading::row;

/// Intel 82571 to 82583 and the interfaces of desktop chip sets. One count of losses (MPC); `rx_no_buffer_count`
/// only warns.
pub const DRIVER: Driver = Driver {
    name: "e1000e",
    about: "Intel 82571 to 82583, I217 to I219; QEMU's e1000e",
    documented: "Linux 6.12: e1000e/ethtool.c, e1000e/netdev.c",
    rows: &[
        row("rx_missed_errors", RX_RING)
            .about("the device's buffer was full (MPC): no descriptor for too long"),
        row("rx_no_buffer_count", CounterMeaning::hint().at(Stage::RxRing).rx().hardware())
            .about("no descriptor at the moment; the packet waited in the device's buffer (RNBC)"),
        row("rx_over_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("alloc_rx_buff_failed", RX_TROUBLE)
            .about("no memory for a descriptor; the ring runs dry if it lasts"),
        row("rx_dma_failed", RX_TROUBLE),
        row("dropped_smbus", CounterMeaning::lost(Way::Rx).hardware())
            .about("for the management controller, not for the host"),
        row("tx_dropped", CounterMeaning::lost(Way::Tx).software())
            .about("dropped by the stack; the driver adds nothing"),
        row("tx_errors", TX_RING.hardware()),
        row("tx_aborted_errors", TX_RING.hardware()).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_carrier_errors", TX_RING.hardware()),
        row("tx_fifo_errors", TX_RING.hardware()),
        row("tx_heartbeat_errors", TX_TROUBLE),
        row("tx_window_errors", TX_RING.hardware()).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_abort_late_coll", TX_RING.hardware()).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_tcp_seg_failed", TX_TROUBLE),
        row("tx_dma_failed", TX_RING.software()).about("could not be mapped"),
        row("tx_timeout_count", TX_TROUBLE),
        row("tx_restart_queue", TX_STOP).about("the ring had room again after it had been full"),
        row("rx_crc_errors", LINE),
        row("rx_align_errors", LINE),
        row("rx_long_length_errors", LINE).about("longer than the MTU: the two ends disagree"),
        row("rx_short_length_errors", LINE),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_long_length_errors"]),
        row("rx_frame_errors", LINE).duplicate_of(&["ethtool/rx_align_errors"]),
        row("rx_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors"]).about("sum of those damaged"),
        row("rx_csum_offload_errors", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
        row("uncorr_ecc_errors", CounterMeaning::hint().hardware()),
        row("corr_ecc_errors", CounterMeaning::hint().hardware()),
        row("rx_flow_control_xoff", PAUSE_RX),
        row("tx_flow_control_xoff", PAUSE_TX),
        row("rx_flow_control_xon", PAUSE_RX).about("end of a pause"),
        row("tx_flow_control_xon", PAUSE_TX).about("end of a pause"),
        row("rx_packets", RX_PACKETS.hardware()),
        row("tx_packets", TX_PACKETS.hardware()),
        row("rx_bytes", RX_BYTES.hardware()),
        row("tx_bytes", TX_BYTES.hardware()),
    ],
    link: &[
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("tx_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("tx_aborted_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors"]),
        row("rx_frame_errors", LINE).duplicate_of(&["ethtool/rx_align_errors"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_long_length_errors"]),
    ],
};
