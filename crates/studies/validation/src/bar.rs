//! The stated agreement of a section: bars, and whether a comparison meets them.

use super::compare::{Compared, Comparison, QUANTITIES, Quantity};
use wirespeed_statistics::quantile;

/// A part of the stated agreement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// The quantity's metric.
    pub metric: &'static str,
    /// The condition it has to meet.
    pub rule: Rule,
    /// Whether it is asked of the runs with trains of one packet.
    pub is_without_trains: bool,
}

/// What may be asked of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// In at least this share of the cells the mean is within this share of the kernel's, or in its 95 % confidence
    /// interval, or off by no more than the quantity's [`Quantity::slack`].
    Within {
        /// Share of the kernel's mean.
        tolerance: f64,
        /// Share of the cells.
        least_share: f64,
    },
    /// In at least this share of the cells the means differ by no more than this.
    Near {
        /// Absolute difference.
        distance: f64,
        /// Share of the cells.
        least_share: f64,
    },
    /// As `Within`; no level of the section's first factor may have more than this share of its cells outside.
    EachBlock {
        /// Share of the kernel's mean.
        tolerance: f64,
        /// Share of a level's cells.
        most_outside: f64,
    },
    /// The median over the cells of the relative error of the mean, either way, is at most this.
    MedianError {
        /// Share of the kernel's mean.
        most: f64,
    },
    /// No cell's mean is more than this factor above or below the kernel's.
    Factor {
        /// The larger mean over the smaller.
        most: f64,
    },
    /// Nothing is counted in any cell where the kernel counts nothing.
    ZeroWhereKernelHasZero,
}

/// A bar and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// The condition.
    pub asked: String,
    /// The measured result.
    pub found: String,
    /// Whether that is enough.
    pub is_met: bool,
}

impl Bar {
    /// A bar for the runs with trains.
    pub const fn new(metric: &'static str, rule: Rule) -> Bar {
        Bar { metric, rule, is_without_trains: false }
    }

    /// The same for the runs with trains of one packet.
    pub const fn without_trains(self) -> Bar {
        Bar { is_without_trains: true, ..self }
    }

    /// The quantity's index in [`QUANTITIES`].
    ///
    /// # Panics
    /// If the bar is of a metric that is not compared.
    pub fn quantity(&self) -> usize {
        let place = QUANTITIES.iter().position(|quantity| quantity.metric == self.metric);
        place.unwrap_or_else(|| panic!("{} is not compared", self.metric))
    }

    /// Whether a cell passes; `None` if the bar does not judge it.
    pub fn passes(&self, cell: &Compared) -> Option<bool> {
        let index = self.quantity();
        let kernel = cell.kernel[index]?;
        let is_judged = match self.rule {
            Rule::ZeroWhereKernelHasZero => kernel.mean == 0.0,
            Rule::MedianError { .. } => false,
            _ => true,
        };
        is_judged.then_some(())?;
        let Some(pair) = cell.pairs[index] else { return Some(false) };
        let difference = (pair.other.mean - kernel.mean).abs();
        Some(match self.rule {
            Rule::Within { tolerance, .. } | Rule::EachBlock { tolerance, .. } => {
                pair.agrees(tolerance, QUANTITIES[index].slack)
            }
            Rule::Near { distance, .. } => difference <= distance,
            Rule::Factor { most } => {
                let (kernel, other) = (kernel.mean, pair.other.mean);
                kernel.max(other) <= most * kernel.min(other)
            }
            Rule::ZeroWhereKernelHasZero | Rule::MedianError { .. } => pair.other.mean == 0.0,
        })
    }

    /// The condition in words.
    fn asked(&self) -> String {
        let Quantity { title, slack, unit, .. } = QUANTITIES[self.quantity()];
        let title = title.to_lowercase();
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let few = if slack > 0.0 { format!(", or at most {slack} {unit} off") } else { String::new() };
        let asked = match self.rule {
            Rule::Within { tolerance, least_share } => format!(
                "{title} within {} of the kernel's mean, or in its 95 % confidence interval{few}, in at least {} of the \
                 cells",
                percent(tolerance),
                percent(least_share)
            ),
            Rule::Near { distance, least_share } => {
                format!(
                    "{title} within {distance} of the kernel's, in at least {} of the cells",
                    percent(least_share)
                )
            }
            Rule::EachBlock { most_outside, .. } => {
                format!("no congestion control outside in more than {} of its cells", percent(most_outside))
            }
            Rule::MedianError { most } => {
                format!("median relative error of {title} at most {}", percent(most))
            }
            Rule::Factor { most } => format!("{title} off by more than a factor of {most} in no cell"),
            Rule::ZeroWhereKernelHasZero => {
                format!("{title}: none in the cells in which the kernel has none")
            }
        };
        if self.is_without_trains { format!("without trains: {asked}") } else { asked }
    }

