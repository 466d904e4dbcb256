//! Which cells a section has: a deterministic choice from the full product of its factors.
//!
//! Cells are chosen in rounds. A round has one cell of every level of the section's first factor, its block, in an order
//! shuffled from the section's seed. Each cell takes, of every other factor, a level that its block has had least so
//! far, and among those combinations the one whose pairs of levels are rarest in the grid; ties fall by the same
//! random stream. So
//! - within a block no level of a factor is ahead of another by more than one cell,
//! - every pair of levels occurs, soon and about equally often,
//! - any prefix of the grid is itself a balanced grid, and a longer grid begins with the shorter one.

use super::ValidationError;
use super::cell::Cell;
use super::section::Section;
use std::collections::BTreeMap;
use std::path::Path;

/// Index of the level of each factor but the block.
type Levels = Vec<usize>;

/// The first `count` cells of a section; all there are if that is fewer.
pub fn generate(section: &'static Section, count: usize) -> Vec<Cell> {
    let mut random = Random(section.seed);
    let mut tally = Tally::new(section);
    let mut cells = Vec::new();
    while cells.len() < count.min(section.largest_size()) {
        let mut order: Vec<usize> = (0..section.factors[0].levels.len()).collect();
        random.shuffle(&mut order);
        for block in order {
            let levels = tally.rarest(block, &mut random);
            cells.push(cell(section, cells.len() + 1, block, &levels));
            tally.add(block, levels);
        }
    }
    cells.truncate(count);
    cells
}

fn cell(section: &'static Section, number: usize, block: usize, levels: &[usize]) -> Cell {
    let chosen = std::iter::once(block).chain(levels.iter().copied());
    let values = section.factors.iter().zip(chosen).flat_map(|(factor, level)| &factor.levels[level]);
    Cell { section, number: number as u32, values: values.map(|value| (*value).to_owned()).collect() }
}

/// How little a combination is wanted; the first difference decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// How far its levels are ahead within the block.
    ahead: u32,
    /// How common its pairs are, each weighed by how many pairs its two factors have.
    common: u32,
    /// The same within the block.
    own: u32,
}

/// What has been chosen so far.
struct Tally {
    /// Levels of each factor but the block.
    sizes: Vec<usize>,
    chosen: BTreeMap<(usize, Levels), ()>,
    /// Cells by block, factor, level.
    counts: Vec<Vec<Vec<u32>>>,
    /// The least of them by block, factor.
    least: Vec<Vec<u32>>,
    /// By two factors and their levels, all blocks together.
    pairs: BTreeMap<[usize; 4], u32>,
    /// The same within a block.
    own_pairs: BTreeMap<(usize, [usize; 4]), u32>,
}

impl Tally {
    fn new(section: &Section) -> Tally {
        let sizes: Vec<usize> = section.factors[1..].iter().map(|factor| factor.levels.len()).collect();
        let blocks = section.factors[0].levels.len();
        Tally {
            chosen: BTreeMap::new(),
            counts: vec![sizes.iter().map(|size| vec![0; *size]).collect(); blocks],
            least: vec![vec![0; sizes.len()]; blocks],
            pairs: BTreeMap::new(),
            own_pairs: BTreeMap::new(),
            sizes,
        }
    }

    /// The combination that `block` lacks most.
    fn rarest(&self, block: usize, random: &mut Random) -> Levels {
        let mut candidates: Vec<usize> = (0..self.sizes.iter().product()).collect();
        random.shuffle(&mut candidates);
        let mut rarest: Option<(Cost, Levels)> = None;
        let mut levels: Levels = vec![0; self.sizes.len()];
        for place in candidates {
            self.set_levels(&mut levels, place);
            // Most are too far ahead already, and their pairs need not be counted.
            let ahead = self.ahead(block, &levels);
            if rarest.as_ref().is_some_and(|(least, _)| ahead > least.ahead)
                || self.chosen.contains_key(&(block, levels.clone()))
            {
                continue;
            }
            let cost = self.cost(block, &levels, ahead);
            if rarest.as_ref().is_none_or(|(least, _)| cost < *least) {
                rarest = Some((cost, levels.clone()));
            }
        }
        rarest.expect("the grid is not full").1
    }

