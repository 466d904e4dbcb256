//! The sources, one file each.

pub mod cores;
pub mod interrupts;
pub mod link;
pub mod nic;
pub mod protocol_rows;
pub mod protocols;
pub mod qdisc;
pub mod qdisc_rows;
pub mod qstats;
pub mod sockets;
pub mod softirqs;
pub mod softnet;
pub mod standard;

use crate::reading::Row;

/// The row of a name in a table of plain names.
fn row_of(rows: &'static [Row], name: &str) -> Option<&'static Row> {
    rows.iter().find(|row| row.pattern == name)
}
