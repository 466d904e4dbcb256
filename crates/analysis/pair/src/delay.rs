//! One-way delays.

use serde::Serialize;

/// Delays of packets in one direction between the captures, in nanoseconds. Absolute values are as exact as the offset of the
/// clocks ([`Clock::offset_bound_ns`](crate::Clock::offset_bound_ns)). Differences between them do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Delays {
    /// Packets of which the delay is known.
    pub packets: u64,
    /// Of these, packets in this distribution: every one, or every second, fourth, ... of many.
    pub sampled: u64,
    /// Least delay.
    pub min_ns: i64,
    /// Median.
    pub median_ns: i64,
    /// Quantile 0.95.
    pub p95_ns: i64,
    /// Quantile 0.99.
    pub p99_ns: i64,
    /// Largest delay.
    pub max_ns: i64,
}

/// Differences of times with their time, thinned to at most a number.
#[derive(Debug, Clone)]
pub(crate) struct Thinned {
    most: usize,
    each: u64,
    count: u64,
    kept: Vec<(i64, i64)>,
}

impl Thinned {
    pub(crate) fn new(most: usize) -> Thinned {
        Thinned { most, each: 1, count: 0, kept: Vec::new() }
    }

    /// A packet at `x` of the first clock, with its difference of times.
    pub(crate) fn add(&mut self, x: i64, y: i64) {
        if self.count.is_multiple_of(self.each) {
            if self.kept.len() == self.most {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.each *= 2;
            }
            if self.count.is_multiple_of(self.each) {
                self.kept.push((x, y));
            }
        }
        self.count += 1;
    }

    /// The delays, where `delay` makes one of a difference at a time.
    pub(crate) fn delays(&self, delay: impl Fn(i64, i64) -> i64) -> Option<Delays> {
        let mut all: Vec<i64> = self.kept.iter().map(|&(x, y)| delay(x, y)).collect();
        all.sort_unstable();
        let last = all.len().checked_sub(1)?;
        let quantile = |share: f64| all[(share * last as f64).round() as usize];
        Some(Delays {
            packets: self.count,
            sampled: all.len() as u64,
            min_ns: all[0],
            median_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            max_ns: all[last],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_delays_are_thinned_evenly() {
        let mut thinned = Thinned::new(1_000);
        for number in 0..10_000 {
            thinned.add(number, number * 3);
        }
        let delays = thinned.delays(|x, y| y - x).unwrap();
        assert!(delays.packets == 10_000 && (500..=1_000).contains(&delays.sampled), "{delays:?}");
        assert!((delays.median_ns - 10_000).abs() < 100 && delays.min_ns == 0, "{delays:?}");
    }
}
