//! pcap files (IETF draft-ietf-opsawg-pcap), with the longer packet header of A. Kuznetsov's patch as well.

use super::{Frame, LARGEST_FRAME, Next, Order, damaged, incomplete};
use crate::facts::{CaptureFacts, Compression, FileFormat, Interface, LinkType};
use crate::segment::Passage;
use crate::window::{Filled, Window};
use std::io::Read;

/// Bytes of the header of a file.
pub(crate) const FILE_HEAD: usize = 24;
const PACKET_HEAD: usize = 16;
/// The modified format adds an interface index, a protocol and a packet type.
const MODIFIED_PACKET_HEAD: usize = 24;
const PACKET_TYPE: usize = 22;

/// Order and format, by the first four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    order: Order,
    format: FileFormat,
}

impl Kind {
    /// `None` if these are not the first bytes of a pcap file.
    pub(crate) fn of(start: [u8; 4]) -> Option<Kind> {
        let known = |order, number| {
            let format = match number {
                0xa1b2_c3d4 => FileFormat::PcapMicroseconds,
                0xa1b2_3c4d => FileFormat::PcapNanoseconds,
                0xa1b2_cd34 => FileFormat::PcapModified,
                _ => return None,
            };
            Some(Kind { order, format })
        };
        known(Order::Little, u32::from_le_bytes(start))
            .or_else(|| known(Order::Big, u32::from_be_bytes(start)))
    }
}

/// The place in a pcap file.
pub(crate) struct Pcap {
    order: Order,
    head: usize,
    nanoseconds_per_tick: i64,
    /// Correction from local time to UTC, in seconds. All programs of today write 0.
    zone_seconds: i64,
}

impl Pcap {
    /// `head` is the header of the file.
    pub(crate) fn open(kind: Kind, head: &[u8], compression: Compression) -> (Pcap, CaptureFacts) {
        let Kind { order, format } = kind;
        let (ticks_per_second, nanoseconds_per_tick) = match format {
            FileFormat::PcapNanoseconds => (1_000_000_000, 1),
            _ => (1_000_000, 1_000),
        };
        let packet_head = if format == FileFormat::PcapModified { MODIFIED_PACKET_HEAD } else { PACKET_HEAD };
        // The upper bits are the length of a frame check sequence.
        let link_type = LinkType(order.u32(head, 20) as u16);
        let mut facts = CaptureFacts::new(format, compression);
        facts.interfaces.push(Interface {
            name: None,
            description: None,
            filter: None,
            link_type,
            snaplen: order.u32(head, 16),
            ticks_per_second,
            packets: 0,
            drops: None,
            dropped_between_packets: 0,
        });
        let zone_seconds = i64::from(order.u32(head, 8) as i32);
        (Pcap { order, head: packet_head, nanoseconds_per_tick, zone_seconds }, facts)
    }

    #[inline]
    pub(crate) fn next<'a, R: Read>(&mut self, window: &'a mut Window<R>) -> Next<'a> {
        if let Filled::Short(why) = window.fill(self.head) {
            return incomplete(window, "the header of a packet", why);
        }
        let (order, bytes) = (self.order, window.bytes());
        let seconds = i64::from(order.u32(bytes, 0));
        let ticks = i64::from(order.u32(bytes, 4));
        let captured = order.u32(bytes, 8) as usize;
        let wire_bytes = order.u32(bytes, 12).max(captured as u32);
        if captured > LARGEST_FRAME {
            return damaged(window, format!("a packet has {captured} bytes, more than any link can carry"));
        }
        if wire_bytes == 0 {
            return damaged(window, "a packet has no bytes");
        }
        if let Filled::Short(why) = window.fill(self.head + captured) {
            return incomplete(window, "a packet", why);
        }
        let record = window.take(self.head + captured);
        let passage = if self.head == MODIFIED_PACKET_HEAD {
            Passage::of_packet_type(record[PACKET_TYPE].into())
        } else {
            Passage::Unknown
        };
        Next::Frame(Frame {
            time_ns: Some((seconds + self.zone_seconds) * 1_000_000_000 + ticks * self.nanoseconds_per_tick),
            interface: Some(0),
            wire_bytes,
            bytes: &record[self.head..],
            passage,
        })
    }
}
