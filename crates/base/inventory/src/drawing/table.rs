//! Interfaces as a table, and everything that could not be read as a list.

use super::words::{kind, rate};
use crate::{Interface, Inventory};

/// The interfaces, one a line: kind, driver, speed, MTU, rings, channels, moderation and qdisc.
pub fn interfaces(inventory: &Inventory) -> String {
    const HEAD: [&str; 10] = [
        "interface",
        "kind",
        "driver",
        "speed",
        "MTU",
        "rx ring",
        "tx ring",
        "channels",
        "rx coalescing",
        "qdisc",
    ];
    let head = HEAD.map(str::to_owned);
    let rows: Vec<[String; 10]> = std::iter::once(head).chain(inventory.interfaces.iter().map(row)).collect();
    if rows.len() == 1 {
        return String::new();
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let line = |row: &[String; 10]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn row(interface: &Interface) -> [String; 10] {
    let number = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let now_of = |now: u64, most: u64| format!("{now} of {most}");
    let rings = interface.rings;
    let channels = interface.channels.filter(|channels| channels.combined_max > 0);
    let coalescing = interface.coalescing.map(|coalescing| {
        let adaptive = if coalescing.adaptive_rx == Some(true) { "adaptive, " } else { "" };
        format!("{adaptive}{} us", number(coalescing.rx_usecs))
    });
    let leaves = interface.leaf_qdiscs();
    let qdisc = match (interface.root_qdisc(), leaves.first()) {
        (Some(root), Some(leaf)) if root.kind != leaf.kind => {
            format!("{}, {} x {}", root.kind, leaves.len(), leaf.kind)
        }
        (Some(root), _) => root.kind.clone(),
        (None, _) => "-".to_owned(),
    };
    let or_dash =
        |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned());
    [
        interface.name.clone(),
        kind(interface.kind).to_owned(),
        or_dash(interface.driver.as_ref().map(|driver| driver.name.clone())),
        or_dash(interface.speed_bps.map(|bps| rate(bps as f64))),
        number(interface.mtu_bytes),
        or_dash(rings.map(|rings| now_of(rings.rx, rings.rx_max))),
        or_dash(rings.map(|rings| now_of(rings.tx, rings.tx_max))),
        or_dash(channels.map(|channels| now_of(channels.combined, channels.combined_max))),
        or_dash(coalescing),
        qdisc,
    ]
}

/// Everything that could not be read, with reason and remedy. Empty if nothing is missing.
pub fn missing(inventory: &Inventory) -> String {
    if inventory.missing.is_empty() {
        return String::new();
    }
    let line = |missing: &crate::Missing| match missing.remedy.as_str() {
        "" => format!("  {}: {}\n", missing.what, missing.reason),
        remedy => format!("  {}: {}; {remedy}\n", missing.what, missing.reason),
    };
    let lines: String = inventory.missing.iter().map(line).collect();
    format!("Not read:\n{lines}")
}
