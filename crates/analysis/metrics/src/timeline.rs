//! The loss ledger over time: what became of the packets of each interval.

use crate::cumulative::Cumulative;
use crate::view::View;
use wirespeed_record::{Cause, Direction, Entry, FlowSample, LedgerInterval, Stage};

/// The account of an interval and a direction: sent = delivered + lost + in flight + unseen + unexplained.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Its start, since the start of the run.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Which packets.
    pub direction: Direction,
    /// Packets put out.
    pub sent: i64,
    /// Packets that came to the other end's application or TCP; `None` where nobody counts them.
    pub delivered: Option<i64>,
    /// Packets lost, where any were, in the order of the stages.
    pub lost: Vec<Lost>,
    /// By how many packets more were on their way at its end than at its start.
    pub in_flight: i64,
    /// Delivered twice by the network.
    pub copied: i64,
    /// Repair packets sent by the network's encoders.
    pub repair: i64,
    /// Lost packets recovered by the network's decoders.
    pub recovered: i64,
    /// Repair packets that reached a decoder.
    pub decoded: i64,
    /// Packets whose further way nobody counts.
    pub unseen: Option<i64>,
    /// What is left over.
    pub unexplained: i64,
    /// The account is known within so many packets.
    pub uncertain: u64,
    /// Data: packets that TCP sent again; `None` where it was not observed.
    pub sent_again: Option<u64>,
    /// Data: packets that receivers had already when they came again.
    pub spurious: Option<u64>,
}

/// Packets lost at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The stage.
    pub stage: Stage,
    /// The place.
    pub place: String,
    /// Why, where that is known.
    pub cause: Option<Cause>,
    /// How many.
    pub packets: i64,
}

impl Moment {
    fn new(first: &LedgerInterval) -> Moment {
        Moment {
            from_ns: first.from_ns,
            to_ns: first.to_ns,
            direction: first.direction,
            sent: 0,
            delivered: None,
            lost: Vec::new(),
            in_flight: 0,
            copied: 0,
            repair: 0,
            recovered: 0,
            decoded: 0,
            unseen: None,
            unexplained: 0,
            uncertain: first.uncertain_packets,
            sent_again: None,
            spurious: None,
        }
    }

    fn add(&mut self, row: &LedgerInterval) {
        let packets = row.packets;
        match (row.entry, row.stage) {
            (Entry::Sent, _) => self.sent += packets,
            (Entry::Copied, _) => self.copied += packets,
            (Entry::Repair, _) => self.repair += packets,
            (Entry::Recovered, _) => self.recovered += packets,
            (Entry::Decoded, _) => self.decoded += packets,
            (Entry::Delivered, _) => *self.delivered.get_or_insert(0) += packets,
            (Entry::Lost, Some(stage)) => {
                self.lost.push(Lost { stage, place: row.place.clone(), cause: row.cause, packets });
            }
            (Entry::InFlight, _) => self.in_flight += packets,
            (Entry::Unseen, _) => *self.unseen.get_or_insert(0) += packets,
            _ => self.unexplained += packets,
        }
    }

    /// Packets lost at all places.
    pub fn lost_anywhere(&self) -> i64 {
        self.lost.iter().map(|lost| lost.packets).sum()
    }
}

/// What TCP sent again, of every flow.
struct Again {
    sent_again: Vec<Cumulative>,
    spurious: Vec<Cumulative>,
}

impl Again {
    fn of(view: &View) -> Again {
        let flows = || view.flows.iter();
        Again {
            sent_again: flows().map(|flow| flow.counter(view, FlowSample::retrans_packets)).collect(),
            spurious: flows().map(|flow| flow.counter(view, FlowSample::dsack_dups)).collect(),
        }
    }
}

