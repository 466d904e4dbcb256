use super::*;
use crate::reading::row;

/// ConnectX-4 and later. `rx_out_of_buffer` (no receive descriptor) and `rx_discards_phy` (no room in the port's
/// own buffer) are different packets: both count. The counters of queues are sums of software, those with `_phy`
/// the port's.
pub const DRIVER: Driver = Driver {
    name: "mlx5_core",
    about: "NVIDIA ConnectX-4 and later, BlueField",
    documented: "Linux 6.12: en_stats.c, en_main.c; Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst",
    rows: &[
        row("rx_out_of_buffer", RX_RING).about("no receive descriptor was posted: the host is too slow"),
        row("rx_if_down_packets", INTENTIONAL.hardware()).about("came while the interface was down"),
        row("rx_discards_phy", RX_RING)
            .about("the port's buffer was full: PCIe or memory is too slow, or the host is"),
        row("rx_prio{n}_discards", RX_RING)
            .duplicate_of(&["ethtool/rx_discards_phy"])
            .about("the same by priority"),
        row("rx_prio{n}_buf_discard", RX_RING).duplicate_of(&["ethtool/rx_discards_phy"]),
        row("rx_prio{n}_cong_discard", RX_RING)
            .duplicate_of(&["ethtool/rx_discards_phy"])
            .about("dropped early, as the buffer filled"),
        row(
            "rx_prio{n}_marked",
            CounterMeaning::hint().at(Stage::RxRing).rx().unit(Unit::Packets).hardware(),
        )
        .about("marked by the device, as the buffer filled"),
        row("rx_buffer_passed_thres_phy", CounterMeaning::hint().at(Stage::RxRing).rx().hardware())
            .about("the port's buffer was nearly full"),
        row("dev_internal_queue_oob", RX_RING).about("an internal queue had no buffer"),
        row("rx_steer_missed_packets", INTENTIONAL.hardware()).about("no steering rule wanted it"),
        row("rx_oversize_pkts_buffer", RX_RING).about("larger than the receive buffers"),
        row("rx_oversize_pkts_sw_drop", RX_DRIVER).about("larger than the MTU allows"),
        row("rx{queue}_oversize_pkts_sw_drop", RX_DRIVER).duplicate_of(&["ethtool/rx_oversize_pkts_sw_drop"]),
        row("rx_wqe_err", RX_DRIVER).about("completed with an error"),
        row("rx{queue}_wqe_err", RX_DRIVER).duplicate_of(&["ethtool/rx_wqe_err"]),
        row("rx_buff_alloc_err", RX_TROUBLE)
            .about("no memory for a descriptor; the ring runs dry if it lasts"),
        row("rx{queue}_buff_alloc_err", RX_TROUBLE),
        row("rx_xdp_drop", INTENTIONAL),
        row("rx{queue}_xdp_drop", INTENTIONAL).duplicate_of(&["ethtool/rx_xdp_drop"]),
        row("rx_xsk_wqe_err", RX_DRIVER).about("completed with an error, in a queue of AF_XDP"),
        row("rx{queue}_xsk_wqe_err", RX_DRIVER).duplicate_of(&["ethtool/rx_xsk_wqe_err"]),
        row("rx_xsk_oversize_pkts_sw_drop", RX_DRIVER).about("the same, larger than the MTU allows"),
        row("rx{queue}_xsk_oversize_pkts_sw_drop", RX_DRIVER)
            .duplicate_of(&["ethtool/rx_xsk_oversize_pkts_sw_drop"]),
        row("rx_xsk_buff_alloc_err", RX_TROUBLE).about("the program gave no buffer in time"),
        row("rx{queue}_xsk_buff_alloc_err", RX_TROUBLE),
        row("rx_xsk_xdp_drop", INTENTIONAL),
        row("rx{queue}_xsk_xdp_drop", INTENTIONAL).duplicate_of(&["ethtool/rx_xsk_xdp_drop"]),
        row("outbound_pci_buffer_overflow", RX_RING)
            .duplicate_of(&["ethtool/rx_discards_phy"])
            .about("PCIe takes packets more slowly than they come"),
        row("outbound_pci_stalled_wr", CounterMeaning::gauge(Unit::Number).at(Stage::RxRing).rx().hardware())
            .about("percent of the last second in which PCIe took no writes for want of credits"),
        row("outbound_pci_stalled_wr_events", CounterMeaning::hint().at(Stage::RxRing).rx().hardware())
            .about("seconds in which that was more than 30 %"),
        row("outbound_pci_stalled_rd", CounterMeaning::gauge(Unit::Number).at(Stage::TxRing).tx().hardware())
            .about("percent of the last second in which PCIe took no reads for want of credits"),
        row("outbound_pci_stalled_rd_events", CounterMeaning::hint().at(Stage::TxRing).tx().hardware())
            .about("seconds in which that was more than 30 %"),
        row("rx_pci_signal_integrity", CounterMeaning::hint().hardware())
            .about("PCIe had to recover: its signal is bad"),
        row("tx_pci_signal_integrity", CounterMeaning::hint().hardware()),
        row("ptp_tx{queue}_dropped", TX_RING.software()).duplicate_of(&["ethtool/tx_queue_dropped"]),
        row("qos_tx{queue}_dropped", TX_RING.software()).duplicate_of(&["ethtool/tx_queue_dropped"]),
        row("ptp_tx{queue}_stopped", TX_STOP),
        row("qos_tx{queue}_stopped", TX_STOP),
        row("ptp_tx{queue}_cqe_err", TX_TROUBLE),
        row("qos_tx{queue}_cqe_err", TX_TROUBLE),
        row("module_bus_stuck", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("module_high_temp", CounterMeaning::hint().at(Stage::Network).hardware())
            .about("the transceiver is too hot"),
        row("module_bad_shorted", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("module_unplug", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("tx_queue_dropped", TX_RING.software()).about("could not be mapped or sent"),
        row("tx{queue}_dropped", TX_RING.software()).duplicate_of(&["ethtool/tx_queue_dropped"]),
        row("tx_discards_phy", TX_RING.hardware())
            .about("the port discarded it: a stalled link with PAUSE, mostly"),
        row("tx_errors_phy", TX_RING.hardware()),
        row("tx_cqe_err", TX_TROUBLE),
        row("tx{queue}_cqe_err", TX_TROUBLE),
        row("tx_queue_stopped", TX_STOP).about("the ring was full and the queue stopped"),
        row("tx{queue}_stopped", TX_STOP),
        row("tx_queue_wake", TX_STOP),
        row("tx{queue}_wake", TX_STOP),
        row("rx_crc_errors_phy", LINE).about("damaged on the line"),
        row("rx_in_range_len_errors_phy", LINE),
        row("rx_out_of_range_len_phy", LINE),
        row("rx_oversize_pkts_phy", LINE).about("longer than the port's MTU: the two ends disagree"),
        row("rx_undersize_pkts_phy", LINE),
        row("rx_fragments_phy", LINE).duplicate_of(&["ethtool/rx_crc_errors_phy"]),
        row("rx_jabbers_phy", LINE).duplicate_of(&["ethtool/rx_crc_errors_phy"]),
        row("rx_unsupported_op_phy", CounterMeaning::hint().rx().hardware()),
        row("rx_symbol_err_phy", CounterMeaning::hint().at(Stage::Network).rx().hardware())
            .about("the line carried symbols that are none"),
        row("rx_pcs_symbol_err_phy", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("rx_corrected_bits_phy", CounterMeaning::hint().at(Stage::Network).rx().hardware())
            .about("bits that FEC mended"),
        row("rx_err_lane_{n}_phy", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("link_down_events_phy", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("rx_pause_ctrl_phy", PAUSE_RX),
        row("tx_pause_ctrl_phy", PAUSE_TX),
        row("rx_global_pause", PAUSE_RX),
        row("tx_global_pause", PAUSE_TX),
        row("rx_global_pause_duration", PAUSE_RX.unit(Unit::Number)).about("microseconds"),
        row("tx_global_pause_duration", PAUSE_TX.unit(Unit::Number)).about("microseconds"),
        row("rx_global_pause_transition", PAUSE_RX.unit(Unit::Events)),
        row("rx_prio{n}_pause", PAUSE_RX),
        row("tx_prio{n}_pause", PAUSE_TX),
        row("rx_prio{n}_pause_duration", PAUSE_RX.unit(Unit::Number)).about("microseconds"),
        row("tx_prio{n}_pause_duration", PAUSE_TX.unit(Unit::Number)).about("microseconds"),
        row("rx_prio{n}_pause_transition", PAUSE_RX.unit(Unit::Events)),
        row("tx_pause_storm_warning_events", PAUSE_TX.unit(Unit::Events)),
        row("tx_pause_storm_error_events", PAUSE_TX.unit(Unit::Events))
            .about("the device gave up sending PAUSE"),
        row("rx_ecn_mark", CounterMeaning::hint().at(Stage::Network).rx().unit(Unit::Packets).software())
            .about("packets that came marked with congestion experienced"),
        row(
            "rx{queue}_ecn_mark",
            CounterMeaning::hint().at(Stage::Network).rx().unit(Unit::Packets).software(),
        ),
        row("rx_congst_umr", RX_TROUBLE),
        row("rx{queue}_congst_umr", RX_TROUBLE),
        row("rx_packets_phy", RX_PACKETS.hardware()),
        row("tx_packets_phy", TX_PACKETS.hardware()),
        row("rx_bytes_phy", RX_BYTES.hardware()),
        row("tx_bytes_phy", TX_BYTES.hardware()),
        row("rx_vport_unicast_packets", RX_PACKETS.hardware()),
        row("tx_vport_unicast_packets", TX_PACKETS.hardware()),
        row("rx_packets", RX_PACKETS.software()),
        row("tx_packets", TX_PACKETS.software()),
        row("rx_bytes", RX_BYTES.software()),
        row("tx_bytes", TX_BYTES.software()),
        row("rx{queue}_packets", RX_PACKETS.software()),
        row("tx{queue}_packets", TX_PACKETS.software()),
        row("rx{queue}_bytes", RX_BYTES.software()),
        row("tx{queue}_bytes", TX_BYTES.software()),
        row("ch{queue}_events", CounterMeaning::work().software()).about("interrupts"),
        row("ch{queue}_poll", CounterMeaning::work().software()).about("rounds of NAPI"),
        row("ch{queue}_arm", CounterMeaning::work().software()).about("rounds that ended with nothing left"),
        row("ch{queue}_aff_change", CounterMeaning::hint().software())
            .about("polling moved to another CPU: the interrupt was moved"),
    ],
    link: &[
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_out_of_buffer"]),
        row("rx_dropped", INTENTIONAL).about("dropped by the stack; the driver adds nothing"),
        row("tx_dropped", TX_RING).duplicate_of(&["ethtool/tx_queue_dropped"]),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors_phy"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_oversize_pkts_phy"]),
        row("tx_aborted_errors", TX_RING).duplicate_of(&["ethtool/tx_discards_phy"]),
    ],
};
