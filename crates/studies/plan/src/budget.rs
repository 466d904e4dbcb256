//! Budgets: the loss rate, round-trip time or buffer at which a share of the rate is left, by an adaptive search.

use crate::axis::Axis;
use crate::bench::{Bench, Measured};
use crate::experiment::Laboratory;
use crate::point::Point;
use crate::question::Question;
use serde::Serialize;
use wirespeed_statistics::{Level, student};

/// The value at which a share of the rate is left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Crossing {
    /// There, with an interval: at its better end the rate is surely higher, at its worse end surely lower.
    At {
        /// The value.
        value: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end.
        high: f64,
        /// Whether it lies beyond all measured values, on the line through the logarithms of rate and loss.
        is_extrapolated: bool,
    },
    /// The rate is higher than that up to here, the worst value that was tried.
    Beyond {
        /// The value.
        value: f64,
    },
    /// The rate is lower than that at the best value that was tried.
    Never {
        /// The value.
        value: f64,
    },
}

/// The budget of an algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Budget {
    /// The property that changes. All else is as in the question.
    pub axis: Axis,
    /// Congestion control.
    pub congestion: String,
    /// Number of flows.
    pub flows: u32,
    /// The share of the path's rate that is left, from 0 to 1.
    pub left: f64,
    /// The value, or the end of the search.
    pub crossing: Crossing,
    /// The measured values, from the best on.
    pub measured: Vec<(f64, Measured)>,
}

/// The best and the worst end of the interval are searched within this factor.
const CLOSE: f64 = 1.3;
/// How often a bracket is narrowed.
const MOST_ROUNDS: usize = 5;
/// A search ends when its runs have cost so many times the packets of a number.
const ALLOWANCE: f64 = 6.0;
/// The ends of the interval of an extrapolated value are at most by this factor off it.
const WIDEST: f64 = 10.0;
/// Fewer losses are not searched: a run has none of them.
const LEAST_LOSS: f64 = 1e-9;
/// Points of a line are loss-limited below this share of the rate.
const LIMITED: f64 = 0.5;

/// Searches where each of the shares `left` of the path's rate is left, for one algorithm.
///
/// # Errors
/// Those of the laboratory.
pub(crate) fn search<L: Laboratory>(
    bench: &mut Bench<L>,
    question: &Question,
    base: &Point,
    axis: Axis,
    left: &[f64],
) -> Result<Vec<Budget>, L::Error> {
    let packets = question.effort.packets();
    let mut curve = Curve { axis, measured: Vec::new() };
    let first: Vec<Point> = axis.first_values(question).into_iter().map(|v| axis.set(base, v)).collect();
    let until = bench.spent() + ALLOWANCE * packets;
    curve.add(bench.measure(&first, packets)?);
    let mut budgets = Vec::new();
    for share in left {
        let level = share * question.rate.get() as f64;
        for round in 0..MOST_ROUNDS {
            if bench.spent() > until {
                break;
            }
            let next: Vec<Point> = curve.next(level, round).into_iter().map(|v| axis.set(base, v)).collect();
            let known = |point: &Point| curve.measured.iter().any(|(_, m)| m.point == *point);
            let next: Vec<Point> = next.into_iter().filter(|point| !known(point)).collect();
            curve.add(bench.measure(&next, packets)?);
        }
        budgets.push(Budget {
            axis,
            congestion: base.congestion.clone(),
            flows: base.flows,
            left: *share,
            crossing: curve.crossing(level, question.rate.get() as f64),
            measured: Vec::new(),
        });
    }
    budgets.iter_mut().for_each(|budget| budget.measured.clone_from(&curve.measured));
    Ok(budgets)
}

/// Rates along an axis, from the best value to the worst.
struct Curve {
    axis: Axis,
    measured: Vec<(f64, Measured)>,
}

impl Curve {
    fn add(&mut self, measured: Vec<Measured>) {
        let axis = self.axis;
        self.measured.extend(measured.into_iter().map(|measured| (axis.of(&measured.point), measured)));
        self.measured.sort_by(|a, b| a.0.total_cmp(&b.0));
        if axis.is_better_higher() {
            self.measured.reverse();
        }
    }

    /// The last value, in the order from the best, up to which the rate is surely above `level`, and the first from which on it is
    /// surely below. A run that was too short is never surely above, because rates fall from slow start on.
    fn bracket(&self, level: f64) -> (Option<usize>, Option<usize>) {
        let below = self.measured.iter().position(|(_, measured)| measured.high_bps < level);
        let until = below.unwrap_or(self.measured.len());
        let is_above = |measured: &Measured| {
            measured.low_bps > level && (measured.is_settled || self.axis != Axis::Loss)
        };
        let above = self.measured[..until].iter().rposition(|(_, measured)| is_above(measured));
        (above, below)
    }

    /// The neighbours between which the mean rate crosses `level`.
    fn neighbours(&self, level: f64) -> Option<(usize, usize)> {
        let below = self.measured.iter().position(|(_, measured)| measured.goodput_bps < level)?;
        Some((below.checked_sub(1)?, below))
    }