    /// Sets the combination of that number; the first factor's levels follow one another.
    fn set_levels(&self, levels: &mut Levels, mut place: usize) {
        for (level, size) in levels.iter_mut().zip(&self.sizes) {
            *level = place % size;
            place /= size;
        }
    }

    /// How far levels are ahead of the block's least frequent ones of their factors, summed up.
    fn ahead(&self, block: usize, levels: &[usize]) -> u32 {
        let ahead = levels
            .iter()
            .enumerate()
            .map(|(factor, level)| self.counts[block][factor][*level] - self.least[block][factor]);
        ahead.sum()
    }

    fn cost(&self, block: usize, levels: &[usize], ahead: u32) -> Cost {
        let mut cost = Cost { ahead, common: 0, own: 0 };
        for pair in pairs(levels) {
            let weight = (self.sizes[pair[0]] * self.sizes[pair[2]]) as u32;
            cost.common += weight * self.pairs.get(&pair).copied().unwrap_or(0);
            cost.own += weight * self.own_pairs.get(&(block, pair)).copied().unwrap_or(0);
        }
        cost
    }

    fn add(&mut self, block: usize, levels: Levels) {
        for (factor, level) in levels.iter().enumerate() {
            let counts = &mut self.counts[block][factor];
            counts[*level] += 1;
            self.least[block][factor] = counts.iter().copied().min().unwrap_or(0);
        }
        for pair in pairs(&levels) {
            *self.pairs.entry(pair).or_default() += 1;
            *self.own_pairs.entry((block, pair)).or_default() += 1;
        }
        self.chosen.insert((block, levels), ());
    }
}

