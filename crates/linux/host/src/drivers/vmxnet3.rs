use super::*;
use crate::reading::row;

/// The interface of VMware's virtual machines. The driver lists its counters by queue, below a line with the queue's
/// number; parts of a sum stand below it. What the device had no descriptor for is told here only, not in the
/// interface's own statistics. QEMU's device begins at 0 again when the ring's size is set.
pub const DRIVER: Driver = Driver {
    name: "vmxnet3",
    about: "VMware's paravirtual network interface; QEMU's vmxnet3",
    documented: "Linux 6.12: drivers/net/vmxnet3: vmxnet3_ethtool.c, vmxnet3_drv.c, vmxnet3_xdp.c",
    rows: &[
        row("Rx Queue#", CounterMeaning::gauge(Unit::Number).rx())
            .about("the queue that the next lines belong to"),
        row("Tx Queue#", CounterMeaning::gauge(Unit::Number).tx())
            .about("the queue that the next lines belong to"),
        row("pkts rx OOB", RX_RING)
            .about("out of buffers: the ring had no descriptor (UPT1_RxStats.pktsRxOutOfBuf)"),
        row("pkts rx err", CounterMeaning::lost(Way::Rx).hardware())
            .about("the device does not say why (UPT1_RxStats.pktsRxError)"),
        row("drv dropped rx total", RX_DRIVER).about("damaged, or no memory for its successor in the ring"),
        row("err", RX_DRIVER)
            .duplicate_of(&["ethtool/drv dropped rx total"])
            .about("the descriptor says damaged"),
        row("fcs", LINE)
            .duplicate_of(&["ethtool/drv dropped rx total"])
            .about("of those, with a wrong checksum"),
        row("rx buf alloc fail", RX_TROUBLE)
            .about("no memory for a descriptor; a packet that is dropped for it is in the total"),
        row("xdp drops", INTENTIONAL),
        row("xdp aborted", INTENTIONAL),
        row("xdp packets", CounterMeaning::work().rx().unit(Unit::Packets).software()),
        row("xdp tx", CounterMeaning::work().rx().unit(Unit::Packets).software()),
        row("xdp redirects", CounterMeaning::work().rx().unit(Unit::Packets).software()),
        row("pkts tx err", TX_RING.hardware()).about("UPT1_TxStats.pktsTxError"),
        row("pkts tx discard", TX_RING.hardware()).about("UPT1_TxStats.pktsTxDiscard"),
        row("drv dropped tx total", TX_RING.software())
            .about("what the device cannot send; a ring that is full drops nothing"),
        row("too many frags", TX_RING.software()).duplicate_of(&["ethtool/drv dropped tx total"]),
        row("giant hdr", TX_RING.software()).duplicate_of(&["ethtool/drv dropped tx total"]).about(
            "the second of the name counts headers too long to be copied, which are sent all the same",
        ),
        row("hdr err", TX_RING.software()).duplicate_of(&["ethtool/drv dropped tx total"]),
        row("tso", TX_RING.software()).duplicate_of(&["ethtool/drv dropped tx total"]),
        row("ring full", TX_STOP),
        row("xdp xmit err", TX_RING.software()),
        row("tx timeout count", TX_TROUBLE),
        row("ucast pkts rx", RX_PACKETS.hardware()),
        row("mcast pkts rx", RX_PACKETS.hardware()),
        row("bcast pkts rx", RX_PACKETS.hardware()),
        row("ucast bytes rx", RX_BYTES.hardware()),
        row("mcast bytes rx", RX_BYTES.hardware()),
        row("bcast bytes rx", RX_BYTES.hardware()),
        row("ucast pkts tx", TX_PACKETS.hardware()),
        row("mcast pkts tx", TX_PACKETS.hardware()),
        row("bcast pkts tx", TX_PACKETS.hardware()),
        row("ucast bytes tx", TX_BYTES.hardware()),
        row("mcast bytes tx", TX_BYTES.hardware()),
        row("bcast bytes tx", TX_BYTES.hardware()),
    ],
    link: &[
        row("rx_errors", CounterMeaning::lost(Way::Rx)).duplicate_of(&["ethtool/pkts rx err"]),
        row("rx_dropped", RX_DRIVER)
            .duplicate_of(&["ethtool/drv dropped rx total"])
            .about("the driver's drops, and those of the stack"),
        row("tx_errors", TX_RING).duplicate_of(&["ethtool/pkts tx err"]),
        row("tx_dropped", TX_RING)
            .duplicate_of(&["ethtool/drv dropped tx total"])
            .about("the driver's drops, and those of the stack"),
    ],
};