/// The account of every interval, in order of time, data before ACKs. Empty where the ledger is known of the whole run only.
pub fn timeline(view: &View) -> Vec<Moment> {
    let mut moments = timeline_without_retransmissions(&view.recording.ledger_intervals);
    if moments.is_empty() {
        return moments;
    }
    let again = Again::of(view);
    for moment in moments.iter_mut().filter(|moment| moment.direction == Direction::Data) {
        let grown = |counters: &[Cumulative]| -> Option<u64> {
            let grown = counters.iter().filter_map(|counter| counter.steps(moment.from_ns, moment.to_ns));
            Some(grown.reduce(|a, b| a + b)? as u64)
        };
        (moment.sent_again, moment.spurious) = (grown(&again.sent_again), grown(&again.spurious));
    }
    moments
}

/// The same from the ledger alone: without [`Moment::sent_again`] and [`Moment::spurious`], which need samples of flows.
pub fn timeline_without_retransmissions(rows: &[LedgerInterval]) -> Vec<Moment> {
    let mut moments: Vec<Moment> = Vec::new();
    for row in rows {
        let same = |moment: &&mut Moment| (moment.from_ns, moment.direction) == (row.from_ns, row.direction);
        // Rows are in order of time: it is one of the last two.
        match moments.iter_mut().rev().take(Direction::ALL.len()).find(same) {
            Some(moment) => moment.add(row),
            None => {
                let mut moment = Moment::new(row);
                moment.add(row);
                moments.push(moment);
            }
        }
    }
    moments.iter_mut().for_each(|moment| moment.lost.sort_by_key(|lost| lost.stage));
    moments.sort_by_key(|moment| (moment.from_ns, moment.direction));
    moments
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{FlowInfo, Recording};

    const SECOND: i64 = 1_000_000_000;

    fn row(
        second: i64,
        direction: Direction,
        entry: Entry,
        stage: Option<Stage>,
        packets: i64,
    ) -> LedgerInterval {
        LedgerInterval {
            from_ns: second * SECOND,
            to_ns: (second + 1) * SECOND,
            direction,
            entry,
            stage,
            place: "b/eth0".into(),
            cause: None,
            packets,
            uncertain_packets: 3,
        }
    }

    #[test]
    fn an_interval_says_what_became_of_its_packets_and_what_was_sent_again() {
        let (data, ack) = (Direction::Data, Direction::Ack);
        let mut recording = Recording::default();
        recording.info.duration_ns = 2 * SECOND;
        recording.info.flows = vec![FlowInfo { stop_ns: 2 * SECOND, ..FlowInfo::default() }];
        for (second, again, twice) in [(0, 0, 0), (1, 0, 0), (2, 9, 2)] {
            let mut sample = FlowSample::empty(second * SECOND, 0);
            (sample.retrans_packets, sample.dsack_dups) = (Some(again), Some(twice));
            recording.flows.push(sample);
        }
        recording.ledger_intervals = vec![
            row(0, ack, Entry::Sent, None, 5),
            row(0, ack, Entry::Delivered, None, 5),
            row(0, data, Entry::Sent, None, 10),
            row(0, data, Entry::Delivered, None, 8),
            row(0, data, Entry::InFlight, Some(Stage::Network), 2),
            row(1, data, Entry::Sent, None, 20),
            row(1, data, Entry::Delivered, None, 15),
            row(1, data, Entry::InFlight, Some(Stage::Network), -2),
            row(1, data, Entry::Lost, Some(Stage::RxRing), 6),
            row(1, data, Entry::Lost, Some(Stage::Qdisc), 1),
        ];
        let moments = timeline(&View::new(&recording).unwrap());
        let told: Vec<_> =
            moments.iter().map(|m| (m.from_ns / SECOND, m.direction, m.sent, m.lost_anywhere())).collect();
        assert_eq!(told, [(0, data, 10, 0), (0, ack, 5, 0), (1, data, 20, 7)]);
        assert_eq!(
            (moments[0].sent_again, moments[1].sent_again, moments[2].sent_again),
            (Some(0), None, Some(9))
        );
        assert_eq!((moments[2].spurious, moments[2].in_flight, moments[2].uncertain), (Some(2), -2, 3));
        assert_eq!(moments[2].lost[0].stage, Stage::Qdisc);
    }
}