/// Every two factors with their levels: factor, level, factor, level.
fn pairs(levels: &[usize]) -> impl Iterator<Item = [usize; 4]> {
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

/// Names of a section's factor columns, in files and messages.
pub fn columns(section: &Section) -> String {
    std::iter::once("cell").chain(section.columns()).collect::<Vec<_>>().join(",")
}

impl Cell {
    /// Its factors as columns of a line.
    pub fn columns(&self) -> String {
        format!("{},{}", self.number, self.values.join(","))
    }

    /// Reads what [`Cell::columns`] wrote; `None` if it is something else.
    pub fn parse(section: &'static Section, columns: &[&str]) -> Option<Cell> {
        let (number, values) = columns.split_first()?;
        let is_level = |(name, value): (&'static str, &&str)| section.levels(name).contains(value);
        let is_whole = values.len() == section.columns().count();
        (is_whole && section.columns().zip(values).all(is_level)).then_some(())?;
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Some(Cell { section, number: number.parse().ok()?, values })
    }
}

/// A section's cells as a file: how they were chosen, then a line per cell.
pub fn render(section: &Section, cells: &[Cell]) -> String {
    let (title, command) = match section.folder {
        "" => ("The validation grid".to_owned(), String::new()),
        _ => (
            format!("Section {} of the validation grid", section.name),
            format!(" --section {}", section.name),
        ),
    };
    let blocks =
        if section.block() == "congestion" { "congestion control" } else { "level of the first factor" };
    let mut text = format!(
        "# {title}. Written by `wirespeed validate --on kernel --extend{command}`; do not edit.\n\
         # {} cells of {}: one of every {blocks} a round, seed {}\n\
         # (crates/studies/validation/src/grid.rs says how they are chosen).\n",
        cells.len(),
        section.largest_size(),
        section.seed,
    );
    for factor in &section.factors {
        let levels: Vec<String> = factor.levels.iter().map(|level| level.join("/")).collect();
        text.push_str(&format!("# {}: {}\n", factor.columns.join("/"), levels.join(" ")));
    }
    text.push_str(&columns(section));
    text.push('\n');
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
pub fn read(section: &'static Section, path: &Path) -> Result<Vec<Cell>, ValidationError> {
    let text = std::fs::read_to_string(path).map_err(ValidationError::io("read", path))?;
    let count = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    let cells = generate(section, count);
    if render(section, &cells) != text {
        return Err(ValidationError::OtherGrid { path: path.to_owned() });
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::super::section::sections;
    use super::*;
    use std::collections::BTreeSet;

    fn committed(section: &'static Section) -> Vec<Cell> {
        generate(section, section.committed_size())
    }

    /// For every factor the level that a cell has of it, its values joined.
    fn words(cell: &Cell) -> Vec<String> {
        let mut values = cell.values.iter();
        let factors = cell.section.factors.iter();
        factors
            .map(|f| values.by_ref().take(f.columns.len()).cloned().collect::<Vec<_>>().join("/"))
            .collect()
    }

    /// In the committed cells, or in as many as the largest pair of factors needs.
    #[test]
    fn every_pair_of_levels_occurs() {
        for section in sections() {
            let count = section.factors.len();
            let both = || (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
            let size = |factor: usize| section.factors[factor].levels.len();
            let largest = both().map(|(a, b)| size(a) * size(b)).max().unwrap();
            let cells = generate(section, section.committed_size().max(largest * 3 / 2));
            let seen: BTreeSet<(usize, String, usize, String)> = cells
                .iter()
                .map(words)
                .flat_map(|w| {
                    both().map(move |(a, b)| (a, w[a].clone(), b, w[b].clone())).collect::<Vec<_>>()
                })
                .collect();
            let wanted: usize = both().map(|(a, b)| size(a) * size(b)).sum();
            assert_eq!(seen.len(), wanted, "{}", section.name);
        }
    }

    #[test]
    fn within_a_block_levels_are_balanced_and_no_cell_is_twice() {
        for section in sections() {
            let cells = committed(section);
            for block in section.levels(section.block()) {
                let own: Vec<_> = cells.iter().filter(|c| c.values[0] == *block).map(words).collect();
                assert_eq!(own.len(), section.rounds);
                assert_eq!(own.iter().collect::<BTreeSet<_>>().len(), section.rounds, "{block}");
                for (index, factor) in section.factors.iter().enumerate().skip(1) {
                    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
                    own.iter().for_each(|w| *counts.entry(&w[index]).or_default() += 1);
                    let levels = factor.levels.len();
                    // A block with fewer cells than a factor has levels has each of them once at most.
                    let least = if counts.len() < levels { 0 } else { *counts.values().min().unwrap() };
                    let most = *counts.values().max().unwrap();
                    let is_full = counts.len() == levels.min(section.rounds);
                    assert!(is_full && most - least <= 1, "{block}: {counts:?}");
                }
            }
        }
    }

    #[test]
    fn a_longer_grid_begins_with_the_shorter_and_the_largest_has_everything() {
        for section in sections() {
            // All of the largest product would take hours.
            let whole = section.largest_size();
            let most = if whole < 5_000 { whole } else { section.committed_size() + 40 };
            let all = generate(section, most);
            assert_eq!(all.len(), most);
            assert_eq!(generate(section, 40)[..], all[..40]);
            assert_eq!(all.iter().map(words).collect::<BTreeSet<_>>().len(), most);
        }
    }

    #[test]
    fn a_cell_is_read_as_it_was_written() {
        for cell in sections().iter().flat_map(|section| generate(section, 60)) {
            let (section, columns) = (cell.section, cell.columns());
            assert_eq!(Cell::parse(section, &columns.split(',').collect::<Vec<_>>()), Some(cell));
        }
        assert_eq!(
            Cell::parse(&sections()[0], &["1", "reno", "7", "1", "0", "1", "1"]),
            None,
            "7 ms is no level"
        );
    }

    #[test]
    fn the_committed_grids_are_the_generated_ones() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/validation");
        for section in sections() {
            let cells = read(section, &section.path(&folder, "grid.csv")).unwrap();
            assert_eq!(cells.len(), section.committed_size(), "{}", section.name);
        }
    }
}
