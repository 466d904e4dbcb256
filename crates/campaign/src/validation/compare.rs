//! A substrate against the kernel, cell by cell, and whether they agree as stated.

use super::control::controls;
use super::data::Row;
use super::grid::Cell;
use super::statistics::Estimate;
use std::collections::BTreeMap;
use wirespeed_metrics::statistics::quantile;

/// A cell agrees if the mean goodput is off the kernel's mean by no more than this share of it ...
pub const TOLERANCE: f64 = 0.10;
/// ... or lies in the kernel's 95 % confidence interval; this share of the cells must agree.
pub const LEAST_SHARE: f64 = 0.90;
/// No congestion control may disagree in more than this share of its cells.
pub const MOST_OUTSIDE: f64 = 0.25;
/// The median over all cells of the relative error of the mean goodput, either way, is at most this.
pub const MOST_MEDIAN_ERROR: f64 = 0.05;

/// What is compared, in the order of tables and plots; the first one decides.
pub const QUANTITIES: [Quantity; 4] = [
    Quantity { metric: "goodput_bps", title: "Goodput", unit: "Mbit/s", scale: 1e6 },
    Quantity { metric: "cwnd_mean_bytes", title: "Mean congestion window", unit: "kB", scale: 1e3 },
    Quantity { metric: "rtt_mean_ns", title: "Mean round-trip time", unit: "ms", scale: 1e6 },
    Quantity { metric: "retransmissions_packets", title: "Retransmissions", unit: "packets", scale: 1.0 },
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
}

/// A factor: its value, to sort levels by, and the name of the level.
type Factor = (fn(&Cell) -> f64, fn(&Cell) -> String);

/// The factors besides the congestion control.
const FACTORS: [Factor; 5] = [
    (|cell| f64::from(cell.rtt_us), |cell| format!("{} ms", f64::from(cell.rtt_us) / 1e3)),
    (|cell| f64::from(cell.rate_gbit), |cell| format!("{} Gbit/s", cell.rate_gbit)),
    (|cell| cell.loss, |cell| format!("loss {}", cell.loss_word())),
    (|cell| cell.buffer_bdp, |cell| format!("buffer {} bdp", cell.buffer_bdp)),
    (
        |cell| f64::from(cell.flows),
        |cell| if cell.flows == 1 { "1 flow".into() } else { format!("{} flows", cell.flows) },
    ),
];

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

    /// Whether the two agree as stated.
    pub fn agrees(&self) -> bool {
        let (kernel, other) = (self.kernel.mean, self.other.mean);
        (other - kernel).abs() <= TOLERANCE * kernel.abs() || self.kernel.holds(other)
    }
}

/// A cell, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The cell.
    pub cell: Cell,
    /// Its quantities in the order of [`QUANTITIES`]; `None` where a side has none.
    pub pairs: [Option<Pair>; QUANTITIES.len()],
}

impl Compared {
    /// Whether goodput agrees.
    pub fn agrees(&self) -> bool {
        self.pairs[0].is_some_and(|pair| pair.agrees())
    }

    /// Relative error of goodput; an outcome that is missing on a side is wholly wrong.
    pub fn error(&self) -> f64 {
        self.pairs[0].and_then(|pair| pair.error()).unwrap_or(1.0)
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

/// The whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Cells by number.
    pub cells: Vec<Compared>,
    /// All of them.
    pub all: Summary,
    /// By congestion control, in the grid's order.
    pub controls: Vec<Summary>,
    /// By level of the other factors.
    pub levels: Vec<Summary>,
}

/// A part of the agreement that is stated, and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// What is asked.
    pub asked: String,
    /// What is.
    pub found: String,
    /// Whether that is enough.
    pub is_met: bool,
}

impl Comparison {
    /// Compares the cells that `kernel` has rows of.
    pub fn new(kernel: &[Row], other: &[Row]) -> Comparison {
        let (kernel, other) = (by_cell(kernel), by_cell(other));
        let compared = |(number, rows): (&u32, &Vec<&Row>)| Compared {
            cell: rows[0].cell.clone(),
            pairs: QUANTITIES.map(|quantity| {
                let kernel = estimate(rows, quantity)?;
                Some(Pair { kernel, other: estimate(other.get(number)?, quantity)? })
            }),
        };
        let cells: Vec<Compared> = kernel.iter().map(compared).collect();
        let summary = |name: &str, of: &dyn Fn(&Cell) -> String| {
            Summary::of(name, cells.iter().filter(|c| of(&c.cell) == name))
        };
        let controls =
            controls().iter().map(|control| summary(&control.name, &|cell| cell.congestion.clone()));
        let controls = controls.filter(|summary| summary.cells > 0).collect();
        let levels = FACTORS.iter().flat_map(|(value, name)| {
            let mut sorted: Vec<&Cell> = cells.iter().map(|c| &c.cell).collect();
            sorted.sort_by(|a, b| value(a).total_cmp(&value(b)));
            let mut names: Vec<String> = sorted.into_iter().map(name).collect();
            names.dedup();
            names.into_iter().map(|level| summary(&level, name)).collect::<Vec<_>>()
        });
        let levels = levels.collect();
        let all = Summary::of("all", cells.iter());
        Comparison { all, controls, levels, cells }
    }

