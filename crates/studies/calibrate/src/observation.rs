//! The measurements of a setting.

use crate::cost::Cost;
use crate::setting::Setting;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many of each kind of work.
pub type Counts = BTreeMap<Cost, u64>;

/// An end of the test, which has a core of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Writes.
    Sender,
    /// Reads.
    Receiver,
}

impl Side {
    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Sender => Side::Receiver,
            Side::Receiver => Side::Sender,
        }
    }

    /// Its name in messages.
    pub fn word(self) -> &'static str {
        match self {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        }
    }
}

/// The work of an end, and the time it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// The end.
    pub side: Side,
    /// Time of its core that was neither idle nor taken by the hypervisor, in nanoseconds.
    pub busy_ns: u64,
    /// How many of each kind of work.
    pub counts: Counts,
}

/// A setting, and what both ends did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The setting.
    pub setting: Setting,
    /// Number of the repetition, from 0.
    pub repeat: u32,
    /// Length of the measured time, in nanoseconds.
    pub elapsed_ns: u64,
    /// Bytes that the receivers have read in that time.
    pub read_bytes: u64,
    /// Retransmitted segments in that time.
    pub retransmitted: u64,
    /// The ends.
    pub work: Vec<Work>,
}

impl Observation {
    /// Goodput in bit/s.
    pub fn goodput_bps(&self) -> f64 {
        self.read_bytes as f64 * 8e9 / self.elapsed_ns.max(1) as f64
    }

    /// The part of the measured time in which the core of an end was busy.
    pub fn utilisation(&self, side: Side) -> f64 {
        let work = self.work.iter().find(|work| work.side == side);
        work.map_or(0.0, |work| work.busy_ns as f64 / self.elapsed_ns.max(1) as f64)
    }
}
