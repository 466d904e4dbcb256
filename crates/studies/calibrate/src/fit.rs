//! The cost of each kind of work: least squares over the busy time of cores.

use crate::cost::Cost;
use crate::observation::{Observation, Side};
use crate::setting::Setting;
use nalgebra::{DMatrix, DVector};
use serde::Serialize;
use thiserror::Error;
use wirespeed_statistics::student;

/// Level of the intervals.
const LEVEL: f64 = 0.95;

/// The cost of a kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The kind of work.
    pub cost: Cost,
    /// Time of one, or of one byte, in nanoseconds.
    pub ns: f64,
    /// Half the width of its 95 % interval, in nanoseconds.
    pub half_width_ns: f64,
}

impl Estimate {
    /// Whether the interval is narrower than the value. Otherwise the settings do not separate this cost from the others.
    pub fn is_known(&self) -> bool {
        self.ns > 0.0 && self.half_width_ns < self.ns
    }
}

/// The fit of a setting at one end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residual {
    /// The setting.
    pub setting: Setting,
    /// The end.
    pub side: Side,
    /// Measured busy time of the core per second.
    pub measured: f64,
    /// The same by the costs.
    pub fitted: f64,
}

/// Costs, and how well they explain the measured times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// The costs that the fit has, in the order of [`Cost::ALL`]. Others came out as zero or did not occur.
    pub estimates: Vec<Estimate>,
    /// Measured and fitted time, by setting and end.
    pub residuals: Vec<Residual>,
    /// Root of the mean square of the relative residuals.
    pub rms: f64,
}

impl Fit {
    /// The cost of a kind of work; `None` if the fit has none.
    pub fn of(&self, cost: Cost) -> Option<&Estimate> {
        self.estimates.iter().find(|estimate| estimate.cost == cost)
    }
}

/// The reason for a missing fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FitError {
    /// Fewer observations than costs.
    #[error("{0} observations are too few for {1} costs: measure more settings")]
    TooFew(usize, usize),
    /// No unique solution.
    #[error("the settings do not separate the costs: measure settings that differ more")]
    Degenerate,
}

/// A setting at one end, the repetitions together.
struct Row {
    setting: Setting,
    side: Side,
    busy_ns: f64,
    elapsed_ns: f64,
    counts: Vec<f64>,
}

fn rows(observations: &[Observation]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for observation in observations {
        for work in &observation.work {
            let same = |row: &&mut Row| row.side == work.side && row.setting == observation.setting;
            let row = match rows.iter_mut().find(same) {
                Some(row) => row,
                None => {
                    rows.push(Row {
                        setting: observation.setting.clone(),
                        side: work.side,
                        busy_ns: 0.0,
                        elapsed_ns: 0.0,
                        counts: vec![0.0; Cost::ALL.len()],
                    });
                    rows.last_mut().expect("it was just added")
                }
            };
            row.busy_ns += work.busy_ns as f64;
            row.elapsed_ns += observation.elapsed_ns as f64;
            for (sum, cost) in row.counts.iter_mut().zip(Cost::ALL) {
                *sum += work.counts.get(&cost).copied().unwrap_or(0) as f64;
            }
        }
    }
    rows.retain(|row| row.busy_ns > 0.0);
    rows
}

/// Finds the costs that explain the busy time best, each setting and end with the same weight. Costs are never negative. The most
/// negative one is left out, and the others are fitted again, as in the active-set method of Lawson and Hanson ("Solving Least Squares
/// Problems", 1974), but without its return step.
///
/// # Errors
/// If the observations do not determine the costs.
pub fn fit(observations: &[Observation]) -> Result<Fit, FitError> {
    let rows = rows(observations);
    let occurs = |at: &usize| rows.iter().any(|row| row.counts[*at] > 0.0);
    let mut active: Vec<usize> = (0..Cost::ALL.len()).filter(occurs).collect();
    loop {
        if rows.len() <= active.len() {
            return Err(FitError::TooFew(rows.len(), active.len()));
        }
        let solved = solve(&rows, &active).ok_or(FitError::Degenerate)?;
        let worst = (0..active.len()).min_by(|a, b| solved.costs[*a].total_cmp(&solved.costs[*b]));
        match worst.filter(|at| solved.costs[*at] < 0.0) {
            Some(at) => drop(active.remove(at)),
            None => return Ok(solved.fit(&rows, &active)),
        }
    }
}

struct Solution {
    /// Nanoseconds, by active cost.
    costs: DVector<f64>,
    half_widths: Vec<f64>,
    rms: f64,
}

