//! Executes the runs of a study in a pool of workers, and resumes an interrupted campaign. Judges the results by the
//! study's expectations, and makes one report of them.

mod campaign;
mod executor;
mod threads;
mod verdict;

pub use campaign::Campaign;
pub use executor::{Executor, Observer, Outcome, Task};
pub use threads::Threads;
pub use verdict::{Judged, judge, report};
