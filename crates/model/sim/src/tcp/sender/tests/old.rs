//! Linux 2.6.24: forward acknowledgements and rate halving, worked out from `tcp_input.c` of that version.
//!
//! As in the tests of proportional rate reduction, twenty packets are out and Reno's threshold is 10.

use super::*;
use wirespeed_congestion::Phase;

#[test]
fn of_two_acks_one_takes_a_packet_off_the_window_until_it_is_the_threshold() {
    let mut script = Start::of(20).of_old().go();
    assert_eq!(script.ack(200_000, 0, &[1..2]), [20]);
    assert_eq!(script.ack(200_100, 0, &[1..3]), [21]);
    assert_eq!(script.sender.phase, Phase::Disorder);
    // Packet 3 is the fourth: more than three. One is lost, and the window is one more than the 18 in flight.
    assert_eq!(script.ack(200_200, 0, &[1..4]), [0]);
    assert_eq!((script.sender.phase, script.cwnd(), script.ssthresh()), (Phase::Recovery, 19, Some(10)));
    assert_eq!(script.out(), [22, 3, 1, 1]);
    let mut sizes = Vec::new();
    let mut windows = Vec::new();
    for last in 4..20_u64 {
        sizes.push(script.ack(200_000 + 100 * last as i64, 0, &[1..last + 1]).len());
        windows.push(script.cwnd());
    }
    // The second ACK makes it 18 with 18 in flight; the third leaves it, with 17.
    assert_eq!(sizes, [0, 1].repeat(8));
    assert_eq!(windows, [18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11]);
    assert_eq!(script.ack(300_000, 0, &[1..21]), Vec::<u64>::new());
    assert_eq!(script.ack(300_100, 0, &[1..22]), [30]);
    assert_eq!(script.cwnd(), 10);
    assert_eq!(script.ack(300_200, 22, &[]), [31]);
    assert_eq!((script.sender.phase, script.cwnd(), script.ssthresh()), (Phase::Open, 10, Some(10)));
}

/// Sixteen packets are lost; the four that arrived are reported one by one.
fn lose_sixteen() -> Script {
    let mut script = Start::of(20).of_old().go();
    // All but three below 17 are taken for lost at once: five in flight, six with the retransmission.
    assert_eq!(script.ack(200_000, 0, &[16..17]), [0]);
    assert_eq!((script.sender.phase, script.cwnd(), script.out()), (Phase::Recovery, 6, [20, 1, 14, 1]));
    assert_eq!(script.ack(200_100, 0, &[16..18]), [1]);
    assert_eq!(script.ack(200_200, 0, &[16..19]), [2]);
    assert_eq!(script.ack(200_300, 0, &[16..20]), [3]);
    assert_eq!((script.cwnd(), script.ssthresh(), script.out()), (4, Some(10), [20, 4, 16, 4]));
    script
}

#[test]
fn after_many_losses_the_window_stays_below_the_threshold() {
    let mut script = lose_sixteen();
    for next in 1..16 {
        let left = script.ack(300_000 + 100 * next as i64, next, &[16..20]);
        // One for one, where proportional rate reduction comes back to the threshold: new data once all is repeated.
        assert_eq!(left, [if next < 13 { 3 + next } else { 7 + next }]);
        assert_eq!((script.sender.phase, script.cwnd()), (Phase::Recovery, 4));
    }
    assert_eq!(script.ack(400_000, 20, &[]).len(), 1);
    assert_eq!((script.sender.phase, script.cwnd(), script.ssthresh()), (Phase::Open, 4, Some(10)));
    // From there it is slow start.
    script.ack(400_100, 21, &[]);
    assert_eq!(script.cwnd(), 5);
}

#[test]
fn each_ack_that_is_lost_takes_its_packets_off_the_window() {
    let mut script = lose_sixteen();
    // The ACKs of 0, 1 and 2 are lost: nothing is in flight any more.
    assert_eq!(script.ack(300_000, 4, &[16..20]), [4]);
    assert_eq!((script.cwnd(), script.out()), (1, [16, 4, 12, 1]));
}

#[test]
fn a_retransmission_is_lost_when_something_that_left_after_it_arrives() {
    let mut script = Start::of(20).of_old().go();
    script.ack(200_000, 0, &[1..2]);
    script.ack(200_100, 0, &[1..3]);
    assert_eq!(script.ack(200_200, 0, &[1..4]), [0]);
    assert_eq!(script.ack(200_300, 0, &[1..5]), Vec::<u64>::new());
    // 20 and 21 left before 0 did the second time, 22 after it.
    assert_eq!(script.ack(200_400, 0, &[1..6]), [22]);
    for last in 6..20_u64 {
        script.ack(200_000 + 100 * last as i64, 0, &[1..last + 1]);
    }
    script.ack(300_000, 0, &[1..21]);
    script.ack(300_100, 0, &[1..22]);
    assert_eq!(script.sender.counts.retransmitted, 1);
    let left = script.ack(300_200, 0, &[1..23]);
    assert_eq!((left[0], script.sender.counts.retransmitted), (0, 2));
}

#[test]
fn last_packet_but_one_is_repeated_if_no_new_data_may_be_sent() {
    let mut script = Start::of(20).in_window_of_peer().of_old().go();
    for last in 1..17 {
        let left = script.ack(200_000 + 100 * last as i64, 0, &[1..last + 1]);
        assert_eq!(left, if last == 3 { vec![0] } else { vec![] });
    }
    // 17 and 18 are missing too, but not three packets below 19.
    assert_eq!(script.ack(202_000, 0, &[1..17, 19..20]), [17, 18]);
}

#[test]
fn after_a_timeout_all_is_lost_and_no_probe_comes_before_it() {
    let mut script = Start::of(4).of_old().go();
    let (at_us, left) = script.fire();
    assert_eq!((left, script.sender.counts.probes, script.sender.counts.timeouts), (vec![0], 0, 1));
    assert!(at_us >= 400_000, "300 ms after they left: {at_us}");
    assert_eq!(script.out(), [4, 0, 4, 1]);
}

#[test]
fn the_hosts_own_refusal_leaves_one_more_than_is_in_flight() {
    let mut script = Start { window: 20, ..Start::of(20).of_old() }.go();
    script.window = 12;
    assert_eq!(script.ack(200_000, 10, &[]), [20, 21]);
    assert_eq!((script.cwnd(), script.sender.in_flight()), (30, 12));
    script.sender.on_local_drop(1);
    assert_eq!((script.sender.phase, script.cwnd()), (Phase::Cwr, 13));
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    // Twelve packets of the twenty that the window allows are all the peer's lets leave.
    let grown = |start: Start| {
        let mut script = Start { window: 20, ..start }.go();
        script.window = 12;
        (1..=20).for_each(|next| drop(script.ack(200_000 + 100 * next as i64, next, &[])));
        script.cwnd()
    };
    // When the first comes the window is full; today slow start goes on to twice what was out.
    assert_eq!(grown(Start::of(20).of_old()), 21);
    assert!(grown(Start::of(20)) > 30);
}
