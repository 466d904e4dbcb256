//! How much of the series of a run is kept.

use serde::{Deserialize, Serialize};
use wirespeed_units::Span;

/// The rows of the tables of samples that a run directory keeps. Metrics and findings are those of all rows in any case. It is
/// part of how a run is kept, and not of what the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kept", rename_all = "kebab-case")]
pub enum Series {
    /// All.
    #[default]
    All,
    /// Of each flow, queue, interface, core and thread the first row of each interval, and the last row.
    Thin {
        /// Length of the intervals; positive.
        every: Span,
    },
    /// None.
    None,
}

impl Series {
    pub(crate) fn is_all(&self) -> bool {
        *self == Series::All
    }
}
