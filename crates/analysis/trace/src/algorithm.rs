//! A guess of the congestion control algorithm.

use crate::loss::LossEvent;
use crate::round::Reduction;
use crate::series::WindowSample;
use serde::Serialize;
use std::fmt;

/// A congestion control algorithm, or several that look the same here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Reno, or one that reduces to a half as well: Hybla, LP, Vegas, H-TCP with a short time between losses, DCTCP after a loss, Westwood
    /// on a path without a queue.
    Reno,
    /// CUBIC, or CDG.
    Cubic,
    /// BIC, or one that reduces to four fifths as well: NV, Veno after a random loss.
    Bic,
    /// H-TCP, or another that grows faster and faster.
    Htcp,
    /// Scalable TCP, or one that reduces by an eighth as well: YeAH and Illinois with a short queue.
    Scalable,
    /// BBR of any version.
    Bbr,
    /// DCTCP.
    Dctcp,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Reno => "Reno-like",
            Algorithm::Cubic => "CUBIC",
            Algorithm::Bic => "BIC-like",
            Algorithm::Htcp => "H-TCP",
            Algorithm::Scalable => "Scalable-like",
            Algorithm::Bbr => "BBR",
            Algorithm::Dctcp => "DCTCP",
        })
    }
}

/// Confidence of a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// No guess, or one chunk of evidence.
    Low,
    /// Several reductions agree.
    Medium,
    /// The growth between them agrees, too.
    High,
}

/// Evidence for a guess.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Evidence {
    /// The window after reductions, as a share of that before.
    Reductions {
        /// Median share.
        median: f64,
        /// Lower quartile.
        low: f64,
        /// Upper quartile.
        high: f64,
        /// Reductions.
        count: u64,
    },
    /// The share of the growth between two losses that the first half of the time brought, median. 0.5 is linear growth. More is
    /// growth as of CUBIC and BIC. Less is growth that accelerates.
    Growth {
        /// The share.
        half_time_share: f64,
        /// Intervals between losses.
        count: u64,
    },
    /// The packets are paced.
    Paced,
    /// The window fell to a few packets for a short time, at intervals of seconds, as BBR does to measure the RTT.
    RttProbes {
        /// How often.
        count: u64,
    },
    /// The receiver reported congestion marks.
    Marks {
        /// Acknowledgments with ECE.
        acks: u64,
    },
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Evidence::Reductions { median, count: 1, .. } => {
                write!(f, "1 reduction of the window, to {median:.2} of it")
            }
            Evidence::Reductions { median, low, high, count } => write!(
                f,
                "{count} reductions of the window, to {median:.2} of it (quartiles {low:.2} and {high:.2})"
            ),
            Evidence::Growth { half_time_share, count } => write!(
                f,
                "{:.0} % of the growth between losses in the first half of the time ({count} intervals)",
                100.0 * half_time_share
            ),
            Evidence::Paced => f.write_str("the packets are paced"),
            Evidence::RttProbes { count } => {
                write!(f, "the window fell to a few packets for a short time, {count} times")
            }
            Evidence::Marks { acks } => write!(f, "{acks} acknowledgments reported congestion marks"),
        }
    }
}

/// A guess of the congestion control algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Guess {
    /// The algorithm; `None` if it is unclear.
    pub algorithm: Option<Algorithm>,
    /// Confidence in it.
    pub confidence: Confidence,
    /// Evidence.
    pub evidence: Vec<Evidence>,
}

/// The known facts about a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour<'a> {
    pub losses: &'a [LossEvent],
    pub reductions: &'a [Reduction],
    pub windows: &'a [WindowSample],
    pub mss: i64,
    pub is_paced: bool,
    pub ece_acks: u64,
    /// Bytes in flight are known exactly.
    pub is_at_sender: bool,
}

/// Factors of algorithms, with the distance at which one counts as met.
const FACTORS: [(Algorithm, f64); 4] =
    [(Algorithm::Reno, 0.5), (Algorithm::Cubic, 0.7), (Algorithm::Bic, 0.8), (Algorithm::Scalable, 0.875)];
const NEAR: f64 = 0.045;
/// Between losses that are so far apart, algorithms that begin like Reno differ from it.
const LONG_NS: i64 = 2_500_000_000;
/// A flow that keeps so much of its window after a loss does not react to it.
const NO_REACTION: f64 = 0.94;

