//! Putting packets together again that follow each other at an even distance.

use super::train::Train;
use std::collections::VecDeque;
use wirespeed_units::{SimTime, Span};

/// How far a distance may be off and still be even: rounding to picoseconds at both ends.
const EVEN: i64 = 2;

/// Adds `next` to `last`, whose last packet is at `last_at`, if it continues it at an even distance and both
/// together have at most `limit` packets.
#[inline]
pub(crate) fn join(last: &mut Train, last_at: SimTime, next: &Train, limit: u32) -> bool {
    let distance = (next.at - last_at).picoseconds();
    let fits = |gap: Span| (gap.picoseconds() - distance).abs() <= EVEN;
    if last.packets.saturating_add(next.packets) > limit
        || distance < 0
        || last.packets > 1 && !fits(last.gap)
        || next.packets > 1 && !fits(next.gap)
        || !last.is_continued_by(next)
    {
        return false;
    }
    if last.packets == 1 {
        last.gap = Span::ps(distance);
    }
    last.append(next);
    true
}

/// What is on its way on a link, in order of arrival.
#[derive(Debug, Clone)]
pub struct InFlight {
    trains: VecDeque<Train>,
    /// When the very last packet arrives. The last train's own distance, in whole picoseconds, may be off by a
    /// fraction that adds up over its packets.
    last_at: SimTime,
    /// The last train has grown by joining.
    joined: bool,
    longest: Span,
}

impl InFlight {
    /// An empty link. No train that is put together lasts more than `longest` from first to last packet.
    pub fn new(longest: Span) -> InFlight {
        InFlight { trains: VecDeque::new(), last_at: SimTime::START, joined: false, longest }
    }

    /// Appends `train`, put together with the last one if it continues it and both have at most `train_limit`
    /// packets. True if it became the first of all, so that its arrival has to be scheduled.
    pub fn push(&mut self, train: Train, train_limit: u32) -> bool {
        let end = train.last_at();
        if let Some(last) = self.trains.back_mut() {
            if (end - last.at).picoseconds() <= self.longest.picoseconds()
                && join(last, self.last_at, &train, train_limit)
            {
                self.last_at = end;
                self.joined = true;
                return false;
            }
            self.close();
        }
        self.last_at = end;
        self.joined = false;
        self.trains.push_back(train);
        self.trains.len() == 1
    }

    /// When the first train arrives.
    pub fn front_at(&self) -> Option<SimTime> {
        self.trains.front().map(|t| t.at)
    }

    /// Takes the first train.
    pub fn pop(&mut self) -> Option<Train> {
        if self.trains.len() == 1 {
            self.close();
        }
        self.trains.pop_front()
    }

    /// How many trains are on the way.
    pub fn len(&self) -> usize {
        self.trains.len()
    }

    /// Whether nothing is on the way.
    pub fn is_empty(&self) -> bool {
        self.trains.is_empty()
    }

    /// Makes the last train's distance the mean of those it was put together from.
    fn close(&mut self) {
        if let Some(last) = self.trains.back_mut()
            && self.joined
        {
            let steps = i64::from(last.packets - 1);
            last.gap = Span::ps(((self.last_at - last.at).picoseconds() + steps / 2) / steps);
            self.joined = false;
        }
    }
}
