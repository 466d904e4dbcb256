//! Lost, reordered and duplicate datagrams, by their sequence numbers.

use super::header::difference;
use std::collections::VecDeque;

/// Numbers that did not arrive.
#[derive(Debug, Clone, Copy)]
struct Hole {
    from: i64,
    /// Number after the last.
    to: i64,
    /// Arrivals before the first datagram with a higher number.
    arrival: u64,
    /// Arrival of that datagram.
    time_ns: i64,
}

/// Counts of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Numbers from the first to the highest.
    pub expected: u64,
    /// Of these, numbers that arrived.
    pub unique: u64,
    /// Runs of lost numbers.
    pub loss_runs: u64,
    /// Numbers in the longest run.
    pub longest_run: u64,
    pub duplicates: u64,
    pub reordered: u64,
    pub max_extent: u64,
    pub max_late_ns: i64,
    /// The numbers began again.
    pub restarts: u64,
    /// Datagrams that came so late that a duplicate cannot be distinguished from them.
    pub too_late: u64,
}

/// Sequence numbers of a stream, in little memory.
#[derive(Debug)]
pub(crate) struct Sequence {
    bits: u32,
    /// `None` before the first.
    base: Option<u64>,
    /// Lowest number since the numbers began, in 64 bits from `base`.
    lowest: i64,
    highest: i64,
    highest_sent_ns: Option<i64>,
    unique: u64,
    arrivals: u64,
    /// In the order of numbers.
    holes: VecDeque<Hole>,
    /// Numbers below have no hole that is still known.
    forgotten: i64,
    counts: Counts,
}

/// Holes that late datagrams can still fill.
const MOST_HOLES: usize = 4_096;
/// Numbers farther away than this begin another stream.
const FAR: u64 = 1 << 24;
/// A lower number that was sent so much later begins another stream, in nanoseconds.
const SENT_LATER_NS: i64 = 1_000_000;

impl Sequence {
    pub(crate) fn new(bits: u32) -> Sequence {
        Sequence {
            bits,
            base: None,
            lowest: 0,
            highest: -1,
            highest_sent_ns: None,
            unique: 0,
            arrivals: 0,
            holes: VecDeque::new(),
            forgotten: 0,
            counts: Counts::default(),
        }
    }

    /// `count` datagrams with numbers from `number` on arrived. Returns whether the numbers began again.
    pub(crate) fn add(&mut self, number: u64, count: u32, sent_ns: Option<i64>, time_ns: i64) -> bool {
        let Some(base) = self.base else {
            self.begin(number, count, sent_ns);
            return false;
        };
        let highest_number = base.wrapping_add_signed(self.highest);
        let place = self.highest + difference(highest_number, number, self.bits);
        // The media timestamp of RTP wraps; its numbers are never far away.
        let was_sent_later = self.bits > 16
            && self.highest_sent_ns.zip(sent_ns).is_some_and(|(high, sent)| sent - high > SENT_LATER_NS);
        if (place <= self.highest && was_sent_later) || place.abs_diff(self.highest) > FAR {
            self.close();
            self.counts.restarts += 1;
            self.begin(number, count, sent_ns);
            return true;
        }
        for place in place..place + i64::from(count) {
            self.arrived(place, time_ns);
        }
        if place + i64::from(count) > self.highest {
            self.highest_sent_ns = sent_ns;
        }
        false
    }

    fn begin(&mut self, number: u64, count: u32, sent_ns: Option<i64>) {
        let count = count.max(1);
        self.base = Some(number);
        (self.lowest, self.highest, self.forgotten) = (0, i64::from(count) - 1, 0);
        self.highest_sent_ns = sent_ns;
        self.unique = count.into();
        self.arrivals += u64::from(count);
    }

    fn arrived(&mut self, place: i64, time_ns: i64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        if place > self.highest {
            if place > self.highest + 1 {
                self.holes.push_back(Hole { from: self.highest + 1, to: place, arrival, time_ns });
                self.forget();
            }
            self.highest = place;
            self.unique += 1;
        } else if place < self.lowest {
            // Before the first that was captured.
            if place + 1 < self.lowest {
                self.holes.push_front(Hole { from: place + 1, to: self.lowest, arrival, time_ns });
                self.forget();
            }
            self.lowest = place;
            self.forgotten = self.forgotten.min(place);
            self.unique += 1;
            self.counts.reordered += 1;
        } else if place < self.forgotten {
            self.counts.too_late += 1;
        } else {
            self.fill(place, arrival, time_ns);
        }
    }

