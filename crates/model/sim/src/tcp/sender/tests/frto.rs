//! F-RTO with SACK (RFC 5682, section 3.1; `tcp_process_loss`): whether a timeout was a mistake.
//!
//! Ten packets are out, and nothing comes back: the probe sends the eleventh, then the timer fires and 0 is repeated. Without
//! time stamps nothing else tells whether an acknowledgement is for the original.

use super::*;
use wirespeed_congestion::Phase;

/// A sender after its timeout, and when that was.
fn timed_out() -> (Script, i64) {
    let mut script = Start::of(10).without_timestamps().go();
    assert_eq!(script.fire().1, [10], "a probe");
    let (now, left) = script.fire();
    assert_eq!(left, [0]);
    assert_eq!((script.sender.phase, script.cwnd(), script.ssthresh()), (Phase::Loss, 1, Some(5)));
    assert!(script.sender.frto);
    (script, now)
}

#[test]
fn a_timeout_by_mistake_is_found_by_new_data_and_undone() {
    let (mut script, now) = timed_out();
    // Step 2b: 0 may have been acknowledged by either. Two new packets, not the next lost ones.
    assert_eq!(script.ack(now + 1_000, 1, &[]), [11, 12]);
    assert_eq!(script.sender.phase, Phase::Loss);
    // Step 3b: 1 was never repeated, so it had not been lost.
    script.ack(now + 2_000, 2, &[]);
    assert_eq!((script.sender.phase, script.sender.counts.undone), (Phase::Open, 1));
    assert_eq!(script.out()[2], 0, "nothing is presumed lost any more");
    assert_eq!(script.ssthresh(), None);
    assert!(script.cwnd() >= 10, "{}", script.cwnd());
    assert_eq!(script.sender.counts.retransmitted, 1);
}

#[test]
fn an_original_that_is_acknowledged_at_once_tells_it_too() {
    let (mut script, now) = timed_out();
    script.ack(now + 1_000, 3, &[]);
    assert_eq!((script.sender.phase, script.sender.counts.undone), (Phase::Open, 1));
    let (mut script, now) = timed_out();
    script.ack(now + 1_000, 0, &[4..6]);
    // Selectively as well; what lies below it is then out of order, no more.
    assert_eq!((script.sender.phase, script.sender.counts.undone), (Phase::Disorder, 1));
    assert_eq!(script.out()[2], 0);
}

#[test]
fn a_true_timeout_goes_on_with_what_was_lost() {
    let (mut script, now) = timed_out();
    assert_eq!(script.ack(now + 100_000, 1, &[]), [11, 12]);
    // Step 3a: new data arrived, what lies before it did not.
    let left = script.ack(now + 200_000, 1, &[11..12]);
    assert!(!script.sender.frto);
    assert_eq!(left.first(), Some(&1));
    assert_eq!((script.sender.counts.undone, script.ssthresh()), (0, Some(5)));
    assert!(script.sender.phase >= Phase::Recovery);
}

#[test]
fn frto_is_not_tried_if_no_new_data_may_leave() {
    let mut script = Start::of(10).in_window_of_peer().without_timestamps().go();
    script.fire();
    let (now, left) = script.fire();
    assert_eq!(left, [0]);
    // The window does not move with the acknowledgement.
    script.window = 9;
    assert_eq!(script.ack(now + 1_000, 1, &[]), [1, 2]);
    assert!(!script.sender.frto);
}

#[test]
fn everything_acknowledged_by_the_repeated_packet_undoes_nothing() {
    let mut script = Start::of(1).in_window_of_peer().without_timestamps().without_sack().go();
    let (now, _) = script.fire();
    script.ack(now + 100_000, 1, &[]);
    assert_eq!(script.sender.counts.undone, 0, "step 2a");
}