    /// Judges a comparison, `None` if these runs were not made.
    pub fn judge(&self, comparison: Option<&Comparison>) -> Criterion {
        let asked = self.asked();
        let Some(comparison) = comparison.filter(|comparison| !comparison.cells.is_empty()) else {
            return Criterion { asked, found: "not run".into(), is_met: false };
        };
        let (found, is_met) = match self.rule {
            Rule::Within { least_share, .. } | Rule::Near { least_share, .. } => {
                self.share(comparison, least_share)
            }
            Rule::EachBlock { most_outside, .. } => self.worst_block(comparison, most_outside),
            Rule::MedianError { most } => {
                let errors = comparison.cells.iter().filter(|c| c.kernel[self.quantity()].is_some());
                let errors: Vec<f64> = errors.map(|c| c.error(self.quantity()).abs()).collect();
                let median = quantile(&errors, 0.5).unwrap_or(1.0);
                (percent(median), median <= most)
            }
            Rule::ZeroWhereKernelHasZero | Rule::Factor { .. } => self.share(comparison, 1.0),
        };
        Criterion { asked, found, is_met }
    }

    fn share(&self, comparison: &Comparison, least: f64) -> (String, bool) {
        let judged: Vec<bool> = comparison.cells.iter().filter_map(|cell| self.passes(cell)).collect();
        let passed = judged.iter().filter(|passes| **passes).count();
        if judged.is_empty() {
            return ("no cell has it".into(), false);
        }
        let share = passed as f64 / judged.len() as f64;
        (format!("{passed} of {} cells: {}", judged.len(), percent(share)), share >= least)
    }

    fn worst_block(&self, comparison: &Comparison, most: f64) -> (String, bool) {
        let share = |name: &str| {
            let own = comparison.cells.iter().filter(|c| c.cell.values[0] == name);
            let judged: Vec<bool> = own.filter_map(|cell| self.passes(cell)).collect();
            judged.iter().filter(|passes| !**passes).count() as f64 / judged.len().max(1) as f64
        };
        let shares = comparison.blocks.iter().map(|block| (block.name.as_str(), share(&block.name)));
        let (worst, share) = shares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("none", 0.0));
        (format!("most: {worst}, {}", percent(share)), share <= most)
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::data::Row;
    use super::super::section::sections;
    use super::super::testing::row;
    use super::*;

    fn with(metric: usize, values: &[f64]) -> Vec<Row> {
        let cells = values.iter().zip(1..);
        let row = |(value, cell): (&f64, u32)| {
            let mut row = row(cell, 0, 1e9);
            row.values[metric] = Some(*value);
            row
        };
        cells.map(row).collect()
    }

    fn judge(metric: usize, bar: Bar, kernel: &[f64], other: &[f64]) -> Criterion {
        bar.judge(Some(&Comparison::new(&sections()[0], &with(metric, kernel), &with(metric, other))))
    }

    #[test]
    fn few_retransmissions_may_differ_by_an_initial_window() {
        let bar = Bar::new("retransmissions_packets", Rule::Within { tolerance: 0.3, least_share: 1.0 });
        assert!(judge(3, bar, &[5.0, 1000.0], &[15.0, 1300.0]).is_met);
        assert!(!judge(3, bar, &[5.0], &[15.1]).is_met);
        assert!(!judge(3, bar, &[1000.0], &[1301.0]).is_met);
    }

    #[test]
    fn the_index_of_fairness_is_judged_by_its_difference() {
        let bar = Bar::new("jain_index", Rule::Near { distance: 0.05, least_share: 0.5 });
        assert!(judge(8, bar, &[0.9, 0.9], &[0.94, 0.5]).is_met);
        let found = judge(8, bar, &[0.9, 0.9], &[0.96, 0.5]);
        assert_eq!((found.found.as_str(), found.is_met), ("0 of 2 cells: 0.0 %", false));
    }

    #[test]
    fn a_factor_counts_either_way() {
        let bar = Bar::new("goodput_bps", Rule::Factor { most: 2.0 });
        assert!(judge(0, bar, &[1e9, 1e9], &[2e9, 0.5e9]).is_met);
        assert!(!judge(0, bar, &[1e9], &[2.1e9]).is_met && !judge(0, bar, &[1e9], &[0.4e9]).is_met);
        assert!(!judge(0, bar, &[1e9], &[0.0]).is_met, "nothing at all is off by every factor");
    }

    #[test]
    fn a_drop_counts_only_where_the_kernel_has_none() {
        let bar = Bar::new("qdisc_drops", Rule::ZeroWhereKernelHasZero);
        assert!(judge(9, bar, &[0.0, 20.0], &[0.0, 500.0]).is_met);
        assert!(!judge(9, bar, &[0.0, 20.0], &[1.0, 20.0]).is_met);
    }

    #[test]
    fn a_bar_of_runs_that_were_not_made_is_not_met() {
        let bar = Bar::new("jain_index", Rule::Near { distance: 0.05, least_share: 0.5 }).without_trains();
        let criterion = bar.judge(None);
        assert!(!criterion.is_met && criterion.asked.starts_with("without trains: jain"), "{criterion:?}");
    }

    #[test]
    fn every_bar_is_of_a_quantity_that_is_compared() {
        sections()
            .iter()
            .flat_map(|section| section.bars)
            .for_each(|bar| assert!(bar.quantity() < QUANTITIES.len()));
    }
}
