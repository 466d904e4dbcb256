//! Loss detection by time and its reordering window (RFC 8985, section 6; `tcp_recovery.c`).

use super::*;
use crate::tcp::sender::Pending;
use wirespeed_congestion::Phase;

#[test]
fn a_quarter_of_the_least_round_trip_is_waited_for_what_may_be_out_of_order() {
    let mut script = Start::of(10).in_window_of_peer().go();
    assert_eq!(script.ack(200_000, 0, &[1..2]), [0; 0]);
    assert_eq!((script.sender.pending(), script.out()[2]), (Some(Pending::Reordering), 0));
    // 25 ms and TCP_TIMEOUT_MIN, 2 ms: tick 227, and the wheel's next.
    let (now, left) = script.fire();
    assert_eq!((now, left), (228_000, vec![0]));
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Recovery, Some(5)));
    assert_eq!(script.out(), [10, 1, 1, 1]);
}

#[test]
fn packets_that_arrive_within_the_reordering_window_are_not_repeated() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.ack(200_000, 0, &[1..2]);
    script.ack(220_000, 2, &[]);
    assert_eq!(script.sender.counts.reorderings, 1);
    assert_eq!((script.sender.counts.retransmitted, script.ssthresh()), (0, None));
    assert_eq!(script.sender.pending(), Some(Pending::Probe));
}

#[test]
fn three_known_to_have_arrived_end_the_wait_unless_reordering_was_seen() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.window = 10;
    script.ack(200_000, 0, &[1..3]);
    assert_eq!(script.ack(200_100, 0, &[1..4]), [0], "DupThresh (RFC 8985, 6.2 step 4)");

    let mut script = Start::of(10).in_window_of_peer().go();
    script.ack(200_000, 0, &[1..2]);
    script.window = 9;
    script.ack(200_100, 2, &[]);
    assert_eq!(script.ack(200_200, 2, &[3..6]), [0; 0]);
    assert_eq!(script.sender.pending(), Some(Pending::Reordering));
    assert_eq!(script.fire(), (228_000, vec![2]));
}

#[test]
fn packets_sent_after_the_newest_delivered_one_are_not_judged() {
    let mut script = Start::of(10).go();
    script.ack(200_000, 5, &[]);
    // 10 to 19 left at 200 ms; 5, 6 and 8 to 9 left before it, and 7 is the newest delivered.
    script.ack(210_000, 5, &[7..8]);
    let (_, left) = script.fire();
    assert_eq!(left.len() as u64, script.sender.board.retransmitted);
    assert_eq!(script.out()[2], 2, "5 and 6; 8 and 9 left at the same time but stand behind");
}

/// Packet `next` is repeated though it only was late, after `wait` milliseconds and the timer's slack; the duplicate is
/// reported. Nothing else is out.
fn late_one(script: &mut Script, now: i64, next: u64) -> i64 {
    script.window = 10;
    assert_eq!(script.ack(now, next, &[next + 1..next + 2]), [0; 0]);
    assert_eq!(script.sender.pending(), Some(Pending::Reordering));
    let (fired, left) = script.fire();
    assert_eq!(left[..1], [next]);
    fired - now
}

#[test]
fn a_duplicate_of_what_was_only_late_widens_the_wait_once_a_round_trip() {
    let mut script = Start::of(10).in_window_of_peer().without_timestamps().go();
    // Reordering is seen first, or duplicates say nothing of it.
    script.ack(200_000, 0, &[1..2]);
    assert_eq!(script.ack(200_100, 2, &[]).len(), 2);
    assert_eq!(late_one(&mut script, 200_900, 2), 27_100, "25 ms and 2: tick 227, fired at 228");
    script.ack(229_000, 4, &[]);
    script.dsack(229_100, 4, 2..3, &[]);
    assert_eq!(
        (script.sender.rack.steps, script.sender.rack.persist),
        (1, 1),
        "undo remembers; no sample yet"
    );
    // With the next delivery: twice a quarter.
    script.ack(230_000, 10, &[]);
    assert_eq!((script.sender.rack.steps, script.sender.rack.persist), (2, 16));
    let delivered = script.sender.rack.last_delivered;
    // A second duplicate within the round trip is disregarded.
    script.sender.rack.duplicate_seen = true;
    script.ack(300_200, 11, &[]);
    assert_eq!((script.sender.rack.steps, script.sender.rack.last_delivered), (2, delivered));
}

#[test]
fn sixteen_recoveries_without_a_duplicate_narrow_the_wait_again() {
    let mut script = Start::of(10).go();
    (script.sender.rack.steps, script.sender.rack.persist) = (3, 16);
    script.sender.counts.reorderings = 1;
    let mut now = 200_000;
    for recovery in 0..16 {
        assert_eq!(script.sender.rack.steps, 3, "recovery {recovery}");
        let (next, end) = (script.sender.una, script.sender.nxt);
        // The first is lost, all others arrive; they left together, so it is waited for.
        script.ack(now, next, &[next + 1..end]);
        assert_eq!(script.fire().1[..1], [next]);
        assert_eq!(script.sender.phase, Phase::Recovery);
        now += 200_000;
        // All that was out when it began; what its first steps let leave is out still.
        let high = script.sender.high;
        script.ack(now, high, &[]);
        assert_eq!(script.sender.phase, Phase::Open);
        now += 100_000;
    }
    let end = script.sender.nxt;
    script.ack(now, end, &[]);
    assert_eq!(script.sender.rack.steps, 1);
}

#[test]
fn losses_found_by_the_timer_while_the_window_comes_down_for_ecn_cost_nothing_more() {
    let mut script = Start::of(20).with_ecn().go();
    script.ack_ece(200_000, 1);
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Cwr, Some(10)));
    let (prior, delivered) = (script.sender.prior_cwnd, script.sender.prr_delivered);
    script.ack(200_100, 1, &[2..3]);
    let (_, left) = script.fire();
    assert_eq!(left, [1]);
    // `tcp_enter_recovery` leaves a reduction alone that has begun (`tcp_in_cwnd_reduction`).
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Recovery, Some(10)));
    assert_eq!((script.sender.prior_cwnd, script.sender.prr_delivered), (prior, delivered + 2));
    assert!(!script.sender.may_restore);
}
