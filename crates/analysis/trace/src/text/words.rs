//! Words for the values of enums.

use crate::artefact::DuplicateCause;
use crate::capture_point::{Position, PositionEvidence};
use crate::limit::Limit;
use crate::retransmission::{RetransmissionKind, Spurious};
use crate::slow_start::SlowStartEnd;
use crate::udp::Numbering;

pub(super) fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::CongestionWindow => "congestion window",
        Limit::ReceiveWindow => "receive window",
        Limit::Interface => "interface of the sender",
        Limit::Application => "application or send buffer",
        Limit::Pacing => "pacing",
        Limit::Recovery => "loss recovery",
    }
}

pub(super) fn position(position: Position) -> &'static str {
    match position {
        Position::Sender => "at the sender",
        Position::Receiver => "at the receiver",
        Position::Middle => "between sender and receiver",
        Position::Unknown => "unknown",
    }
}

pub(super) fn position_evidence(evidence: PositionEvidence) -> &'static str {
    match evidence {
        PositionEvidence::Recorded => "the capture records the direction of packets",
        PositionEvidence::RttSplit => "by the RTTs to both sides",
        PositionEvidence::None => "the capture has no evidence; it is read as one of a sender",
    }
}

/// After "slow start ended in round 12 ".
pub(super) fn slow_start_end(end: SlowStartEnd, is_at_sender: bool) -> &'static str {
    match end {
        SlowStartEnd::Loss => "by a loss",
        SlowStartEnd::Mark => "by a congestion mark (ECE)",
        SlowStartEnd::LocalDrop if is_at_sender => {
            "by a local drop: the window was reduced (CWR) without a loss in the capture"
        }
        SlowStartEnd::LocalDrop => "by a reduction of the window without a loss in the capture",
        SlowStartEnd::ReceiveWindow => "at the receive window",
        SlowStartEnd::Interface => "when the interface of the sender was busy all the time",
        SlowStartEnd::Application => "when the application or its send buffer had no more data",
        SlowStartEnd::Hystart => "without a reduction (HyStart, or a threshold from an earlier connection)",
        SlowStartEnd::NotEnded => "not before the end of the flow",
        SlowStartEnd::NotCaptured => "before the capture began",
    }
}

pub(super) fn duplicate_cause(cause: DuplicateCause) -> &'static str {
    match cause {
        DuplicateCause::None => "no packets were captured twice",
        DuplicateCause::HardwareDuplicates => {
            "hardware duplicates: the transmit ring was full, and each left once"
        }
        DuplicateCause::CapturedTwice => "the capture has nearly every packet twice (several interfaces)",
        DuplicateCause::NetworkDuplicates => "duplicated by the network or the capture",
    }
}

pub(super) fn retransmission(kind: RetransmissionKind) -> &'static str {
    match kind {
        RetransmissionKind::Fast => "fast",
        RetransmissionKind::Rack => "RACK",
        RetransmissionKind::Timeout => "timeout",
        RetransmissionKind::AfterTimeout => "after timeout",
        RetransmissionKind::TailLossProbe => "tail loss probe",
        RetransmissionKind::Handshake => "handshake",
        RetransmissionKind::Unclear => "unclear",
    }
}

pub(super) fn spurious(evidence: Spurious) -> &'static str {
    match evidence {
        Spurious::Dsack => "DSACK",
        Spurious::Timestamps => "timestamps",
        Spurious::AlreadyAcknowledged => "acknowledged before",
    }
}

pub(super) fn numbering(numbering: Numbering) -> &'static str {
    match numbering {
        Numbering::Wirespeed => "wirespeed",
        Numbering::Model => "the model of wirespeed",
        Numbering::Iperf3 => "iperf3",
        Numbering::Iperf3Wide => "iperf3 (64 bits)",
        Numbering::Iperf2 => "iperf 2",
        Numbering::Rtp => "RTP",
    }
}
