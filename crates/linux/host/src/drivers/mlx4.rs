use super::*;
use crate::reading::row;

/// ConnectX-3. `rx_dropped` is the device's count of frames without a descriptor (RDROP) and the driver's of rings;
/// `rx_fifo_errors` is the port's overflow (RdropOvflw).
pub const DRIVER: Driver = Driver {
    name: "mlx4_en",
    about: "Mellanox ConnectX-2 and ConnectX-3",
    documented: "Linux 6.12: en_ethtool.c, en_port.c, en_rx.c",
    rows: &[
        row("rx_dropped", RX_RING).about("no receive descriptor, and what the rings dropped"),
        row("rx{queue}_dropped", RX_DRIVER)
            .duplicate_of(&["ethtool/rx_dropped"])
            .about("no memory to replace a buffer"),
        row("rx_fifo_errors", RX_RING).about("the port's buffer was full"),
        row("rx_over_errors", RX_RING).duplicate_of(&["ethtool/rx_fifo_errors"]),
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_fifo_errors"]),
        row("rx_xdp_drop", INTENTIONAL),
        row("rx{queue}_xdp_drop", INTENTIONAL).duplicate_of(&["ethtool/rx_xdp_drop"]),
        row("tx_dropped", TX_RING).about("dropped by the device or the driver"),
        row("queue_stopped", TX_STOP),
        row("wake_queue", TX_STOP),
        row("tx_timeout", TX_TROUBLE),
        row("rx_crc_errors", LINE),
        row("rx_length_errors", LINE),
        row("rx_frame_errors", LINE),
        row("rx_jabbers", LINE).about("too long and damaged"),
        row("rx_in_range_length_error", LINE),
        row("rx_out_range_length_error", LINE),
        row("rx_errors", LINE)
            .duplicate_of(&["ethtool/rx_crc_errors"])
            .about("sum of those with a wrong length or checksum"),
        row("tx_errors", TX_RING),
        row("tx_*_errors", TX_RING).duplicate_of(&["ethtool/tx_errors"]),
        row("rx_pause", PAUSE_RX),
        row("tx_pause", PAUSE_TX),
        row("rx_pause_duration", PAUSE_RX.unit(Unit::Number)).about("microseconds"),
        row("tx_pause_duration", PAUSE_TX.unit(Unit::Number)).about("microseconds"),
        row("rx_pause_transition", PAUSE_RX.unit(Unit::Events)),
        row("tx_pause_transition", PAUSE_TX.unit(Unit::Events)),
        row("rx_pause_prio_{n}", PAUSE_RX),
        row("tx_pause_prio_{n}", PAUSE_TX),
        row("rx_pause_*_prio_{n}", PAUSE_RX.unit(Unit::Events)),
        row("tx_pause_*_prio_{n}", PAUSE_TX.unit(Unit::Events)),
        row("rx_packets", RX_PACKETS),
        row("tx_packets", TX_PACKETS),
        row("rx_bytes", RX_BYTES),
        row("tx_bytes", TX_BYTES),
        row("rx_packets_phy", RX_PACKETS.hardware()),
        row("tx_packets_phy", TX_PACKETS.hardware()),
        row("rx{queue}_packets", RX_PACKETS.software()),
        row("tx{queue}_packets", TX_PACKETS.software()),
        row("rx{queue}_bytes", RX_BYTES.software()),
        row("tx{queue}_bytes", TX_BYTES.software()),
    ],
    link: &[
        row("rx_dropped", RX_RING).duplicate_of(&["ethtool/rx_dropped"]),
        row("rx_fifo_errors", RX_RING).duplicate_of(&["ethtool/rx_fifo_errors"]),
        row("rx_over_errors", RX_RING).duplicate_of(&["ethtool/rx_over_errors"]),
        row("rx_missed_errors", RX_RING).duplicate_of(&["ethtool/rx_missed_errors"]),
        row("tx_dropped", TX_RING).duplicate_of(&["ethtool/tx_dropped"]),
        row("rx_crc_errors", LINE).duplicate_of(&["ethtool/rx_crc_errors"]),
        row("rx_length_errors", LINE).duplicate_of(&["ethtool/rx_length_errors"]),
        row("rx_frame_errors", LINE).duplicate_of(&["ethtool/rx_frame_errors"]),
    ],
};
