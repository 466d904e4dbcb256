//! Network interfaces: each with the parts that the other files read.

use super::links::{Link, Links};
use super::{Notes, addresses, interrupts, knobs, pci, qdiscs, queues};
use crate::ethtool::{Knob, parse_driver};
use crate::root::Root;
use crate::snapshot::take_of;
use crate::source::source;
use std::collections::BTreeMap;
use wirespeed_inventory::{Driver, Interface, InterfaceKind};

pub(super) fn read(root: &mut Root, links: &Links, notes: &mut Notes) -> Vec<Interface> {
    let addresses = addresses::read(root, notes);
    let lines = interrupts::read(root, links, notes);
    let qdiscs = qdiscs::read(root, notes);
    let counters = counters(root);
    let interface = |link: &Link| {
        let name = &link.name;
        let driver = driver(root, name, notes);
        let device = pci::device(root, link, links.has_sysfs, driver.as_ref());
        let mut interface = Interface {
            name: name.clone(),
            kind: link.kind,
            addresses: addresses.get(&link.index).cloned().unwrap_or_default(),
            master: link.master.and_then(|index| links.name_of(index)).map(str::to_owned),
            lower: lower(link, links),
            vlan: link.vlan,
            operational_state: link.operational_state.clone(),
            speed_bps: speed(root, link, notes),
            mtu_bytes: link.mtu_bytes,
            max_mtu_bytes: link.max_mtu_bytes,
            tx_queue_length: link.tx_queue_length,
            driver,
            node: device.node,
            pcie: device.pcie,
            gso_max_bytes: link.gso_max_bytes,
            gro_max_bytes: link.gro_max_bytes,
            errors: counters.get(name).cloned().unwrap_or_default(),
            interrupts: lines.get(&link.index).cloned().unwrap_or_default(),
            qdiscs: qdiscs.get(&link.index).cloned().unwrap_or_default(),
            ..Interface::default()
        };
        knobs::read(root, link, &mut interface, notes);
        if links.has_sysfs {
            queues::read(root, &mut interface);
        }
        interface
    };
    links.links.iter().map(interface).collect()
}

/// Of a VLAN its parent, of a bond or bridge its ports.
fn lower(link: &Link, links: &Links) -> Vec<String> {
    let ports =
        links.links.iter().filter(|port| port.master == Some(link.index)).map(|port| port.name.clone());
    let parent = link.lower.and_then(|index| links.name_of(index)).map(str::to_owned);
    parent.into_iter().chain(ports).collect()
}

fn driver(root: &mut Root, name: &str, notes: &mut Notes) -> Option<Driver> {
    let found = root.driver_text(name);
    let text = notes.unless_absent(format!("{name}: driver"), found, "a kernel with ethtool")?;
    let value = |key: &str| parse_driver(&text, key).filter(|value| value != "N/A").unwrap_or_default();
    Some(Driver {
        name: value("driver"),
        version: value("version"),
        firmware: value("firmware-version"),
        bus: value("bus-info"),
    })
}

/// The speed of the link. A veth pair reports 10 Gbit/s, which limits nothing, so it has none here.
fn speed(root: &mut Root, link: &Link, notes: &mut Notes) -> Option<u64> {
    if matches!(link.kind, InterfaceKind::Veth | InterfaceKind::Loopback) {
        return None;
    }
    let found = root.knob(&link.name, Knob::Link);
    let settings = notes.unless_absent(format!("{}: speed", link.name), found, "a kernel with ethtool")?;
    settings.get("speed")?.parse::<u64>().ok()?.checked_mul(1_000_000)
}

/// Counters of link and optics that report errors and are above 0, by interface. The sources that keep counters read them.
fn counters(root: &mut Root) -> BTreeMap<String, BTreeMap<String, u64>> {
    const LINK: [&str; 11] = [
        "rx_errors",
        "tx_errors",
        "rx_crc_errors",
        "rx_frame_errors",
        "rx_length_errors",
        "rx_over_errors",
        "rx_fifo_errors",
        "rx_missed_errors",
        "tx_carrier_errors",
        "tx_fifo_errors",
        "tx_aborted_errors",
    ];
    /// Parts of the names that drivers give to counters of physical layer and rings.
    const PARTS: [&str; 10] = [
        "crc",
        "symbol",
        "pcs",
        "fec",
        "link_down",
        "discards_phy",
        "out_of_buffer",
        "no_buffer",
        "missed",
        "corrected_bits",
    ];
    let mut found: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    // An interface whose counters cannot be read has none here; its settings show why.
    let sources: Vec<_> = ["link", "ethtool", "standard"].into_iter().filter_map(source).collect();
    let (snapshot, _) = take_of(root, &sources);
    for reading in &snapshot.readings {
        let Some(device) = reading.place.device() else { continue };
        let counter = reading.counter.as_ref();
        let is_error = match reading.source.as_ref() {
            "link" => LINK.contains(&counter),
            _ => PARTS.iter().any(|part| counter.to_ascii_lowercase().contains(part)),
        };
        if is_error && reading.value > 0 {
            let of_device = found.entry(device.name.to_string()).or_default();
            *of_device.entry(counter.to_owned()).or_default() += reading.value;
        }
    }
    found
}
