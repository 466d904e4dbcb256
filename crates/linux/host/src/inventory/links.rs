//! The interfaces of a namespace, as rtnetlink lists them, or by sysfs if there is no such answer.

use super::{Notes, number, word};
use crate::netlink::{Request, attributes, find, messages, text, u16_at, u32_at};
use crate::root::Root;
use crate::sources::link::{self, is_name};
use std::collections::BTreeSet;
use std::io;
use wirespeed_inventory::InterfaceKind;

/// An interface before its parts are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) kind: InterfaceKind,
    /// Its device on the bus, such as `0000:3b:00.0` or `virtio2`.
    pub(super) parent: Option<String>,
    /// Index of the bond or bridge it belongs to.
    pub(super) master: Option<u32>,
    /// Index of the interface below a VLAN.
    pub(super) lower: Option<u32>,
    pub(super) vlan: Option<u16>,
    pub(super) operational_state: Option<String>,
    pub(super) mtu_bytes: Option<u64>,
    pub(super) max_mtu_bytes: Option<u64>,
    pub(super) tx_queue_length: Option<u64>,
    pub(super) gso_max_bytes: Option<u64>,
    pub(super) gro_max_bytes: Option<u64>,
    pub(super) mac: Vec<u8>,
}

/// The interfaces, and whether sysfs lists the same ones.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) links: Vec<Link>,
    /// /sys shows the network namespace that it was mounted in. If that is another one, it is not read.
    pub(super) has_sysfs: bool,
}

impl Links {
    pub(super) fn name_of(&self, index: u32) -> Option<&str> {
        self.links.iter().find(|link| link.index == index).map(|link| link.name.as_str())
    }
}

const SYSFS: &str = "sys/class/net";

pub(super) fn read(root: &mut Root, notes: &mut Notes) -> Links {
    let remedy = "a kernel with rtnetlink";
    let listed = match root.ask(&link::request()) {
        Ok(answer) => Some(parse(&answer)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            notes.error("interfaces by rtnetlink", &error, remedy);
            None
        }
    };
    let by_sysfs = from_sysfs(root);
    let Some(mut links) = listed else {
        return match by_sysfs {
            Ok(links) => Links { links, has_sysfs: true },
            Err(error) => {
                notes.error("interfaces", &error, "mount /sys, or use a kernel with rtnetlink");
                Links::default()
            }
        };
    };
    // An interface that came or went between the two answers is the next reading's.
    let key = |link: &Link| (link.index, link.name.clone(), link.mac.clone());
    let others: BTreeSet<_> =
        by_sysfs.as_ref().map_or(BTreeSet::new(), |links| links.iter().map(key).collect());
    let has_sysfs = !others.is_empty() && others == links.iter().map(key).collect();
    match (&by_sysfs, has_sysfs) {
        (_, true) => {}
        (Err(error), _) => notes.error("queues and buses of interfaces", error, "mount /sys"),
        (Ok(_), _) => notes.add(
            "queues and buses of interfaces",
            "/sys shows another network namespace",
            "run it by `ip netns exec NAMESPACE wirespeed inventory`",
        ),
    }
    for link in &mut links {
        let own = by_sysfs.iter().flatten().find(|other| has_sysfs && other.index == link.index);
        link.parent = link.parent.take().or_else(|| own?.parent.clone());
        if link.kind == InterfaceKind::Virtual && link.parent.is_some() {
            link.kind = InterfaceKind::Hardware;
        }
    }
    Links { links, has_sysfs }
}

/// The links in an answer to [`link::request`]. Attributes are those of linux/if_link.h.
fn parse(answer: &[u8]) -> Vec<Link> {
    const IFINFOMSG: usize = 16;
    const MAX_MTU: u16 = 51;
    const GSO_MAX_SIZE: u16 = 41;
    const PARENT_DEV_NAME: u16 = 56;
    const GRO_MAX_SIZE: u16 = 58;
    let link = |payload: &[u8]| {
        let inside = payload.get(IFINFOMSG..)?;
        let name = Some(text(find(inside, libc::IFLA_IFNAME)?)).filter(|name| is_name(name))?;
        let mut link = Link { index: u32_at(payload, 4)?, name, ..Link::default() };
        let mut words = String::new();
        for (kind, value) in attributes(inside) {
            let number = || u32_at(value, 0);
            match kind {
                libc::IFLA_ADDRESS => link.mac = value.to_vec(),
                libc::IFLA_MTU => link.mtu_bytes = number().map(u64::from),
                libc::IFLA_LINK => link.lower = number(),
                libc::IFLA_MASTER => link.master = number(),
                libc::IFLA_TXQLEN => link.tx_queue_length = number().map(u64::from),
                libc::IFLA_OPERSTATE => {
                    link.operational_state = value.first().map(|state| operational(*state))
                }
                GSO_MAX_SIZE => link.gso_max_bytes = number().map(u64::from),
                GRO_MAX_SIZE => link.gro_max_bytes = number().map(u64::from),
                // 0: the driver has no maximum.
                MAX_MTU => link.max_mtu_bytes = number().map(u64::from).filter(|bytes| *bytes > 0),
                PARENT_DEV_NAME => link.parent = Some(text(value)),
                libc::IFLA_LINKINFO => (words, link.vlan) = info(value),
                _ => {}
            }
        }
        link.kind = kind(&words, u16_at(payload, 2), link.parent.is_some());
        if link.kind != InterfaceKind::Vlan {
            // The other end of a veth pair may be in another namespace, where the number means another interface.
            (link.lower, link.vlan) = (None, None);
        }
        Some(link)
    };
    let links = messages(answer).filter(|message| message.kind == libc::RTM_NEWLINK);
    links.filter_map(|message| link(message.payload)).collect()
}

