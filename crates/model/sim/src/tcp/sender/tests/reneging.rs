//! A receiver that throws away what it has selectively acknowledged (RFC 2018, section 8; `tcp_check_sack_reneging`).

use super::*;
use wirespeed_congestion::Phase;

#[test]
fn first_packet_is_soon_repeated_though_sacked() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.ack(200_000, 0, &[1..2]);
    script.ack(200_100, 0, &[1..2, 5..6]);
    // 0 arrives, and 1 is not in order any more.
    script.window = 9;
    assert_eq!(script.ack(210_000, 1, &[5..6]), [0; 0]);
    assert_eq!(script.out(), [9, 2, 0, 0]);
    // Half a round trip, at least 10 ms: srtt, times eight, was 800,000 us, 800,100 with 5, and 810,088 with 0. Its
    // sixteenth is 50,630 us, 51 ticks: tick 261, and the wheel's next.
    assert_eq!(script.sender.rtt.smoothed8(), 810_088);
    let (now, left) = script.fire();
    assert_eq!((now, left), (262_000, vec![1]));
    assert_eq!((script.sender.phase, script.cwnd(), script.sender.counts.timeouts), (Phase::Loss, 1, 1));
    // Nothing selective is believed: all are lost.
    assert_eq!(script.out(), [9, 0, 9, 1]);
}

#[test]
fn an_acknowledgement_that_does_not_advance_is_no_sign_of_it() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.ack(200_000, 0, &[1..2]);
    script.ack(200_100, 0, &[1..3]);
    assert_ne!(script.sender.counts.timeouts, 1);
    assert_eq!(script.sender.phase, Phase::Disorder);
}

#[test]
fn if_all_was_acknowledged_meanwhile_nothing_is_repeated() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.ack(200_000, 0, &[1..2]);
    script.ack(210_000, 1, &[]);
    script.ack(212_000, 10, &[]);
    assert_eq!((script.sender.counts.retransmitted, script.sender.counts.timeouts), (0, 0));
}
