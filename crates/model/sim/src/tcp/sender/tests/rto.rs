//! The retransmission timeout (RFC 6298; `tcp_retransmit_timer`, `tcp_rtt_estimator`).

use super::*;
use wirespeed_congestion::Phase;

#[test]
fn it_doubles_from_timeout_to_timeout_up_to_two_minutes() {
    let mut script = Start::of(1).without_sack().go();
    let mut before = START;
    for rto in [300, 600, 1200, 2400, 4800, 9600, 19_200, 38_400, 76_800, 120_000, 120_000] {
        assert_eq!(script.sender.rtt.rto, rto);
        let (now, left) = script.fire();
        assert_eq!(left, [0]);
        let late = now - before - rto * 1000;
        assert!((0..=rto * 1000 / 8 + 1000).contains(&late), "{rto} ms: {late} us late");
        before = now;
    }
    assert_eq!(script.sender.counts.timeouts, 11);
    assert_eq!((script.sender.phase, script.cwnd()), (Phase::Loss, 1));
}

#[test]
fn it_is_at_least_200_ms_above_the_round_trip() {
    let mut script = Start::of(1).in_window_of_peer().go();
    let mut now = START;
    // The variance of a constant round trip shrinks to Linux' least, which stands for `RTO.min`.
    for next in 1..=200 {
        now += 1_000;
        script.ack(now, next, &[]);
    }
    assert_eq!(script.sender.rtt.smoothed(), 1_000);
    // 1 ms and 200 ms; a variance that shrinks by quarters may stop 3 us above, and a tick that is begun counts.
    assert!((201..=202).contains(&script.sender.rtt.rto), "{}", script.sender.rtt.rto);
}

#[test]
fn a_repeated_packet_is_measured_by_its_time_stamp_and_ends_the_back_off() {
    let mut script = Start::of(1).without_sack().go();
    script.fire();
    let (now, _) = script.fire();
    assert_eq!(script.sender.rtt.rto, 1200);
    script.ack(now + 100_000, 1, &[]);
    assert_eq!((script.sender.rtt.rto, script.sender.rtt.backoff), (300, 0));
}

#[test]
fn without_time_stamps_a_repeated_packet_measures_nothing_and_the_back_off_stays() {
    let mut script = Start::of(1).without_sack().without_timestamps().go();
    script.fire();
    let (now, _) = script.fire();
    // Karn's algorithm (RFC 6298, sections 3 and 5.7).
    let left = script.ack(now + 100_000, 1, &[]);
    assert_eq!((script.sender.rtt.rto, script.sender.rtt.backoff), (1200, 2));
    // The next packet was sent once: it does.
    let next = left.last().expect("new data leaves") + 1;
    script.ack(now + 200_000, next, &[]);
    assert_eq!(script.sender.rtt.rto, 300);
}

#[test]
fn the_threshold_is_halved_once_however_often_the_timer_fires() {
    let mut script = Start::of(16).in_window_of_peer().without_sack().go();
    for _ in 0..3 {
        assert_eq!(script.fire().1, [0]);
        assert_eq!((script.cwnd(), script.ssthresh()), (1, Some(8)));
    }
    // All are presumed lost, and slow start repeats them: two for one.
    script.window = 15;
    assert_eq!(script.ack(3_000_000, 1, &[]), [1, 2]);
    script.window = 14;
    assert_eq!(script.ack(3_100_000, 2, &[]), [3, 4]);
    assert_eq!(script.out(), [14, 0, 14, 3]);
}
