//! Explicit congestion notification of a flow: what its packets carry, and how marks come back.

use super::{Congestion, Flow, FlowKind, Host, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirespeed_congestion::EcnUse;

/// `tcp_ecn` of a host that asks for ECN of RFC 3168.
const ASKS_CLASSIC: u8 = 1;
/// `tcp_ecn` of a host that asks for Accurate ECN and accepts it (Linux 6.18, ip-sysctl.rst).
const ASKS_ACCURATE: u8 = 3;

/// ECN field of a packet that no queue has marked (RFC 3168, section 5; RFC 9331, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnField {
    /// Not ECN-capable: a congested queue drops the packet.
    NotEct,
    /// ECT(0): a queue may mark the packet instead, as RFC 3168 describes.
    Ect0,
    /// ECT(1): the identifier of L4S. A `dualpi2` queue marks the packet early and often.
    Ect1,
}

impl EcnField {
    /// The two bits in the IP header (RFC 3168, section 5).
    pub fn bits(self) -> u8 {
        match self {
            EcnField::NotEct => 0b00,
            EcnField::Ect1 => 0b01,
            EcnField::Ect0 => 0b10,
        }
    }
}

/// How a flow's receiver reports marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnFeedback {
    /// The connection does not use ECN.
    Off,
    /// ECN-Echo of RFC 3168.
    Classic,
    /// ECN-Echo that follows each change of the mark (RFC 8257, section 3.2).
    ExactEcho,
    /// Counts of marks (Accurate ECN, RFC 9768).
    Accurate,
}

impl EcnFeedback {
    /// The result of the negotiation of two hosts for a TCP connection with this congestion control.
    pub(crate) fn negotiated(congestion: &Congestion, from: &Host, to: &Host) -> EcnFeedback {
        match asked_by(congestion) {
            EcnUse::Scalable => return EcnFeedback::Accurate,
            EcnUse::ExactEcho => return EcnFeedback::ExactEcho,
            EcnUse::IfNegotiated => {}
        }
        match (from.tcp.ecn, to.tcp.ecn) {
            (ASKS_ACCURATE, ASKS_ACCURATE) => EcnFeedback::Accurate,
            // The other end falls back to what it has (RFC 9768, section 3.1.2).
            (ASKS_CLASSIC | ASKS_ACCURATE, 1..) => EcnFeedback::Classic,
            _ => EcnFeedback::Off,
        }
    }
}

impl Run {
    /// The feedback that a flow's hosts negotiate. An algorithm that requires ECN asks at both ends, whatever
    /// their settings. UDP flows have no feedback.
    pub fn ecn_feedback(&self, flow: &Flow) -> EcnFeedback {
        match &flow.kind {
            FlowKind::Tcp { congestion, .. } if flow.ecn != Some(EcnField::NotEct) => {
                EcnFeedback::negotiated(congestion, self.host(&flow.from), self.host(&flow.to))
            }
            _ => EcnFeedback::Off,
        }
    }

    /// ECN field of a flow's data.
    pub fn ecn_field(&self, flow: &Flow) -> EcnField {
        if let Some(field) = flow.ecn {
            return field;
        }
        let FlowKind::Tcp { congestion, .. } = &flow.kind else { return EcnField::NotEct };
        match self.ecn_feedback(flow) {
            EcnFeedback::Off => EcnField::NotEct,
            _ if asked_by(congestion) == EcnUse::Scalable => EcnField::Ect1,
            _ => EcnField::Ect0,
        }
    }
}

/// Demands of a congestion control on ECN. A C source of the user's own has none, whatever its name.
fn asked_by(congestion: &Congestion) -> EcnUse {
    let known = crate::congestion_control(&congestion.name).filter(|_| !congestion.own);
    known.map_or(EcnUse::IfNegotiated, |algorithm| algorithm.ecn)
}
