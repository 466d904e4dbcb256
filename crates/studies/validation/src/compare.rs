//! A substrate against the kernel, cell by cell, and whether they agree as stated.

use super::bar::{Bar, Criterion};
use super::cell::Cell;
use super::column;
use super::data::Row;
use super::section::Section;
use super::statistics::Estimate;
use std::collections::BTreeMap;
use wirespeed_statistics::quantile;

/// A cell agrees if the mean goodput is off the kernel's mean by no more than this share of it, or lies in the kernel's
/// 95 % confidence interval. The bars of the sections ask it of goodput, too.
pub const TOLERANCE: f64 = 0.10;

/// The compared quantities, in the order of tables and plots. The first one decides which cells a table lists as outside.
pub const QUANTITIES: [Quantity; 8] = [
    Quantity::new("goodput_bps", "Goodput", "Mbit/s", 1e6),
    Quantity::new("cwnd_mean_bytes", "Mean congestion window", "kB", 1e3),
    Quantity::new("rtt_mean_ns", "Mean round-trip time", "ms", 1e6),
    // Ten packets are the initial window (RFC 6928), the smallest burst that Linux sends and a full queue loses: where a
    // cell has some thirty, one burst more or less is beyond any share of them.
    Quantity { slack: 10.0, ..Quantity::new("retransmissions_packets", "Retransmissions", "packets", 1.0) },
    Quantity::new("jain_index", "Jain's index", "of 1", 1.0),
    Quantity::new("qdisc_drops", "Drops at the hosts' queues", "packets", 1.0),
    Quantity::new("fct_mean_ns", "Mean flow completion time", "ms", 1e6),
    Quantity::new("slowdown_q99", "99 % quantile of slowdown", "of 1", 1.0),
];

/// A metric and how tables show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// The metric's name.
    pub metric: &'static str,
    /// For headings.
    pub title: &'static str,
    /// Unit in tables.
    pub unit: &'static str,
    /// That unit in the metric's.
    pub scale: f64,
    /// A difference of this much is none, whatever share of the kernel's mean it is.
    pub slack: f64,
}

impl Quantity {
    const fn new(metric: &'static str, title: &'static str, unit: &'static str, scale: f64) -> Quantity {
        Quantity { metric, title, unit, scale, slack: 0.0 }
    }
}

/// Both sides of a quantity in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The kernel's.
    pub kernel: Estimate,
    /// The other's.
    pub other: Estimate,
}

impl Pair {
    /// How far the other's mean is off, as a share of the kernel's: 0 if both are 0, `None` if only the kernel's is.
    pub fn error(&self) -> Option<f64> {
        let (kernel, other) = (self.kernel.mean, self.other.mean);
        if kernel == other {
            return Some(0.0);
        }
        (kernel != 0.0).then(|| other / kernel - 1.0)
    }

    /// Whether the other's mean is within `tolerance` of the kernel's, in its interval, or off by no more than `slack`.
    pub fn agrees(&self, tolerance: f64, slack: f64) -> bool {
        let (kernel, other) = (self.kernel.mean, self.other.mean);
        (other - kernel).abs() <= (tolerance * kernel.abs()).max(slack) || self.kernel.holds(other)
    }
}

/// A cell, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The cell.
    pub cell: Cell,
    /// The kernel's quantities in the order of [`QUANTITIES`]; `None` where it has none.
    pub kernel: [Option<Estimate>; QUANTITIES.len()],
    /// The same with the other's; `None` where a side has none.
    pub pairs: [Option<Pair>; QUANTITIES.len()],
}

impl Compared {
    /// Whether goodput agrees.
    pub fn agrees(&self) -> bool {
        self.pairs[0].is_some_and(|pair| pair.agrees(TOLERANCE, 0.0))
    }

    /// Relative error of a quantity; an outcome that is missing on a side is wholly wrong.
    pub fn error(&self, quantity: usize) -> f64 {
        self.pairs[quantity].and_then(|pair| pair.error()).unwrap_or(1.0)
    }
}

/// Some of the cells, summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// What they have in common.
    pub name: String,
    /// How many they are.
    pub cells: usize,
    /// How many of them disagree.
    pub outside: usize,
    /// Median relative error of each quantity, either way.
    pub median_errors: [Option<f64>; QUANTITIES.len()],
}