    /// A number that is not the highest: of a hole, or a second time.
    fn fill(&mut self, place: i64, arrival: u64, time_ns: i64) {
        let at = self.holes.partition_point(|hole| hole.to <= place);
        let Some(hole) = self.holes.get(at).copied().filter(|hole| hole.from <= place) else {
            self.counts.duplicates += 1;
            return;
        };
        self.unique += 1;
        self.counts.reordered += 1;
        self.counts.max_extent = self.counts.max_extent.max(arrival - hole.arrival);
        self.counts.max_late_ns = self.counts.max_late_ns.max(time_ns - hole.time_ns);
        self.holes.remove(at);
        for part in [Hole { from: place + 1, ..hole }, Hole { to: place, ..hole }] {
            if part.from < part.to {
                self.holes.insert(at, part);
            }
        }
        self.forget();
    }

    fn forget(&mut self) {
        while self.holes.len() > MOST_HOLES {
            if let Some(hole) = self.holes.pop_front() {
                self.forgotten = hole.to;
                self.lose(hole);
            }
        }
    }

    fn lose(&mut self, hole: Hole) {
        self.counts.loss_runs += 1;
        self.counts.longest_run = self.counts.longest_run.max(hole.from.abs_diff(hole.to));
    }

    fn close(&mut self) {
        while let Some(hole) = self.holes.pop_front() {
            self.lose(hole);
        }
        if self.base.take().is_some() {
            self.counts.expected += self.lowest.abs_diff(self.highest) + 1;
            self.counts.unique += self.unique;
        }
    }

    /// The lowest and the highest number since the numbers began, as in the datagrams; of more than they have bits, without the wrap.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        let base = self.base?;
        Some((base.wrapping_add_signed(self.lowest), base.wrapping_add_signed(self.highest)))
    }

    /// The counts at the end.
    pub(crate) fn finish(mut self) -> Counts {
        self.close();
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(numbers: impl IntoIterator<Item = u64>, bits: u32) -> Counts {
        let mut sequence = Sequence::new(bits);
        for (at, number) in numbers.into_iter().enumerate() {
            sequence.add(number, 1, None, at as i64 * 1_000);
        }
        sequence.finish()
    }

    #[test]
    fn lost_reordered_and_duplicate_numbers_are_distinguished() {
        // 3 and 4 are lost, 6 comes after 7 and 8, and 8 comes twice.
        let counts = counts([1, 2, 5, 7, 8, 6, 8, 9], 64);
        let expected = Counts {
            expected: 9,
            unique: 7,
            loss_runs: 1,
            longest_run: 2,
            duplicates: 1,
            reordered: 1,
            max_extent: 2,
            max_late_ns: 2_000,
            ..Counts::default()
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn numbers_of_16_bits_go_on_over_many_wraps() {
        let numbers = (0..200_000u64).filter(|number| number % 1_000 != 7).map(|number| number & 0xffff);
        let counts = counts(numbers, 16);
        assert_eq!((counts.expected, counts.expected - counts.unique), (200_000, 200));
        assert_eq!((counts.loss_runs, counts.longest_run, counts.restarts), (200, 1, 0));
    }

    #[test]
    fn first_number_may_arrive_late() {
        let counts = counts([3, 0, 4, 1], 32);
        assert_eq!((counts.expected, counts.unique, counts.reordered), (5, 4, 2));
        assert_eq!(counts.longest_run, 1);
    }

    #[test]
    fn memory_is_bounded_and_every_loss_counts() {
        let mut sequence = Sequence::new(64);
        for number in (0..1_000_000).step_by(2) {
            sequence.add(number, 1, None, 0);
        }
        assert!(sequence.holes.len() <= MOST_HOLES);
        sequence.add(1, 1, None, 0);
        let counts = sequence.finish();
        assert_eq!(counts.expected - counts.unique, 499_999);
        assert_eq!((counts.loss_runs, counts.too_late), (499_999, 1));
    }

    #[test]
    fn second_stream_of_the_same_ports_begins_again() {
        let mut sequence = Sequence::new(32);
        for number in 1..=100 {
            assert!(!sequence.add(number, 1, Some(number as i64 * 1_000_000), 0));
        }
        assert!(sequence.add(1, 1, Some(10_000_000_000), 0));
        sequence.add(3, 1, Some(10_002_000_000), 0);
        let counts = sequence.finish();
        assert_eq!((counts.restarts, counts.expected, counts.unique, counts.duplicates), (1, 103, 102, 0));
    }

    #[test]
    fn super_packet_is_so_many_numbers() {
        let mut sequence = Sequence::new(64);
        sequence.add(0, 45, None, 0);
        sequence.add(45, 45, None, 0);
        sequence.add(135, 45, None, 0);
        let counts = sequence.finish();
        assert_eq!((counts.expected, counts.unique, counts.longest_run), (180, 135, 45));
    }
}
