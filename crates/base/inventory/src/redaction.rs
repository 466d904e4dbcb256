//! Replaces names and addresses in an inventory, so that it can be sent to others.

use crate::Inventory;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

impl Inventory {
    /// The inventory with host name, addresses, routes, neighbours and serial numbers replaced, each by the same
    /// replacement wherever it occurs. Settings, devices and names of interfaces stay.
    #[must_use]
    pub fn redacted(&self) -> Inventory {
        let mut redaction = Redaction::new(&self.host);
        let mut inventory = self.clone();
        inventory.host = redaction.text(&self.host);
        for interface in &mut inventory.interfaces {
            interface.addresses.iter_mut().for_each(|address| *address = redaction.text(address));
        }
        for route in &mut inventory.routes {
            route.destination = redaction.text(&route.destination);
            route.gateway = route.gateway.as_deref().map(|gateway| redaction.text(gateway));
        }
        for neighbour in &mut inventory.neighbours {
            neighbour.system = redaction.name("switch", &neighbour.system);
            neighbour.port = redaction.name("port", &neighbour.port);
        }
        let command_line = inventory.system.command_line.as_deref();
        inventory.system.command_line = command_line.map(|line| redaction.command_line(line));
        for manager in &mut inventory.managers {
            manager.detail = manager.detail.as_deref().map(|detail| redaction.text(detail));
        }
        for missing in &mut inventory.missing {
            missing.reason = redaction.text(&missing.reason);
        }
        inventory
    }
}

/// Replacements made so far.
struct Redaction {
    host: String,
    replaced: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, u32>,
}

/// Parameters of the kernel whose values name disks, hosts or files (Documentation/admin-guide/kernel-parameters.txt).
const PLACES: [&str; 10] = [
    "root=",
    "resume=",
    "ip=",
    "nfsroot=",
    "nfsaddrs=",
    "BOOT_IMAGE=",
    "cryptdevice=",
    "rd.luks.",
    "rd.lvm.",
    "systemd.hostname=",
];

impl Redaction {
    fn new(host: &str) -> Redaction {
        Redaction { host: host.to_owned(), replaced: BTreeMap::new(), counts: BTreeMap::new() }
    }

    fn next(&mut self, kind: &'static str) -> u32 {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        *count
    }

    /// `KIND-N` for a name.
    fn name(&mut self, kind: &'static str, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let key = format!("{kind} {name}");
        if let Some(known) = self.replaced.get(&key) {
            return known.clone();
        }
        let text = format!("{kind}-{}", self.next(kind));
        self.replaced.insert(key, text.clone());
        text
    }

    /// The text with every address, UUID and name of the host replaced.
    fn text(&mut self, text: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            result += &self.word(word);
            let separator = after.chars().next().map_or(0, char::len_utf8);
            result += &after[..separator];
            rest = &after[separator..];
        }
        result
    }

    /// Letters, digits and the punctuation of addresses, between other characters.
    fn word(&mut self, word: &str) -> String {
        let is_host = !self.host.is_empty()
            && (word == self.host || self.host.split('.').next().is_some_and(|short| word == short));
        if is_host {
            return self.name("host", &self.host.clone());
        }
        if is_mac(word) {
            return self.name("mac", word);
        }
        if is_uuid(word) {
            return self.name("uuid", word);
        }
        // A port may follow, or the punctuation of a sentence.
        let is_end = |c: char| matches!(c, '.' | ':' | '-' | '_');
        let trimmed = if word.ends_with("::") { word } else { word.trim_end_matches(is_end) };
        if let Ok(address) = trimmed.parse::<IpAddr>() {
            return self.address(address) + &word[trimmed.len()..];
        }
        match word.parse::<SocketAddr>() {
            Ok(address) => format!("{}:{}", self.address(address.ip()), address.port()),
            Err(_) => word.to_owned(),
        }
    }

    /// Addresses that name no host stay: loopback, unspecified, and the prefix of link-local ones.
    fn address(&mut self, address: IpAddr) -> String {
        const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
        if address.is_loopback() || address.is_unspecified() || address == LINK_LOCAL {
            return address.to_string();
        }
        let key = address.to_string();
        if let Some(known) = self.replaced.get(&key) {
            return known.clone();
        }
        let replacement = match address {
            IpAddr::V4(_) => {
                // 198.18.0.0/15 is for benchmarks (RFC 2544).
                let [_, high, middle, low] = self.next("v4").to_be_bytes();
                Ipv4Addr::new(198, 18 + (high & 1), middle, low).to_string()
            }
            IpAddr::V6(v6) => {
                // 2001:db8::/32 is for documentation (RFC 3849).
                let number = self.next("v6");
                let (high, low) = ((number >> 16) as u16, number as u16);
                match v6.is_unicast_link_local() {
                    true => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, high, low).to_string(),
                    false => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, high, low).to_string(),
                }
            }
        };
        self.replaced.insert(key, replacement.clone());
        replacement
    }

    fn command_line(&mut self, line: &str) -> String {
        let word = |word: &str| match PLACES.iter().any(|place| word.starts_with(place)) {
            true => format!("{}=redacted", word.split('=').next().unwrap_or_default()),
            false => self.text(word),
        };
        line.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | ':' | '-' | '_')
}

