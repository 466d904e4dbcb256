//! Settings of a device that ethtool and DCB read.

use super::Notes;
use super::links::Link;
use crate::ethtool::Knob;
use crate::netlink::{
    Request, attribute, attributes, family, find, generic_request, messages, nested, u32_at,
};
use crate::root::Root;
use crate::snapshot::take_of;
use crate::source::source;
use std::collections::BTreeMap;
use std::io;
use wirespeed_inventory::{Channels, Coalescing, Feature, Fec, Interface, InterfaceKind, Pause, Rings, Rss};

type Settings = BTreeMap<String, String>;

pub(super) fn read(root: &mut Root, link: &Link, interface: &mut Interface, notes: &mut Notes) {
    let name = &link.name;
    let mut knob = |root: &mut Root, knob: Knob| {
        let found = root.knob(name, knob);
        notes.unless_absent(format!("{name}: {}", knob.name()), found, "a kernel with ethtool")
    };
    interface.features = knob(root, Knob::Features).map(|settings| features(&settings)).unwrap_or_default();
    if link.kind == InterfaceKind::Loopback {
        return;
    }
    interface.rings = knob(root, Knob::Rings).map(|settings| Rings {
        rx: number(&settings, "rx"),
        rx_max: number(&settings, "rx-max"),
        tx: number(&settings, "tx"),
        tx_max: number(&settings, "tx-max"),
    });
    interface.channels = knob(root, Knob::Channels).map(|settings| Channels {
        combined: number(&settings, "combined"),
        combined_max: number(&settings, "combined-max"),
        rx: number(&settings, "rx"),
        rx_max: number(&settings, "rx-max"),
        tx: number(&settings, "tx"),
        tx_max: number(&settings, "tx-max"),
    });
    // By netlink the kernel leaves out parameters that the driver does not have; the ioctl reports them as 0.
    interface.coalescing = match coalescing(root, link.index) {
        Ok(found) => found,
        Err(_) => knob(root, Knob::Coalescing).map(|settings| from_settings(&settings)),
    };
    interface.pause = knob(root, Knob::Pause).map(|settings| Pause {
        autonegotiation: is_on(&settings, "autoneg"),
        rx: is_on(&settings, "rx"),
        tx: is_on(&settings, "tx"),
    });
    interface.rss =
        knob(root, Knob::Rss).map(|settings| rss(&settings)).filter(|rss| !rss.entries_by_queue.is_empty());
    interface.fec = knob(root, Knob::Fec).map(|settings| fec(root, name, &settings));
    interface.priority_flow_control = priority_flow_control(root, name);
}