/// Relative counts in columns of equal length, so that bytes and calls are of one order.
fn solve(rows: &[Row], active: &[usize]) -> Option<Solution> {
    let freedom = rows.len() - active.len();
    let relative = DMatrix::from_fn(rows.len(), active.len(), |row, at| {
        rows[row].counts[active[at]] / rows[row].busy_ns
    });
    let lengths: Vec<f64> = relative.column_iter().map(|column| column.norm()).collect();
    let scaled = DMatrix::from_fn(rows.len(), active.len(), |row, at| relative[(row, at)] / lengths[at]);
    let ones = DVector::from_element(rows.len(), 1.0);
    let inverse = (scaled.transpose() * &scaled).try_inverse()?;
    let solution = &inverse * scaled.transpose() * &ones;
    let residuals = &ones - &scaled * &solution;
    let squares = residuals.norm_squared();
    let variance = squares / freedom as f64;
    let t = student((1.0 + LEVEL) / 2.0, freedom as f64)?;
    let half_widths =
        (0..active.len()).map(|at| t * (variance * inverse[(at, at)]).max(0.0).sqrt() / lengths[at]);
    Some(Solution {
        half_widths: half_widths.collect(),
        rms: (squares / rows.len() as f64).sqrt(),
        costs: DVector::from_fn(active.len(), |at, _| solution[at] / lengths[at]),
    })
}

impl Solution {
    fn fit(&self, rows: &[Row], active: &[usize]) -> Fit {
        let estimate = |(at, cost): (usize, &usize)| Estimate {
            cost: Cost::ALL[*cost],
            ns: self.costs[at],
            half_width_ns: self.half_widths[at],
        };
        let residual = |row: &Row| {
            let fitted: f64 = active.iter().zip(&self.costs).map(|(cost, ns)| row.counts[*cost] * ns).sum();
            Residual {
                setting: row.setting.clone(),
                side: row.side,
                measured: row.busy_ns / row.elapsed_ns,
                fitted: fitted / row.elapsed_ns,
            }
        };
        Fit {
            estimates: active.iter().enumerate().map(estimate).collect(),
            residuals: rows.iter().map(residual).collect(),
            rms: self.rms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Work;
    use crate::setting::settings;

    /// A host whose call costs 400 ns, whose byte 0.1 ns and whose packet 900 ns, with an error of so many per cent.
    fn observations(error: f64) -> Vec<Observation> {
        let of = |(at, setting): (usize, Setting)| {
            let packets = 100_000 + 7_000 * at as u64;
            let bytes = packets * setting.mtu.get();
            let calls = bytes / setting.call.get() + 1;
            let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
            let busy = 400.0 * calls as f64 + 0.1 * bytes as f64 + 900.0 * packets as f64;
            let counts = [(Cost::Syscall, calls), (Cost::CopyWritten, bytes), (Cost::TxPacket, packets)];
            let busy_ns = (busy * (1.0 + sign * error)) as u64;
            Observation {
                setting,
                repeat: 0,
                elapsed_ns: 1_000_000_000,
                read_bytes: bytes,
                retransmitted: 0,
                work: vec![Work { side: Side::Sender, busy_ns, counts: counts.into() }],
            }
        };
        settings().into_iter().enumerate().map(of).collect()
    }

    #[test]
    fn costs_that_made_the_times_are_found() {
        let found = fit(&observations(0.0)).unwrap();
        for (cost, ns) in [(Cost::Syscall, 400.0), (Cost::CopyWritten, 0.1), (Cost::TxPacket, 900.0)] {
            let estimate = found.of(cost).unwrap();
            assert!((estimate.ns / ns - 1.0).abs() < 1e-3, "{estimate:?}");
            assert!(estimate.is_known());
        }
        assert!(found.rms < 1e-6 && found.of(Cost::Wakeup).is_none());
    }

    #[test]
    fn intervals_hold_the_costs_of_noisy_times() {
        let found = fit(&observations(0.03)).unwrap();
        for (cost, ns) in [(Cost::Syscall, 400.0), (Cost::TxPacket, 900.0)] {
            let Estimate { ns: found, half_width_ns, .. } = *found.of(cost).unwrap();
            assert!((found - ns).abs() < half_width_ns && half_width_ns > 0.0, "{found} {half_width_ns}");
        }
    }

    #[test]
    fn too_few_settings_are_refused() {
        assert_eq!(fit(&observations(0.0)[..3]), Err(FitError::TooFew(3, 3)));
    }
}
