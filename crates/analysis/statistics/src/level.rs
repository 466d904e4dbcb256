//! The level of an interval.

use serde::Serialize;

/// A confidence level: the share of repetitions of an experiment whose interval contains the true value. Between 0 and 1,
/// both excluded.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Level(f64);

impl Level {
    /// 0.95, the level of all intervals in reports.
    pub const NINETY_FIVE: Level = Level(0.95);

    /// `None` unless `level` is between 0 and 1.
    pub fn new(level: f64) -> Option<Level> {
        (level > 0.0 && level < 1.0).then_some(Level(level))
    }

    /// The level as a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The error probability, 1 - level.
    pub fn error(self) -> f64 {
        1.0 - self.0
    }

    /// The quantile that bounds an interval of this level from above: 0.975 for 0.95.
    pub(crate) fn upper(self) -> f64 {
        (1.0 + self.0) / 2.0
    }
}
