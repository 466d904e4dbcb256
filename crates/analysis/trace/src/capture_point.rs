//! Position of the capture on the path of a flow.

use serde::Serialize;

/// Position of the capture, as the sender of the data sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// At the sender, or so near that nearly the whole RTT is behind it.
    Sender,
    /// At the receiver, or as near.
    Receiver,
    /// Between both.
    Middle,
    /// The capture has no evidence.
    Unknown,
}

/// Kind of evidence for a position, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionEvidence {
    /// The capture records whether the host sent or received a packet.
    Recorded,
    /// The shortest RTTs to both sides were compared.
    RttSplit,
    /// None.
    None,
}

/// Position of the capture on the path of a flow, with its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CapturePoint {
    /// Position.
    pub position: Position,
    /// Evidence for it.
    pub evidence: PositionEvidence,
    /// Share of the shortest RTT that is between the capture point and the sender, from 0 to 1.
    pub share_to_sender: Option<f64>,
}

/// At an end, at most this share of the RTT is on the side of that end.
const NEAR: f64 = 0.1;

/// Both parts of the RTT, as they become known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sides {
    /// Shortest time from an acknowledgment to the data that echoes it.
    pub to_sender: Option<i64>,
    /// Shortest time from data to its acknowledgment.
    pub to_receiver: Option<i64>,
    /// Data packets that the capture records as sent by the host, less those recorded as received.
    pub sent_here: i64,
}

impl Sides {
    pub(crate) fn add_to_sender(&mut self, rtt: i64) {
        self.to_sender = Some(self.to_sender.map_or(rtt, |least| least.min(rtt)));
    }

    pub(crate) fn add_to_receiver(&mut self, rtt: i64) {
        self.to_receiver = Some(self.to_receiver.map_or(rtt, |least| least.min(rtt)));
    }

    /// Shortest RTT of the whole path, as far as it is known.
    pub(crate) fn rtt(&self) -> Option<i64> {
        match (self.to_sender, self.to_receiver) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        }
    }

    fn share(&self) -> Option<f64> {
        let (sender, receiver) = (self.to_sender?, self.to_receiver?);
        (sender + receiver > 0).then(|| sender as f64 / (sender + receiver) as f64)
    }

    pub(crate) fn point(&self) -> CapturePoint {
        let share_to_sender = self.share();
        let (position, evidence) = match (self.sent_here.signum(), share_to_sender) {
            (1, _) => (Position::Sender, PositionEvidence::Recorded),
            (-1, _) => (Position::Receiver, PositionEvidence::Recorded),
            (_, Some(share)) if share <= NEAR => (Position::Sender, PositionEvidence::RttSplit),
            (_, Some(share)) if share >= 1.0 - NEAR => (Position::Receiver, PositionEvidence::RttSplit),
            (_, Some(_)) => (Position::Middle, PositionEvidence::RttSplit),
            _ => (Position::Unknown, PositionEvidence::None),
        };
        CapturePoint { position, evidence, share_to_sender }
    }

    /// The capture shows acknowledgments as the sender receives them. Also true without evidence: most captures without a
    /// handshake and timestamps are read as those of a sender.
    pub(crate) fn is_at_sender(&self) -> bool {
        matches!(self.point().position, Position::Sender | Position::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(to_sender: i64, to_receiver: i64) -> Sides {
        Sides { to_sender: Some(to_sender), to_receiver: Some(to_receiver), sent_here: 0 }
    }

    #[test]
    fn position_follows_from_the_split_of_the_rtt() {
        assert_eq!(sides(5, 1000).point().position, Position::Sender);
        assert_eq!(sides(1000, 5).point().position, Position::Receiver);
        assert_eq!(sides(1000, 1000).point().position, Position::Middle);
        assert_eq!(Sides::default().point().position, Position::Unknown);
    }

    #[test]
    fn recorded_direction_wins() {
        let point = Sides { sent_here: -7, ..sides(5, 1000) }.point();
        assert_eq!((point.position, point.evidence), (Position::Receiver, PositionEvidence::Recorded));
    }
}
