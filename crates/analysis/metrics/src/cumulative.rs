//! A counter read at instants, and what it must have been between them.

use std::rc::Rc;

/// A cumulative counter: readings at strictly increasing times, never falling.
#[derive(Debug, Clone)]
pub(crate) struct Cumulative {
    /// When it was read; may be shared with a counter that was read at the same times.
    times: Rc<[i64]>,
    /// What was read then.
    values: Vec<f64>,
    /// The counter was 0 until then, if that is known.
    zero_until: Option<i64>,
    /// The counter keeps its last reading from then on, if that is known.
    fixed_from: Option<i64>,
}

impl Cumulative {
    /// From readings in order of time; of several at one time the last counts.
    pub fn new(readings: impl Iterator<Item = (i64, f64)>) -> Self {
        Self::beginning(None, readings)
    }

    /// As [`Cumulative::new`], of what is known to have begun at `start` and ended at `end`.
    pub fn living(readings: impl Iterator<Item = (i64, f64)>, (start, end): (i64, i64)) -> Self {
        let counter = Self::beginning(Some(start), readings);
        Cumulative { zero_until: Some(start), fixed_from: Some(end), ..counter }
    }

    fn beginning(start: Option<i64>, readings: impl Iterator<Item = (i64, f64)>) -> Self {
        let room = readings.size_hint().1.map_or(0, |most| most + 1);
        let (mut times, mut values) = (Vec::with_capacity(room), Vec::with_capacity(room));
        for (t, value) in readings {
            if times.is_empty()
                && let Some(start) = start.filter(|start| *start < t)
            {
                times.push(start);
                values.push(0.0);
            }
            if times.last() == Some(&t) {
                values.pop();
            } else {
                times.push(t);
            }
            values.push(value);
        }
        values.shrink_to_fit();
        Cumulative { times: times.into(), values, zero_until: None, fixed_from: None }
    }

    /// Keeps the times only once if both were read at the same.
    pub fn share_times(&mut self, other: &Cumulative) {
        if self.times == other.times {
            self.times = Rc::clone(&other.times);
        }
    }

    fn point(&self, index: usize) -> Option<(i64, f64)> {
        Some((*self.times.get(index)?, self.values[index]))
    }

    /// First and last time of a reading.
    pub fn span(&self) -> Option<(i64, i64)> {
        Some((*self.times.first()?, *self.times.last()?))
    }

    /// Which reading is the first that is not before `t`. Readings lie mostly on a grid, where it is known without a
    /// search: thousands of flows are asked about every interval.
    fn first_not_before(&self, t: i64) -> usize {
        let times = &self.times[..];
        if let ([first, .., last], true) = (times, times.len() > 2)
            && t > *first
            && t <= *last
        {
            let share = (t - first) as f64 / (last - first) as f64;
            let guess = (share * (times.len() - 1) as f64) as usize;
            for index in guess.max(1)..(guess + 2).min(times.len()) {
                if times[index - 1] < t && t <= times[index] {
                    return index;
                }
            }
        }
        times.partition_point(|time| *time < t)
    }

    /// The counter at `t`: as read, or on the line between two readings at most `max_gap` apart. `None` if
    /// the readings do not say.
    pub fn at(&self, t: i64, max_gap: i64) -> Option<f64> {
        let after = self.first_not_before(t);
        if let Some((time, value)) = self.point(after)
            && time == t
        {
            return Some(value);
        }
        if self.zero_until.is_some_and(|start| t <= start) {
            return Some(0.0);
        }
        let (t0, v0) = self.point(after.checked_sub(1)?)?;
        match self.point(after) {
            Some((t1, v1)) if t1 - t0 <= max_gap => Some(v0 + (v1 - v0) * (t - t0) as f64 / (t1 - t0) as f64),
            Some(_) => None,
            None => self.fixed_from.is_some_and(|end| t >= end).then_some(v0),
        }
    }

    /// Growth from `from` to `to`; see [`Cumulative::at`].
    pub fn growth(&self, from: i64, to: i64, max_gap: i64) -> Option<f64> {
        Some(self.at(to, max_gap)? - self.at(from, max_gap)?)
    }

    /// Growth from `from` to `to` in whole steps, each placed at the reading that first shows it: for counts
    /// of things that cannot be split. Needs two readings, at least one of them after `from`.
    pub fn steps(&self, from: i64, to: i64) -> Option<f64> {
        let (_, first) = self.point(0)?;
        let last_until = |t: i64| {
            let after = self.times.partition_point(|time| *time <= t);
            Some(self.values[after.checked_sub(1)?])
        };
        if self.times.len() < 2 || *self.times.last()? <= from {
            return None;
        }
        // Before its first reading a counter that lives on is not known to have been 0.
        let before = last_until(from).unwrap_or(first);
        Some((last_until(to)? - before).max(0.0))
    }

    /// Times of the readings in `(from, to]` that show more than the one before.
    pub fn increases(&self, from: i64, to: i64) -> impl Iterator<Item = i64> + '_ {
        let rises = self.values.windows(2).zip(&self.times[self.times.len().min(1)..]);
        rises.filter(move |(w, t)| w[1] > w[0] && **t > from && **t <= to).map(|(_, t)| *t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const READINGS: [(i64, f64); 3] = [(10, 100.0), (20, 200.0), (60, 600.0)];

    fn counter() -> Cumulative {
        Cumulative::new(READINGS.into_iter())
    }

    #[test]
    fn interpolates_only_over_short_gaps() {
        assert_eq!(counter().at(20, 1), Some(200.0));
        assert_eq!(counter().at(15, 10), Some(150.0));
        assert_eq!(counter().at(30, 10), None);
        assert_eq!(counter().at(30, 40), Some(300.0));
    }

    #[test]
    fn outside_its_readings_it_is_unknown_unless_its_life_is_known() {
        assert_eq!(counter().at(5, 100), None);
        assert_eq!(counter().at(61, 100), None);
        let known = Cumulative::living(READINGS.into_iter(), (0, 65));
        assert_eq!(known.at(-5, 1), Some(0.0));
        assert_eq!(known.at(5, 10), Some(50.0));
        assert_eq!(known.at(62, 100), None);
        assert_eq!(known.at(70, 100), Some(600.0));
    }

    #[test]
    fn steps_are_whole() {
        assert_eq!(counter().steps(15, 59), Some(100.0));
        assert_eq!(counter().steps(0, 60), Some(500.0));
        assert_eq!(Cumulative::living(READINGS.into_iter(), (0, 65)).steps(0, 60), Some(600.0));
        assert_eq!(counter().steps(60, 70), None);
    }

    proptest! {
        #[test]
        fn a_reading_is_found_wherever_it_is(
            gaps in prop::collection::vec(1i64..4, 0..40),
            t in -5i64..130,
        ) {
            let times = gaps.iter().scan(0, |t, gap| { *t += gap; Some(*t) });
            let counter = Cumulative::new(times.map(|t| (t, t as f64)));
            let expected = counter.times.partition_point(|time| *time < t);
            prop_assert_eq!(counter.first_not_before(t), expected);
        }

        #[test]
        fn growth_adds_up(a in 10i64..60, b in 10i64..60) {
            let (a, b) = (a.min(b), a.max(b));
            let sum = counter().growth(10, a, 100).unwrap() + counter().growth(a, b, 100).unwrap();
            prop_assert!((sum - counter().growth(10, b, 100).unwrap()).abs() < 1e-9);
        }
    }
}
