//! Routes of the main table with their metrics.

use super::Notes;
use super::addresses::ip;
use super::links::{Links, dump};
use crate::netlink::{attributes, find, messages, text, u16_at, u32_at};
use crate::root::Root;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use wirespeed_inventory::Route;

pub(super) fn read(root: &mut Root, links: &Links, notes: &mut Notes) -> Vec<Route> {
    const RTMSG: usize = 12;
    match root.ask(&dump("route", libc::RTM_GETROUTE, RTMSG)) {
        Ok(answer) => parse(&answer, links),
        Err(error) => match root.text("proc/net/route") {
            Ok(text) => {
                notes.error("IPv6 routes", &error, "a kernel with rtnetlink");
                from_proc(&text)
            }
            Err(_) => {
                notes.error("routes", &error, "a kernel with rtnetlink");
                Vec::new()
            }
        },
    }
}

/// Names of ip-route(8) for the metrics 2 to 17 (linux/rtnetlink.h, RTAX_*).
const METRICS: [&str; 16] = [
    "mtu",
    "window",
    "rtt",
    "rttvar",
    "ssthresh",
    "cwnd",
    "advmss",
    "reordering",
    "hoplimit",
    "initcwnd",
    "features",
    "rto_min",
    "initrwnd",
    "quickack",
    "congctl",
    "fastopen_no_cookie",
];

fn parse(answer: &[u8], links: &Links) -> Vec<Route> {
    let routes = messages(answer).filter(|message| message.kind == libc::RTM_NEWROUTE);
    routes.flat_map(|message| route(message.payload, links).unwrap_or_default()).collect()
}

/// A route, or one for each next hop of several (`struct rtmsg` with its attributes).
fn route(payload: &[u8], links: &Links) -> Option<Vec<Route>> {
    const RTMSG: usize = 12;
    const CLONED: u32 = 0x200; // RTM_F_CLONED: an entry of the cache
    let [_, prefix, _, _, table, _, _, kind] = *payload.first_chunk()?;
    let inside = payload.get(RTMSG..)?;
    let table = find(inside, libc::RTA_TABLE).and_then(|value| u32_at(value, 0)).unwrap_or(table.into());
    let is_main = table == u32::from(libc::RT_TABLE_MAIN);
    if !is_main || kind != libc::RTN_UNICAST || u32_at(payload, 8)? & CLONED != 0 {
        return None;
    }
    let destination = match find(inside, libc::RTA_DST).and_then(ip) {
        Some(address) => format!("{address}/{prefix}"),
        None => "default".to_owned(),
    };
    let metrics = find(inside, libc::RTA_METRICS).map(metrics).unwrap_or_default();
    let to = |interface: u32, attributes: &[u8]| {
        Some(Route {
            destination: destination.clone(),
            gateway: gateway(attributes),
            interface: links.name_of(interface)?.to_owned(),
            metrics: metrics.clone(),
        })
    };
    if let Some(hops) = find(inside, libc::RTA_MULTIPATH) {
        return Some(
            next_hops(hops).filter_map(|(interface, attributes)| to(interface, attributes)).collect(),
        );
    }
    let interface = u32_at(find(inside, libc::RTA_OIF)?, 0)?;
    Some(to(interface, inside).into_iter().collect())
}

/// RTA_GATEWAY, or RTA_VIA with an address of the other family after two bytes.
fn gateway(attributes: &[u8]) -> Option<String> {
    const VIA: u16 = 18;
    let direct = find(attributes, libc::RTA_GATEWAY).and_then(ip);
    let address = direct.or_else(|| ip(find(attributes, VIA)?.get(2..)?))?;
    Some(address.to_string())
}

/// Interface and attributes of each `struct rtnexthop`: length, flags, hops, index of the interface.
fn next_hops(bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    const HEADER: usize = 8;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let hop = rest.get(..length).filter(|hop| hop.len() >= HEADER)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u32_at(hop, 4)?, &hop[HEADER..]))
    })
}

