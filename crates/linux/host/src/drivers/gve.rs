use super::*;
use crate::reading::row;

/// Google's virtual interface. `rx_queue_drop_cnt` and `rx_no_buffers_posted` come from the device's report, which
/// it makes only if the private flag `report-stats` is on.
pub const DRIVER: Driver = Driver {
    name: "gve",
    about: "Google Virtual Ethernet",
    documented: "Linux 6.12: gve_ethtool.c, gve_main.c; Documentation/networking/device_drivers/ethernet/google/gve.rst",
    rows: &[
        row("rx_queue_drop_cnt[{queue}]", RX_RING).about("dropped by the device for want of a buffer; needs `ethtool --set-priv-flags DEV report-stats on`"),
        row("rx_no_buffers_posted[{queue}]", CounterMeaning::hint().at(Stage::RxRing).rx().hardware()).about("the device found no buffer; needs report-stats"),
        row("rx_drops_packet_over_mru[{queue}]", RX_RING).about("larger than the buffers"),
        row("rx_drops_invalid_checksum[{queue}]", LINE).about("wrong checksum"),
        row("rx_dropped", RX_DRIVER).about("sum of the driver's drops: no memory, or a bad descriptor"),
        row("rx_dropped_pkt[{queue}]", RX_DRIVER).duplicate_of(&["ethtool/rx_dropped"]),
        row("rx_skb_alloc_fail", RX_DRIVER).duplicate_of(&["ethtool/rx_dropped"]).about("no memory for a packet"),
        row("rx_buf_alloc_fail", RX_TROUBLE).duplicate_of(&["ethtool/rx_dropped"]).about("no memory to replace a buffer"),
        row("rx_desc_err_dropped_pkt", RX_DRIVER).duplicate_of(&["ethtool/rx_dropped"]),
        row("tx_dropped", TX_RING.software()),
        row("tx_dma_mapping_error[{queue}]", TX_RING.software()).duplicate_of(&["ethtool/tx_dropped"]),
        row("tx_timeouts", TX_TROUBLE),
        row("tx_stop[{queue}]", TX_STOP).about("the ring was full"),
        row("tx_wake[{queue}]", TX_STOP),
        row("page_alloc_fail", RX_TROUBLE),
        row("dma_mapping_error", RX_TROUBLE),
        row("reset_cnt", CounterMeaning::hint().software()),
        row("rx_xdp_drop[{queue}]", INTENTIONAL),
        row("rx_xdp_aborted[{queue}]", INTENTIONAL),
        row("rx_xdp_tx_errors[{queue}]", INTENTIONAL),
        row("rx_xdp_redirect_errors[{queue}]", INTENTIONAL),
        row("rx_xdp_alloc_fails[{queue}]", INTENTIONAL),
        row("tx_xdp_xmit_errors[{queue}]", TX_RING.software()),
        row("adminq_*", CounterMeaning::work()),
        row("rx_packets", RX_PACKETS.software()),
        row("tx_packets", TX_PACKETS.software()),
        row("rx_bytes", RX_BYTES.software()),
        row("tx_bytes", TX_BYTES.software()),
        row("rx_bytes[{queue}]", RX_BYTES.software()),
        row("tx_bytes[{queue}]", TX_BYTES.software()),
        row("rx_completed_desc[{queue}]", CounterMeaning::work().rx().software()),
        row("tx_completed_desc[{queue}]", CounterMeaning::work().tx().software()),
    ],
    link: &[
        row("rx_dropped", INTENTIONAL).about("dropped by the stack; the driver adds nothing"),
        row("tx_dropped", TX_RING.software()).about("dropped by the stack; the driver adds nothing"),
    ],
};
