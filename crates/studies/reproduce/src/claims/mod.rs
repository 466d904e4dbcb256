//! Published results as claims that runs can be held against: the format of `claims.toml`.

mod expect;
mod judge;
mod order;
pub(crate) mod read;
mod words;

pub use expect::{Bound, Expect, Ratio, Trend};
pub use judge::{Cell, Judgement, Verdict, judge};
pub use order::{Order, OrderError};
pub use read::{CLAIM_KEYS, read};

use wirespeed_scenario::document::{Node, Place};

/// A published result.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Unique name.
    pub id: String,
    /// Where that name is in the file.
    pub at: Place,
    /// The study it is from, by name; or the scenario its setup changes, by path.
    pub study: String,
    /// Figure or table, as the study calls it; empty if there is none.
    pub figure: String,
    /// What was found, in a sentence.
    pub finding: String,
    /// The study's scenario file it is run on, where that does not follow from the figure; empty if it does.
    pub scenario: String,
    /// Factors and their value or list of values, in the order of the file.
    pub setup: Vec<Factor>,
    /// The metric, by the name that the claim uses.
    pub metric: String,
    /// What has to come out.
    pub expect: Expect,
    /// What a reader has to know.
    pub note: String,
    /// Not published: a reading of ours of what the study shows or says.
    pub own: bool,
}

/// A factor of a claim's setup.
#[derive(Debug, Clone)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Where that is.
    pub at: Place,
    /// One value or a list.
    pub value: Node,
}

impl Claim {
    /// The published side in a few words.
    pub fn published(&self, unit: &str) -> String {
        words::published(&self.expect, unit)
    }
}
