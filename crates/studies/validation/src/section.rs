//! The table of sections: a part of the grid with factors, scenarios and bars of its own.

use super::bar::Bar;
use super::cell::Cell;
use super::sections::{
    beside, changing, fast, finite, high_rates, hosts, moderated, paths, reordering, sender_interface,
};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use wirespeed_scenario::Scenario;

/// A part of the grid.
#[derive(Debug)]
pub struct Section {
    /// Its name on the command line.
    pub name: &'static str,
    /// The compared cases in one sentence, for the page.
    pub about: &'static str,
    /// Folder of its files below that of the validation; empty for the folder itself.
    pub folder: &'static str,
    /// Its factors. The first one is the block: a round has one cell of each of its levels.
    pub factors: Vec<Factor>,
    /// What the random stream of the choice starts from.
    pub seed: u64,
    /// Rounds of the committed grid: cells of each level of the first factor.
    pub rounds: usize,
    /// Runs of a cell whose runs can differ.
    pub repeats: usize,
    /// The scenario that carries a cell out.
    pub scenario: fn(&Cell) -> Scenario,
    /// Whether the model runs it with trains of one packet as well, because a bar asks for both.
    pub both_modes: bool,
    /// Whether its hosts lose what the kernel substrate has nothing of: the host model, and settings of older kernels.
    pub lifts_host_limits: bool,
    /// Whether its levels are a part of the validated region. A section of single paths is not.
    pub is_region: bool,
    /// The stated agreement.
    pub bars: &'static [Bar],
    /// How it is measured, in Markdown.
    pub method: &'static str,
}

/// A factor: values that change together, and its levels.
#[derive(Debug, Clone)]
pub struct Factor {
    /// The columns that its values stand in.
    pub columns: &'static [&'static str],
    /// Its levels: for each a value per column, written as in files.
    pub levels: Vec<Vec<&'static str>>,
}

impl Factor {
    /// A factor of one column.
    pub fn one(column: &'static [&'static str; 1], levels: &[&'static str]) -> Factor {
        Factor { columns: column, levels: levels.iter().map(|level| vec![*level]).collect() }
    }

    /// A factor of two columns whose values depend on each other.
    pub fn two(columns: &'static [&'static str; 2], levels: &[[&'static str; 2]]) -> Factor {
        Factor { columns, levels: levels.iter().map(|level| level.to_vec()).collect() }
    }
}

impl Section {
    /// Names of its columns in their order.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        self.factors.iter().flat_map(|factor| factor.columns.iter().copied())
    }

    /// The column of its first factor.
    pub fn block(&self) -> &'static str {
        self.factors[0].columns[0]
    }

    /// The values that occur in a column, in the order of the levels.
    pub fn levels(&self, column: &str) -> Vec<&'static str> {
        let mut values = Vec::new();
        for factor in &self.factors {
            let Some(place) = factor.columns.iter().position(|name| *name == column) else { continue };
            for level in &factor.levels {
                if !values.contains(&level[place]) {
                    values.push(level[place]);
                }
            }
        }
        values
    }

    /// How many cells the committed grid has.
    pub fn committed_size(&self) -> usize {
        self.rounds * self.factors[0].levels.len()
    }

    /// How many cells there are at all.
    pub fn largest_size(&self) -> usize {
        self.factors.iter().map(|factor| factor.levels.len()).product()
    }

    /// A file of it below the validation's folder.
    pub fn path(&self, validation: &Path, file: &str) -> PathBuf {
        validation.join(self.folder).join(file)
    }

    /// The section of that name.
    pub fn named(name: &str) -> Option<&'static Section> {
        sections().iter().find(|section| section.name == name)
    }
}

/// Every section, in the order of the page.
pub fn sections() -> &'static [Section] {
    static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
        vec![
            paths::section(),
            sender_interface::section(),
            beside::section(),
            fast::section(),
            high_rates::section(),
            changing::section(),
            reordering::section(),
            finite::section(),
            moderated::section(),
            hosts::section(),
        ]
    });
    &SECTIONS
}

#[cfg(test)]
mod tests {
    use super::super::column;
    use super::super::grid::generate;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_files_and_columns_are_unique_and_columns_known() {
        let names: BTreeSet<&str> = sections().iter().map(|section| section.name).collect();
        let folders: BTreeSet<&str> = sections().iter().map(|section| section.folder).collect();
        assert_eq!((names.len(), folders.len()), (sections().len(), sections().len()));
        for section in sections() {
            let columns: BTreeSet<&str> = section.columns().collect();
            assert_eq!(columns.len(), section.columns().count(), "{}", section.name);
            section.columns().for_each(|name| assert_eq!(column::named(name).name, name));
            assert!(!section.bars.is_empty());
        }
    }

    /// Two cells with one seed would lose the same packets.
    #[test]
    fn every_cell_is_a_scenario_and_no_two_runs_share_a_seed() {
        let mut seeds = BTreeSet::new();
        for section in sections() {
            for cell in generate(section, section.committed_size()) {
                for run in cell.runs(&[]).unwrap() {
                    assert!(seeds.insert(run.seed), "{} {}", section.name, cell.number);
                    // The kernel's windows end at 1 GiB: no cell may come near.
                    let link = &run.links[0].forward;
                    let sender = &run.hosts[0];
                    // A path behind an interface of its own rate has no queue; the interface has.
                    let queue = match sender.nic_rate {
                        Some(_) => u64::from(sender.txqueuelen) * sender.mtu.get(),
                        None => link.buffer.get(),
                    };
                    let held = link.rate.volume(run.links[0].rtt()).get() + queue;
                    assert!(held * 2 < 1 << 30, "{} {}: {held} bytes", section.name, cell.number);
                }
            }
        }
    }
}