impl Summary {
    fn of<'a>(name: impl Into<String>, cells: impl Iterator<Item = &'a Compared>) -> Summary {
        let cells: Vec<&Compared> = cells.collect();
        let median = |index: usize| {
            let errors = cells.iter().filter_map(|c| c.pairs[index]).filter_map(|pair| pair.error());
            quantile(&errors.map(f64::abs).collect::<Vec<_>>(), 0.5)
        };
        Summary {
            name: name.into(),
            cells: cells.len(),
            outside: cells.iter().filter(|c| !c.agrees()).count(),
            median_errors: std::array::from_fn(median),
        }
    }

    /// Share of its cells that disagree.
    pub fn share_outside(&self) -> f64 {
        self.outside as f64 / self.cells.max(1) as f64
    }
}

/// The comparison of a section.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Cells by number.
    pub cells: Vec<Compared>,
    /// All of them.
    pub all: Summary,
    /// By level of the section's first factor, in its order.
    pub blocks: Vec<Summary>,
    /// By level of the other factors.
    pub levels: Vec<Summary>,
}

impl Comparison {
    /// Compares the cells of a section that `kernel` has rows of.
    pub fn new(section: &Section, kernel: &[Row], other: &[Row]) -> Comparison {
        let (kernel, other) = (by_cell(kernel), by_cell(other));
        let compared = |(number, rows): (&u32, &Vec<&Row>)| {
            let kernel = QUANTITIES.map(|quantity| estimate(rows, quantity));
            let pair = |index: usize| {
                let other = estimate(other.get(number)?, QUANTITIES[index])?;
                Some(Pair { kernel: kernel[index]?, other })
            };
            Compared { cell: rows[0].cell.clone(), kernel, pairs: std::array::from_fn(pair) }
        };
        let cells: Vec<Compared> = kernel.iter().map(compared).collect();
        let level = |name: &'static str, level: &'static str| {
            let of = cells.iter().filter(|c| c.cell.get(name) == Some(level));
            Summary::of((column::named(name).level)(level), of)
        };
        let by = |name: &'static str| section.levels(name).into_iter().map(move |value| (name, value));
        let summaries = |names: Vec<&'static str>| {
            let all = names.into_iter().flat_map(by).map(|(name, value)| level(name, value));
            all.filter(|summary| summary.cells > 0).collect()
        };
        let blocks = summaries(vec![section.block()]);
        let levels = summaries(section.columns().skip(1).collect());
        let all = Summary::of("all", cells.iter());
        Comparison { all, blocks, levels, cells }
    }

    /// The cells whose goodput disagrees, the worst first.
    pub fn outside(&self) -> Vec<&Compared> {
        let mut outside: Vec<&Compared> = self.cells.iter().filter(|c| !c.agrees()).collect();
        outside.sort_by(|a, b| b.error(0).abs().total_cmp(&a.error(0).abs()));
        outside
    }

    /// The cells that fail a bar, by number.
    pub fn failing(&self, bar: &Bar) -> Vec<&Compared> {
        self.cells.iter().filter(|cell| bar.passes(cell) == Some(false)).collect()
    }

    /// Whether any cell has this quantity on both sides.
    pub fn has(&self, quantity: usize) -> bool {
        self.cells.iter().any(|cell| cell.pairs[quantity].is_some())
    }
}

/// The bars of a section and the measured results, with and without trains.
pub fn criteria(section: &Section, with: &Comparison, without: Option<&Comparison>) -> Vec<Criterion> {
    let judge = |bar: &Bar| bar.judge(if bar.is_without_trains { without } else { Some(with) });
    section.bars.iter().map(judge).collect()
}

fn by_cell(rows: &[Row]) -> BTreeMap<u32, Vec<&Row>> {
    let mut cells: BTreeMap<u32, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| cells.entry(row.cell.number).or_default().push(row));
    cells
}

fn estimate(rows: &[&Row], quantity: Quantity) -> Option<Estimate> {
    // Repetitions that cannot differ count as one, although the first grid has three of them.
    let rows = if rows[0].cell.is_deterministic() { &rows[..1] } else { rows };
    let values: Option<Vec<f64>> = rows.iter().map(|row| row.value(quantity.metric)).collect();
    Estimate::of(&values?)
}

#[cfg(test)]
mod tests {
    use super::super::section::sections;
    use super::super::testing::row;
    use super::*;

    fn rows(goodputs: &[(u32, [f64; 3])]) -> Vec<Row> {
        let of = |(cell, values): &(u32, [f64; 3])| {
            (0..3).map(|i| row(*cell, i, values[i as usize])).collect::<Vec<_>>()
        };
        goodputs.iter().flat_map(of).collect()
    }

