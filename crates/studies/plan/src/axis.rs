//! The properties of path and hosts that budgets and surfaces vary.

use crate::host;
use crate::point::Point;
use crate::question::Question;
use serde::Serialize;
use wirespeed_report::with_unit;
use wirespeed_units::{Bytes, Span};

/// MTUs in bytes: Ethernet's own, the one in which a page of memory fits, and that of jumbo frames.
pub(crate) const MTUS: [f64; 3] = [1500.0, 4000.0, 9000.0];

/// A property that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Probability of a loss.
    Loss,
    /// Round-trip time, in seconds.
    Rtt,
    /// Buffer, in bytes.
    Buffer,
    /// Largest IP packet, in bytes.
    Mtu,
    /// Cores of each host that serve flows and interrupts.
    Cores,
}

impl Axis {
    /// All of them.
    pub const ALL: [Axis; 5] = [Axis::Loss, Axis::Rtt, Axis::Buffer, Axis::Mtu, Axis::Cores];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Axis::Loss => "loss rate",
            Axis::Rtt => "RTT",
            Axis::Buffer => "buffer",
            Axis::Mtu => "MTU",
            Axis::Cores => "cores",
        }
    }

    /// Its title in figures.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Axis::Loss => "Loss rate",
            Axis::Rtt => "RTT (ms)",
            Axis::Buffer => "Buffer (MB)",
            Axis::Mtu => "MTU (bytes)",
            Axis::Cores => "Cores",
        }
    }

    /// A value in the unit of the title.
    pub(crate) fn in_titles_unit(self, value: f64) -> f64 {
        match self {
            Axis::Loss | Axis::Mtu | Axis::Cores => value,
            Axis::Rtt => value * 1e3,
            Axis::Buffer => value / 1e6,
        }
    }

    /// A value with its unit.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Axis::Loss => format!("{value:.1e}"),
            Axis::Rtt => with_unit(value, "s"),
            Axis::Buffer => with_unit(value, "bytes"),
            Axis::Mtu => format!("{value:.0} B"),
            Axis::Cores => format!("{value:.0}"),
        }
    }

    /// Whether the rate grows with it.
    pub(crate) fn is_better_higher(self) -> bool {
        match self {
            Axis::Loss | Axis::Rtt => false,
            Axis::Buffer | Axis::Mtu | Axis::Cores => true,
        }
    }

    /// A point with another value of it.
    pub fn set(self, point: &Point, value: f64) -> Point {
        let mut point = point.clone();
        match self {
            // Two digits: what a reader can type.
            Axis::Loss => point.loss = rounded(value),
            Axis::Rtt => point.rtt = Span::ps((rounded(value) * 1e12) as i64),
            Axis::Buffer => point.buffer = Bytes::new((rounded(value) as u64).max(1)),
            Axis::Mtu => point.mtu = Bytes::new((value.round() as u64).max(1)),
            Axis::Cores => point.cores = Some((value.round() as u32).max(1)),
        }
        point
    }

    /// A point's value of it; not a number where the point has none.
    pub fn of(self, point: &Point) -> f64 {
        match self {
            Axis::Loss => point.loss,
            Axis::Rtt => point.rtt.as_secs_f64(),
            Axis::Buffer => point.buffer.get() as f64,
            Axis::Mtu => point.mtu.get() as f64,
            Axis::Cores => point.cores.map_or(f64::NAN, f64::from),
        }
    }

    /// The first values to try for a question, from the best to the worst.
    pub(crate) fn first_values(self, question: &Question) -> Vec<f64> {
        let rtt = question.rtt.as_secs_f64();
        let bdp = question.rate.volume(question.rtt).get() as f64;
        let frame = question.mtu.get() as f64;
        match self {
            Axis::Loss => vec![1e-6, 1e-4, 1e-2],
            Axis::Rtt => [0.25, 1.0, 4.0].iter().map(|factor| rtt * factor).collect(),
            // From a bandwidth-delay product down to some packets.
            Axis::Buffer => {
                let least = 8.0 * frame;
                vec![bdp.max(least * 4.0), (bdp.max(least * 4.0) * least).sqrt(), least]
            }
            Axis::Mtu => MTUS.into_iter().rev().collect(),
            Axis::Cores => host::core_counts(question).into_iter().rev().map(f64::from).collect(),
        }
    }
}

/// Two significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}
