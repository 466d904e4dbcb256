//! Findings about a run: limiting factors, losses, full links and cores, CPU placement, and lossy hosts of a mesh.
//!
//! One set of rules serves the model, the kernel, live hosts and the mesh. A rule reads a [`View`](wirespeed_metrics::View)
//! and returns [`Finding`]s. The ids with severity, source and remedy are one table in `id.rs`. All thresholds are in
//! [`thresholds`]. Sentences in the terminal and in reports are [`Finding::text`], or [`Diagnosis::sentence`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod analysis;
pub mod audit;
mod causes;
mod diagnosis;
mod finding;
mod id;
mod limiting_factor;
mod limits;
mod losses;
mod outliers;
pub mod placement;
mod resources;
mod share;
mod steadiness;
mod stored;
#[cfg(test)]
mod testing;
pub mod thresholds;

pub use analysis::Analysis;
pub use diagnosis::{Diagnosis, diagnose};
pub use finding::{Evidence, Finding, Setting, Subject};
pub use id::{Id, Severity};
pub use limiting_factor::{Interval, LIMITS, LimitingFactor, limiting_factors};
pub use outliers::{lossy_host, stands_out};
pub use steadiness::{Unsteady, unsteady};
pub use thresholds::Threshold;

/// Length of an interval with one limiting factor.
pub const SECOND_NS: i64 = 1_000_000_000;
