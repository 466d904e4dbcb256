//! The slow start at the begin of a flow: its rounds, and what ended it.

use crate::limit::Limit;
use crate::loss::LossEvent;
use crate::round::{Reduction, Round};
use serde::Serialize;

/// The reason why the window stopped growing by a factor in each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowStartEnd {
    /// A loss that was retransmitted.
    Loss,
    /// An acknowledgment with ECE.
    Mark,
    /// The window was reduced without a loss or mark in the capture. At a sender, its own queue dropped a packet before the
    /// capture, and TCP entered CWR (`tcp_enter_cwr`). It sent the packet later as if for the first time.
    LocalDrop,
    /// The receive window.
    ReceiveWindow,
    /// The interface of the sender: it was busy all the time, so that a larger window only waits before it.
    Interface,
    /// The application had no more data, or its send buffer was full.
    Application,
    /// The window continued to grow, slowly, without a reduction: HyStart, or a threshold from an earlier connection.
    Hystart,
    /// The flow or the capture ended first.
    NotEnded,
    /// The capture began later than the flow.
    NotCaptured,
}

/// The slow start of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlowStart {
    /// Reason of its end.
    pub end: SlowStartEnd,
    /// Number of the round in which it ended, from 1; of the last one if it did not end.
    pub round: u64,
    /// Start of that round.
    pub t_ns: i64,
    /// New packets in that round.
    pub packets: u64,
    /// Largest number of bytes in flight until its end.
    pub max_in_flight_bytes: u64,
    /// The window after its end, as a share of that before, where it was reduced.
    pub reduced_to: Option<f64>,
    /// Rounds until then in which packets were captured twice: the first and the last.
    pub duplicates_in_rounds: Option<(u64, u64)>,
    /// Shortest RTT of that round less the shortest before, in nanoseconds.
    pub rtt_rise_ns: Option<i64>,
}

impl SlowStart {
    fn unknown(end: SlowStartEnd) -> SlowStart {
        SlowStart {
            end,
            round: 0,
            t_ns: 0,
            packets: 0,
            max_in_flight_bytes: 0,
            reduced_to: None,
            duplicates_in_rounds: None,
            rtt_rise_ns: None,
        }
    }
}

/// A round with fewer packets than this times those of the one before is not part of a slow start.
const GROWTH: f64 = 1.25;
/// A partial round of growth.
const SOME_GROWTH: f64 = 1.03;

