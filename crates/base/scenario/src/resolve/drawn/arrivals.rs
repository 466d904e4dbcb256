//! When flows begin.

use super::random::{exponential, unit};
use super::sizes::Sizes;
use crate::error::Complaint;
use crate::file::{ArrivalsTable, FlowTable, Spacing};
use crate::resolve::flows::MOST_FLOWS;
use crate::tree::Node;
use wirespeed_congestion::Random;
use wirespeed_units::{Rate, Span};

/// A process by which flows begin.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::resolve) struct Arrivals {
    /// None begins earlier.
    from: Span,
    /// None begins then or later.
    until: Span,
    /// Mean time from one to the next, over all time, picoseconds.
    every: f64,
    spacing: Spacing,
    bursts: Option<Bursts>,
    /// How long each sends at most; `None`: to the run's end.
    pub(super) lasts: Option<Span>,
}

/// Mean times with and without flows that begin, picoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bursts {
    on: f64,
    off: f64,
}

/// The most flows that a process may be expected to begin: with a Poisson process, it is ten standard deviations below the most that
/// a run may have. Bursts spread more.
const MOST_EXPECTED: f64 = 0.9 * MOST_FLOWS as f64;
const MOST_EXPECTED_IN_BURSTS: f64 = 0.5 * MOST_FLOWS as f64;

impl Arrivals {
    /// The process of a table, whose flows cross links of which the slowest has the rate `slowest`.
    ///
    /// # Errors
    /// Values out of range, and keys that are missing or have no effect.
    pub(in crate::resolve) fn of(
        given: &ArrivalsTable,
        table: &FlowTable,
        sizes: Option<&Sizes>,
        slowest: Option<Rate>,
        end: Span,
        node: &Node,
    ) -> Result<Arrivals, Complaint> {
        let complaint = |key: &str, message: String, help: &str| {
            let name = if key.is_empty() { String::new() } else { format!(".{key}") };
            Complaint::at(&node.place_of(&["arrivals", key]), format!("flow.arrivals{name}: {message}"))
                .label("these arrivals")
                .help(help)
        };
        let fault = |key: &str, message: String, help: &str| Err(complaint(key, message, help));
        let bytes = table.bytes.map(|bytes| bytes.get() as f64).or(sizes.map(Sizes::mean));
        if bytes.is_none() && table.duration.is_none() {
            return fault(
                "",
                "flows that begin again and again have to end".into(),
                "add bytes, sizes or duration to this flow",
            );
        }
        let every = match (given.every, given.load) {
            (Some(every), None) if every <= Span::ZERO => {
                return fault("every", format!("{every} is not a distance"), "write for example \"10 ms\"");
            }
            (Some(every), None) => every.picoseconds() as f64,
            (None, Some(load)) if !(load > 0.0 && load <= 100.0) => {
                return fault(
                    "load",
                    format!("{load} is out of range"),
                    "write above 0 to 100, for example 0.5",
                );
            }
            (None, Some(load)) => match (bytes, slowest) {
                (Some(bytes), Some(rate)) => bytes * 8e12 / (load * rate.get() as f64),
                _ => {
                    return fault(
                        "load",
                        "the flows have no size, and so no load".into(),
                        "add bytes or sizes to this flow, or write every instead",
                    );
                }
            },
            (Some(_), Some(_)) => {
                return fault("load", "every sets the time between flows".into(), "remove one of both");
            }
            (None, None) => {
                return fault(
                    "",
                    "the time between flows is missing".into(),
                    "add every = \"10 ms\", or load = 0.5 for half of the slowest link",
                );
            }
        };
        let from = table.start.unwrap_or(Span::ZERO);
        // Arrivals end with a run that is shorter, such as one of `--set run.duration`.
        let until = given.until.unwrap_or(end).min(end);
        if until <= from {
            return fault(
                "until",
                format!("{until} is not after the start at {from}"),
                "write a later time, or leave it out",
            );
        }
        let positive = |key: &str, time: Span| match time > Span::ZERO {
            true => Ok(time.picoseconds() as f64),
            false => Err(complaint(key, format!("{time} is not a time"), "write for example \"100 ms\"")),
        };
        let bursts = match (given.on, given.off) {
            (None, None) => None,
            (Some(on), Some(off)) => Some(Bursts { on: positive("on", on)?, off: positive("off", off)? }),
            (Some(_), None) => {
                return fault(
                    "on",
                    "bursts without a time between them never end".into(),
                    "add off = \"1 s\"",
                );
            }
            (None, Some(_)) => {
                return fault("off", "a time between bursts, and no bursts".into(), "add on = \"100 ms\"");
            }
        };
        let arrivals = Arrivals { from, until, every, spacing: given.spacing, bursts, lasts: table.duration };
        let (expected, most) = (arrivals.expected(), arrivals.most_expected());
        if expected > most {
            return fault(
                if given.load.is_some() { "load" } else { "every" },
                format!("some {expected:.0} flows would begin, and a run has at most {MOST_FLOWS}"),
                &format!("write less of it, or an earlier until, so that at most {most:.0} are expected"),
            );
        }
        Ok(arrivals)
    }

