//! The loss ledger: where every packet of a run went, and which counter shows it.
//!
//! [`Balance`] is the one engine: it closes the account of a direction. Each kind of evidence has an adapter that fills
//! one. [`path`] is for one kernel or the model, where all queues are visible. [`hosts`] is for real hosts, between which
//! nothing is visible. [`captures`] is for packet captures at one or two points. Crate `iperf3` has that of its reports. [`intervals`] subtracts balances from one another, and [`retransmissions`]
//! assigns retransmissions to drops. `docs/explanation/ledger.md` describes the method.

mod balance;
pub mod captures;
#[cfg(feature = "hosts")]
pub mod hosts;
pub mod intervals;
pub mod path;
pub mod retransmissions;

pub use balance::{Account, Balance, Side, account};
