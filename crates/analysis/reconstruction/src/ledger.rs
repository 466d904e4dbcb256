//! The evidence of captures for the loss ledger.

use crate::flows::Found;
use wirespeed_ledger::captures::{Evidence, OnePoint, Packets, TwoPoints, ledger};
use wirespeed_pair::{Direction, PairTrace};
use wirespeed_record::LedgerRow;
use wirespeed_trace::Position;

/// Names of hosts.
pub(crate) struct Hosts<'a> {
    pub senders: &'a str,
    pub receivers: &'a str,
}

/// The account of two captures.
pub(crate) fn of_pair(pair: &PairTrace, names: [&str; 2], hosts: &Hosts<'_>) -> Vec<LedgerRow> {
    let from_first =
        pair.connections.iter().filter(|one| one.data_direction() == Direction::FromFirst).count();
    // Places are named as most connections have them.
    let usual =
        if from_first * 2 >= pair.connections.len() { Direction::FromFirst } else { Direction::FromSecond };
    let sum = |is_data: bool| {
        let direction = if is_data { usual } else { Direction::ALL[1 - usual.index()] };
        let mut sum = TwoPoints {
            near: names[direction.near().index()],
            far: names[direction.far().index()],
            ..TwoPoints::default()
        };
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0) + more);
            }
        };
        for connection in &pair.connections {
            let data = connection.data_direction();
            let path = connection.path(if is_data { data } else { Direction::ALL[1 - data.index()] });
            let counts = &path.counts;
            sum.near_captured += counts.sent;
            sum.near_missed += counts.missed_by_near;
            sum.lost_between += counts.lost;
            sum.in_flight += counts.in_flight;
            sum.far_captured += counts.arrived - counts.duplicated;
            sum.far_missed += counts.missed_by_far;
            add(&mut sum.lost_before, shown(path.lost_before));
            add(&mut sum.lost_after, path.lost_after);
        }
        Packets::AtTwoPoints(sum)
    };
    let Hosts { senders, receivers } = hosts;
    ledger(&Evidence { senders, receivers, data: sum(true), ack: sum(false) })
}

/// Losses before a capture. That there are none is not known: a sender's own queue drops packets that no capture sees.
fn shown(lost: Option<u64>) -> Option<u64> {
    lost.filter(|&lost| lost > 0)
}

/// The account of one capture.
pub(crate) fn of_one(flows: &[Found<'_>], name: &str, hosts: &Hosts<'_>) -> Vec<LedgerRow> {
    let all_at = |position: Position| flows.iter().all(|found| found.flow.capture_point.position == position);
    let mut data = OnePoint {
        point: name,
        is_at_receiver: all_at(Position::Receiver),
        lost_before: None,
        lost_after: Some(0),
        ..OnePoint::default()
    };
    let mut ack = OnePoint { point: name, is_at_receiver: all_at(Position::Sender), ..OnePoint::default() };
    for found in flows {
        let flow = found.flow;
        data.captured += flow.packets;
        data.lost_before = shown(Some(data.lost_before.unwrap_or(0) + flow.losses.before_capture_point));
        data.lost_after = data.lost_after.map(|lost| lost + flow.losses.after_capture_point);
        ack.captured += flow.acks.packets;
    }
    let (data, ack) = (Packets::AtOnePoint(data), Packets::AtOnePoint(ack));
    ledger(&Evidence { senders: hosts.senders, receivers: hosts.receivers, data, ack })
}
