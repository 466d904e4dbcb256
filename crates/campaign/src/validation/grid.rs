//! Which cells the grid has: a deterministic choice from the full product of the factors.
//!
//! Cells are chosen in rounds. A round has one cell of every congestion control, the controls in an order shuffled
//! from [`SEED`]. Each cell takes, of every factor, a level that its control has had least so far, and among those
//! combinations the one whose pairs of levels are rarest in the grid; ties fall by the same random stream. So
//! - within a control no level of a factor is ahead of another by more than one cell,
//! - every pair of levels occurs, soon and about equally often,
//! - any prefix of the grid is itself a balanced grid, and a longer grid begins with the shorter one.

use super::ValidationError;
use super::control::controls;
use std::collections::BTreeMap;
use std::path::Path;

/// Round-trip times, microseconds.
pub const RTT_US: [u32; 4] = [200, 6_200, 24_200, 100_000];
/// Rates of the link, Gbit/s.
pub const RATE_GBIT: [u32; 2] = [1, 10];
/// Probabilities of random loss, data only.
pub const LOSS: [f64; 6] = [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2];
/// Room before the link, bandwidth-delay products.
pub const BUFFER_BDP: [f64; 2] = [0.1, 1.0];
/// Flows, all with the same congestion control.
pub const FLOWS: [u32; 2] = [1, 4];
/// What the random stream starts from.
pub const SEED: u64 = 2026;
/// Rounds of the committed grid: cells of each congestion control.
pub const ROUNDS: usize = 15;

/// Levels of each factor but the congestion control, in the order of [`Levels`].
const SIZES: [usize; 5] = [RTT_US.len(), RATE_GBIT.len(), LOSS.len(), BUFFER_BDP.len(), FLOWS.len()];

/// Index of the level of each factor but the congestion control.
type Levels = [usize; SIZES.len()];

/// One combination of factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its number, from 1; cells are carried out in this order.
    pub number: u32,
    /// Congestion control of every flow.
    pub congestion: String,
    /// Base round-trip time, microseconds.
    pub rtt_us: u32,
    /// Rate of the link, Gbit/s.
    pub rate_gbit: u32,
    /// Probability that a data packet is lost on the link.
    pub loss: f64,
    /// Room before the link, bandwidth-delay products.
    pub buffer_bdp: f64,
    /// How many flows.
    pub flows: u32,
}

/// How many cells the committed grid has.
pub fn committed_size() -> usize {
    ROUNDS * controls().len()
}

/// How many cells there are at all.
pub fn largest_size() -> usize {
    SIZES.iter().product::<usize>() * controls().len()
}

/// The first `count` cells of the grid; all there are if that is fewer.
pub fn generate(count: usize) -> Vec<Cell> {
    let mut random = Random(SEED);
    let mut tally = Tally::default();
    let mut cells = Vec::new();
    while cells.len() < count.min(largest_size()) {
        let mut order: Vec<usize> = (0..controls().len()).collect();
        random.shuffle(&mut order);
        for control in order {
            let levels = tally.rarest(control, &mut random);
            tally.add(control, levels);
            cells.push(cell(cells.len() + 1, control, levels));
        }
    }
    cells.truncate(count);
    cells
}

fn cell(number: usize, control: usize, [rtt, rate, loss, buffer, flows]: Levels) -> Cell {
    Cell {
        number: number as u32,
        congestion: controls()[control].name.clone(),
        rtt_us: RTT_US[rtt],
        rate_gbit: RATE_GBIT[rate],
        loss: LOSS[loss],
        buffer_bdp: BUFFER_BDP[buffer],
        flows: FLOWS[flows],
    }
}

/// What has been chosen so far.
#[derive(Default)]
struct Tally {
    chosen: BTreeMap<(usize, Levels), ()>,
    /// By control, factor, level.
    levels: BTreeMap<(usize, usize, usize), u32>,
    /// By two factors and their levels, all controls together.
    pairs: BTreeMap<[usize; 4], u32>,
    /// The same within a control.
    own_pairs: BTreeMap<(usize, [usize; 4]), u32>,
}