fn number(settings: &Settings, name: &str) -> u64 {
    settings.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn is_on(settings: &Settings, name: &str) -> bool {
    settings.get(name).is_some_and(|value| value == "on")
}

fn features(settings: &Settings) -> BTreeMap<String, Feature> {
    let feature = |(name, value): (&String, &String)| {
        let is_fixed = value.ends_with("[fixed]");
        (name.clone(), Feature { is_on: value.starts_with("on"), is_fixed })
    };
    settings.iter().map(feature).collect()
}

fn rss(settings: &Settings) -> Rss {
    let entry = |(name, value): (&String, &String)| {
        Some((name.strip_prefix("queue-")?.parse().ok()?, value.parse().ok()?))
    };
    Rss { entries_by_queue: settings.iter().filter_map(entry).collect(), key: settings.get("key").cloned() }
}

/// The encoding, with the counters of source `standard`.
fn fec(root: &mut Root, name: &str, settings: &Settings) -> Fec {
    let readings =
        source("standard").map(|standard| take_of(root, &[standard]).0.readings).unwrap_or_default();
    let counter = |counter: &str| {
        let mut own = readings.iter().filter(|reading| {
            reading.counter == counter && reading.place.device().is_some_and(|device| &*device.name == name)
        });
        own.next().map(|reading| reading.value)
    };
    Fec {
        active: settings.get("active").cloned().unwrap_or_default(),
        corrected_blocks: counter("fec-corrected_blocks"),
        uncorrectable_blocks: counter("fec-uncorrectable_blocks"),
    }
}

fn from_settings(settings: &Settings) -> Coalescing {
    let number = |name: &str| settings.get(name).and_then(|value| value.parse().ok());
    let switch = |name: &str| settings.get(name).map(|value| value == "on");
    Coalescing {
        rx_usecs: number("rx-usecs"),
        rx_frames: number("rx-frames"),
        tx_usecs: number("tx-usecs"),
        tx_frames: number("tx-frames"),
        adaptive_rx: switch("adaptive-rx"),
        adaptive_tx: switch("adaptive-tx"),
    }
}

/// Interrupt moderation by generic netlink (Linux 5.7): `None` if the device has none.
fn coalescing(root: &mut Root, index: u32) -> io::Result<Option<Coalescing>> {
    const COALESCE_GET: u8 = 19;
    const HEADER: u16 = 1;
    let family = family(root, "ethtool")?;
    let header = nested(HEADER, &[]);
    let answer = root.ask(&generic_request("ethtool-coalescing", family, COALESCE_GET, true, &[header]))?;
    Ok(parse_coalescing(&answer, index))
}

/// Attributes of ETHTOOL_MSG_COALESCE_GET_REPLY (linux/ethtool_netlink.h).
fn parse_coalescing(answer: &[u8], index: u32) -> Option<Coalescing> {
    const HEADER: u16 = 1;
    const INDEX: u16 = 1;
    let of_device = |inside: &&[u8]| {
        find(inside, HEADER).and_then(|header| u32_at(find(header, INDEX)?, 0)) == Some(index)
    };
    let inside = messages(answer).filter_map(|message| message.payload.get(4..)).find(of_device)?;
    let mut found = Coalescing::default();
    for (kind, value) in attributes(inside) {
        let number = || u32_at(value, 0).map(u64::from);
        let switch = || value.first().map(|byte| *byte != 0);
        match kind {
            2 => found.rx_usecs = number(),
            3 => found.rx_frames = number(),
            6 => found.tx_usecs = number(),
            7 => found.tx_frames = number(),
            11 => found.adaptive_rx = switch(),
            12 => found.adaptive_tx = switch(),
            _ => {}
        }
    }
    Some(found)
}

/// Priorities with priority flow control, by DCB (net/dcb/dcbnl.c). Few drivers have it, and few kernels report it.
fn priority_flow_control(root: &mut Root, device: &str) -> Option<Vec<bool>> {
    const RTM_GETDCB: u16 = 78;
    const IEEE_GET: u8 = 21; // DCB_CMD_IEEE_GET
    const IFNAME: u16 = 1; // DCB_ATTR_IFNAME
    let mut payload = vec![0, IEEE_GET, 0, 0];
    payload.extend(attribute(IFNAME, &[device.as_bytes(), &[0]].concat()));
    let name = format!("dcb-{device}");
    let request = Request { name, protocol: libc::NETLINK_ROUTE, kind: RTM_GETDCB, flags: 0, payload };
    let answer = root.ask(&request).ok()?;
    let payload = messages(&answer).next()?.payload.to_vec();
    parse_priorities(payload.get(4..)?)
}

/// Bit N of the second byte of `struct ieee_pfc` is priority N.
fn parse_priorities(inside: &[u8]) -> Option<Vec<bool>> {
    const IEEE: u16 = 13; // DCB_ATTR_IEEE
    const PFC: u16 = 2; // DCB_ATTR_IEEE_PFC
    let enabled = *find(find(inside, IEEE)?, PFC)?.get(1)?;
    Some((0..8).map(|priority| enabled >> priority & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_the_driver_lacks_stay_unknown() {
        let header = nested(1, &[attribute(1, &7_u32.to_ne_bytes())]);
        let inside = [header, attribute(2, &8_u32.to_ne_bytes()), attribute(11, &[1])].concat();
        let payload = [vec![0; 4], inside].concat();
        let mut answer = ((16 + payload.len()) as u32).to_ne_bytes().to_vec();
        answer.extend([0; 12]);
        answer.extend(payload);
        let found = parse_coalescing(&answer, 7).unwrap();
        assert_eq!((found.rx_usecs, found.adaptive_rx, found.tx_usecs), (Some(8), Some(true), None));
        assert_eq!(parse_coalescing(&answer, 8), None);
    }

    #[test]
    fn priorities_are_the_bits_of_the_second_byte() {
        let inside = nested(13, &[attribute(2, &[8, 0b1000, 0, 0])]);
        let found = parse_priorities(&inside).unwrap();
        assert_eq!(found.iter().position(|is_on| *is_on), Some(3));
        assert_eq!(found.iter().filter(|is_on| **is_on).count(), 1);
    }
}
