use super::*;
use crate::reading::row;

/// Amazon's virtual interface. The device's own drops are only in rtnetlink's `rx_dropped` and `tx_dropped`; what
/// the cloud's limits held back is told by the `*_allowance_exceeded`, of which some say that packets waited or
/// were lost.
pub const DRIVER: Driver = Driver {
    name: "ena",
    about: "Amazon Elastic Network Adapter",
    documented: "Linux 6.12: ena_ethtool.c, ena_netdev.c; docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-network-performance-ena.html",
    rows: &[
        row(
            "bw_in_allowance_exceeded",
            CounterMeaning::hint().at(Stage::Network).rx().unit(Unit::Packets).hardware(),
        )
        .about("more than the instance's bandwidth: packets waited or were lost"),
        row(
            "bw_out_allowance_exceeded",
            CounterMeaning::hint().at(Stage::Network).tx().unit(Unit::Packets).hardware(),
        )
        .about("more than the instance's bandwidth: packets waited or were lost"),
        row(
            "pps_allowance_exceeded",
            CounterMeaning::hint().at(Stage::Network).unit(Unit::Packets).hardware(),
        )
        .about("more than the instance's packets a second: packets waited or were lost"),
        row(
            "conntrack_allowance_exceeded",
            CounterMeaning { way: None, ..CounterMeaning::loss(Stage::Network, Way::Rx).hardware() },
        )
        .about("more than the instance's tracked connections: packets were lost, either way"),
        row("linklocal_allowance_exceeded", CounterMeaning::loss(Stage::Network, Way::Tx).hardware())
            .about("too many packets a second to the cloud's own services (DNS, metadata, time)"),
        row("conntrack_allowance_available", CounterMeaning::gauge(Unit::Number).hardware()),
        row("rx_drops", RX_RING).about("dropped by the device (drivers outside the kernel's tree)"),
        row("tx_drops", TX_RING.hardware())
            .about("dropped by the device (drivers outside the kernel's tree)"),
        row("queue_{queue}_rx_empty_rx_ring", RX_TROUBLE).about("the ring ran dry and could not be filled"),
        row("queue_{queue}_rx_refil_partial", RX_TROUBLE).about("no memory to fill the ring"),
        row("queue_{queue}_rx_page_alloc_fail", RX_TROUBLE),
        row("queue_{queue}_rx_skb_alloc_fail", RX_DRIVER).about("no memory for a packet"),
        row("queue_{queue}_rx_dma_mapping_err", RX_TROUBLE),
        row("queue_{queue}_rx_bad_desc_num", RX_TROUBLE),
        row("queue_{queue}_rx_bad_req_id", RX_TROUBLE),
        row("queue_{queue}_rx_csum_bad", CounterMeaning::hint().rx().unit(Unit::Packets))
            .about("wrong checksum; the stack drops and counts it"),
        row("queue_{queue}_rx_xdp_drop", INTENTIONAL),
        row("queue_{queue}_rx_xdp_aborted", INTENTIONAL),
        row("queue_{queue}_rx_xdp_invalid", INTENTIONAL),
        row("queue_{queue}_tx_missed_tx", TX_TROUBLE).about("not completed in time"),
        row("queue_{queue}_tx_dma_mapping_err", TX_RING.software()).about("could not be mapped"),
        row("queue_{queue}_tx_linearize_failed", TX_RING.software()).about("in too many pieces"),
        row("queue_{queue}_tx_prepare_ctx_err", TX_TROUBLE),
        row("queue_{queue}_tx_bad_req_id", TX_TROUBLE),
        row("queue_{queue}_tx_queue_stop", TX_STOP).about("the ring was full"),
        row("queue_{queue}_tx_queue_wakeup", TX_STOP),
        row("tx_timeout", TX_TROUBLE),
        row("wd_expired", CounterMeaning::hint().hardware()).about("the device did not answer and was reset"),
        row("reset_fail", CounterMeaning::hint().software()),
        row("admin_q_pause", CounterMeaning::hint()),
        row("ena_admin_q_*", CounterMeaning::work()),
        row("queue_{queue}_rx_cnt", RX_PACKETS.software()),
        row("queue_{queue}_tx_cnt", TX_PACKETS.software()),
        row("queue_{queue}_rx_bytes", RX_BYTES.software()),
        row("queue_{queue}_tx_bytes", TX_BYTES.software()),
        row("ena_srd_tx_pkts", TX_PACKETS.hardware()),
        row("ena_srd_rx_pkts", RX_PACKETS.hardware()),
    ],
    link: &[
        row("rx_dropped", RX_RING)
            .duplicate_of(&["ethtool/rx_drops"])
            .about("the device's drops; those of XDP and of the stack are among them"),
        row("tx_dropped", TX_RING.hardware()).duplicate_of(&["ethtool/tx_drops"]).about("the device's drops"),
    ],
};
