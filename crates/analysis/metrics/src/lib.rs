//! Numbers of a recording: a registry of metrics, each with its unit, its definition and where that comes from.
//!
//! The measurement window of a run is `omit_ns..duration_ns`. A metric that a recording cannot give is absent,
//! never 0. Run-level rates divide by the whole window; the rate of one flow divides by the flow's own time in
//! the window, from its start to its end ([`View`] says how these are found).

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod adaptation;
mod capacity;
mod completion;
mod convergence;
pub mod core_time;
mod cumulative;
mod delay;
mod document;
mod exchanges;
mod fairness;
mod goodput;
mod harm;
mod host;
mod limits;
mod link;
pub mod loss;
mod marks;
mod pairs;
mod parts;
pub mod per_flow;
pub mod per_group;
mod rates;
mod registry;
mod requeue;
mod retransmission;
mod rtt_quantiles;
mod samples;
pub mod series;
mod statistics;
mod timeline;
mod udp;
mod view;
mod window_cycles;

pub use capacity::Capacity;
pub use document::{explain, reference};
pub use link::{Bottleneck, bottleneck};
pub use pairs::{Pair, pairs};
pub use registry::{Better, Metric, all, find, suggest};
pub use rtt_quantiles::{quantiles, rtt_quantiles, smoothed_rtts};
pub use samples::{Group, Number, Samples, Values};
pub use timeline::{Lost, Moment, timeline, timeline_without_retransmissions};
pub use view::{FlowSeries, QueueSeries, View};
pub use window_cycles::window_cycles;

use std::collections::BTreeMap;
use wirespeed_record::{Recording, StoreError};

/// Every metric that `recording` gives a value for, by name. What it does not give is not there.
///
/// # Errors
/// If its samples are on disk and cannot be read.
pub fn evaluate(recording: &Recording) -> Result<BTreeMap<&'static str, f64>, StoreError> {
    evaluate_view(&View::new(recording)?)
}

/// The same of a recording that is indexed already.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_view(view: &View) -> Result<BTreeMap<&'static str, f64>, StoreError> {
    let values =
        all().iter().filter_map(|m| (m.compute)(view).filter(|v| v.is_finite()).map(|v| (m.name, v)));
    let values = values.collect();
    view.intact()?;
    Ok(values)
}

/// The bins over which short-term rates are taken unless a name says `_1s`.
pub const SHORT_BIN_NS: i64 = 100_000_000;

/// The bins of metrics whose name says `_1s`.
pub const LONG_BIN_NS: i64 = 1_000_000_000;
