//! A limit on the time of a campaign: runs that would not end in time are not begun.

use crate::work::expected_packets;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wirespeed_scenario::Run;

/// The time that a campaign has. It learns from finished runs how long others take.
#[derive(Debug)]
pub struct Budget {
    ends: Instant,
    /// Expected work of finished runs, and the time that they took together.
    known: Mutex<(u64, Duration)>,
}

impl Budget {
    /// As much time from now on.
    pub fn new(time: Duration) -> Budget {
        // A time beyond the range of the clock does not limit anything.
        let far = Duration::from_secs(100 * 365 * 86_400);
        let now = Instant::now();
        let ends = now.checked_add(time).or_else(|| now.checked_add(far)).unwrap_or(now);
        Budget { ends, known: Mutex::default() }
    }

    /// Whether a run that begins now is expected to end in time. Before the first run has ended, any is.
    pub(crate) fn allows(&self, run: &Run) -> bool {
        self.allows_at(run, Instant::now())
    }

    fn allows_at(&self, run: &Run, now: Instant) -> bool {
        let (work, time) = *self.known.lock().expect("nothing panics holding it");
        let left = self.ends.saturating_duration_since(now);
        let expected = match work {
            0 => Duration::ZERO,
            _ => time.mul_f64(expected_packets(run) as f64 / work as f64),
        };
        !left.is_zero() && expected <= left
    }

    /// A run has ended after so much time.
    pub(crate) fn learn(&self, run: &Run, took: Duration) {
        let mut known = self.known.lock().expect("nothing panics holding it");
        known.0 = known.0.saturating_add(expected_packets(run));
        known.1 += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(seconds: u32) -> Run {
        let text = format!(
            "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
             [run]\nduration = \"{seconds} s\"\n"
        );
        wirespeed_scenario::parse(&text, "t.toml", &[], None).unwrap().runs.remove(0)
    }

    #[test]
    fn run_that_would_end_too_late_is_not_begun_and_a_shorter_one_is() {
        let budget = Budget::new(Duration::from_secs(10));
        let now = budget.ends - Duration::from_secs(5);
        assert!(budget.allows_at(&run_of(3600), now), "nothing is known yet");
        budget.learn(&run_of(60), Duration::from_secs(4));
        assert!(budget.allows_at(&run_of(60), now));
        assert!(!budget.allows_at(&run_of(120), now));
        assert!(budget.allows_at(&run_of(10), now));
        assert!(!budget.allows_at(&run_of(1), budget.ends), "the time is over");
    }

    #[test]
    fn budget_beyond_the_clock_is_no_limit() {
        assert!(Budget::new(Duration::MAX).allows(&run_of(60)));
    }
}
