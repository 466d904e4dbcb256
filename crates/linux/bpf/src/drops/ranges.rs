//! What was dropped or sent again of TCP, by sequence numbers: a record of each, as it happened.

use super::{Flow, Key, Watch, WatchError, number};
use libbpf_rs::{MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// Payload of TCP that was dropped or sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// When, in nanoseconds of CLOCK_MONOTONIC.
    pub monotonic_ns: i64,
    /// Whose it was.
    pub flow: Flow,
    /// The network namespace, by its inode; `None`: the kernel no longer told.
    pub namespace: Option<u32>,
    /// The kernel's name for why it was dropped; `None`: it was sent again.
    pub reason: Option<String>,
    /// Number of its first byte.
    pub sequence: u32,
    /// How many bytes; SYN and FIN count as one.
    pub bytes: u32,
    /// In how many packets.
    pub packets: u32,
}

/// Records that were not fetched yet.
#[derive(Debug)]
pub(super) struct Ring {
    buffer: RingBuffer<'static>,
    fetched: Arc<Mutex<Vec<Record>>>,
}

/// `struct range` of drops.bpf.c.
#[derive(Debug)]
struct Record {
    monotonic_ns: i64,
    key: Key,
    sequence: u32,
    bytes: u32,
    packets: u32,
    again: bool,
}

impl Record {
    fn of(bytes: &[u8]) -> Option<Record> {
        const KEY: usize = Key::BYTES;
        let numbers = bytes.get(8 + KEY..8 + KEY + 16)?;
        let word = |place: usize| numbers[place..].first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        Some(Record {
            monotonic_ns: i64::try_from(number(bytes)).ok()?,
            key: Key::of(&bytes[8..8 + KEY])?,
            sequence: word(0)?,
            bytes: word(4)?,
            packets: word(8)?,
            again: word(12)? != 0,
        })
    }
}

impl Ring {
    pub(super) fn of(object: &Object) -> libbpf_rs::Result<Ring> {
        let fetched = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&fetched);
        let map = super::map(object, "listed");
        let mut builder = RingBufferBuilder::new();
        builder.add(&map, move |bytes| {
            into.lock().unwrap_or_else(PoisonError::into_inner).extend(Record::of(bytes));
            0
        })?;
        let buffer = builder.build()?;
        Ok(Ring { buffer, fetched })
    }
}

impl Watch {
    /// What was dropped and sent again since the last call, by sequence numbers, if the filter asks for it. There is room for
    /// some 90,000 until it is called again. If the kernel does not give all of it, why not stands beside what it gave.
    pub fn ranges(&self) -> (Vec<Range>, Option<WatchError>) {
        let Some(ring) = &self.ring else { return (Vec::new(), None) };
        let failed = ring.buffer.consume().map_err(WatchError::Read).err();
        let records = std::mem::take(&mut *ring.fetched.lock().unwrap_or_else(PoisonError::into_inner));
        let range = |record: Record| {
            Some(Range {
                monotonic_ns: record.monotonic_ns,
                reason: (!record.again).then(|| self.reason(record.key.reason)),
                flow: record.key.flow?,
                namespace: (record.key.namespace > 0).then_some(record.key.namespace),
                sequence: record.sequence,
                bytes: record.bytes,
                packets: record.packets,
            })
        };
        (records.into_iter().filter_map(range).collect(), failed)
    }

    /// How many of these were not told, for want of room.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn unlisted(&self) -> Result<u64, WatchError> {
        let parts = self.map("unlisted").lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY);
        Ok(parts.map_err(WatchError::Read)?.into_iter().flatten().map(|part| number(&part)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_the_program_writes_it() {
        let mut bytes = 77_u64.to_ne_bytes().to_vec();
        let ends = [1, 2].map(|last| std::net::Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped());
        bytes.extend(Key::bytes(6, ends, [5001, 80], [6, 3, 4_026_531_840]));
        bytes.extend([4_000_000_000_u32, 2896, 2, 1].into_iter().flat_map(u32::to_ne_bytes));
        bytes.extend([0; 4]);
        let record = Record::of(&bytes).unwrap();
        assert_eq!((record.monotonic_ns, record.key.reason), (77, 6));
        assert_eq!(
            (record.sequence, record.bytes, record.packets, record.again),
            (4_000_000_000, 2896, 2, true)
        );
        assert!(Record::of(&bytes[..75]).is_none());
    }
}
