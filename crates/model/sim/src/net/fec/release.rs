//! The order in which packets leave the decoder.

use crate::net::train::Train;
use std::collections::BTreeMap;
use wirespeed_units::{SimTime, Span};

/// Delays packets that come behind a missing one, for a limited time.
#[derive(Debug, Clone)]
pub(super) struct Release {
    hold: Span,
    /// The packet that would leave in order.
    next: u64,
    /// Packets that wait, with the times at which they came.
    held: BTreeMap<u64, Train>,
    /// When the first of them came.
    since: SimTime,
}

impl Release {
    pub(super) fn new(hold: Span) -> Release {
        Release { hold, next: 0, held: BTreeMap::new(), since: SimTime::START }
    }

    /// A packet comes, at its time. Packets come in their order, but some are missing.
    pub(super) fn arrive(&mut self, number: u64, packet: Train, out: &mut Vec<Train>) {
        self.expire(packet.at, out);
        self.enter(number, packet, out);
    }

    /// A missing packet was recovered, at its time.
    pub(super) fn recover(&mut self, number: u64, packet: Train, out: &mut Vec<Train>) {
        self.expire(packet.at, out);
        self.enter(number, packet, out);
    }

    fn enter(&mut self, number: u64, packet: Train, out: &mut Vec<Train>) {
        if self.hold == Span::ZERO || number < self.next {
            out.push(packet);
        } else if number == self.next {
            let at = packet.at;
            self.next += 1;
            out.push(packet);
            self.release(at, out);
        } else {
            if self.held.is_empty() {
                self.since = packet.at;
            }
            self.held.insert(number, packet);
        }
    }

    /// Releases all packets that are in order, at `now` or when they come.
    fn release(&mut self, now: SimTime, out: &mut Vec<Train>) {
        while let Some(first) = self.held.first_entry()
            && *first.key() == self.next
        {
            let mut packet = first.remove();
            packet.at = packet.at.max(now);
            out.push(packet);
            self.next += 1;
        }
        if let Some(since) = self.held.values().map(|packet| packet.at).min() {
            self.since = since;
        }
    }

    /// The time at which packets leave though one before them is missing.
    pub(super) fn deadline(&self) -> Option<SimTime> {
        (!self.held.is_empty()).then(|| self.since + self.hold)
    }

    /// Releases packets whose time is over by `until`.
    pub(super) fn expire(&mut self, until: SimTime, out: &mut Vec<Train>) {
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline <= until)
            && let Some((first, _)) = self.held.first_key_value()
        {
            self.next = *first;
            self.release(deadline, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tests::reference::{data, packets};

    fn numbers(out: &[Train]) -> Vec<(u64, i64)> {
        packets(out).into_iter().map(|(_, number, at)| (number, at)).collect()
    }

    #[test]
    fn packets_behind_a_missing_one_wait_until_it_is_recovered() {
        let (mut release, mut out) = (Release::new(Span::ps(100)), Vec::new());
        for (number, at) in [(0, 10), (2, 20), (3, 30)] {
            release.arrive(number, data(0, number, 1, 1514, at, 0), &mut out);
        }
        assert_eq!(numbers(&out), [(0, 10)]);
        assert_eq!(release.deadline(), Some(SimTime::ps(120)));
        release.recover(1, data(0, 1, 1, 1514, 40, 0), &mut out);
        release.arrive(4, data(0, 4, 1, 1514, 50, 0), &mut out);
        assert_eq!(numbers(&out), [(0, 10), (1, 40), (2, 40), (3, 40), (4, 50)]);
        assert_eq!(release.deadline(), None);
    }

    #[test]
    fn they_wait_no_longer_than_asked() {
        let (mut release, mut out) = (Release::new(Span::ps(100)), Vec::new());
        for (number, at) in [(0, 10), (2, 20), (4, 70)] {
            release.arrive(number, data(0, number, 1, 1514, at, 0), &mut out);
        }
        release.expire(SimTime::ps(119), &mut out);
        assert_eq!(numbers(&out), [(0, 10)]);
        release.expire(SimTime::ps(120), &mut out);
        assert_eq!(numbers(&out), [(0, 10), (2, 120)]);
        // The next gap was first noticed at 70.
        assert_eq!(release.deadline(), Some(SimTime::ps(170)));
        release.recover(1, data(0, 1, 1, 1514, 130, 0), &mut out);
        release.recover(3, data(0, 3, 1, 1514, 180, 0), &mut out);
        assert_eq!(numbers(&out), [(0, 10), (2, 120), (1, 130), (4, 170), (3, 180)]);
    }

    #[test]
    fn without_a_time_nothing_waits() {
        let (mut release, mut out) = (Release::new(Span::ZERO), Vec::new());
        release.arrive(1, data(0, 1, 1, 1514, 20, 0), &mut out);
        release.recover(0, data(0, 0, 1, 1514, 30, 0), &mut out);
        assert_eq!(numbers(&out), [(1, 20), (0, 30)]);
        assert_eq!(release.deadline(), None);
    }
}