impl Tally {
    /// The combination that `control` lacks most.
    fn rarest(&self, control: usize, random: &mut Random) -> Levels {
        let mut candidates = all_levels();
        random.shuffle(&mut candidates);
        candidates.retain(|levels| !self.chosen.contains_key(&(control, *levels)));
        *candidates.iter().min_by_key(|levels| self.cost(control, **levels)).expect("the grid is not full")
    }

    /// How far its levels are ahead within the control; then how common its pairs are, each weighed by how many
    /// pairs its two factors have; then the same within the control.
    fn cost(&self, control: usize, levels: Levels) -> (u32, u32, u32) {
        let of = |factor, level| self.levels.get(&(control, factor, level)).copied().unwrap_or(0);
        let ahead = levels.iter().enumerate().map(|(factor, level)| {
            let least = (0..SIZES[factor]).map(|other| of(factor, other)).min().unwrap_or(0);
            of(factor, *level) - least
        });
        let mut common = (0, 0);
        for pair in pairs(levels) {
            let weight = (SIZES[pair[0]] * SIZES[pair[2]]) as u32;
            common.0 += weight * self.pairs.get(&pair).copied().unwrap_or(0);
            common.1 += weight * self.own_pairs.get(&(control, pair)).copied().unwrap_or(0);
        }
        (ahead.sum(), common.0, common.1)
    }

    fn add(&mut self, control: usize, levels: Levels) {
        self.chosen.insert((control, levels), ());
        for (factor, level) in levels.into_iter().enumerate() {
            *self.levels.entry((control, factor, level)).or_default() += 1;
        }
        for pair in pairs(levels) {
            *self.pairs.entry(pair).or_default() += 1;
            *self.own_pairs.entry((control, pair)).or_default() += 1;
        }
    }
}

fn all_levels() -> Vec<Levels> {
    let mut all: Vec<Levels> = vec![[0; SIZES.len()]];
    for (factor, size) in SIZES.into_iter().enumerate() {
        let with = |level| {
            all.iter().map(move |levels| {
                let mut l = *levels;
                l[factor] = level;
                l
            })
        };
        all = (0..size).flat_map(with).collect();
    }
    all
}

/// Every two factors with their levels: factor, level, factor, level.
fn pairs(levels: Levels) -> impl Iterator<Item = [usize; 4]> {
    (0..levels.len()).flat_map(move |a| (a + 1..levels.len()).map(move |b| [a, levels[a], b, levels[b]]))
}

/// Splitmix64 (Steele, Lea, Flood, OOPSLA 2014): the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher and Yates. The remainder favours small numbers by less than 1e-16.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
    }
}

/// Names of the factor columns, in files and messages.
pub const COLUMNS: &str = "cell,congestion,rtt_ms,rate_gbit,loss,buffer_bdp,flows";

impl Cell {
    /// Its factors as columns of a line.
    pub fn columns(&self) -> String {
        let Cell { number, congestion, rate_gbit, buffer_bdp, flows, .. } = self;
        format!(
            "{number},{congestion},{},{rate_gbit},{},{buffer_bdp},{flows}",
            f64::from(self.rtt_us) / 1e3,
            self.loss_word()
        )
    }

    /// Reads what [`Cell::columns`] wrote; `None` if it is something else.
    pub fn parse(columns: &[&str]) -> Option<Cell> {
        let [number, congestion, rtt_ms, rate_gbit, loss, buffer_bdp, flows] = columns else { return None };
        Some(Cell {
            number: number.parse().ok()?,
            congestion: (*congestion).into(),
            rtt_us: (rtt_ms.parse::<f64>().ok()? * 1e3).round() as u32,
            rate_gbit: rate_gbit.parse().ok()?,
            loss: loss.parse().ok()?,
            buffer_bdp: buffer_bdp.parse().ok()?,
            flows: flows.parse().ok()?,
        })
    }

    /// The loss as a person writes it.
    pub fn loss_word(&self) -> String {
        if self.loss == 0.0 { "0".into() } else { format!("{:e}", self.loss) }
    }
}

