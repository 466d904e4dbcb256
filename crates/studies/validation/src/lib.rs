//! The validation grid: a substrate against the real kernel, over a balanced choice of controls and paths.
//!
//! The grid consists of [`section::sections`]: factors with their levels, scenarios, bars. [`grid`] chooses a section's
//! cells, [`Cell::scenario`] makes one a scenario, [`Collector`] carries out its runs, [`data`] keeps a line of each;
//! [`Comparison`] compares two sets of lines, [`bar`] judges them, [`Page`] and [`scatter`] show it.

pub mod bar;
pub mod causes;
pub mod cell;
pub mod collect;
pub mod column;
pub mod compare;
pub mod control;
pub mod data;
pub mod difference;
pub mod grid;
pub mod page;
pub mod pages;
pub mod region;
pub mod scatter;
pub mod section;
pub mod sections;
pub mod shape;
pub mod statistics;
#[cfg(test)]
mod testing;

pub use bar::Criterion;
pub use causes::Causes;
pub use cell::Cell;
pub use collect::{Collector, Ended, Task, missing, of_data};
pub use compare::{Comparison, QUANTITIES};
pub use data::Row;
pub use difference::{distances, other_programs};
pub use page::Page;
pub use section::{Section, sections};

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use wirespeed_scenario::ScenarioError;

/// Why the grid could not be carried out or compared.
#[derive(Debug, Error)]
pub enum ValidationError {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A line of a data file is not one.
    #[error("{}:{line}: not a row of validation data; delete the line, and --extend makes it again", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
    },
    /// The file of the grid is not of this program.
    #[error(
        "{} is not the grid that this program chooses; delete it and its data, or use the program it came with",
        path.display()
    )]
    OtherGrid {
        /// The file.
        path: PathBuf,
    },
    /// The data is of another grid.
    #[error(
        "the data's cell {cell} of section {section} is not the grid's: its factors, durations or seeds differ; delete \
         its rows, and --extend makes them again, or use the program they came with"
    )]
    OtherCell {
        /// Its section.
        section: &'static str,
        /// Number of the cell.
        cell: u32,
    },
    /// The causes cannot be understood.
    #[error("{}: {reason}", path.display())]
    Causes {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        reason: String,
    },
    /// A cell is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl ValidationError {
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ValidationError {
        let path = path.to_owned();
        move |source| ValidationError::Io { doing, path, source }
    }
}
