//! A point on the path seen as a capture: trains become packets with headers, in a pcap file's bytes.

mod frame;

use super::train::Train;
use frame::Frame;
use std::net::Ipv4Addr;
use wirespeed_units::SimTime;

/// Who talks to whom in a train, and how its numbers become those of the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addressing {
    /// IPv4 address and port of who sent the train.
    pub source: (Ipv4Addr, u16),
    /// Of whom it is for.
    pub destination: (Ipv4Addr, u16),
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// TCP timestamps were agreed on (RFC 7323).
    pub timestamps: bool,
    /// Window scale of the train's sender (RFC 7323).
    pub window_scale: u8,
}

/// Collects what passes a point.
///
/// Payload is zero, but for a datagram's number in its first 8 bytes, big-endian. Initial sequence numbers are 0, so
/// the first byte of a stream has number 1.
#[derive(Debug, Clone)]
pub struct Tap {
    /// Bytes kept of each packet.
    snaplen: u32,
    /// Seconds since 1970 at the start of the run.
    epoch: u32,
    records: Vec<Record>,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    /// Picoseconds.
    at: i64,
    /// Of the whole packet.
    length: u32,
    /// Where its bytes are.
    from: usize,
    to: usize,
}

/// Nanosecond pcap, as its writer's machine orders bytes: here always the least significant first.
const MAGIC: u32 = 0xa1b2_3c4d;
const ETHERNET: u32 = 1;

impl Tap {
    /// A tap that keeps at most `snaplen` bytes of each packet. `epoch`: seconds since 1970 at the start of the run.
    pub fn new(snaplen: u32, epoch: u32) -> Tap {
        Tap { snaplen, epoch, records: Vec::new(), bytes: Vec::new() }
    }

    /// A train passes, each packet at its time. Trains may overlap and come in any order. `place`: where a packet's first byte
    /// stands in its stream.
    pub fn see(&mut self, train: &Train, addressing: &Addressing, place: impl Fn(u64) -> u64) {
        for i in 0..train.packets {
            self.see_one(train, i, train.at + train.gap * i64::from(i), addressing, &place);
        }
    }

    /// Packet `i` of a train passes, counted from 0, at a time of its own.
    pub fn see_one(
        &mut self,
        train: &Train,
        i: u32,
        at: SimTime,
        addressing: &Addressing,
        place: impl Fn(u64) -> u64,
    ) {
        let frame = Frame::of(train, i, addressing, place);
        let from = self.bytes.len();
        self.bytes.extend_from_slice(frame.headers());
        // Cuts headers longer than wanted; or appends payload, which is zero.
        let kept = frame.length.min(self.snaplen) as usize;
        self.bytes.resize(from + kept, 0);
        self.records.push(Record { at: at.picoseconds(), length: frame.length, from, to: from + kept });
    }

    /// Packets seen.
    pub fn packets(&self) -> usize {
        self.records.len()
    }

    /// The capture as a pcap file, in the order of time.
    pub fn finish(mut self) -> Vec<u8> {
        // Stable: packets at the same time stay in the order seen.
        self.records.sort_by_key(|r| r.at);
        let mut file = Vec::with_capacity(24 + self.bytes.len() + 16 * self.records.len());
        // Version 2.4, times in UTC.
        for word in [MAGIC, 4 << 16 | 2, 0, 0, self.snaplen, ETHERNET] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        for record in &self.records {
            let nanoseconds = record.at / 1000;
            let seconds = self.epoch.wrapping_add((nanoseconds / 1_000_000_000) as u32);
            let kept = (record.to - record.from) as u32;
            for word in [seconds, (nanoseconds % 1_000_000_000) as u32, kept, record.length] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            file.extend_from_slice(&self.bytes[record.from..record.to]);
        }
        file
    }
}