    /// The stated agreement.
    pub fn criteria(&self) -> [Criterion; 3] {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let share = 1.0 - self.all.share_outside();
        let worst = self.controls.iter().max_by(|a, b| a.share_outside().total_cmp(&b.share_outside()));
        let (worst, worst_share) = worst.map_or(("none", 0.0), |w| (w.name.as_str(), w.share_outside()));
        let median =
            quantile(&self.cells.iter().map(|c| c.error().abs()).collect::<Vec<_>>(), 0.5).unwrap_or(1.0);
        let criterion = |asked, found, is_met| Criterion { asked, found, is_met };
        [
            criterion(
                format!(
                    "goodput within {:.0} % of the kernel's mean, or in its 95 % confidence interval, in at least \
                     {:.0} % of the cells",
                    TOLERANCE * 100.0,
                    LEAST_SHARE * 100.0
                ),
                format!(
                    "{} of {} cells: {}",
                    self.all.cells - self.all.outside,
                    self.all.cells,
                    percent(share)
                ),
                !self.cells.is_empty() && share >= LEAST_SHARE,
            ),
            criterion(
                format!(
                    "no congestion control outside in more than {:.0} % of its cells",
                    MOST_OUTSIDE * 100.0
                ),
                format!("most: {worst}, {}", percent(worst_share)),
                worst_share <= MOST_OUTSIDE,
            ),
            criterion(
                format!("median relative error of goodput at most {:.0} %", MOST_MEDIAN_ERROR * 100.0),
                percent(median),
                median <= MOST_MEDIAN_ERROR,
            ),
        ]
    }

    /// Whether all of it holds.
    pub fn agrees(&self) -> bool {
        self.criteria().iter().all(|criterion| criterion.is_met)
    }

    /// The cells that disagree, the worst first.
    pub fn outside(&self) -> Vec<&Compared> {
        let mut outside: Vec<&Compared> = self.cells.iter().filter(|c| !c.agrees()).collect();
        outside.sort_by(|a, b| b.error().abs().total_cmp(&a.error().abs()));
        outside
    }
}

fn by_cell(rows: &[Row]) -> BTreeMap<u32, Vec<&Row>> {
    let mut cells: BTreeMap<u32, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| cells.entry(row.cell.number).or_default().push(row));
    cells
}

fn estimate(rows: &[&Row], quantity: Quantity) -> Option<Estimate> {
    let values: Option<Vec<f64>> = rows.iter().map(|row| row.value(quantity.metric)).collect();
    Estimate::of(&values?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::row;
    use super::*;

    fn rows(goodputs: &[(u32, [f64; 3])]) -> Vec<Row> {
        let of = |(cell, values): &(u32, [f64; 3])| {
            (0..3).map(|i| row(*cell, i, values[i as usize])).collect::<Vec<_>>()
        };
        goodputs.iter().flat_map(of).collect()
    }

    #[test]
    fn a_cell_agrees_within_the_tolerance_or_the_interval() {
        let kernel =
            rows(&[(1, [100.0; 3]), (2, [100.0; 3]), (3, [80.0, 100.0, 120.0]), (4, [80.0, 100.0, 120.0])]);
        let model = rows(&[(1, [110.0; 3]), (2, [110.1; 3]), (3, [140.0; 3]), (4, [50.0; 3])]);
        let comparison = Comparison::new(&kernel, &model);
        let agree: Vec<bool> = comparison.cells.iter().map(Compared::agrees).collect();
        // The interval of 80, 100, 120 reaches 4.303 x 20 / sqrt(3) = 49.7 to either side.
        assert_eq!(agree, [true, false, true, false]);
        assert_eq!(comparison.outside()[0].cell.number, 4);
        assert!(!comparison.agrees());
    }

    #[test]
    fn each_criterion_fails_by_itself() {
        let kernel = rows(&(1..=34).map(|cell| (cell, [100.0; 3])).collect::<Vec<_>>());
        let met = |model: &dyn Fn(u32) -> f64| {
            let model: Vec<_> = (1..=34).map(|cell| (cell, [model(cell); 3])).collect();
            Comparison::new(&kernel, &rows(&model)).criteria().map(|criterion| criterion.is_met)
        };
        assert_eq!(met(&|_| 100.0), [true; 3]);
        assert_eq!(met(&|_| 106.0), [true, true, false]);
        // Every control has two of the 34 cells: one outside is half of them.
        assert_eq!(met(&|cell| if cell == 9 { 10.0 } else { 100.0 }), [true, false, true]);
        assert_eq!(met(&|cell| if cell < 5 { 10.0 } else { 100.0 }), [false, false, true]);
    }

    #[test]
    fn a_cell_without_a_result_disagrees() {
        let comparison = Comparison::new(&rows(&[(1, [100.0; 3])]), &[]);
        assert_eq!((comparison.all.outside, comparison.cells[0].error()), (1, 1.0));
        assert!(!Comparison::new(&[], &[]).agrees());
    }

    #[test]
    fn nothing_on_both_sides_is_no_error() {
        let zero = Estimate { mean: 0.0, half_width: 0.0 };
        let one = Estimate { mean: 1.0, half_width: 0.0 };
        assert_eq!(Pair { kernel: zero, other: zero }.error(), Some(0.0));
        assert_eq!(Pair { kernel: zero, other: one }.error(), None);
        assert_eq!(Pair { kernel: one, other: zero }.error(), Some(-1.0));
    }
}