/// Six bytes in hexadecimal with colons or hyphens.
fn is_mac(word: &str) -> bool {
    let parts: Vec<&str> = word.split([':', '-']).collect();
    parts.len() == 6 && parts.iter().all(|part| part.len() == 2 && is_hexadecimal(part))
}

/// Groups of 8, 4, 4, 4 and 12 hexadecimal digits (RFC 9562).
fn is_uuid(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| is_hexadecimal(part))
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interface, Manager, Missing, Neighbour, Route};

    fn host() -> Inventory {
        let mut host = Inventory { host: "dtn1.example.org".into(), ..Inventory::default() };
        host.system.command_line =
            Some("BOOT_IMAGE=/vmlinuz root=UUID=0a1b2c3d-0000-1111-2222-333344445555 isolcpus=2-5 log=10.1.2.3:514".into());
        host.interfaces.push(Interface {
            name: "eth2".into(),
            addresses: vec![
                "10.1.2.3/24".into(),
                "fe80::1234/64".into(),
                "2a00:1450::7/64".into(),
                "127.0.0.1/8".into(),
            ],
            ..Interface::default()
        });
        host.routes.push(Route {
            destination: "default".into(),
            gateway: Some("10.1.2.1".into()),
            ..Route::default()
        });
        host.routes.push(Route { destination: "fe80::/64".into(), ..Route::default() });
        host.neighbours.push(Neighbour {
            interface: "eth2".into(),
            system: "leaf-3".into(),
            port: "Eth1/7".into(),
        });
        host.managers.push(Manager { detail: Some("seen from 10.1.2.3".into()), ..Manager::default() });
        host.missing.push(Missing { reason: "dtn1 and aa:bb:cc:dd:ee:ff".into(), ..Missing::default() });
        host.sysctls.insert("net.ipv4.tcp_rmem".into(), "4096 131072 6291456".into());
        host
    }

    #[test]
    fn names_and_addresses_are_replaced_and_settings_stay() {
        let redacted = host().redacted();
        let text = redacted.to_json();
        for secret in ["dtn1", "10.1.2", "1234", "2a00", "leaf", "Eth1/7", "0a1b2c3d", "aa:bb", "vmlinuz"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert_eq!(redacted.sysctls, host().sysctls);
        assert_eq!(redacted.interfaces[0].name, "eth2");
        let line = redacted.system.command_line.unwrap();
        assert!(line.contains("isolcpus=2-5"), "{line}");
        assert_eq!(redacted.interfaces[0].addresses[3], "127.0.0.1/8");
        assert_eq!(redacted.routes[1].destination, "fe80::/64");
    }

    #[test]
    fn equal_addresses_have_equal_replacements() {
        let redacted = host().redacted();
        let address = redacted.interfaces[0].addresses[0].strip_suffix("/24").unwrap();
        assert_eq!(redacted.managers[0].detail.as_deref(), Some(&*format!("seen from {address}")));
        assert_ne!(redacted.routes[0].gateway.as_deref(), Some(address));
    }
}
