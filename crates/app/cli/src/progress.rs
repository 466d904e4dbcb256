//! Live display of a campaign.

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use wirespeed_campaign::{Observer, Outcome, Remaining};
use wirespeed_record::plain_line;
use wirespeed_scenario::Run;
use wirespeed_substrates::{Progress, Substrate, SubstrateError};
use wirespeed_units::Span;

/// Shows the runs that are going on and how many are left, and a line for each finished run; of many, for every so many.
pub struct Display<'a> {
    runs: &'a [Run],
    bars: MultiProgress,
    total: ProgressBar,
    active: Mutex<Vec<(usize, ProgressBar, Instant)>>,
    ended: Mutex<usize>,
    remaining: Remaining,
    /// So many runs have a line together.
    runs_a_line: usize,
    quiet: bool,
    live: Option<Live>,
}

/// The rate while a run goes on, line by line.
struct Live {
    interval_ns: i64,
    /// Time of the run and bytes delivered at the last line.
    last: Mutex<(i64, u64)>,
}

impl Live {
    /// The line that is due, if one is.
    fn line(&self, progress: Progress) -> Option<String> {
        let mut last = self.last.lock().expect("the display does not panic");
        let (from_ns, before) = *last;
        let Progress { reached_ns, delivered_bytes } = progress;
        if reached_ns < from_ns {
            // Another run.
            *last = (0, 0);
            return None;
        }
        let due_ns = from_ns.div_euclid(self.interval_ns).saturating_add(1).saturating_mul(self.interval_ns);
        if reached_ns < due_ns {
            return None;
        }
        *last = (reached_ns, delivered_bytes);
        let bits = delivered_bytes.saturating_sub(before) as f64 * 8.0;
        let rate = wirespeed_report::with_unit(bits * 1e9 / (reached_ns - from_ns) as f64, "bit/s");
        Some(format!("{:8.2} to {:.2} s  {rate}", from_ns as f64 / 1e9, reached_ns as f64 / 1e9))
    }
}

/// A study of more runs has as many lines: a line for each would bury what is said after them.
const MOST_LINES: usize = 40;

impl<'a> Display<'a> {
    /// A display on standard error; nothing at all if `quiet`, but the rate every `interval`.
    pub fn new(runs: &'a [Run], substrate: &dyn Substrate, quiet: bool, interval: Option<Span>) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(5) };
        let bars = MultiProgress::with_draw_target(target);
        let style = "{prefix:20} {wide_bar} {pos} of {len} runs, {elapsed} elapsed{msg}";
        let total =
            bars.add(ProgressBar::new(runs.len() as u64).with_style(template(style)).with_prefix("study"));
        total.enable_steady_tick(Duration::from_millis(500));
        let live = interval
            .map(|interval| Live { interval_ns: interval.nanoseconds().max(1), last: Mutex::default() });
        let runs_a_line = runs.len().div_ceil(MOST_LINES).max(1);
        Display {
            runs,
            bars,
            total,
            active: Mutex::default(),
            ended: Mutex::new(0),
            remaining: Remaining::of(runs, substrate),
            runs_a_line,
            quiet,
            live,
        }
    }

    /// Takes the display away.
    pub fn finish(&self) {
        self.total.finish_and_clear();
    }

    fn line(&self, text: &str) {
        if !self.quiet {
            self.print(text);
        }
    }

    fn print(&self, text: &str) {
        // Why a run failed is told in others' words.
        let text = &plain_line(text);
        if self.bars.is_hidden() {
            eprintln!("{text}");
        } else {
            // A terminal that went away is no reason to stop.
            let _ = self.bars.println(text);
        }
    }
}

pub(crate) fn template(text: &str) -> ProgressStyle {
    ProgressStyle::with_template(text).expect("our own template").progress_chars("━╸─")
}

impl Observer for Display<'_> {
    fn started(&self, index: usize) {
        let run = &self.runs[index];
        let bar = ProgressBar::new(run.duration.nanoseconds() as u64)
            .with_style(template("{prefix:40!} {wide_bar} {msg}"))
            .with_prefix(run.id.clone())
            .with_message("booting");
        let bar = self.bars.insert_before(&self.total, bar);
        self.active.lock().expect("the display does not panic").push((index, bar, Instant::now()));
    }

    fn progressed(&self, index: usize, progress: Progress) {
        if let Some(line) = self.live.as_ref().and_then(|live| live.line(progress)) {
            self.print(&line);
        }
        let active = self.active.lock().expect("the display does not panic");
        let Some((_, bar, since)) = active.iter().find(|(number, ..)| *number == index) else { return };
        if progress.reached_ns <= 0 {
            return;
        }
        let reached = progress.reached_ns as f64;
        let length = self.runs[index].duration.nanoseconds() as f64;
        let rate = progress.delivered_bytes as f64 * 8.0 / reached;
        let left = since.elapsed().mul_f64(((length - reached) / reached).max(0.0));
        bar.set_position(progress.reached_ns as u64);
        bar.set_message(format!(
            "{:6.1} of {:.1} s virtual, {rate:.2} Gbit/s, {} s left",
            reached / 1e9,
            length / 1e9,
            left.as_secs()
        ));
    }

    fn failed_attempt(&self, index: usize, attempt: u32, of: u32, error: &SubstrateError) {
        self.line(&format!("{}: attempt {attempt} of {of} failed: {error}", self.runs[index].id));
    }

    fn ended(&self, index: usize, outcome: &Outcome) {
        let id = &self.runs[index].id;
        let mut active = self.active.lock().expect("the display does not panic");
        let elapsed = active.iter().position(|(number, ..)| *number == index).map(|at| {
            let (_, bar, since) = active.remove(at);
            bar.finish_and_clear();
            since.elapsed().as_secs_f64()
        });
        drop(active);
        let mut ended = self.ended.lock().expect("the display does not panic");
        *ended += 1;
        let count = format!("[{}/{}]", *ended, self.runs.len());
        let is_told = ended.is_multiple_of(self.runs_a_line) || *ended == self.runs.len();
        match outcome {
            // A failure is always told.
            Outcome::Done(_) | Outcome::Kept(_) if !is_told => {}
            Outcome::Done(_) => {
                self.line(&format!("{count} {id}: done in {:.1} s", elapsed.unwrap_or_default()))
            }
            Outcome::Cut(_) => self.line(&format!("{count} {id}: interrupted; what was measured is kept")),
            Outcome::Kept(_) => self.line(&format!("{count} {id}: kept from an earlier run")),
            Outcome::Failed(error) => self.line(&format!("{count} {id}: failed: {error}")),
            Outcome::Interrupted | Outcome::Postponed => {}
        }
        self.remaining.ended(index, outcome);
        if let Some(left) = self.remaining.time() {
            self.total.set_message(format!(", {} left", HumanDuration(left)));
        }
        self.total.inc(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_comes_once_an_interval_with_the_rate_since_the_last() {
        let live = Live { interval_ns: 1_000_000_000, last: Mutex::default() };
        let mut lines = Vec::new();
        for quarter in 1..=8 {
            let progress =
                Progress { reached_ns: quarter * 250_000_000, delivered_bytes: quarter as u64 * 31_250_000 };
            lines.extend(live.line(progress));
        }
        assert_eq!(lines, ["    0.00 to 1.00 s  1 Gbit/s", "    1.00 to 2.00 s  1 Gbit/s"]);
    }
}
