use super::*;
use crate::reading::row;

/// A loss that is told by its name only: its origin is unknown, and it is left to the interface's own statistics,
/// where they have it, to be the count.
const fn guess(pattern: &'static str, sense: Sense, again: &'static [&'static str]) -> Row {
    row(pattern, Sense { origin: crate::reading::Origin::Unknown, ..sense }).again(again)
}

/// Drivers without a table. Names decide, cautiously: no loss is counted here that rtnetlink may count too, and no
/// stage is given to a name that does not tell it.
pub const GENERIC: Driver = Driver {
    name: "*",
    about: "drivers without a table: by the names that many share, with unknown origin",
    documented: "Documentation/networking/statistics.rst",
    rows: &[
        guess("*pause*", Sense::hint(), &[]),
        guess("*xoff*", Sense::hint(), &[]),
        guess("*xon*", Sense::hint(), &[]),
        guess("*xdp_drop*", BY_WILL, &[]),
        guess("*csum*", Sense::hint(), &[]),
        guess("*ecn*", Sense::hint(), &[]),
        guess("rx_queue_{queue}_packets", RX_PACKETS, &[]),
        guess("tx_queue_{queue}_packets", TX_PACKETS, &[]),
        guess("rx_queue_{queue}_bytes", RX_BYTES, &[]),
        guess("tx_queue_{queue}_bytes", TX_BYTES, &[]),
        guess("rx_queue_{queue}_drops", RX_RING, &["link/rx_dropped"]),
        guess("tx_queue_{queue}_drops", TX_RING, &["link/tx_dropped"]),
        guess("rx{queue}_packets", RX_PACKETS, &[]),
        guess("tx{queue}_packets", TX_PACKETS, &[]),
        guess("*rx*no_buf*", Sense::hint().at(Stage::RxRing).rx(), &[]),
        guess("*rx*out_of_buffer*", RX_RING, &["link/rx_missed_errors"]),
        guess("*rx*miss*", RX_RING, &["link/rx_missed_errors"]),
        guess("*rx*fifo*", RX_RING, &["link/rx_fifo_errors"]),
        guess("*rx*over*", RX_RING, &["link/rx_over_errors"]),
        guess("*rx*crc*", LINE, &["link/rx_crc_errors"]),
        guess("*rx*fcs*", LINE, &["link/rx_crc_errors"]),
        guess("*rx*alloc*", Sense::hint().at(Stage::RxRing).rx(), &[]),
        guess("*rx*discard*", Sense::lost(Way::Rx), &["link/rx_dropped"]),
        guess("*rx*drop*", Sense::lost(Way::Rx), &["link/rx_dropped"]),
        guess("*tx*discard*", Sense::lost(Way::Tx), &["link/tx_dropped"]),
        guess("*tx*drop*", Sense::lost(Way::Tx), &["link/tx_dropped"]),
        guess("*tx*stop*", TX_STOP, &[]),
        guess("*tx*busy*", TX_STOP, &[]),
        guess("*rx*err*", Sense::lost(Way::Rx), &["link/rx_errors"]),
        guess("*tx*err*", Sense::lost(Way::Tx), &["link/tx_errors"]),
    ],
    link: &[],
};
