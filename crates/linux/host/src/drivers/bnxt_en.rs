use super::*;
use crate::reading::row;

/// Broadcom NetXtreme-C and -E. Each ring has its count of discards; `rx_total_ring_discards` (of newer kernels) is
/// their sum, also over rings that are gone. `rx_stat_discard` is the port's and holds what no ring saw.
pub const DRIVER: Driver = Driver {
    name: "bnxt_en",
    about: "Broadcom NetXtreme-C, NetXtreme-E, Thor",
    documented: "Linux 6.12: bnxt_ethtool.c, bnxt.c",
    rows: &[
        row("rx_total_ring_discards", RX_RING).about("no receive descriptor: the host is too slow"),
        row("[{queue}]: rx_discards", RX_RING)
            .duplicate_of(&["ethtool/rx_total_ring_discards"])
            .about("the same by ring"),
        row("rx_stat_discard", RX_RING).about("discarded by the port, before any ring"),
        row("rx_discard_packets_cos{n}", RX_RING)
            .duplicate_of(&["ethtool/rx_stat_discard"])
            .about("the same by class of service"),
        row("rx_discard_bytes_cos{n}", CounterMeaning::hint().rx().unit(Unit::Bytes).hardware()),
        row("rx_buffer_passed_threshold", CounterMeaning::hint().at(Stage::RxRing).rx().hardware())
            .about("the port's buffer was nearly full"),
        row("rx_total_oom_discards", RX_DRIVER).about("no memory to replace a buffer"),
        row("rx_total_netpoll_discards", RX_DRIVER).about("thrown away by netpoll"),
        row("rx_total_buf_errors", RX_TROUBLE)
            .about("the device found a buffer wrong; the ring is made anew"),
        row("[{queue}]: rx_buf_errors", RX_TROUBLE),
        row("rx_total_resets", RX_TROUBLE),
        row("[{queue}]: rx_resets", RX_TROUBLE),
        row("rx_total_l4_csum_errors", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
        row("[{queue}]: rx_l4_csum_errors", CounterMeaning::hint().rx().unit(Unit::Packets)),
        row("[{queue}]: rx_errors", RX_RING).about("arrived at the ring with an error"),
        row("[{queue}]: rx_tpa_errors", RX_TROUBLE),
        row("rx_filter_miss", INTENTIONAL.hardware()).about("no filter wanted it"),
        row("tx_total_ring_discards", TX_RING.hardware()),
        row("[{queue}]: tx_discards", TX_RING.hardware()).duplicate_of(&["ethtool/tx_total_ring_discards"]),
        row("[{queue}]: tx_errors", TX_RING.hardware()),
        row("tx_stat_discard", TX_RING.hardware()).about("discarded by the port"),
        row("tx_err", TX_RING.hardware()),
        row("tx_stat_error", TX_RING.hardware()).duplicate_of(&["ethtool/tx_err"]),
        row("tx_fifo_underruns", TX_RING.hardware()),
        row("tx_fcs_err_frames", TX_RING.hardware()).duplicate_of(&["ethtool/tx_err"]),
        row("tx_jabber_frames", TX_RING.hardware()).duplicate_of(&["ethtool/tx_err"]),
        row("tx_total_resets", TX_TROUBLE),
        row("missed_irqs", CounterMeaning::hint().software()),
        row("total_missed_irqs", CounterMeaning::hint().software()),
        row("[{queue}]: missed_irqs", CounterMeaning::hint().software()),
        row("rx_fcs_err_frames", LINE),
        row("rx_align_err_frames", LINE),
        row("rx_ovrsz_frames", LINE).about("longer than the port allows"),
        row("rx_mtu_err_frames", LINE).about("longer than the MTU: the two ends disagree"),
        row("rx_undrsz_frames", LINE),
        row("rx_runt_frames", LINE),
        row("rx_jbr_frames", LINE),
        row("rx_stat_err", LINE).duplicate_of(&["ethtool/rx_fcs_err_frames"]),
        row("rx_pcs_symbol_err", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("rx_corrected_bits", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("rx_fec_corrected_blocks", CounterMeaning::hint().at(Stage::Network).rx().hardware()),
        row("rx_fec_uncorrectable_blocks", LINE.unit(Unit::Events))
            .duplicate_of(&["ethtool/rx_fcs_err_frames"]),
        row("link_down_events", CounterMeaning::hint().at(Stage::Network).hardware()),
        row("rx_pause_frames", PAUSE_RX),
        row("tx_pause_frames", PAUSE_TX),
        row("rx_pfc_frames", PAUSE_RX),
        row("tx_pfc_frames", PAUSE_TX),
        row("rx_pfc_ena_frames_pri{n}", PAUSE_RX),
        row("tx_pfc_ena_frames_pri{n}", PAUSE_TX),
        row("pfc_pri{n}_rx_duration_us", PAUSE_RX.unit(Unit::Number)).about("microseconds"),
        row("pfc_pri{n}_tx_duration_us", PAUSE_TX.unit(Unit::Number)).about("microseconds"),
        row("pfc_pri{n}_rx_transitions", PAUSE_RX.unit(Unit::Events)),
        row("pfc_pri{n}_tx_transitions", PAUSE_TX.unit(Unit::Events)),
        row("continuous_pause_events", PAUSE_RX.unit(Unit::Events)),
        row("resume_pause_events", PAUSE_RX.unit(Unit::Events)),
        row("continuous_roce_pause_events", PAUSE_RX.unit(Unit::Events)),
        row("resume_roce_pause_events", PAUSE_RX.unit(Unit::Events)),
        row("rx_total_frames", RX_PACKETS.hardware()),
        row("tx_total_frames", TX_PACKETS.hardware()),
        row("rx_bytes", RX_BYTES.hardware()),
        row("tx_bytes", TX_BYTES.hardware()),
        row("[{queue}]: rx_ucast_packets", RX_PACKETS.hardware()),
        row("[{queue}]: tx_ucast_packets", TX_PACKETS.hardware()),
        row("[{queue}]: rx_ucast_bytes", RX_BYTES.hardware()),
        row("[{queue}]: tx_ucast_bytes", TX_BYTES.hardware()),
    ],
    link: &[
        row("rx_missed_errors", RX_RING)
            .duplicate_of(&["ethtool/rx_total_ring_discards", "ethtool/[{queue}]: rx_discards"]),
        row("rx_dropped", RX_DRIVER)
            .duplicate_of(&["ethtool/rx_total_oom_discards"])
            .about("no memory, netpoll, and drops by the stack"),
        row("tx_dropped", TX_RING).duplicate_of(&["ethtool/[{queue}]: tx_errors"]),
        row("tx_errors", TX_RING).duplicate_of(&["ethtool/tx_err"]),
        row("tx_fifo_errors", TX_RING).duplicate_of(&["ethtool/tx_fifo_underruns"]),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/rx_fcs_err_frames"]),
        row("rx_frame_errors", LINE).duplicate_of(&["ethtool/rx_align_err_frames"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_ovrsz_frames"]),
        row("rx_errors", LINE).duplicate_of(&["ethtool/rx_jbr_frames"]),
    ],
};