/// The slow start of a flow with these first rounds. `is_begin`: the capture has the begin of the flow.
pub(crate) fn slow_start(
    rounds: &[Round],
    losses: &[LossEvent],
    reductions: &[Reduction],
    is_begin: bool,
) -> SlowStart {
    let Some(first) = rounds.first() else { return SlowStart::unknown(SlowStartEnd::NotEnded) };
    if !is_begin {
        return SlowStart::unknown(SlowStartEnd::NotCaptured);
    }
    let grows = |pair: &[Round]| pair[1].packets as f64 >= GROWTH * pair[0].packets as f64;
    let last = rounds.windows(2).take_while(|pair| grows(pair)).count();
    // The last round may be one that the end of the flow or of the capture cut: it does not show an end.
    let ended = last + 2 < rounds.len();
    // A loss is found up to two rounds after it.
    let horizon = rounds.get(last + 2).map_or(i64::MAX, |round| round.end_ns);
    let of_time = |t: i64| rounds.iter().rposition(|round| round.start_ns <= t).unwrap_or(0);
    let loss = losses.first().filter(|loss| loss.t_ns <= horizon);
    let mark = rounds.iter().take(last + 2).position(|round| round.has_ece);
    let next = rounds.get(last + 1);
    let partial = next.is_some_and(|next| next.packets as f64 > SOME_GROWTH * rounds[last].packets as f64);
    let late = if partial { last + 1 } else { last };
    let reduction = reductions.iter().find(|reduction| reduction.round <= rounds[late].number + 4);
    let until = |limit: Limit| rounds[last..].iter().take(2).any(|round| round.limit == limit);
    let (end, place, reduced_to) = match (loss, mark, reduction) {
        (Some(loss), ..) => {
            let factor = loss.factor();
            (SlowStartEnd::Loss, of_time(loss.t_ns), factor)
        }
        (None, Some(mark), _) => (SlowStartEnd::Mark, mark, reduction.map(|reduction| reduction.factor)),
        _ if !ended => (SlowStartEnd::NotEnded, last, None),
        (None, None, Some(reduction)) => (SlowStartEnd::LocalDrop, late, Some(reduction.factor)),
        _ if until(Limit::ReceiveWindow) => (SlowStartEnd::ReceiveWindow, late, None),
        _ if until(Limit::Interface) => (SlowStartEnd::Interface, late, None),
        _ if until(Limit::Application) => (SlowStartEnd::Application, last, None),
        _ => (SlowStartEnd::Hystart, late, None),
    };
    let round = &rounds[place];
    let before = &rounds[..=place];
    let has_duplicates = |round: &&Round| round.duplicates > 0;
    let duplicates = (
        before.iter().find(has_duplicates).map(|round| round.number),
        before.iter().rfind(has_duplicates).map(|round| round.number),
    );
    let base = rounds[..place].iter().filter_map(|round| round.rtt_ns).min();
    SlowStart {
        end,
        round: round.number,
        t_ns: round.start_ns,
        packets: round.packets,
        max_in_flight_bytes: before
            .iter()
            .map(|round| round.max_in_flight_bytes)
            .max()
            .unwrap_or(first.bytes),
        reduced_to,
        duplicates_in_rounds: duplicates.0.zip(duplicates.1),
        rtt_rise_ns: round.rtt_ns.zip(base).map(|(rtt, base)| rtt - base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(packets: &[u64]) -> Vec<Round> {
        let round = |(number, &packets): (u64, &u64)| Round {
            number,
            start_ns: number as i64 * 1_000,
            end_ns: (number as i64 + 1) * 1_000,
            packets,
            bytes: packets * 1_448,
            retransmitted: 0,
            duplicates: 0,
            first_duplicate: None,
            max_in_flight_bytes: packets * 1_448,
            rtt_ns: Some(1_000),
            sending_ns: 100,
            rate_bps: None,
            rate_before_duplicates_bps: None,
            has_ece: false,
            limit: Limit::CongestionWindow,
        };
        (1..).zip(packets).map(round).collect()
    }

    #[test]
    fn round_that_the_end_of_the_capture_cuts_is_not_an_end() {
        let start = slow_start(&rounds(&[10, 20, 40, 7]), &[], &[], true);
        assert_eq!((start.end, start.round), (SlowStartEnd::NotEnded, 3));
    }

    #[test]
    fn growth_that_slows_down_without_a_reduction_is_hystart() {
        let start = slow_start(&rounds(&[10, 20, 40, 41, 42, 43]), &[], &[], true);
        assert_eq!((start.end, start.round), (SlowStartEnd::Hystart, 3));
    }

    #[test]
    fn growth_that_fills_the_interface_is_no_hystart() {
        let mut rounds = rounds(&[10, 20, 40, 41, 41, 41]);
        rounds[4].limit = Limit::Interface;
        assert_eq!(slow_start(&rounds, &[], &[], true).end, SlowStartEnd::Hystart);
        rounds[3].limit = Limit::Interface;
        let start = slow_start(&rounds, &[], &[], true);
        assert_eq!((start.end, start.round), (SlowStartEnd::Interface, 3));
    }

    #[test]
    fn capture_without_the_begin_shows_no_slow_start() {
        let start = slow_start(&rounds(&[10, 20, 40]), &[], &[], false);
        assert_eq!(start.end, SlowStartEnd::NotCaptured);
    }
}
