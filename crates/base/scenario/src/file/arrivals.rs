//! Flows that begin at random times, and amounts that are drawn.

use super::link::or_a_word;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use wirespeed_units::{Bytes, Span};

/// When flows begin: by a mean distance, or by the load that they are on the path.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArrivalsTable {
    /// Mean time from one to the next.
    pub every: Option<Span>,
    /// Instead of `every`: the payload that begins in a second, as a part of the rate of the slowest link of the route. Needs `bytes`
    /// or `sizes`.
    #[schemars(range(min = 0.0))]
    pub load: Option<f64>,
    /// `poisson` (default): exponential distances, as many independent users make them. `even`: all distances are the mean.
    #[serde(default)]
    pub spacing: Spacing,
    /// Flows begin in bursts only: the mean length of a burst, exponential. `every` and `load` remain the means over all time.
    pub on: Option<Span>,
    /// The mean time between bursts, exponential. Needs `on`.
    pub off: Option<Span>,
    /// None begins later than this, since the run's start. Default: the run's end.
    pub until: Option<Span>,
}

/// Distances between the flows' starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Spacing {
    #[default]
    Poisson,
    Even,
}

/// Amounts of payload: the name of a published distribution, or a table of a kind and its settings.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind", transform = or_published)]
pub(crate) enum SizesTable {
    /// Flows of a web search cluster, 9 kB to 29 MB, mean 1.7 MB (Alizadeh et al., SIGCOMM 2010, as in pFabric, SIGCOMM 2013).
    WebSearch {},
    /// Flows of a data-mining cluster, 1.5 kB to 973 MB, mean 7.5 MB; half of them are a packet (Greenberg et al., SIGCOMM 2009, as in
    /// pFabric, SIGCOMM 2013).
    DataMining {},
    /// The logarithm is normal.
    Lognormal {
        /// Half of the flows are larger.
        median: Bytes,
        /// Standard deviation of the natural logarithm.
        #[schemars(range(min = 0.0, max = 10.0))]
        sigma: f64,
    },
    /// Pareto: the part of flows that are larger than a size falls with its power.
    Pareto {
        /// The smallest flow.
        least: Bytes,
        /// Power; below 2 the variance has no bound but `most`.
        #[schemars(range(min = 0.01, max = 100.0))]
        shape: f64,
        /// The largest flow; what would be larger is drawn again.
        most: Bytes,
    },
    /// A cumulative distribution: sizes and the part of flows that are at most so large, with straight lines between. The last part
    /// is 1.
    Cdf {
        /// Sizes with their parts, for example `[["10 kB", 0.5], ["1 MB", 1.0]]`.
        points: Vec<(Bytes, f64)>,
    },
}

/// A published distribution has no settings, so that its name alone will do.
fn or_published(schema: &mut Schema) {
    or_a_word(schema, |kind| matches!(kind, "web-search" | "data-mining"));
}
