//! The connections that are open.

use super::sequence::Sequence;
use crate::connection::{Connection, Direction};
use crate::segment::{Address, Packet, Transport};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

/// A connection, with what only the tracker needs.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub connection: Connection,
    /// By [`Direction::index`].
    pub sequences: [Sequence; 2],
    pub is_open: bool,
    /// A packet had RST.
    pub is_reset: bool,
    /// It had a packet since the search for an unused one came by.
    pub was_used: bool,
}

impl Entry {
    pub(super) fn new(connection: Connection) -> Self {
        Entry { connection, sequences: Default::default(), is_open: true, is_reset: false, was_used: true }
    }
}

/// Open connections, by the addresses of a packet and by number.
pub(super) struct Table {
    /// Numbers in `entries`, by the hash of both addresses.
    slots: HashTable<u32>,
    hasher: DefaultHashBuilder,
    entries: Vec<Entry>,
    /// Numbers in `entries` that no open connection has.
    free: Vec<u32>,
    /// The connection of the packet before. Most packets have the same one.
    newest: Option<u32>,
    /// Next connection to check for its end.
    check: u32,
    /// Next connection to look at in the search for an unused one.
    hand: u32,
}

impl Table {
    pub(super) fn new() -> Self {
        Table {
            slots: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            entries: Vec::new(),
            free: Vec::new(),
            newest: None,
            check: 0,
            hand: 0,
        }
    }

    /// Connections that are open.
    pub(super) fn open(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Numbers that connections have or had.
    pub(super) fn slots(&self) -> u32 {
        self.entries.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    /// The same for packets of both directions, since it is a sum.
    #[inline]
    pub(super) fn hash(&self, packet: &Packet) -> u64 {
        hash(&self.hasher, packet.transport(), packet.source, packet.destination)
    }

    /// The open connection with the addresses of `packet`, and the direction in which it goes.
    #[inline]
    pub(super) fn find(&mut self, hash: u64, packet: &Packet) -> Option<(u32, Direction)> {
        if let Some(slot) = self.newest
            && let Some(direction) = direction(&self.entries[slot as usize].connection, packet)
        {
            return Some((slot, direction));
        }
        let entries = &self.entries;
        let is_same = |slot: &u32| direction(&entries[*slot as usize].connection, packet).is_some();
        let slot = *self.slots.find(hash, is_same)?;
        self.newest = Some(slot);
        Some((slot, direction(&self.entries[slot as usize].connection, packet)?))
    }

    /// Adds a connection and gives it a number.
    pub(super) fn insert(&mut self, hash: u64, mut entry: Entry) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => {
                entry.connection.slot = slot;
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                let slot = self.entries.len() as u32;
                entry.connection.slot = slot;
                self.entries.push(entry);
                slot
            }
        };
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.slots.insert_unique(hash, slot, |slot| hash_of(hasher, &entries[*slot as usize].connection));
        self.newest = Some(slot);
        slot
    }

    pub(super) fn remove(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.is_open = false;
        let hash = hash_of(&self.hasher, &entry.connection);
        if let Ok(found) = self.slots.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        self.newest = self.newest.filter(|newest| *newest != slot);
        self.free.push(slot);
    }

    /// The next number in turn, for a check whether its connection is over.
    #[inline]
    pub(super) fn next_to_check(&mut self) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let slot = self.check;
        self.check = if slot + 1 < self.slots() { slot + 1 } else { 0 };
        Some(slot)
    }

    /// A connection that had no packet since the search came by it before. One must be open.
    ///
    /// It is not always the one without a packet for longest, which would need a list of all in order.
    pub(super) fn longest_unused(&mut self) -> u32 {
        loop {
            let slot = self.hand;
            self.hand = if slot + 1 < self.slots() { slot + 1 } else { 0 };
            let entry = &mut self.entries[slot as usize];
            if entry.is_open && !std::mem::take(&mut entry.was_used) {
                return slot;
            }
        }
    }
}

#[inline]
fn direction(connection: &Connection, packet: &Packet) -> Option<Direction> {
    let (from, to) = (packet.source, packet.destination);
    if connection.transport != packet.transport() {
        None
    } else if connection.client == from && connection.server == to {
        Some(Direction::ClientToServer)
    } else if connection.client == to && connection.server == from {
        Some(Direction::ServerToClient)
    } else {
        None
    }
}

fn hash_of(hasher: &DefaultHashBuilder, connection: &Connection) -> u64 {
    hash(hasher, connection.transport, connection.client, connection.server)
}

#[inline]
fn hash(hasher: &DefaultHashBuilder, transport: Transport, one: Address, other: Address) -> u64 {
    let end = |address: Address| {
        let mut hasher = hasher.build_hasher();
        match address.ip {
            IpAddr::V4(ip) => hasher.write_u64(u64::from(ip.to_bits()) << 16 | u64::from(address.port)),
            IpAddr::V6(ip) => {
                hasher.write_u128(ip.to_bits());
                hasher.write_u16(address.port);
            }
        }
        hasher.finish()
    };
    end(one).wrapping_add(end(other)).wrapping_add(transport as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_takes_no_more_memory_than_the_limits_state() {
        // A number in the hash table with its byte of control, at a load of 7/16 after it doubled, and one in `free`.
        let hashed = (4 + 1) * 16 / 7 + 4;
        assert!(size_of::<Entry>() + hashed <= 320, "{}", size_of::<Entry>() + hashed);
    }
}
