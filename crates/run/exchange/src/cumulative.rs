//! A counter of a flow over time, and what it was at instants between its samples.

use wirespeed_record::{FlowSample, Recording};

/// The samples of each flow of a run, in order of time.
pub fn rows_by_flow(run: &Recording) -> Vec<Vec<&FlowSample>> {
    let mut rows = vec![Vec::new(); run.info.flows.len()];
    for row in &run.flows {
        if let Some(of_flow) = rows.get_mut(row.flow as usize) {
            of_flow.push(row);
        }
    }
    for of_flow in &mut rows {
        of_flow.sort_by_key(|row: &&FlowSample| row.t_ns);
    }
    rows
}

/// Readings of a counter that only grows, in order of time.
#[derive(Debug, Clone, Default)]
pub struct Cumulative {
    readings: Vec<(i64, u64)>,
}

impl Cumulative {
    /// The counter in rows of (time in nanoseconds, value). Rows without a value are left out.
    pub fn new(rows: impl Iterator<Item = (i64, Option<u64>)>) -> Cumulative {
        let mut readings: Vec<(i64, u64)> = Vec::new();
        for (t_ns, value) in rows {
            let Some(value) = value else { continue };
            match readings.last() {
                // A counter that sinks is read wrong; it keeps what it had.
                Some((_, before)) if value < *before => readings.push((t_ns, *before)),
                _ => readings.push((t_ns, value)),
            }
        }
        Cumulative { readings }
    }

    /// Whether it was recorded at all.
    pub fn is_recorded(&self) -> bool {
        !self.readings.is_empty()
    }

    /// Whether it was read during the flow, and not at its end only.
    pub fn is_sampled(&self) -> bool {
        self.readings.iter().filter(|(_, value)| *value > 0).count() > 1
    }

    /// Its value at an instant. Between two samples it grows in proportion to the time. After the last sample it stays as it
    /// is, and before the first one it is 0.
    pub fn at(&self, t_ns: i64) -> Option<u64> {
        let after = self.readings.partition_point(|(time, _)| *time <= t_ns);
        let before = after.checked_sub(1).map(|at| self.readings[at]);
        match (before, self.readings.get(after)) {
            (None, None) => None,
            // A flow has sent nothing before it starts; its first row is where it starts.
            (None, Some(_)) => Some(0),
            (Some((_, value)), None) => Some(value),
            (Some((from_ns, from)), Some((to_ns, to))) => {
                let part = (t_ns - from_ns) as f64 / (to_ns - from_ns) as f64;
                Some(from + ((to - from) as f64 * part).round() as u64)
            }
        }
    }

    /// Its value at the last sample until an instant: for counts of things that cannot be split.
    pub fn last_until(&self, t_ns: i64) -> Option<u64> {
        let after = self.readings.partition_point(|(time, _)| *time <= t_ns);
        match after.checked_sub(1) {
            Some(at) => Some(self.readings[at].1),
            None => self.is_recorded().then_some(0),
        }
    }

    /// Growth between two instants.
    pub fn growth(&self, from_ns: i64, to_ns: i64) -> Option<u64> {
        Some(self.at(to_ns)?.saturating_sub(self.at(from_ns)?))
    }

    /// Growth between two instants in whole counts.
    pub fn steps(&self, from_ns: i64, to_ns: i64) -> Option<u64> {
        Some(self.last_until(to_ns)?.saturating_sub(self.last_until(from_ns)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_samples_are_in_proportion() {
        let counter =
            Cumulative::new([(0, Some(0)), (5, None), (10, Some(100)), (20, Some(100))].into_iter());
        assert_eq!(counter.at(5), Some(50));
        assert_eq!(counter.at(30), Some(100));
        assert_eq!(counter.at(-1), Some(0));
        assert_eq!(counter.last_until(9), Some(0));
        assert_eq!(counter.growth(5, 20), Some(50));
        assert_eq!(counter.steps(5, 10), Some(100));
        assert!(counter.is_sampled());
    }

    #[test]
    fn a_counter_that_was_not_recorded_has_no_value() {
        let counter = Cumulative::new([(0, None), (10, None)].into_iter());
        assert_eq!((counter.at(5), counter.steps(0, 10)), (None, None));
        let at_the_end = Cumulative::new([(0, Some(0)), (10, Some(7))].into_iter());
        assert!(at_the_end.is_recorded() && !at_the_end.is_sampled());
    }
}