fn metrics(bytes: &[u8]) -> BTreeMap<String, String> {
    let named = attributes(bytes).filter_map(|(kind, value)| {
        let name = METRICS.get(usize::from(kind).checked_sub(2)?)?;
        let value = if *name == "congctl" { text(value) } else { u32_at(value, 0)?.to_string() };
        Some(((*name).to_owned(), value))
    });
    named.collect()
}

/// The IPv4 routes in /proc/net/route, whose addresses are hexadecimal in the order of the machine.
fn from_proc(text: &str) -> Vec<Route> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [interface, destination, gateway, _, _, _, _, mask, mtu, window, ..] = words[..] else {
            return None;
        };
        let number = |word: &str| u32::from_str_radix(word, 16).ok();
        let (destination, gateway, mask) = (number(destination)?, number(gateway)?, number(mask)?);
        let address = |number: u32| Ipv4Addr::from(number.to_ne_bytes());
        let metrics = [("mtu", mtu), ("window", window)].into_iter().filter(|(_, value)| *value != "0");
        Some(Route {
            destination: match mask {
                0 => "default".to_owned(),
                _ => format!("{}/{}", address(destination), mask.count_ones()),
            },
            gateway: (gateway != 0).then(|| address(gateway).to_string()),
            interface: interface.to_owned(),
            metrics: metrics.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        })
    };
    text.lines().skip(1).filter_map(route).collect()
}

#[cfg(test)]
mod tests {
    use super::super::links::Link;
    use super::*;
    use crate::netlink::{attribute, nested};

    fn links() -> Links {
        let link = |index, name: &str| Link { index, name: name.into(), ..Link::default() };
        Links { links: vec![link(2, "eth0"), link(3, "eth1")], has_sysfs: false }
    }

    fn header(prefix: u8, table: u8) -> Vec<u8> {
        vec![libc::AF_INET as u8, prefix, 0, 0, table, 0, 0, libc::RTN_UNICAST, 0, 0, 0, 0]
    }

    #[test]
    fn routes_have_their_metrics() {
        let oif = attribute(libc::RTA_OIF, &2_u32.to_ne_bytes());
        let gateway = attribute(libc::RTA_GATEWAY, &[192, 0, 2, 1]);
        let inside = [attribute(11, &32_u32.to_ne_bytes()), attribute(16, b"bbr\0")];
        let payload = [header(0, 254), oif.clone(), gateway, nested(libc::RTA_METRICS, &inside)].concat();
        let found = route(&payload, &links()).unwrap();
        assert_eq!(
            (found[0].destination.as_str(), found[0].gateway.as_deref()),
            ("default", Some("192.0.2.1"))
        );
        let metrics: Vec<_> =
            found[0].metrics.iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(metrics, ["congctl bbr", "initcwnd 32"]);
        assert_eq!(route(&[header(0, 255), oif].concat(), &links()), None, "the local table");
    }

    #[test]
    fn next_hops_are_routes_of_their_own() {
        let hop = |interface: u32| {
            let gateway = attribute(libc::RTA_GATEWAY, &[192, 0, 2, interface as u8]);
            let mut hop = ((8 + gateway.len()) as u16).to_ne_bytes().to_vec();
            hop.extend([0, 0]);
            hop.extend(interface.to_ne_bytes());
            hop.extend(gateway);
            hop
        };
        let hops = attribute(libc::RTA_MULTIPATH, &[hop(2), hop(3), hop(99)].concat());
        let found = route(&[header(0, 254), hops].concat(), &links()).unwrap();
        let found: Vec<_> =
            found.iter().map(|route| (route.interface.as_str(), route.gateway.as_deref())).collect();
        assert_eq!(found, [("eth0", Some("192.0.2.2")), ("eth1", Some("192.0.2.3"))]);
    }

    #[test]
    fn routes_of_proc_are_those_of_ipv4() {
        let text = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                    eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                    eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t9000\t0\t0\n";
        let found = from_proc(text);
        assert_eq!(
            (found[0].destination.as_str(), found[0].gateway.as_deref()),
            ("default", Some("192.0.2.1"))
        );
        assert_eq!(
            (found[1].destination.as_str(), found[1].metrics["mtu"].as_str()),
            ("192.0.2.0/24", "9000")
        );
    }
}
