//! What work takes on a core: the costs of the settings, the core's speed, and where the data lies.

use super::Host;
use wirespeed_units::{SimTime, Span};

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

    /// Copying `bytes` that core `core` reads and that a core of `filled` put into a socket holding `memory` bytes:
    /// from the cache if they are still there, from memory, or from another node. Gives the nominal cost, and when
    /// the link between the nodes has carried them.
    pub(super) fn copy(
        &mut self,
        core: usize,
        at: SimTime,
        bytes: u64,
        filled: usize,
        memory: u64,
    ) -> (Span, SimTime) {
        let node = self.cores[core].node;
        let costs = &self.settings.costs;
        if filled != node {
            let each = costs.copy_remote;
            return (times(each, bytes), self.cross(filled, node, bytes, at));
        }
        // The interface puts packets into the cache of its own node only (DDIO).
        let cached = memory <= self.settings.machine.cache.get() && filled == self.settings.nic.node as usize;
        (times(if cached { costs.copy_cached } else { costs.copy_memory }, bytes), at)
    }

    /// Bytes go from one node to another; returns when the link has carried them.
    pub(super) fn cross(&mut self, from: usize, to: usize, bytes: u64, at: SimTime) -> SimTime {
        let Some(rate) = self.settings.machine.interlink else { return at };
        let free = &mut self.interlink[from][to];
        *free = (*free).max(at) + rate.serialisation(wirespeed_units::Bytes::new(bytes));
        *free
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
