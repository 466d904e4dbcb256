//! Executes the runs of a study in a pool of workers, and resumes an interrupted campaign. Judges the results by the
//! study's expectations, and makes one report of them.

mod pool;
mod verdict;

pub use pool::{Campaign, Observer, Outcome};
pub use verdict::{Judged, judge, report};