impl Behaviour<'_> {
    pub(crate) fn guess(&self) -> Guess {
        let factors = self.factors();
        let growth = if self.is_at_sender { self.growth() } else { None };
        let probes = self.rtt_probes();
        let mut evidence = Vec::new();
        let reductions = quartiles(&factors);
        if let Some((low, median, high)) = reductions {
            evidence.push(Evidence::Reductions { median, low, high, count: factors.len() as u64 });
        }
        if let Some((half_time_share, count)) = growth {
            evidence.push(Evidence::Growth { half_time_share, count });
        }
        if self.is_paced {
            evidence.push(Evidence::Paced);
        }
        if probes > 0 {
            evidence.push(Evidence::RttProbes { count: probes });
        }
        if self.ece_acks > 0 {
            evidence.push(Evidence::Marks { acks: self.ece_acks });
        }
        let (algorithm, mut confidence) = self.decide(reductions, factors.len(), growth, probes);
        if !self.is_at_sender {
            confidence = Confidence::Low;
        }
        Guess { algorithm, confidence, evidence }
    }

    fn decide(
        &self,
        reductions: Option<(f64, f64, f64)>,
        count: usize,
        growth: Option<(f64, u64)>,
        probes: u64,
    ) -> (Option<Algorithm>, Confidence) {
        let unclear = (None, Confidence::Low);
        let reacts = reductions.is_none_or(|(_, median, _)| median < NO_REACTION);
        if self.is_paced && (!reacts || reductions.is_none()) && probes > 0 {
            let sure = probes >= 2 && count >= 3;
            return (Some(Algorithm::Bbr), if sure { Confidence::High } else { Confidence::Medium });
        }
        if self.is_paced && !reacts && count >= 3 {
            return (Some(Algorithm::Bbr), Confidence::Medium);
        }
        let Some((low, median, high)) = reductions else { return unclear };
        if self.ece_acks > 0 && median > 0.75 && count >= 3 {
            return (Some(Algorithm::Dctcp), Confidence::Low);
        }
        let agrees = high - low <= 2.0 * NEAR;
        if !agrees || !reacts {
            return unclear;
        }
        let nearest = FACTORS.iter().min_by(|a, b| (a.1 - median).abs().total_cmp(&(b.1 - median).abs()));
        let Some(&(algorithm, factor)) = nearest else { return unclear };
        if (factor - median).abs() > NEAR {
            return unclear;
        }
        let shape = growth.filter(|&(_, count)| count >= 2).map(|(share, _)| share);
        let fits = match (algorithm, shape) {
            (_, None) => None,
            (Algorithm::Reno, Some(share)) => Some((0.35..0.68).contains(&share)),
            // With losses at random CUBIC grows as Reno does: that does not contradict it.
            (Algorithm::Cubic | Algorithm::Bic, Some(0.3..0.6)) => None,
            (Algorithm::Cubic | Algorithm::Bic, Some(share)) => Some(share > 0.55),
            (_, Some(share)) => Some(share < 0.55),
        };
        // H-TCP and others are like Reno for the first second after a loss.
        let could_differ = algorithm != Algorithm::Reno || self.usual_interval_ns() >= LONG_NS;
        match (fits, count) {
            (Some(false), _) if algorithm == Algorithm::Reno && shape.is_some_and(|share| share < 0.35) => {
                (Some(Algorithm::Htcp), Confidence::Low)
            }
            (Some(false), 3..) if algorithm == Algorithm::Bic => (Some(algorithm), Confidence::Low),
            (Some(false), _) => unclear,
            (Some(true), 3..) if could_differ => (Some(algorithm), Confidence::High),
            (_, 3..) => (Some(algorithm), Confidence::Medium),
            _ => (Some(algorithm), Confidence::Low),
        }
    }

    /// Time between two losses, median.
    fn usual_interval_ns(&self) -> i64 {
        let mut intervals: Vec<i64> =
            self.losses.windows(2).map(|pair| pair[1].t_ns - pair[0].t_ns).collect();
        intervals.sort_unstable();
        intervals.get(intervals.len() / 2).copied().unwrap_or(0)
    }

    fn factors(&self) -> Vec<f64> {
        let of_losses =
            self.losses.iter().filter(|loss| loss.before > 8 * self.mss).filter_map(LossEvent::factor);
        let mut factors: Vec<f64> = of_losses.collect();
        // A paced flow that cycles its rate has such reductions for other reasons, and away from the sender so has a queue.
        if !self.is_paced && self.is_at_sender {
            factors.extend(self.reductions.iter().map(|reduction| reduction.factor));
        }
        factors.sort_by(f64::total_cmp);
        factors
    }

    /// Median share of the growth between two losses that the first half of the time brought, and the number of intervals.
    fn growth(&self) -> Option<(f64, u64)> {
        let mut shares = Vec::new();
        for pair in self.losses.windows(2) {
            let between = |sample: &&WindowSample| {
                pair[0].t_ns < sample.t_ns && sample.t_ns < pair[1].t_ns && !sample.in_recovery
            };
            let samples: Vec<&WindowSample> = self.windows.iter().filter(between).collect();
            let (Some(first), Some(last)) = (samples.first(), samples.last()) else { continue };
            let (low, high) = (first.in_flight_bytes as f64, last.in_flight_bytes as f64);
            let middle = i64::midpoint(first.t_ns, last.t_ns);
            let half = samples.iter().rfind(|sample| sample.t_ns <= middle);
            let Some(half) = half.filter(|_| samples.len() >= 8 && high > 1.15 * low) else { continue };
            shares.push((half.in_flight_bytes as f64 - low) / (high - low));
        }
        shares.sort_by(f64::total_cmp);
        quartiles(&shares).map(|(_, median, _)| (median, shares.len() as u64))
    }

    /// How often the window fell to a fraction of its median for a short time, at least two seconds apart.
    fn rtt_probes(&self) -> u64 {
        let mut sizes: Vec<u64> = self.windows.iter().map(|sample| sample.in_flight_bytes).collect();
        sizes.sort_unstable();
        let Some(&median) = sizes.get(sizes.len() / 2) else { return 0 };
        let few = (6 * self.mss.max(1)) as u64;
        if median < 5 * few {
            return 0;
        }
        let (mut count, mut last) = (0, None);
        // The first rounds are small anyway.
        for sample in self.windows.iter().skip(16) {
            let is_low = sample.in_flight_bytes <= few && !sample.in_recovery;
            if is_low && last.is_none_or(|last| sample.t_ns - last > 2_000_000_000) {
                count += 1;
                last = Some(sample.t_ns);
            }
        }
        count
    }
}

