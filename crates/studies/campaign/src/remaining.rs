//! How long a campaign still takes.

use crate::campaign::originals;
use crate::executor::Outcome;
use crate::work::expected_packets;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wirespeed_scenario::Run;
use wirespeed_substrates::Substrate;

/// The time that a campaign still takes, by the expected work of its runs: of a sweep over losses, a thousand of 1,280 runs may be
/// a fifth of the work.
#[derive(Debug)]
pub struct Remaining {
    /// Expected work of each run; that of a copy of another is nothing.
    works: Vec<u64>,
    began: Instant,
    so_far: Mutex<SoFar>,
}

#[derive(Debug)]
struct SoFar {
    /// Expected work of runs that were executed, and of those that are not over.
    executed: u64,
    left: u64,
}

impl Remaining {
    /// For a campaign of `runs` that begins now.
    pub fn of(runs: &[Run], substrate: &dyn Substrate) -> Remaining {
        let originals = originals(runs, substrate);
        let work = |(index, run)| if originals.contains_key(&index) { 0 } else { expected_packets(run) };
        let works: Vec<u64> = runs.iter().enumerate().map(work).collect();
        let left = works.iter().copied().fold(0, u64::saturating_add);
        Remaining { works, began: Instant::now(), so_far: Mutex::new(SoFar { executed: 0, left }) }
    }

    /// Notes that a run is over.
    pub fn ended(&self, index: usize, outcome: &Outcome) {
        let mut so_far = self.so_far.lock().expect("nothing panics holding it");
        so_far.left = so_far.left.saturating_sub(self.works[index]);
        if matches!(outcome, Outcome::Done(_) | Outcome::Failed(_)) {
            so_far.executed = so_far.executed.saturating_add(self.works[index]);
        }
    }

    /// The time until the end; `None` before the first run has been executed.
    pub fn time(&self) -> Option<Duration> {
        let so_far = self.so_far.lock().expect("nothing panics holding it");
        let share = so_far.left as f64 / so_far.executed as f64;
        (so_far.executed > 0).then(|| self.began.elapsed().mul_f64(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_substrates::Model;

    #[test]
    fn copies_and_lossy_runs_are_little_of_what_is_left() {
        let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
            [run]\nduration = \"60 s\"\nrepeat = 2\n[sweep]\n\"path.loss\" = [0, 1e-2]\n";
        let runs = wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs;
        let remaining = Remaining::of(&runs, &Model);
        assert_eq!(remaining.works[1], 0, "the same without a loss");
        assert_eq!(remaining.time(), None);
        std::thread::sleep(Duration::from_millis(20));
        remaining.ended(0, &Outcome::Done("r0".into()));
        let (left, elapsed) = (remaining.time().unwrap(), remaining.began.elapsed());
        assert!(left < elapsed / 2, "{left:?} of {elapsed:?}");
        for index in 1..4 {
            remaining.ended(index, &Outcome::Done("r".into()));
        }
        assert_eq!(remaining.time(), Some(Duration::ZERO));
    }
}
