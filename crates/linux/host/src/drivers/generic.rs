use super::*;
use crate::reading::row;

/// A loss that is told by its name only: its origin is unknown, and it is left to the interface's own statistics,
/// where they have it, to be the count.
const fn guess(pattern: &'static str, sense: CounterMeaning, duplicate_of: &'static [&'static str]) -> Row {
    row(pattern, CounterMeaning { origin: crate::reading::Origin::Unknown, ..sense })
        .duplicate_of(duplicate_of)
}

/// Drivers without a table. Names decide, cautiously: no loss is counted here that rtnetlink may count too, and no
/// stage is given to a name that does not tell it.
pub const GENERIC: Driver = Driver {
    name: "*",
    about: "drivers without a table: by the names that many share, with unknown origin",
    documented: "Documentation/networking/statistics.rst",
    rows: &[
        guess("*pause*", CounterMeaning::hint(), &[]),
        guess("*xoff*", CounterMeaning::hint(), &[]),
        guess("*xon*", CounterMeaning::hint(), &[]),
        guess("*xdp_drop*", INTENTIONAL, &[]),
        guess("*csum*", CounterMeaning::hint(), &[]),
        guess("*ecn*", CounterMeaning::hint(), &[]),
        guess("rx_queue_{queue}_packets", RX_PACKETS, &[]),
        guess("tx_queue_{queue}_packets", TX_PACKETS, &[]),
        guess("rx_queue_{queue}_bytes", RX_BYTES, &[]),
        guess("tx_queue_{queue}_bytes", TX_BYTES, &[]),
        guess("rx_queue_{queue}_drops", RX_RING, &["link/rx_dropped"]),
        guess("tx_queue_{queue}_drops", TX_RING, &["link/tx_dropped"]),
        guess("rx{queue}_packets", RX_PACKETS, &[]),
        guess("tx{queue}_packets", TX_PACKETS, &[]),
        guess("*rx*no_buf*", CounterMeaning::hint().at(Stage::RxRing).rx(), &[]),
        guess("*rx*out_of_buffer*", RX_RING, &["link/rx_missed_errors"]),
        guess("*rx*miss*", RX_RING, &["link/rx_missed_errors"]),
        guess("*rx*fifo*", RX_RING, &["link/rx_fifo_errors"]),
        guess("*rx*over*", RX_RING, &["link/rx_over_errors"]),
        guess("*rx*crc*", LINE, &["link/rx_crc_errors"]),
        guess("*rx*fcs*", LINE, &["link/rx_crc_errors"]),
        guess("*rx*alloc*", CounterMeaning::hint().at(Stage::RxRing).rx(), &[]),
        guess("*rx*discard*", CounterMeaning::lost(Way::Rx), &["link/rx_dropped"]),
        guess("*rx*drop*", CounterMeaning::lost(Way::Rx), &["link/rx_dropped"]),
        guess("*tx*discard*", CounterMeaning::lost(Way::Tx), &["link/tx_dropped"]),
        guess("*tx*drop*", CounterMeaning::lost(Way::Tx), &["link/tx_dropped"]),
        guess("*tx*stop*", TX_STOP, &[]),
        guess("*tx*busy*", TX_STOP, &[]),
        guess("*rx*err*", CounterMeaning::lost(Way::Rx), &["link/rx_errors"]),
        guess("*tx*err*", CounterMeaning::lost(Way::Tx), &["link/tx_errors"]),
    ],
    link: &[],
};