/// IFLA_INFO_KIND, and of a VLAN IFLA_VLAN_ID.
fn info(bytes: &[u8]) -> (String, Option<u16>) {
    const KIND: u16 = 1;
    const DATA: u16 = 2;
    const VLAN_ID: u16 = 1;
    let id = find(bytes, DATA).and_then(|data| u16_at(find(data, VLAN_ID)?, 0));
    (find(bytes, KIND).map(text).unwrap_or_default(), id)
}

fn kind(words: &str, hardware_type: Option<u16>, has_parent: bool) -> InterfaceKind {
    match words {
        "veth" => InterfaceKind::Veth,
        "vlan" => InterfaceKind::Vlan,
        "bond" | "team" => InterfaceKind::Bond,
        "bridge" => InterfaceKind::Bridge,
        "" if hardware_type == Some(libc::ARPHRD_LOOPBACK) => InterfaceKind::Loopback,
        "" if has_parent => InterfaceKind::Hardware,
        _ => InterfaceKind::Virtual,
    }
}

/// Names of the states 0 to 6 (RFC 2863, linux/if.h).
fn operational(state: u8) -> String {
    const NAMES: [&str; 7] = ["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"];
    NAMES.get(usize::from(state)).unwrap_or(&"unknown").to_string()
}

/// The same by sysfs, with less of it.
fn from_sysfs(root: &mut Root) -> io::Result<Vec<Link>> {
    let names = root.names(SYSFS)?;
    let link = |name: String| {
        let mut value = |file: &str| word(root, &format!("{SYSFS}/{name}/{file}"));
        // The file `bonding_masters` is there, too, and has no index.
        let index = value("ifindex")?.parse().ok()?;
        let uevent = value("uevent").unwrap_or_default();
        let words =
            uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).unwrap_or_default().to_owned();
        let hardware_type = value("type").and_then(|text| text.parse().ok());
        let operational_state = value("operstate");
        let mac = value("address").unwrap_or_default();
        let mac = mac.split(':').filter_map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
        let mtu_bytes = number(root, &format!("{SYSFS}/{name}/mtu"));
        let tx_queue_length = number(root, &format!("{SYSFS}/{name}/tx_queue_len"));
        let parent = root.target(&format!("{SYSFS}/{name}/device")).ok();
        let parent = parent.and_then(|path| Some(path.rsplit_once('/')?.1.to_owned()));
        let kind = kind(&words, hardware_type, parent.is_some());
        Some(Link {
            index,
            kind,
            parent,
            operational_state,
            mtu_bytes,
            tx_queue_length,
            mac,
            name,
            ..Link::default()
        })
    };
    Ok(names.into_iter().filter(|name| is_name(name)).filter_map(link).collect())
}

/// Asks for everything of a kind, with `header` zero bytes: of any interface and family.
pub(super) fn dump(name: &str, kind: u16, header: usize) -> Request {
    Request::dump(name, libc::NETLINK_ROUTE, kind, vec![0; header])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{attribute, nested};

    fn message(index: u32, hardware_type: u16, inside: &[Vec<u8>]) -> Vec<u8> {
        let mut payload = vec![0; 16];
        payload[2..4].copy_from_slice(&hardware_type.to_ne_bytes());
        payload[4..8].copy_from_slice(&index.to_ne_bytes());
        payload.extend(inside.concat());
        let mut bytes = ((16 + payload.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(libc::RTM_NEWLINK.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn vlans_have_an_interface_below_and_veths_do_not() {
        let named = |name: &[u8]| attribute(libc::IFLA_IFNAME, name);
        let below = attribute(libc::IFLA_LINK, &7_u32.to_ne_bytes());
        let id = nested(2, &[attribute(1, &100_u16.to_ne_bytes())]);
        let vlan = nested(libc::IFLA_LINKINFO, &[attribute(1, b"vlan\0"), id]);
        let veth = nested(libc::IFLA_LINKINFO, &[attribute(1, b"veth\0")]);
        let answer = [
            message(1, libc::ARPHRD_LOOPBACK, &[named(b"lo\0")]),
            message(8, 1, &[named(b"eth0.100\0"), below.clone(), vlan]),
            message(9, 1, &[named(b"v0\0"), below, veth]),
            message(10, 1, &[named(b"../etc\0")]),
        ];
        let links = parse(&answer.concat());
        let found: Vec<_> = links.iter().map(|link| (link.kind, link.lower, link.vlan)).collect();
        let expected = [
            (InterfaceKind::Loopback, None, None),
            (InterfaceKind::Vlan, Some(7), Some(100)),
            (InterfaceKind::Veth, None, None),
        ];
        assert_eq!(found, expected);
    }
}
