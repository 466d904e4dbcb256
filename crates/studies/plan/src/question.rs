//! The question, with every default filled in.

use serde::Serialize;
use wirespeed_diagnosis::audit::{self, Path};
use wirespeed_scenario::{PresetKind, congestion_control, preset};
use wirespeed_units::{Bytes, Rate, Span};

/// Time that a buffer of unknown size holds at the rate of the path, if that is less than its bandwidth-delay product. An
/// assumption: the answer has it among its risks, and the budget of the buffer shows how much depends on it.
const ASSUMED_BUFFER: Span = Span::ms(5);

/// How much is simulated for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A first look, in some seconds.
    Low,
    /// About a minute on two cores.
    Normal,
    /// Five times as much.
    High,
}

impl Effort {
    /// Packets that a run for one number may cost ([`Reading::cost`](crate::Reading::cost)).
    pub fn packets(self) -> f64 {
        match self {
            Effort::Low => 2e6,
            Effort::Normal => 8e6,
            Effort::High => 40e6,
        }
    }

    /// Tiles of a surface at most.
    pub fn tiles(self) -> usize {
        match self {
            Effort::Low => 12,
            Effort::Normal => 24,
            Effort::High => 60,
        }
    }
}

/// A path to plan for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// Rate of the slowest link.
    pub rate: Rate,
    /// Round-trip time without queues.
    pub rtt: Span,
    /// Probability that the path loses a packet, whatever its load.
    pub loss: f64,
    /// Buffer before the slowest link.
    pub buffer: Bytes,
    /// Whether the buffer is an assumption.
    pub is_buffer_assumed: bool,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Numbers of flows, ascending.
    pub flows: Vec<u32>,
    /// Congestion controls.
    pub congestion: Vec<String>,
    /// Preset of both hosts; `None`: hosts that are never short of time.
    pub host: Option<String>,
    /// Bytes to transfer.
    pub bytes: Option<Bytes>,
    /// How much is simulated.
    pub effort: Effort,
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The model has no such algorithm.
    #[error("unknown congestion control {0}: `wirespeed list cc` prints the names")]
    Congestion(String),
    /// The preset of hosts is unknown.
    #[error("unknown preset of hosts {0}: `wirespeed list presets` prints the names")]
    Host(String),
    /// A path without a rate or a round trip.
    #[error("{0} has to be more than zero")]
    Zero(&'static str),
    /// Not a probability.
    #[error("a loss of {0} is not a probability below 1")]
    Loss(String),
    /// Too many flows for one path, or none.
    #[error("{0} flows are not between 1 and 1024")]
    Flows(u32),
}

impl Question {
    /// The buffer of a path that is not known.
    pub fn assumed_buffer(rate: Rate, rtt: Span) -> Bytes {
        rate.volume(rtt.min(ASSUMED_BUFFER))
    }

    /// Checks it.
    ///
    /// # Errors
    /// If there is nothing to simulate, or no such algorithm or preset.
    pub fn check(&self) -> Result<(), QuestionError> {
        for (name, is_zero) in [
            ("the rate", self.rate.get() == 0),
            ("the RTT", self.rtt <= Span::ZERO),
            ("the buffer", self.buffer.get() == 0),
            ("the MTU", self.mtu.get() == 0),
        ] {
            if is_zero {
                return Err(QuestionError::Zero(name));
            }
        }
        if !(0.0..1.0).contains(&self.loss) {
            return Err(QuestionError::Loss(self.loss.to_string()));
        }
        if let Some(count) = self.flows.iter().find(|count| !(1..=1024).contains(*count)) {
            return Err(QuestionError::Flows(*count));
        }
        if let Some(name) = self.congestion.iter().find(|name| congestion_control(name).is_none()) {
            return Err(QuestionError::Congestion(name.clone()));
        }
        // A file is read, and refused, with the first scenario.
        let is_unknown =
            |name: &&String| !name.ends_with(".toml") && preset(PresetKind::Host, name).is_none();
        match self.host.as_ref().filter(is_unknown) {
            Some(name) => Err(QuestionError::Host(name.clone())),
            None => Ok(()),
        }
    }

    /// The path as the rules of the audit see it, with so many flows.
    pub fn path(&self, flows: u32) -> Path {
        Path {
            rate_bps: self.rate.get(),
            rtt_ns: self.rtt.nanoseconds(),
            mtu_bytes: self.mtu.get(),
            flows,
            buffer_bytes: Some(self.buffer.get()),
        }
    }

    /// Of the numbers of flows, the first with which neither the largest window nor a core limits the rate; else the largest.
    pub fn flows_enough(&self) -> u32 {
        let least = audit::needs::flows(&self.path(1)).value;
        let enough = self.flows.iter().find(|count| u64::from(**count) >= least);
        enough.or(self.flows.last()).copied().unwrap_or(1)
    }
}
