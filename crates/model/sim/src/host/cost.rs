//! What work takes on a core: the costs of the settings, the core's speed, and where the data lies.

use super::Host;
use wirespeed_units::{Bytes, SimTime, Span};

/// Bytes that the link between nodes carries for one byte of requests the other way: a cache line is nine flits, a
/// request one (Intel, An Introduction to the QuickPath Interconnect, 2009).
const REQUESTED: u64 = 9;
/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// What who reads and frees a page needs of its owner's accounts: a `struct page`.
const PAGE_ACCOUNT: u64 = 64;

impl Host {
    /// How long work of a nominal cost takes on a core that begins it at `at`: longer at a lower frequency, and
    /// while the hyper-thread twin works.
    pub(super) fn takes(&self, core: usize, at: SimTime, nominal: Span) -> Span {
        let machine = &self.settings.machine;
        let mut speed = machine.speed;
        if let (Some(twin), Some(shared)) = (self.cores[core].twin, machine.twin_speed)
            && self.cores[twin].free_at > at
        {
            speed *= shared;
        }
        if speed == 1.0 { nominal } else { super::scaled(nominal, 1.0 / speed) }
    }

    /// A socket holds so much memory that is unread.
    pub(super) fn note_unread(&mut self, flow: u32, memory: u64) {
        if let Some(socket) = self.sockets.get_mut(&flow) {
            self.unread = self.unread - socket.unread + memory;
            socket.unread = memory;
        }
    }

    /// Copying `bytes` that core `core` reads and that a core of `filled` put into a socket: from the cache if they are
    /// still there, from memory, or from another node. Gives the nominal cost, and when the link between the nodes has
    /// carried them.
    pub(super) fn copy(&mut self, core: usize, at: SimTime, bytes: u64, filled: usize) -> (Span, SimTime) {
        let node = self.cores[core].node;
        let costs = &self.settings.costs;
        // The interface puts packets into the cache of its own node only (DDIO), where the next ones push them out
        // again, whichever socket they are for.
        let ddio = filled == self.settings.nic.node as usize;
        let (each, cached) = match filled == node {
            true if ddio && self.unread <= self.settings.machine.cache.get() => (costs.copy_cached, true),
            true => (costs.copy_memory, false),
            false => (costs.copy_remote, false),
        };
        let nominal = times(each, bytes);
        if !cached && self.settings.machine.memory.is_some() {
            let takes = self.takes(core, at, nominal);
            self.memory[filled].read(bytes, at, at + takes);
        }
        let crosses = bytes + bytes / PAGE * PAGE_ACCOUNT;
        (nominal, if filled == node { at } else { self.cross(filled, node, crosses, at) })
    }

    /// Bytes that a core of node `to` reads come over the link from another node; returns when it has carried them. The
    /// requests for them go the other way, and take room from what is written there.
    pub(super) fn cross(&mut self, from: usize, to: usize, bytes: u64, at: SimTime) -> SimTime {
        let Some(rate) = self.settings.machine.interlink else { return at };
        let mut carry = |from: usize, to: usize, bytes: u64| {
            let free = &mut self.interlink[from][to];
            *free = (*free).max(at) + rate.serialisation(Bytes::new(bytes));
            *free
        };
        carry(to, from, bytes / REQUESTED);
        carry(from, to, bytes)
    }
}

/// A cost so many times.
pub(super) fn times(each: Span, count: u64) -> Span {
    Span::ps(each.picoseconds().saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// One of `count` equal parts.
pub(super) fn part(whole: Span, count: u32) -> Span {
    Span::ps(whole.picoseconds() / i64::from(count.max(1)))
}
