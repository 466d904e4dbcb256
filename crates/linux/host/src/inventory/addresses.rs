//! Addresses of interfaces.

use super::Notes;
use super::links::dump;
use crate::netlink::{find, messages, u32_at};
use crate::root::Root;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Addresses with prefix lengths, by the index of the interface.
pub(super) fn read(root: &mut Root, notes: &mut Notes) -> BTreeMap<u32, Vec<String>> {
    const IFADDRMSG: usize = 8;
    match root.ask(&dump("address", libc::RTM_GETADDR, IFADDRMSG)) {
        Ok(answer) => parse(&answer),
        Err(error) => {
            notes.error("addresses of interfaces", &error, "a kernel with rtnetlink");
            BTreeMap::new()
        }
    }
}

/// `struct ifaddrmsg` with its attributes (linux/if_addr.h). IFA_LOCAL is the own end of a point-to-point link.
fn parse(answer: &[u8]) -> BTreeMap<u32, Vec<String>> {
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let address = |payload: &[u8]| {
        let inside = payload.get(8..)?;
        let bytes = find(inside, libc::IFA_LOCAL).or_else(|| find(inside, libc::IFA_ADDRESS))?;
        Some((u32_at(payload, 4)?, format!("{}/{}", ip(bytes)?, payload[1])))
    };
    let addresses = messages(answer).filter(|message| message.kind == libc::RTM_NEWADDR);
    for (index, text) in addresses.filter_map(|message| address(message.payload)) {
        found.entry(index).or_default().push(text);
    }
    found
}

/// An address of 4 or 16 bytes.
pub(super) fn ip(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = || Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?));
    v4().or_else(|| Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)))
}