    fn comparison(kernel: &[Row], other: &[Row]) -> Comparison {
        Comparison::new(&sections()[0], kernel, other)
    }

    #[test]
    fn a_cell_agrees_within_the_tolerance_or_the_interval() {
        let kernel =
            rows(&[(1, [100.0; 3]), (2, [100.0; 3]), (3, [80.0, 100.0, 120.0]), (4, [80.0, 100.0, 120.0])]);
        let model = rows(&[(1, [110.0; 3]), (2, [110.1; 3]), (3, [140.0; 3]), (4, [50.0; 3])]);
        let comparison = comparison(&kernel, &model);
        let agree: Vec<bool> = comparison.cells.iter().map(Compared::agrees).collect();
        // The interval of 80, 100, 120 reaches 4.303 x 20 / sqrt(3) = 49.7 to either side.
        assert_eq!(agree, [true, false, true, false]);
        assert_eq!(comparison.outside()[0].cell.number, 4);
    }

    #[test]
    fn each_criterion_of_the_first_section_fails_by_itself() {
        let kernel = rows(&(1..=102).map(|cell| (cell, [100.0; 3])).collect::<Vec<_>>());
        let met = |model: &dyn Fn(u32) -> f64| {
            let mut rows = kernel.clone();
            rows.iter_mut().for_each(|row| row.values[0] = Some(model(row.cell.number)));
            let criteria = criteria(&sections()[0], &comparison(&kernel, &rows), None);
            criteria.iter().map(|criterion| criterion.is_met).collect::<Vec<_>>()
        };
        assert_eq!(met(&|_| 100.0), [true; 5]);
        assert_eq!(met(&|_| 102.0), [true, true, false, true, true]);
        // Every control has six of the 102 cells: two are more than a quarter of them, and less than 2 % of all.
        let all = comparison(&kernel, &[]).cells;
        let own: Vec<u32> = all
            .iter()
            .filter(|other| other.cell.values[0] == all[8].cell.values[0])
            .map(|other| other.cell.number)
            .take(2)
            .collect();
        assert_eq!(
            met(&|cell| if own.contains(&cell) { 10.0 } else { 100.0 }),
            [true, false, true, true, true]
        );
        // One cell of each of three controls is more than 2 % of all.
        let first = |cell: u32| {
            let name = |at: usize| &all[at].cell.values[0];
            (0..cell as usize - 1).all(|before| name(before) != name(cell as usize - 1))
        };
        let three: Vec<u32> = (1..=102).filter(|cell| first(*cell)).take(3).collect();
        assert_eq!(
            met(&|cell| if three.contains(&cell) { 10.0 } else { 100.0 }),
            [false, true, true, true, true]
        );
    }

    #[test]
    fn a_cell_without_a_result_disagrees() {
        let kernel = rows(&[(1, [100.0; 3])]);
        let without = comparison(&kernel, &[]);
        assert_eq!((without.all.outside, without.cells[0].error(0)), (1, 1.0));
        let share = |comparison: &Comparison| criteria(&sections()[0], comparison, None)[0].clone();
        assert_eq!(share(&without).found, "0 of 1 cells: 0.0 %");
        assert!(!share(&comparison(&[], &[])).is_met);
    }

    #[test]
    fn repetitions_that_cannot_differ_count_as_one() {
        // Cell 26 of the first grid is Reno, one flow, no loss.
        let one = comparison(&rows(&[(26, [100.0, 100.0, 100.0])]), &[]).cells[0].kernel[0].unwrap();
        assert_eq!((one.runs, one.half_width), (1, 0.0));
        let three = comparison(&rows(&[(1, [100.0, 100.0, 100.0])]), &[]).cells[0].kernel[0].unwrap();
        assert_eq!(three.runs, 3);
    }

    #[test]
    fn nothing_on_both_sides_is_no_error() {
        let zero = Estimate { mean: 0.0, half_width: 0.0, runs: 3 };
        let one = Estimate { mean: 1.0, half_width: 0.0, runs: 3 };
        assert_eq!(Pair { kernel: zero, other: zero }.error(), Some(0.0));
        assert_eq!(Pair { kernel: zero, other: one }.error(), None);
        assert_eq!(Pair { kernel: one, other: zero }.error(), Some(-1.0));
    }
}
