//! What the statistics of each driver mean: a table per driver, one file each.
//!
//! A table lists counters that tell losses, pressure or traffic; what it leaves out has no known meaning. Where several
//! counters count the same packets, it says which one is to be counted. `link` replaces the general meaning of the
//! interface's statistics ([`crate::sources::link`]) where this driver fills them in its own way.

mod bnxt_en;
mod e1000;
mod e1000e;
mod ena;
mod generic;
mod gve;
mod i40e;
mod ice;
mod igb;
mod ixgbe;
mod mlx4;
mod mlx5;
mod veth;
mod virtio_net;
mod vmxnet3;

pub use generic::GENERIC;

use crate::reading::{CounterMeaning, Row, Unit, Way};
use wirespeed_record::Stage;

/// A driver and what its counters mean.
#[derive(Debug)]
pub struct Driver {
    /// Its name as `ethtool -i` prints it.
    pub name: &'static str,
    /// What it drives.
    pub about: &'static str,
    /// Where the meanings were read: kernel version and files.
    pub documented: &'static str,
    /// Counters of `ethtool -S`, first match first.
    pub rows: &'static [Row],
    /// Counters of rtnetlink that mean something else with this driver, or repeat one of the above.
    pub link: &'static [Row],
}

/// Every driver with a table.
pub fn drivers() -> &'static [&'static Driver] {
    &[
        &mlx5::DRIVER,
        &mlx4::DRIVER,
        &ice::DRIVER,
        &i40e::DRIVER,
        &ixgbe::DRIVER,
        &igb::DRIVER,
        &e1000e::DRIVER,
        &e1000::DRIVER,
        &bnxt_en::DRIVER,
        &ena::DRIVER,
        &gve::DRIVER,
        &virtio_net::DRIVER,
        &vmxnet3::DRIVER,
        &veth::DRIVER,
    ]
}

/// The driver of a name.
pub fn driver(name: &str) -> Option<&'static Driver> {
    drivers().iter().copied().find(|driver| driver.name == name)
}

// Meanings that most drivers need.

/// The device had no receive descriptor or no room for what arrived.
const RX_RING: CounterMeaning = CounterMeaning::loss(Stage::RxRing, Way::Rx).hardware();
/// The driver lost what it had received.
const RX_DRIVER: CounterMeaning = CounterMeaning::loss(Stage::RxRing, Way::Rx).software();
/// The driver or the device lost what was to be sent.
const TX_RING: CounterMeaning = CounterMeaning::loss(Stage::TxRing, Way::Tx);
/// Damaged on the line.
const LINE: CounterMeaning = CounterMeaning::loss(Stage::Network, Way::Rx).hardware();
/// A program of the user dropped it (XDP), or a filter.
const INTENTIONAL: CounterMeaning = CounterMeaning::lost(Way::Rx).software();
/// The neighbour asked this host to wait.
const PAUSE_RX: CounterMeaning = CounterMeaning::hint().at(Stage::TxRing).rx().unit(Unit::Packets).hardware();
/// This host asked its neighbour to wait: its receive side is too slow.
const PAUSE_TX: CounterMeaning = CounterMeaning::hint().at(Stage::RxRing).tx().unit(Unit::Packets).hardware();
/// The transmit ring was full and the queue stopped.
const TX_STOP: CounterMeaning = CounterMeaning::hint().at(Stage::TxRing).tx().software();
/// The receive side had trouble, without a loss by itself.
const RX_TROUBLE: CounterMeaning = CounterMeaning::hint().at(Stage::RxRing).rx().software();
const TX_TROUBLE: CounterMeaning = CounterMeaning::hint().at(Stage::TxRing).tx().software();
const RX_PACKETS: CounterMeaning = CounterMeaning::packets(Way::Rx);
const TX_PACKETS: CounterMeaning = CounterMeaning::packets(Way::Tx);
const RX_BYTES: CounterMeaning = CounterMeaning::bytes(Way::Rx);
const TX_BYTES: CounterMeaning = CounterMeaning::bytes(Way::Tx);
