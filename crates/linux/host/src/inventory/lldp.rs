//! Ports at the far end of cables, as systemd-networkd has received them by LLDP (IEEE 802.1AB).

use super::links::{Link, Links};
use crate::root::Root;
use wirespeed_inventory::{InterfaceKind, Neighbour};

/// The neighbours of hardware interfaces. A host without systemd-networkd has no such files.
pub(super) fn read(root: &mut Root, links: &Links) -> Vec<Neighbour> {
    let hardware = links.links.iter().filter(|link| link.kind == InterfaceKind::Hardware);
    let of_link = |link: &Link| {
        let file = root.bytes(&format!("run/systemd/netif/lldp/{}", link.index)).unwrap_or_default();
        frames(&file).into_iter().filter_map(|frame| neighbour(&link.name, frame)).collect::<Vec<_>>()
    };
    hardware.flat_map(of_link).collect()
}

/// Frames as systemd stores them: the length in 8 bytes, little-endian, before each.
fn frames(file: &[u8]) -> Vec<&[u8]> {
    let mut rest = file;
    let mut found = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let Some((frame, after)) = usize::try_from(u64::from_le_bytes(*length))
            .ok()
            .and_then(|length| after.split_at_checked(length))
        else {
            break;
        };
        found.push(frame);
        rest = after;
    }
    found
}

/// System name and port of an Ethernet frame with LLDP (IEEE 802.1AB, section 8).
fn neighbour(interface: &str, frame: &[u8]) -> Option<Neighbour> {
    const PORT_ID: u8 = 2;
    const SYSTEM_NAME: u8 = 5;
    const ETHERNET: usize = 14;
    let mut rest = frame.get(ETHERNET..)?;
    let mut found = Neighbour { interface: interface.to_owned(), ..Neighbour::default() };
    while let [high, low, after @ ..] = rest {
        // 7 bits of type, 9 of length.
        let length = usize::from(high & 1) << 8 | usize::from(*low);
        let Some((value, after)) = after.split_at_checked(length) else { break };
        match high >> 1 {
            PORT_ID => found.port = port(value),
            SYSTEM_NAME => found.system = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
        rest = after;
    }
    (!found.port.is_empty()).then_some(found)
}

/// A subtype and a name, or a MAC address.
fn port(value: &[u8]) -> String {
    const MAC: u8 = 3;
    match value {
        [MAC, address @ ..] => address.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"),
        [_, name @ ..] => String::from_utf8_lossy(name).into_owned(),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_system_and_port() {
        let entry = |kind: u8, value: &[u8]| [&[kind << 1, value.len() as u8][..], value].concat();
        let frame = [
            vec![0; 14],
            entry(1, b"\x04\x02\x00\x00\x00\x00\x01"),
            entry(2, b"\x05Ethernet1/7"),
            entry(5, b"leaf-3"),
            entry(0, b""),
        ]
        .concat();
        let file = [&(frame.len() as u64).to_le_bytes()[..], &frame, &[9, 0, 0]].concat();
        let found: Vec<_> = frames(&file).into_iter().filter_map(|frame| neighbour("eth2", frame)).collect();
        let expected =
            Neighbour { interface: "eth2".into(), system: "leaf-3".into(), port: "Ethernet1/7".into() };
        assert_eq!(found, [expected]);
    }
}