/// Lower quartile, median and upper quartile of sorted values.
fn quartiles(sorted: &[f64]) -> Option<(f64, f64, f64)> {
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| sorted[(share * last as f64).round() as usize];
    Some((at(0.25), at(0.5), at(0.75)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retransmission::RetransmissionKind;

    fn losses(factor: f64, count: i64) -> Vec<LossEvent> {
        let event = |i: i64| LossEvent {
            t_ns: i * 4_000_000_000,
            kind: RetransmissionKind::Fast,
            before: 1_000_000,
            after: Some((1e6 * factor) as i64),
        };
        (1..=count).map(event).collect()
    }

    /// Growth from `low` to 1 between losses four seconds apart, by a function of time from 0 to 1.
    fn windows(low: f64, shape: impl Fn(f64) -> f64) -> Vec<WindowSample> {
        let sample = |i: i64| WindowSample {
            t_ns: i * 80_000_000,
            in_flight_bytes: (1e6 * (low + (1.0 - low) * shape((i % 50) as f64 / 50.0))) as u64,
            rtt_ns: None,
            in_recovery: i % 50 == 0,
        };
        (0..500).map(sample).collect()
    }

    fn guess(
        losses: &[LossEvent],
        windows: &[WindowSample],
        is_paced: bool,
    ) -> (Option<Algorithm>, Confidence) {
        let behaviour = Behaviour {
            losses,
            reductions: &[],
            windows,
            mss: 1448,
            is_paced,
            ece_acks: 0,
            is_at_sender: true,
        };
        let guess = behaviour.guess();
        (guess.algorithm, guess.confidence)
    }

    #[test]
    fn factor_and_growth_together_give_high_confidence() {
        let reno = guess(&losses(0.5, 9), &windows(0.5, |t| t), false);
        assert_eq!(reno, (Some(Algorithm::Reno), Confidence::High));
        let cubic = guess(&losses(0.7, 9), &windows(0.7, |t| 1.0 - (1.0 - t).powi(3)), false);
        assert_eq!(cubic, (Some(Algorithm::Cubic), Confidence::High));
    }

    #[test]
    fn contradicting_evidence_is_unclear() {
        assert_eq!(guess(&losses(0.7, 9), &windows(0.7, |t| t * t * t), false).0, None);
        assert_eq!(guess(&losses(0.6, 9), &[], false).0, None);
        assert_eq!(guess(&[], &[], false), (None, Confidence::Low));
    }

    #[test]
    fn one_reduction_gives_low_confidence() {
        assert_eq!(guess(&losses(0.5, 1), &[], false), (Some(Algorithm::Reno), Confidence::Low));
    }

    #[test]
    fn paced_flow_that_ignores_losses_is_bbr() {
        assert_eq!(guess(&losses(1.0, 9), &[], true), (Some(Algorithm::Bbr), Confidence::Medium));
    }
}
