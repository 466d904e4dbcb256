//! How much of the series of a run is kept.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The rows that a run directory has of its tables of samples (`flows`, `queues`, `hosts`, `cores`, `threads`). The table
/// `datagrams` is kept with [`KeptSeries::All`] only, since it has a row for each packet. All other tables are always whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kept", rename_all = "snake_case")]
pub enum KeptSeries {
    /// All rows.
    #[default]
    All,
    /// Of each flow, queue, interface, core and thread the first row, the first one in each interval, and the last one.
    Thin {
        /// Length of the intervals, in nanoseconds, at least 1. The first one begins at the start of the run.
        every_ns: i64,
    },
    /// No row: the files are not there.
    None,
}

impl KeptSeries {
    /// Whether every row is kept.
    pub fn is_all(&self) -> bool {
        *self == KeptSeries::All
    }

    /// Whether these rows are enough where `wanted` was asked for.
    pub fn suffices_for(self, wanted: KeptSeries) -> bool {
        self.interval_ns() <= wanted.interval_ns()
    }

    fn interval_ns(self) -> i64 {
        match self {
            KeptSeries::All => 0,
            KeptSeries::Thin { every_ns } => every_ns.max(1),
            KeptSeries::None => i64::MAX,
        }
    }
}

/// In words that follow "the series are": `kept`, `kept every 1 s only`, `not kept`.
impl fmt::Display for KeptSeries {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            KeptSeries::All => f.write_str("kept"),
            KeptSeries::Thin { every_ns } => {
                write!(f, "kept every {} only", wirespeed_units::Span::ns(*every_ns))
            }
            KeptSeries::None => f.write_str("not kept"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_suffice_where_fewer_are_wanted() {
        let thin = |every_ns| KeptSeries::Thin { every_ns };
        let from_most = [KeptSeries::All, thin(1_000), thin(1_000_000), KeptSeries::None];
        for (more, kept) in from_most.iter().enumerate() {
            for (fewer, wanted) in from_most.iter().enumerate() {
                assert_eq!(kept.suffices_for(*wanted), more <= fewer, "{kept} for {wanted}");
            }
        }
    }

    #[test]
    fn words_and_json_are_short() {
        let thin = KeptSeries::Thin { every_ns: 1_000_000_000 };
        assert_eq!(thin.to_string(), "kept every 1 s only");
        assert_eq!(serde_json::to_string(&thin).unwrap(), r#"{"kept":"thin","every_ns":1000000000}"#);
        assert_eq!(serde_json::from_str::<KeptSeries>(r#"{"kept":"none"}"#).unwrap(), KeptSeries::None);
    }
}