    /// Flows that begin on average.
    pub(in crate::resolve) fn expected(&self) -> f64 {
        (self.until - self.from).picoseconds() as f64 / self.every
    }

    fn most_expected(&self) -> f64 {
        if self.bursts.is_some() { MOST_EXPECTED_IN_BURSTS } else { MOST_EXPECTED }
    }

    /// When flows begin, to the nanosecond. One does at least, so that a run has what its file describes.
    pub(super) fn times(&self, random: &mut Random) -> Vec<Span> {
        let window = (self.until - self.from).picoseconds() as f64;
        let mut times = Vec::new();
        match self.bursts {
            None => self.during((0.0, window), self.every, random, &mut times),
            Some(Bursts { on, off }) => {
                let every = self.every * on / (on + off);
                let mut now = 0.0;
                // As if the process had gone on for ever before.
                let mut is_on = unit(random) < on / (on + off);
                while now < window {
                    let ends = now + exponential(random, if is_on { on } else { off });
                    if is_on {
                        self.during((now, ends.min(window)), every, random, &mut times);
                    }
                    (now, is_on) = (ends, !is_on);
                }
            }
        }
        if times.is_empty() {
            times.push(0.0);
        }
        times.into_iter().map(|time| self.from + Span::ps((time / 1000.0) as i64 * 1000)).collect()
    }

    /// Adds the times between `from` and `to` of a process without bursts.
    fn during(&self, (from, to): (f64, f64), every: f64, random: &mut Random, times: &mut Vec<f64>) {
        let gap = |random: &mut Random| match self.spacing {
            Spacing::Poisson => exponential(random, every),
            Spacing::Even => every,
        };
        let mut now = match self.spacing {
            Spacing::Poisson => from + gap(random),
            Spacing::Even => from,
        };
        while now < to && times.len() <= MOST_FLOWS as usize {
            times.push(now);
            now += gap(random);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(every_ms: f64, spacing: Spacing, bursts: Option<Bursts>) -> Arrivals {
        let every = every_ms * 1e9;
        Arrivals { from: Span::secs(1), until: Span::secs(21), every, spacing, bursts, lasts: None }
    }

    #[test]
    fn poisson_arrivals_have_exponential_distances() {
        let times = arrivals(5.0, Spacing::Poisson, None).times(&mut Random::new(3));
        assert!((3_800..4_200).contains(&times.len()), "{}", times.len());
        assert!(times.is_sorted() && times[0] >= Span::secs(1) && *times.last().unwrap() < Span::secs(21));
        let gaps: Vec<f64> =
            times.windows(2).map(|pair| (pair[1] - pair[0]).picoseconds() as f64 / 1e9).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard deviation of an exponential distribution is its mean.
        assert!(
            (mean - 5.0).abs() < 0.25 && (variance.sqrt() / mean - 1.0).abs() < 0.06,
            "{mean}, {variance}"
        );
    }

    #[test]
    fn even_arrivals_begin_at_once_and_keep_their_distance() {
        let times = arrivals(100.0, Spacing::Even, None).times(&mut Random::new(3));
        assert_eq!(times.len(), 200);
        assert!(times.iter().enumerate().all(|(i, time)| *time == Span::secs(1) + Span::ms(100) * i as i64));
    }

    #[test]
    fn bursts_keep_the_mean_and_leave_times_without_flows() {
        let bursts = Bursts { on: 50e9, off: 150e9 };
        let times = arrivals(5.0, Spacing::Poisson, Some(bursts)).times(&mut Random::new(5));
        assert!((3_200..4_800).contains(&times.len()), "{}", times.len());
        let pauses = times.windows(2).filter(|pair| pair[1] - pair[0] > Span::ms(30)).count();
        // 100 cycles, of which exp(-30/150) have a longer pause.
        assert!((55..105).contains(&pauses), "{pauses}");
    }

    #[test]
    fn one_flow_begins_where_none_would() {
        let times = arrivals(1e9, Spacing::Poisson, None).times(&mut Random::new(5));
        assert_eq!(times, [Span::secs(1)]);
    }
}
