//! The ledger from packet captures alone, at one or two points of the path. Packets are those on the wire: super-packets of
//! segmentation offload are taken apart.

use crate::Balance;
use wirespeed_record::{Direction, LedgerRow, Stage};

/// Evidence of the account: both directions, and the names of the capture points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence<'a> {
    /// Hosts that send data.
    pub senders: &'a str,
    /// Hosts that receive data.
    pub receivers: &'a str,
    /// Data packets, with the acknowledgments that the senders send.
    pub data: Packets<'a>,
    /// Packets of the receivers.
    pub ack: Packets<'a>,
}

/// Packets of one direction, as captures have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packets<'a> {
    /// At two points.
    AtTwoPoints(TwoPoints<'a>),
    /// At one point.
    AtOnePoint(OnePoint<'a>),
}

/// Packets of one direction at two capture points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TwoPoints<'a> {
    /// The capture near the sending hosts.
    pub near: &'a str,
    /// The capture near the receiving hosts.
    pub far: &'a str,
    /// Packets in the near capture.
    pub near_captured: u64,
    /// Packets that the far capture has, and the near one does not.
    pub near_missed: u64,
    /// Packets lost before the near capture point; `None` if nothing shows them.
    pub lost_before: Option<u64>,
    /// Packets lost between the capture points.
    pub lost_between: u64,
    /// Packets lost behind the far capture point; `None` if nothing shows them.
    pub lost_after: Option<u64>,
    /// Packets in transit when the far capture ended.
    pub in_flight: u64,
    /// Packets in the far capture, those that arrived again only once.
    pub far_captured: u64,
    /// Packets that were acknowledged behind the far capture, which does not have them.
    pub far_missed: u64,
}

/// Packets of one direction at one capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnePoint<'a> {
    /// The capture.
    pub point: &'a str,
    /// The capture is at the receiving host, so that its packets were delivered.
    pub is_at_receiver: bool,
    /// Packets in it.
    pub captured: u64,
    /// Packets lost before it; `None` if nothing shows them.
    pub lost_before: Option<u64>,
    /// Packets lost behind it; `None` if nothing shows them.
    pub lost_after: Option<u64>,
}

/// Makes the account of both directions.
pub fn ledger(evidence: &Evidence<'_>) -> Vec<LedgerRow> {
    let Evidence { senders, receivers, data, ack } = evidence;
    let mut rows = account(Direction::Data, senders, receivers, data);
    rows.extend(account(Direction::Ack, receivers, senders, ack));
    rows
}

fn account(direction: Direction, from: &str, to: &str, packets: &Packets<'_>) -> Vec<LedgerRow> {
    let mut balance = Balance::new(direction);
    match packets {
        Packets::AtTwoPoints(packets) => {
            let before = packets.lost_before.unwrap_or(0);
            balance.sent(from, count(packets.near_captured + packets.near_missed + before), "both captures");
            lost(&mut balance, packets.lost_before, &format!("path before {}", packets.near));
            let place = format!("path from {} to {}", packets.near, packets.far);
            let source = "in the first capture, and not in the second";
            balance.lost(Some(Stage::Network), &place, count(packets.lost_between), source);
            lost(&mut balance, packets.lost_after, &format!("path after {}", packets.far));
            balance.in_flight(
                Stage::Network,
                &place,
                count(packets.in_flight),
                "sent when the capture ended",
            );
            let arrived = count(packets.far_captured + packets.far_missed);
            let delivered = arrived - count(packets.lost_after.unwrap_or(0));
            balance.delivered(to, delivered, "the second capture, less losses after it");
            balance.close("the remainder")
        }
        Packets::AtOnePoint(packets) => {
            let before = packets.lost_before.unwrap_or(0);
            balance.sent(from, count(packets.captured + before), "the capture");
            lost(&mut balance, packets.lost_before, &format!("path before {}", packets.point));
            lost(&mut balance, packets.lost_after, &format!("path after {}", packets.point));
            if packets.is_at_receiver {
                let delivered = count(packets.captured) - count(packets.lost_after.unwrap_or(0));
                balance.delivered(to, delivered, "the capture, less losses after it");
                return balance.close("the remainder");
            }
            balance.close_unseen("one capture does not show what arrived")
        }
    }
}

/// Losses that retransmissions show. Their stage is unknown: it can be a host or the network.
fn lost(balance: &mut Balance, packets: Option<u64>, place: &str) {
    if let Some(packets) = packets {
        balance.lost(None, place, count(packets), "retransmissions");
    }
}

fn count(packets: u64) -> i64 {
    i64::try_from(packets).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::Entry;

    fn sum(rows: &[LedgerRow], direction: Direction, entry: Entry) -> i64 {
        rows.iter()
            .filter(|row| row.direction == direction && row.entry == entry)
            .map(|row| row.packets)
            .sum()
    }

    #[test]
    fn account_of_two_points_closes_with_losses_at_all_three_places() {
        let data = TwoPoints {
            near: "a.pcap",
            far: "b.pcap",
            near_captured: 100,
            near_missed: 2,
            lost_before: Some(3),
            lost_between: 10,
            lost_after: Some(4),
            in_flight: 5,
            far_captured: 86,
            far_missed: 1,
        };
        let ack = TwoPoints { lost_before: None, lost_after: None, ..data };
        let rows = ledger(&Evidence {
            senders: "a",
            receivers: "b",
            data: Packets::AtTwoPoints(data),
            ack: Packets::AtTwoPoints(ack),
        });
        for direction in [Direction::Data, Direction::Ack] {
            assert_eq!(sum(&rows, direction, Entry::Unexplained), 0, "{rows:?}");
        }
        assert_eq!(sum(&rows, Direction::Data, Entry::Sent), 105);
        assert_eq!(sum(&rows, Direction::Data, Entry::Lost), 17);
        assert_eq!(sum(&rows, Direction::Ack, Entry::Lost), 10, "what nothing shows has no line");
    }

    #[test]
    fn arrivals_behind_one_point_are_unseen() {
        let point = OnePoint {
            point: "a.pcap",
            is_at_receiver: false,
            captured: 100,
            lost_before: Some(1),
            lost_after: Some(2),
        };
        let packets = Packets::AtOnePoint(point);
        let rows = ledger(&Evidence { senders: "a", receivers: "b", data: packets, ack: packets });
        assert_eq!(sum(&rows, Direction::Data, Entry::Unseen), 98);
        assert_eq!(sum(&rows, Direction::Data, Entry::Delivered), 0);
        let packets = Packets::AtOnePoint(OnePoint { is_at_receiver: true, ..point });
        let rows = ledger(&Evidence { senders: "a", receivers: "b", data: packets, ack: packets });
        assert_eq!(sum(&rows, Direction::Data, Entry::Delivered), 98);
        assert_eq!(sum(&rows, Direction::Data, Entry::Unexplained), 0);
    }
}
