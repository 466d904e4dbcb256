//! The source of measurements.

use serde::Serialize;

/// One measurement of the path.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Measurement {
    /// Mean goodput after the warm-up, in bit/s.
    pub goodput_bps: f64,
    /// Packets that were retransmitted.
    pub retransmissions: u64,
    /// The limiting factor that the diagnosis found, as a sentence without its full stop.
    pub limiting_factor: String,
    /// Packets lost by stage of the ledger, where any were.
    pub lost: Vec<(String, u64)>,
}

/// Hosts and a path between them.
pub trait Bench {
    /// The reason why a measurement or a change failed.
    type Error;

    /// Measures with the candidate of that number in force, or with the hosts as they are for `None`. When it returns,
    /// also with an error, the hosts are as they were. Without a measurement the bench was over before its end.
    ///
    /// # Errors
    /// If a change cannot be made or put back, or the measurement fails.
    fn measure(&mut self, candidate: Option<usize>) -> Result<Option<Measurement>, Self::Error>;

    /// Whether no further measurement may begin: the time is up, or the user interrupts.
    fn is_over(&self) -> bool;
}