/// The grid as a file: how it was made, then a line per cell.
pub fn render(cells: &[Cell]) -> String {
    let list = |values: Vec<String>| values.join(" ");
    let mut text = format!(
        "# The validation grid. Written by `wirespeed validate --on kernel --extend`; do not edit.\n\
         # {} cells of {}: one of every congestion control a round, seed {SEED}\n\
         # (crates/campaign/src/validation/grid.rs says how they are chosen).\n\
         # congestion: {}\n# rtt_ms: {}\n# rate_gbit: {}\n# loss: {}\n# buffer_bdp: {}\n# flows: {}\n{COLUMNS}\n",
        cells.len(),
        largest_size(),
        list(controls().iter().map(|control| control.name.clone()).collect()),
        list(RTT_US.iter().map(|us| (f64::from(*us) / 1e3).to_string()).collect()),
        list(RATE_GBIT.iter().map(u32::to_string).collect()),
        list(LOSS.iter().map(|p| if *p == 0.0 { "0".into() } else { format!("{p:e}") }).collect()),
        list(BUFFER_BDP.iter().map(f64::to_string).collect()),
        list(FLOWS.iter().map(u32::to_string).collect()),
    );
    for cell in cells {
        text.push_str(&cell.columns());
        text.push('\n');
    }
    text
}

/// The grid in the file at `path`, which must be what [`generate`] gives.
///
/// # Errors
/// If the file cannot be read, or holds other cells than this program would choose.
pub fn read(path: &Path) -> Result<Vec<Cell>, ValidationError> {
    let text = std::fs::read_to_string(path).map_err(ValidationError::io("read", path))?;
    let count = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    let cells = generate(count);
    if render(&cells) != text {
        return Err(ValidationError::OtherGrid { path: path.to_owned() });
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn words(cell: &Cell) -> Vec<String> {
        cell.columns().split(',').skip(1).map(String::from).collect()
    }

    #[test]
    fn every_pair_of_levels_occurs() {
        let cells = generate(committed_size());
        let seen: BTreeSet<(usize, String, usize, String)> = cells
            .iter()
            .map(words)
            .flat_map(|w| {
                let pair = |a: usize, b: usize| (a, w[a].clone(), b, w[b].clone());
                (0..6)
                    .flat_map(|a| (a + 1..6).map(move |b| (a, b)))
                    .map(|(a, b)| pair(a, b))
                    .collect::<Vec<_>>()
            })
            .collect();
        let sizes: Vec<usize> = std::iter::once(controls().len()).chain(SIZES).collect();
        let wanted: usize =
            (0..6).flat_map(|a| (a + 1..6).map(move |b| (a, b))).map(|(a, b)| sizes[a] * sizes[b]).sum();
        assert_eq!(seen.len(), wanted);
    }

    #[test]
    fn within_a_control_levels_are_balanced_and_no_cell_is_twice() {
        let cells = generate(committed_size());
        for control in controls().iter().map(|control| &control.name) {
            let own: Vec<_> = cells.iter().filter(|c| c.congestion == *control).map(words).collect();
            assert_eq!(own.len(), ROUNDS);
            assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), ROUNDS, "{control}");
            for (factor, size) in SIZES.into_iter().enumerate() {
                let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
                own.iter().for_each(|w| *counts.entry(&w[factor + 1]).or_default() += 1);
                let (least, most) = (counts.values().min().unwrap(), counts.values().max().unwrap());
                assert!(counts.len() == size && most - least <= 1, "{control}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_longer_grid_begins_with_the_shorter_and_the_largest_has_everything() {
        let all = generate(usize::MAX);
        assert_eq!(all.len(), largest_size());
        assert_eq!(generate(40), all[..40]);
        assert_eq!(all.iter().map(words).collect::<BTreeSet<_>>().len(), largest_size());
    }

    #[test]
    fn a_cell_is_read_as_it_was_written() {
        for cell in generate(60) {
            assert_eq!(Cell::parse(&cell.columns().split(',').collect::<Vec<_>>()), Some(cell));
        }
    }

    #[test]
    fn the_committed_grid_is_the_generated_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation/grid.csv");
        assert_eq!(read(&path).unwrap().len(), committed_size());
    }
}
