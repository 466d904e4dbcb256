//! Why a recorded run is not a point of any surface.

use crate::axis::Axis;
use serde::Serialize;

/// The reason, in the order of the checks: a later one is closer to a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Misfit {
    /// Its files are incomplete or damaged.
    Unreadable,
    /// The recording does not have the settings of the path, as imported ones.
    Settings,
    /// Its path has several links, or more than rate, RTT, independent losses and a drop-tail queue.
    Path,
    /// Its flows are not all bulk TCP transfers with one algorithm and without limits of their own.
    Traffic,
    /// No goodput was recorded.
    Goodput,
    /// No surface is of its algorithm.
    Congestion,
    /// No surface of its algorithm has its number of flows.
    Flows,
    /// The rate of its path is not near that of the plan.
    Rate,
    /// Its MTU is neither near that of the plan nor on an axis.
    Mtu,
    /// Its RTT is neither near that of the plan nor on an axis.
    Rtt,
    /// Its buffer is neither near that of the plan nor on an axis.
    Buffer,
    /// Its loss rate is neither near that of the plan nor on an axis.
    Loss,
    /// Its number of cores is not on the axis, or unknown.
    Cores,
}

impl Misfit {
    /// The reason in words, for a table or a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Misfit::Unreadable => "the files are incomplete or damaged",
            Misfit::Settings => "the settings of the path are not recorded",
            Misfit::Path => "the path is not one plain link",
            Misfit::Traffic => "the flows are not bulk TCP of one algorithm",
            Misfit::Goodput => "no goodput is recorded",
            Misfit::Congestion => "no surface has this algorithm",
            Misfit::Flows => "no surface has this number of flows",
            Misfit::Rate => "the rate of the path is another",
            Misfit::Mtu => "the MTU is another",
            Misfit::Rtt => "the RTT is another, and beyond the axis",
            Misfit::Buffer => "the buffer is another, and beyond the axis",
            Misfit::Loss => "the loss rate is another, and beyond the axis",
            Misfit::Cores => "the number of cores is unknown or beyond the axis",
        }
    }
}

impl From<Axis> for Misfit {
    /// The reason of a run whose value of the axis is another.
    fn from(axis: Axis) -> Misfit {
        match axis {
            Axis::Loss => Misfit::Loss,
            Axis::Rtt => Misfit::Rtt,
            Axis::Buffer => Misfit::Buffer,
            Axis::Mtu => Misfit::Mtu,
            Axis::Cores => Misfit::Cores,
        }
    }
}
