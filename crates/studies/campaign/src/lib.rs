//! Many runs: carried out by a pool of workers, resumed where an earlier campaign stopped, judged by the study's
//! expectations and put into one report.

pub mod claims;
pub mod mesh;
mod pool;
pub mod reproduce;
pub mod validation;
mod verdict;

pub use pool::{Campaign, Observer, Outcome};
pub use verdict::{Judged, judge, report};
