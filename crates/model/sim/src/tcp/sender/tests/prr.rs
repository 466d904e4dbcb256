//! Proportional rate reduction (RFC 6937; `tcp_cwnd_reduction`).
//!
//! Twenty packets are out and three selective acknowledgements show a loss; the first two of them let 20 and 21 leave
//! (limited transmit, RFC 3042). Reno's threshold is 10.

use super::*;
use wirespeed_congestion::Phase;

/// Three ACKs, 100 us apart, that report `from` and the two behind it; the third one's packets.
fn three(script: &mut Script, from: u64) -> Vec<u64> {
    assert_eq!(script.ack(200_000, 0, &[from..from + 1]), [20]);
    assert_eq!(script.ack(200_100, 0, &[from..from + 2]), [21]);
    let left = script.ack(200_200, 0, &[from..from + 3]);
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Recovery, Some(10)));
    left
}

#[test]
fn of_two_packets_delivered_one_leaves_while_more_are_out_than_the_threshold() {
    let mut script = Start::of(20).go();
    // CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out = CEIL(1 * 10 / 20) - 0.
    assert_eq!(three(&mut script, 1), [0]);
    let mut sizes = Vec::new();
    for last in 4..20_u64 {
        let left = script.ack(200_000 + 100 * last as i64, 0, &[1..last + 1]);
        sizes.push(left.len());
    }
    // prr_delivered = 2, 3, ... 17: CEIL(d / 2) grows with every second one, until as many are out as the threshold lets:
    // 20, 21, seven new ones and the retransmission.
    assert_eq!(sizes, [[0, 1].repeat(7), vec![0, 0]].concat());
    assert_eq!((script.sender.prr_out, script.sender.in_flight(), script.cwnd()), (8, 10, 10));
}

#[test]
fn recovery_ends_with_a_window_of_the_threshold() {
    let mut script = Start::of(20).go();
    three(&mut script, 1);
    for last in 4..20_u64 {
        script.ack(200_000 + 100 * last as i64, 0, &[1..last + 1]);
    }
    // From here on one leaves for each that is delivered, though nine fewer have left than were delivered.
    assert_eq!(script.ack(300_000, 0, &[1..21]), [29]);
    assert_eq!(script.cwnd(), 10);
    assert_eq!(script.ack(300_100, 0, &[1..22]), [30]);
    assert_eq!(script.cwnd(), 10);
    // The retransmission acknowledges all that was out when recovery began.
    assert_eq!(script.ack(300_200, 22, &[]), [31]);
    assert_eq!((script.sender.phase, script.cwnd(), script.ssthresh()), (Phase::Open, 10, Some(10)));
    assert_eq!(script.sender.counts.retransmitted, 1);
}

#[test]
fn below_the_threshold_it_grows_as_in_slow_start_but_only_where_nothing_more_is_lost() {
    let mut script = Start::of(20).go();
    // 0 to 15 are lost: 16 to 21 are left, three of them known to have arrived. Three are out, seven below the threshold.
    assert_eq!(three(&mut script, 16), [0]);
    assert_eq!(script.out(), [22, 3, 16, 1]);
    // The ACK does not advance: conservation of packets (RFC 6937's bound would add one to each of these).
    assert_eq!(script.ack(200_300, 0, &[16..20]), [1]);
    assert_eq!(script.ack(300_000, 0, &[16..21]), [2]);
    assert_eq!(script.ack(300_100, 0, &[16..22]), [3]);
    assert_eq!(script.cwnd(), 4);
    // Each retransmission acknowledged lets one more leave than was delivered (Linux `FLAG_SND_UNA_ADVANCED`, not lost).
    for (next, left, cwnd) in
        [(1, 4..6, 5), (2, 6..8, 6), (3, 8..10, 7), (4, 10..12, 8), (5, 12..14, 9), (6, 14..16, 10)]
    {
        let now = 300_200 + 100 * next as i64;
        assert_eq!(script.ack(now, next, &[16..22]), left.collect::<Vec<_>>());
        assert_eq!(script.cwnd(), cwnd);
    }
    // At the threshold it stays, and new data leaves.
    for next in 7..16 {
        assert_eq!(script.ack(400_000 + 100 * next as i64, next, &[16..22]), [15 + next]);
        assert_eq!((script.sender.phase, script.cwnd()), (Phase::Recovery, 10));
    }
    script.ack(402_000, 22, &[]);
    assert_eq!((script.sender.phase, script.cwnd(), script.ssthresh()), (Phase::Open, 10, Some(10)));
}

#[test]
fn the_first_acknowledgement_of_recovery_always_lets_one_leave() {
    let mut script = Start::of(20).go();
    // 0 to 8 are lost and three delivered: of 22, ten are out, as many as the threshold lets.
    assert_eq!(three(&mut script, 9), [0], "`tcp_cwnd_reduction` forces a fast retransmit");
    assert_eq!((script.cwnd(), script.out()), (11, [22, 3, 9, 1]));
    // Then it is paid back: eleven were out, 12 .. bring that to ten before anything leaves.
    assert_eq!(script.ack(200_300, 0, &[9..13]), [0; 0]);
    assert_eq!(script.ack(200_400, 0, &[9..14]), [1]);
}

#[test]
fn an_acknowledgement_that_shows_more_losses_lets_no_more_leave_than_it_delivered() {
    let mut script = Start::of(20).without_timestamps().go();
    assert_eq!(three(&mut script, 16), [0]);
    assert_eq!(script.ack(200_300, 0, &[16..20]), [1]);
    // 20 was lost and 21 arrived: 0 is repeated and acknowledged, and 20, which left before it, is now known to be lost.
    assert_eq!(script.ack(300_300, 1, &[16..20, 21..22]), [2, 3], "two delivered, one more lost");
    assert_eq!(script.out(), [21, 5, 16, 3]);
}
