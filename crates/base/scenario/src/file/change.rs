//! Links that change during a run, as they are written.

use crate::room::Room;
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;
use wirespeed_units::{Rate, Span};

/// A change of a link at a known time: what it names has a new value from then on.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeTable {
    /// When it begins, since the run's start.
    pub at: Span,
    /// The values go there in 100 equal steps over this time. Left out: at once.
    pub over: Option<Span>,
    /// It comes again each time this has passed, until the run ends.
    pub every: Option<Span>,
    /// The direction that changes. Left out: both, but for `loss`, which is that of the forward direction as in `path.loss`.
    pub direction: Option<WayTable>,
    /// New rate. "0 bit/s": the link stands still, and what it has waits.
    pub rate: Option<Rate>,
    /// New base round-trip time; the directions keep their parts of it. Packets keep their order: none arrives before one that was
    /// sent earlier.
    pub rtt: Option<Span>,
    /// New one-way delay; needs `direction`.
    pub delay: Option<Span>,
    /// New probability that a packet is lost.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// New room before the link, a size as of `path.buffer`. "1 bdp" is still that of the first rate and round-trip time. Waiting
    /// packets stay.
    pub buffer: Option<Room>,
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WayTable {
    Forward,
    Reverse,
}

/// Changes of a link from a file: `csv` or `mahimahi`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleTable {
    /// A file of comma-separated values, from the scenario's folder. Its first line names the columns: `time` and any of `rate`,
    /// `rtt`, `delay`, `loss` and `buffer`. Values have a unit, or their column has it: `rate (Mbit/s)`. An empty value leaves the old one.
    pub csv: Option<PathBuf>,
    /// A packet-delivery trace of mahimahi (mm-link), from the scenario's folder: a line for each packet of 1504 bytes that can leave,
    /// the time in milliseconds. Each millisecond has the rate of its lines. It repeats to the run's end.
    pub mahimahi: Option<PathBuf>,
    /// A `csv` begins again this long after it began, until the run ends. Left out: its last line holds to the end.
    pub every: Option<Span>,
}
