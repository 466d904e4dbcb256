//! A counter read at instants, and what it must have been between them.

/// A cumulative counter: readings at strictly increasing times, never falling.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cumulative {
    points: Vec<(i64, f64)>,
    /// The counter was 0 until then, if that is known.
    zero_until: Option<i64>,
    /// The counter keeps its last reading from then on, if that is known.
    fixed_from: Option<i64>,
}

impl Cumulative {
    /// From readings in order of time; of several at one time the last counts.
    pub fn new(readings: impl Iterator<Item = (i64, f64)>) -> Self {
        let mut points: Vec<(i64, f64)> = Vec::new();
        for (t, value) in readings {
            match points.last_mut() {
                Some(last) if last.0 == t => last.1 = value,
                _ => points.push((t, value)),
            }
        }
        Cumulative { points, zero_until: None, fixed_from: None }
    }

    /// Adds the knowledge that what is counted began at `start` and ended at `end`.
    pub fn living(mut self, start: i64, end: i64) -> Self {
        if self.points.first().is_some_and(|p| p.0 > start) {
            self.points.insert(0, (start, 0.0));
        }
        self.zero_until = Some(start);
        self.fixed_from = Some(end);
        self
    }

    /// First and last time of a reading.
    pub fn span(&self) -> Option<(i64, i64)> {
        Some((self.points.first()?.0, self.points.last()?.0))
    }

    /// The counter at `t`: as read, or on the line between two readings at most `max_gap` apart. `None` if
    /// the readings do not say.
    pub fn at(&self, t: i64, max_gap: i64) -> Option<f64> {
        let after = self.points.partition_point(|p| p.0 < t);
        if let Some(&(time, value)) = self.points.get(after)
            && time == t
        {
            return Some(value);
        }
        if self.zero_until.is_some_and(|start| t <= start) {
            return Some(0.0);
        }
        let (t0, v0) = *self.points.get(after.checked_sub(1)?)?;
        match self.points.get(after) {
            Some(&(t1, v1)) if t1 - t0 <= max_gap => {
                Some(v0 + (v1 - v0) * (t - t0) as f64 / (t1 - t0) as f64)
            }
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
        let first = *self.points.first()?;
        let last_until = |t: i64| self.points[..self.points.partition_point(|p| p.0 <= t)].last();
        if self.points.len() < 2 || self.points.last()?.0 <= from {
            return None;
        }
        // Before its first reading a counter that lives on is not known to have been 0.
        let before = last_until(from).copied().unwrap_or(first).1;
        Some((last_until(to)?.1 - before).max(0.0))
    }

    /// Times of the readings in `(from, to]` that show more than the one before.
    pub fn increases(&self, from: i64, to: i64) -> impl Iterator<Item = i64> + '_ {
        let pairs = self.points.windows(2).filter(|w| w[1].1 > w[0].1).map(|w| w[1].0);
        pairs.filter(move |t| *t > from && *t <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter() -> Cumulative {
        Cumulative::new([(10, 100.0), (20, 200.0), (60, 600.0)].into_iter())
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
        let known = counter().living(0, 65);
        assert_eq!(known.at(-5, 1), Some(0.0));
        assert_eq!(known.at(5, 10), Some(50.0));
        assert_eq!(known.at(62, 100), None);
        assert_eq!(known.at(70, 100), Some(600.0));
    }

    #[test]
    fn steps_are_whole() {
        assert_eq!(counter().steps(15, 59), Some(100.0));
        assert_eq!(counter().steps(0, 60), Some(500.0));
        assert_eq!(counter().living(0, 65).steps(0, 60), Some(600.0));
        assert_eq!(counter().steps(60, 70), None);
    }

    proptest! {
        #[test]
        fn growth_adds_up(a in 10i64..60, b in 10i64..60) {
            let (a, b) = (a.min(b), a.max(b));
            let sum = counter().growth(10, a, 100).unwrap() + counter().growth(a, b, 100).unwrap();
            prop_assert!((sum - counter().growth(10, b, 100).unwrap()).abs() < 1e-9);
        }
    }
}
