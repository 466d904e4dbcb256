//! One row per algorithm: scenarios, their schema, lists, checks, documentation and the conformance suite all come
//! from it.

use crate::algorithms::algorithms;
use crate::control::CongestionControl;
use crate::parameter::{BuildError, Parameter, Values};
use crate::window::{MINIMUM_SSTHRESH, Window};
use std::collections::BTreeMap;
use wirespeed_units::{Bytes, SimTime, Span};

/// What a connection knows when its congestion control starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Payload of a full segment; more than zero.
    pub mss: Bytes,
    /// Initial window in packets (RFC 6928: 10); at least one is used.
    pub initial_window: u64,
    /// In congestion avoidance an ACK counts as the packets it acknowledges. `false`: as one, as in Linux before 4.0.
    pub stretch_acks: bool,
    /// The same in slow start: `false` before Linux 3.13.
    pub stretch_slow_start: bool,
    /// Slow start threshold remembered from earlier connections, in packets (Linux `tcp_metrics`).
    pub ssthresh: Option<u64>,
    /// When the connection is established.
    pub now: SimTime,
    /// Round-trip time of the handshake, if it was measured.
    pub handshake_rtt: Option<Span>,
    /// Seed of the algorithm's own random stream, if it [draws](Algorithm::draws).
    pub seed: u64,
}

impl Setup {
    /// A connection of that segment size and initial window, at the start of the run.
    pub fn new(mss: Bytes, initial_window: u64) -> Self {
        Setup {
            mss,
            initial_window,
            stretch_acks: true,
            stretch_slow_start: true,
            ssthresh: None,
            now: SimTime::START,
            handshake_rtt: None,
            seed: 0,
        }
    }

    /// The window such a connection starts with.
    pub fn window(&self) -> Window {
        let window = Window::new(self.mss, self.initial_window);
        Window {
            ssthresh: self.ssthresh.map_or(u64::MAX, |packets| packets.max(MINIMUM_SSTHRESH)),
            stretch_acks: self.stretch_acks,
            stretch_slow_start: self.stretch_slow_start,
            ..window
        }
    }
}

/// A new instance, or why there is none.
pub type Built = Result<Box<dyn CongestionControl>, BuildError>;

/// Demands of an algorithm on explicit congestion notification (ECN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnUse {
    /// Nothing: ECN of RFC 3168 where the hosts' settings negotiate it.
    IfNegotiated,
    /// ECN whatever the sender's settings, and a receiver that acknowledges each change of mark at once (RFC 8257, 3.2).
    ExactEcho,
    /// Accurate ECN (RFC 9768) whatever the sender's settings, and packets with ECT(1), the identifier of L4S (RFC 9331).
    Scalable,
}

impl EcnUse {
    /// Its connections ask for ECN whatever the settings of their hosts.
    pub fn is_required(self) -> bool {
        self != EcnUse::IfNegotiated
    }
}

/// A congestion control. The model has every one of them, a kernel those with a name in Linux.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Where it is described.
    pub reference: &'static str,
    /// Its name in Linux 6.12, whose form is followed, or in `kernel/cc/`; `None` if the kernel has no such
    /// algorithm. Not every version has those that [need L4S](Algorithm::needs_l4s).
    pub linux: Option<&'static str>,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// The socket must pace at [`crate::Control::pacing_rate`].
    pub needs_pacing: bool,
    /// It measures by [`crate::AckSample::rate`] of every acknowledgement: none may be taken together.
    pub reads_rates: bool,
    /// Its demands on ECN.
    pub ecn: EcnUse,
    /// It draws from the stream of [`Setup::seed`].
    pub draws: bool,
    pub(crate) build: fn(&Setup, &Values) -> Built,
}

impl Algorithm {
    /// The parameter of that name or alias.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| p.is_called(name))
    }

    /// Whether a kernel can run it only with Accurate ECN and ECT(1): not the default one.
    pub fn needs_l4s(&self) -> bool {
        self.ecn == EcnUse::Scalable
    }

    /// A new instance with `given` parameters, by name or alias.
    ///
    /// # Errors
    /// If a parameter is unknown or out of range; the message lists those that exist.
    ///
    /// # Panics
    /// If the segment size is zero.
    pub fn build(&self, setup: &Setup, given: &BTreeMap<String, i64>) -> Built {
        (self.build)(setup, &Values::resolve(self.name, self.parameters, given)?)
    }
}

/// The algorithm of that name.
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    algorithms().iter().find(|a| a.name == name)
}

/// A new instance of the algorithm of that name.
///
/// # Errors
/// If the name or a parameter is unknown, or a value out of range.
pub fn build(name: &str, setup: &Setup, given: &BTreeMap<String, i64>) -> Built {
    let known = || algorithms().iter().map(|a| a.name).collect::<Vec<_>>().join(", ");
    algorithm(name)
        .ok_or_else(|| BuildError::UnknownAlgorithm { name: name.to_owned(), known: known() })?
        .build(setup, given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_lie_in_their_range() {
        for (i, row) in algorithms().iter().enumerate() {
            assert!(algorithms()[..i].iter().all(|other| other.name != row.name), "{} twice", row.name);
            for (j, parameter) in row.parameters.iter().enumerate() {
                let Parameter { name, alias, default, min, max, linux, .. } = *parameter;
                assert!((min..=max).contains(&default), "{name} of {}", row.name);
                assert!(
                    linux.is_none() || row.linux.is_some(),
                    "{} is not in Linux, but its {name} is",
                    row.name
                );
                for other in &row.parameters[..j] {
                    assert!(
                        !other.is_called(name) && !other.is_called(alias),
                        "{name} of {} twice",
                        row.name
                    );
                }
            }
        }
    }

    #[test]
    fn a_parameter_is_found_by_its_alias() {
        assert_eq!(algorithm("bic").unwrap().parameter("smax").unwrap().name, "max_increment");
        assert_eq!(algorithm("reno").unwrap().parameter("smax"), None);
        assert_eq!(algorithm("cubic").unwrap().parameter(""), None);
    }
}