    /// Values to measure next: where the line between neighbours crosses the level, and then on both sides of that, farther off in
    /// each round, until the rate is surely above on one and surely below on the other.
    fn next(&self, level: f64, round: usize) -> Vec<f64> {
        let Some((before, behind)) = self.neighbours(level) else {
            // Already the best value is not good enough: for losses, fewer of them.
            let best = self.measured.first();
            let better = best.filter(|(loss, m)| {
                self.axis == Axis::Loss && m.goodput_bps < level && m.is_settled && *loss > LEAST_LOSS * 1.1
            });
            return better.map(|(loss, _)| vec![loss / 10.0]).unwrap_or_default();
        };
        let (a, b) = (self.measured[before].0, self.measured[behind].0);
        let crossing = self.between(before, behind, level);
        // Between distant neighbours the line is a guess.
        if (a.ln() - b.ln()).abs() > 6.0 * CLOSE.ln() {
            return vec![crossing];
        }
        let far = CLOSE.powi(round as i32).max(CLOSE);
        let (above, below) = self.bracket(level);
        let is_near = |at: Option<usize>| {
            at.is_some_and(|at| (self.measured[at].0.ln() - crossing.ln()).abs() <= far.ln() * 1.2)
        };
        let is_better_higher = self.axis.is_better_higher();
        let (better, worse) = if is_better_higher {
            (crossing * far, crossing / far)
        } else {
            (crossing / far, crossing * far)
        };
        let mut next = Vec::new();
        if !is_near(above) {
            next.push(better);
        }
        if !is_near(below) {
            next.push(worse);
        }
        next
    }

    /// The value at which the line between two measured ones, in logarithms, crosses the level.
    fn between(&self, above: usize, below: usize, level: f64) -> f64 {
        let (x1, y1) = (self.measured[above].0.ln(), self.measured[above].1.goodput_bps.max(1.0).ln());
        let (x2, y2) = (self.measured[below].0.ln(), self.measured[below].1.goodput_bps.max(1.0).ln());
        let share = ((y1 - level.ln()) / (y1 - y2)).clamp(0.1, 0.9);
        (x1 + (x2 - x1) * share).exp()
    }

    /// The value at which the mean rate crosses `level`; not a number if it does not.
    fn value(&self, level: f64) -> f64 {
        self.neighbours(level).map_or(f64::NAN, |(before, behind)| self.between(before, behind, level))
    }

    fn crossing(&self, level: f64, rate: f64) -> Crossing {
        match self.bracket(level) {
            (Some(above), Some(below)) => {
                let (a, b) = (self.measured[above].0, self.measured[below].0);
                Crossing::At {
                    value: self.value(level).clamp(a.min(b), a.max(b)),
                    low: a.min(b),
                    high: a.max(b),
                    is_extrapolated: false,
                }
            }
            (_, None) => {
                Crossing::Beyond { value: self.measured.last().map_or(f64::NAN, |(value, _)| *value) }
            }
            (None, Some(_)) => {
                let extrapolated =
                    (self.axis == Axis::Loss).then(|| self.extrapolated(level, rate)).flatten();
                let best = self.measured.first().map_or(f64::NAN, |(value, _)| *value);
                extrapolated.unwrap_or(Crossing::Never { value: best })
            }
        }
    }

    /// The loss at which the line through the logarithms of loss and rate reaches `level`. Only runs that were long enough count. With the interval
    /// of 95 % of an inverse prediction (Draper and Smith, "Applied Regression Analysis", section 3.2).
    fn extrapolated(&self, level: f64, rate: f64) -> Option<Crossing> {
        let points: Vec<(f64, f64)> = self
            .measured
            .iter()
            .filter(|(_, m)| m.is_settled && m.goodput_bps < LIMITED * rate && m.goodput_bps > 0.0)
            .map(|(loss, m)| (loss.ln(), m.goodput_bps.ln()))
            .take(4)
            .collect();
        let n = points.len() as f64;
        if n < 3.0 {
            return None;
        }
        let (mean_x, mean_y) =
            (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
        let sxx: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
        let slope = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum::<f64>() / sxx;
        if slope >= -0.1 {
            return None;
        }
        let residual: f64 = points.iter().map(|p| (p.1 - mean_y - slope * (p.0 - mean_x)).powi(2)).sum();
        let deviation = (residual / (n - 2.0)).sqrt();
        let x = mean_x + (level.ln() - mean_y) / slope;
        let t = student((1.0 + Level::NINETY_FIVE.get()) / 2.0, n - 2.0)?;
        let half = t * deviation / slope.abs() * (1.0 + 1.0 / n + (x - mean_x).powi(2) / sxx).sqrt();
        // Wider intervals are not reported.
        if half > WIDEST.ln() {
            return None;
        }
        Some(Crossing::At {
            value: x.exp(),
            low: (x - half).exp(),
            high: (x + half).exp(),
            is_extrapolated: true,
        })
    }
}
