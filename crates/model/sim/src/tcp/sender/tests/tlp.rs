//! Tail loss probes (RFC 8985, section 7; `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_process_tlp_ack`).

use super::*;
use crate::tcp::sender::Pending;
use wirespeed_congestion::Phase;

#[test]
fn a_probe_leaves_after_two_round_trips() {
    let mut script = Start::of(10).go();
    assert_eq!(script.sender.pending(), Some(Pending::Probe));
    // 2 * 100 ms + 2 ms (TCP_TIMEOUT_MIN) from 100 ms on: tick 302, and the wheel's next multiple of 8.
    assert_eq!(script.fire(), (304_000, vec![10]), "new data, beyond the window");
    assert_eq!(script.out(), [11, 0, 0, 0]);
    assert_eq!((script.cwnd(), script.ssthresh(), script.sender.phase), (10, None, Phase::Open));
}

#[test]
fn without_new_data_it_is_the_last_packet() {
    let mut script = Start::of(10).in_window_of_peer().go();
    assert_eq!(script.fire(), (304_000, vec![9]));
    // `__tcp_retransmit_skb` counts it as sent again, not as a retransmission in flight.
    assert_eq!((script.sender.counts.retransmitted, script.out()), (1, [10, 0, 0, 0]));
    assert_eq!(script.sender.phase, Phase::Open);
}

#[test]
fn one_packet_in_flight_gives_the_receiver_time_to_delay_its_acknowledgement() {
    let mut script = Start::of(1).in_window_of_peer().go();
    // A round trip of 400 ms: srtt = 100 + (400 - 100) / 8 = 137.5 ms; mdev = 200 + 300 - 50 = 450 ms in quarters,
    // which is the variance that Linux adds; RTO = 588 ms.
    script.window = 2;
    assert_eq!(script.ack(500_000, 1, &[]), [1, 2]);
    assert_eq!((script.sender.rtt.smoothed(), script.sender.rtt.rto), (137_500, 588));
    assert_eq!(script.sender.deadline().time(), at(784_000), "two: 2 * 137.5 + 2 ms, tick 777");
    // One left. It was measured too, 100 ms later: 600 - 500 = 100 ms; srtt = 132.8 ms.
    script.window = 1;
    assert_eq!(script.ack(600_000, 2, &[]), [0; 0]);
    assert_eq!(script.sender.rtt.smoothed8(), 1_062_500);
    // 2 * 132.8 + 200 ms = 465.6: 466 ticks, below the timeout; tick 1066.
    assert!(script.sender.rtt.rto > 466);
    assert_eq!(script.fire(), (1_072_000, vec![2]));
}

#[test]
fn a_probe_is_never_later_than_the_timeout() {
    let mut script = Start::of(1).in_window_of_peer().go();
    // 2 * 100 + 200 ms would be 400: RTO is 300. It is a probe all the same, and the window stays.
    assert_eq!(script.fire(), (408_000, vec![0]));
    assert_eq!((script.sender.counts.timeouts, script.sender.counts.probes, script.cwnd()), (0, 1, 1));
}

#[test]
fn there_is_one_probe_and_then_a_whole_timeout() {
    let mut script = Start::of(10).in_window_of_peer().go();
    assert_eq!(script.fire(), (304_000, vec![9]));
    assert_eq!(script.sender.pending(), Some(Pending::Retransmission));
    // "Reset s.t. tcp_rearm_rto will restart timer from now": 304 + 300, not 100 + 300.
    assert_eq!(script.fire(), (608_000, vec![0]));
    assert_eq!((script.sender.counts.probes, script.sender.counts.timeouts), (1, 1));
    // Slow start repeats all of them, the probed one as well.
    assert_eq!(script.out(), [10, 0, 10, 1]);
}

#[test]
fn a_loss_that_the_probe_repaired_costs_one_reduction() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.window = 1;
    // The last one is lost.
    assert_eq!(script.ack(200_000, 9, &[]), [0; 0]);
    assert_eq!(script.cwnd(), 19, "slow start");
    // One in flight: RTO, 300 ms, is less than 400.
    assert_eq!(script.fire(), (504_000, vec![9]));
    // All is acknowledged, but this may have been the original.
    script.window = 4;
    assert_eq!(script.ack(604_000, 10, &[]), [10, 11, 12, 13]);
    assert_eq!((script.cwnd(), script.ssthresh()), (20, None));
    // Something behind it is, and no duplicate was reported: it was lost.
    script.ack(704_000, 11, &[]);
    assert_eq!((script.cwnd(), script.ssthresh(), script.sender.phase), (10, Some(10), Phase::Open));
    script.ack(704_100, 12, &[]);
    script.ack(704_200, 13, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (10, Some(10)));
}

#[test]
fn a_probe_that_arrived_twice_costs_nothing() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.window = 1;
    script.ack(200_000, 9, &[]);
    assert_eq!(script.fire().1, [9]);
    script.window = 4;
    script.ack(510_000, 10, &[]);
    script.dsack(604_000, 10, 9..10, &[]);
    assert_eq!(script.sender.probe_end, None);
    script.ack(610_000, 11, &[]);
    assert_eq!((script.cwnd() >= 19, script.ssthresh()), (true, None));
}

#[test]
fn a_probe_of_new_data_that_is_acknowledged_costs_nothing() {
    let mut script = Start::of(10).go();
    assert_eq!(script.fire().1, [10]);
    script.ack(310_000, 11, &[]);
    assert_eq!((script.sender.probe_end, script.ssthresh()), (None, None));
}

#[test]
fn a_probe_shows_what_was_lost_before_it() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.window = 4;
    // 6 to 9 are lost; 6 to 8 are known to be once the probe is acknowledged (RACK).
    assert_eq!(script.ack(200_000, 6, &[]), [0; 0]);
    let (now, left) = script.fire();
    assert_eq!(left, [9]);
    assert_eq!(script.ack(now + 100_000, 6, &[9..10])[..1], [6]);
    assert_eq!((script.sender.phase, script.out()[2]), (Phase::Recovery, 3));
}
