//! The order in which packets leave the decoder.

use std::collections::BTreeMap;
use std::ops::Add;

/// Delays packets that come behind a missing one, for a limited time. `T` is a time, `S` a time span, and `P` a packet. Every
/// packet that leaves goes to the function `leave`, with its time.
#[derive(Debug, Clone)]
pub struct Release<T, S, P> {
    /// `None`: no packet waits.
    hold: Option<S>,
    /// The packet that would leave in order.
    next: u64,
    /// Packets that wait, with the times at which they came.
    held: BTreeMap<u64, (T, P)>,
    /// When the first of them came.
    since: Option<T>,
}

impl<T: Ord + Copy + Add<S, Output = T>, S: Copy, P> Release<T, S, P> {
    /// Packets wait for `hold` at most. `None`: they leave as they come.
    pub fn new(hold: Option<S>) -> Release<T, S, P> {
        Release { hold, next: 0, held: BTreeMap::new(), since: None }
    }

    /// The number of packets that wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// A packet comes at `at`. Packets come in their order, but some are missing, and recovered ones come late.
    pub fn enter(&mut self, number: u64, at: T, packet: P, leave: &mut impl FnMut(T, P)) {
        self.expire(at, leave);
        if self.hold.is_none() || number < self.next {
            leave(at, packet);
        } else if number == self.next {
            self.next += 1;
            leave(at, packet);
            self.release(at, leave);
        } else {
            if self.held.is_empty() {
                self.since = Some(at);
            }
            self.held.insert(number, (at, packet));
        }
    }

    /// Releases all packets that are in order, at `now` or when they come.
    fn release(&mut self, now: T, leave: &mut impl FnMut(T, P)) {
        while let Some(first) = self.held.first_entry()
            && *first.key() == self.next
        {
            let (at, packet) = first.remove();
            leave(at.max(now), packet);
            self.next += 1;
        }
        if let Some(since) = self.held.values().map(|(at, _)| *at).min() {
            self.since = Some(since);
        }
    }

    /// The time at which packets leave though one before them is missing.
    pub fn deadline(&self) -> Option<T> {
        if self.held.is_empty() {
            return None;
        }
        Some(self.since? + self.hold?)
    }

    /// Releases packets whose time is over by `until`.
    pub fn expire(&mut self, until: T, leave: &mut impl FnMut(T, P)) {
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline <= until)
            && let Some((first, _)) = self.held.first_key_value()
        {
            self.next = *first;
            self.release(deadline, leave);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters packets with their times, and returns what left: (packet, time).
    fn enter(release: &mut Release<i64, i64, u64>, packets: &[(u64, i64)]) -> Vec<(u64, i64)> {
        let mut out = Vec::new();
        for (number, at) in packets {
            release.enter(*number, *at, *number, &mut |at, packet| out.push((packet, at)));
        }
        out
    }

    fn expire(release: &mut Release<i64, i64, u64>, until: i64) -> Vec<(u64, i64)> {
        let mut out = Vec::new();
        release.expire(until, &mut |at, packet| out.push((packet, at)));
        out
    }

    #[test]
    fn packets_behind_a_missing_one_wait_until_it_is_recovered() {
        let mut release = Release::new(Some(100));
        assert_eq!(enter(&mut release, &[(0, 10), (2, 20), (3, 30)]), [(0, 10)]);
        assert_eq!((release.deadline(), release.held()), (Some(120), 2));
        assert_eq!(enter(&mut release, &[(1, 40), (4, 50)]), [(1, 40), (2, 40), (3, 40), (4, 50)]);
        assert_eq!((release.deadline(), release.held()), (None, 0));
    }

    #[test]
    fn they_wait_no_longer_than_asked() {
        let mut release = Release::new(Some(100));
        assert_eq!(enter(&mut release, &[(0, 10), (2, 20), (4, 70)]), [(0, 10)]);
        assert_eq!(expire(&mut release, 119), []);
        assert_eq!(expire(&mut release, 120), [(2, 120)]);
        // The next gap was first noticed at 70.
        assert_eq!(release.deadline(), Some(170));
        assert_eq!(enter(&mut release, &[(1, 130), (3, 180)]), [(1, 130), (4, 170), (3, 180)]);
    }

    #[test]
    fn without_a_time_nothing_waits() {
        let mut release = Release::new(None);
        assert_eq!(enter(&mut release, &[(1, 20), (0, 30)]), [(1, 20), (0, 30)]);
        assert_eq!(release.deadline(), None);
    }
}
