//! Evidence for tests.

use super::{Evidence, Total};
use std::collections::BTreeMap;
use std::net::IpAddr;
use wirespeed_host::{Change, Changes, Delta, Device, Place, Reading, drivers, source};

/// No host names its machine.
pub static UNKNOWN: BTreeMap<String, String> = BTreeMap::new();
/// Hosts whose addresses are not known.
static NOWHERE: BTreeMap<String, IpAddr> = BTreeMap::new();

/// Of hosts on such machines, none of them a server of iperf3.
pub fn evidence<'a>(
    totals: &'a BTreeMap<u32, Total>,
    changes: &'a BTreeMap<String, Changes>,
    devices: &'a BTreeMap<String, String>,
) -> Evidence<'a> {
    Evidence {
        totals,
        changes,
        devices,
        outs: &UNKNOWN,
        addresses: &NOWHERE,
        ports: &[5001..=5001],
        machines: &UNKNOWN,
        server: None,
    }
}

/// Counters of a host whose interface is `device`, as SOURCE/COUNTER, and their growth.
pub fn changes(device: &str, grown: &[(&'static str, u64)]) -> Changes {
    let change = |(name, grown): &(&'static str, u64)| {
        let (source_name, counter) = name.split_once('/').expect("SOURCE/COUNTER");
        let device = Device { index: 2, name: device.into() };
        let place = match source_name {
            "link" | "veth" => Place::Device(device),
            "softnet" => Place::Cpu(0),
            "qdisc" => Place::Qdisc { device, kind: "tbf".into(), handle: 1, parent: Place::ROOT },
            _ => Place::Host,
        };
        // Counters of a driver's interface have a meaning of their own.
        let (source_name, rows) = match source_name {
            "veth" => ("link", drivers::driver("veth").expect("a driver of crate host").link),
            _ => (source_name, source(source_name).expect("a source of crate host").rows()),
        };
        // A test with an unknown counter would prove nothing.
        let row = rows.iter().find(|row| row.pattern == counter).expect("a counter of that source");
        Change {
            reading: Reading::new(source_name, place, counter, *grown, row.sense),
            delta: Delta::By(*grown),
        }
    };
    Changes { interval_ns: 0, changes: grown.iter().map(change).collect() }
}
