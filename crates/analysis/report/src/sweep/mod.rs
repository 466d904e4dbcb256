//! Within one sweep: the levels of each factor with all else equal, and the mean of every setting with its interval.

pub(crate) mod answer;
mod comparison;
mod factors;
pub(crate) mod means;
pub(crate) mod page;
pub(crate) mod text;

pub(crate) use comparison::comparisons;
pub use comparison::{LevelComparison, Pairing, Scale};

use wirespeed_statistics::Level;

/// Level of all intervals here.
const LEVEL: Level = Level::NINETY_FIVE;
/// Error probability of a family of comparisons: below it, an adjusted p-value shows a difference.
const FAMILY_ERROR: f64 = 0.05;
