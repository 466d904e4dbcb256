//! The blocks of a pcapng file (IETF draft-ietf-opsawg-pcapng), least significant byte first.

use super::ring::{Packet, PacketType};

/// Link layer of the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Ethernet = 1,
    Raw = 101,
}

fn option(options: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Names are short; a filter may be longer than a length can express.
    let value = &value[..value.len().min(usize::from(u16::MAX - 3))];
    options.extend(code.to_le_bytes());
    options.extend((value.len() as u16).to_le_bytes());
    options.extend(value);
    options.resize(options.len().next_multiple_of(4), 0);
}

/// Appends a block. `options` ends with its end, or is empty.
fn block(file: &mut Vec<u8>, kind: u32, body: &[&[u8]], options: &[u8]) {
    let body_bytes: usize = body.iter().map(|part| part.len()).sum();
    let length = (12 + body_bytes.next_multiple_of(4) + options.len()) as u32;
    file.extend(kind.to_le_bytes());
    file.extend(length.to_le_bytes());
    for part in body {
        file.extend_from_slice(part);
    }
    file.resize(file.len() + body_bytes.next_multiple_of(4) - body_bytes, 0);
    file.extend(options);
    file.extend(length.to_le_bytes());
}

const END_OF_OPTIONS: [u8; 4] = [0; 4];

/// Section header and description of the interface.
pub(super) fn start(interface: &str, link: Link, snaplen: u32, filter: Option<&str>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut options = Vec::new();
    option(&mut options, 4, concat!("wirespeed ", env!("CARGO_PKG_VERSION")).as_bytes());
    options.extend(END_OF_OPTIONS);
    let (order, version, unknown_length) = (0x1a2b_3c4du32.to_le_bytes(), [1, 0, 0, 0], [0xff; 8]);
    block(&mut file, 0x0a0d_0d0a, &[&order, &version, &unknown_length], &options);
    options.clear();
    option(&mut options, 2, interface.as_bytes());
    // Nanoseconds.
    option(&mut options, 9, &[9]);
    if let Some(filter) = filter {
        option(&mut options, 11, &[&[0], filter.as_bytes()].concat());
    }
    options.extend(END_OF_OPTIONS);
    let link = [link as u8, 0, 0, 0];
    block(&mut file, 1, &[&link, &snaplen.to_le_bytes()], &options);
    file
}

/// An enhanced packet block with the direction of the packet.
pub(super) fn packet(file: &mut Vec<u8>, packet: &Packet<'_>) {
    let ticks = packet.time_ns;
    let mut head = [0; 20];
    let words = [0, (ticks >> 32) as u32, ticks as u32, packet.bytes.len() as u32, packet.wire_bytes];
    for (place, word) in head.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let direction = match packet.kind {
        PacketType::Incoming => 1,
        PacketType::Outgoing => 2,
    };
    let options = [2, 0, 4, 0, direction, 0, 0, 0, 0, 0, 0, 0];
    block(file, 6, &[&head, packet.bytes], &options);
}

/// Interface statistics.
pub(super) fn end(file: &mut Vec<u8>, received: u64, dropped: u64) {
    let mut options = Vec::new();
    option(&mut options, 4, &received.to_le_bytes());
    option(&mut options, 7, &dropped.to_le_bytes());
    options.extend(END_OF_OPTIONS);
    block(file, 5, &[&[0; 12]], &options);
}
