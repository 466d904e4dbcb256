//! Reductions that were a mistake are taken back: DSACK (RFC 3708; `tcp_try_undo_dsack`), time stamps (RFC 3522, Eifel;
//! `tcp_packet_delayed`).

use super::*;
use wirespeed_congestion::Phase;

/// Packet 0 is late by more than the reordering window: it is repeated at 228 ms.
fn repeated(start: Start) -> Script {
    let mut script = start.go();
    script.ack(200_000, 0, &[1..2]);
    let (now, left) = script.fire();
    assert_eq!((now, left), (228_000, vec![0]));
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Recovery, Some(5)));
    script
}

#[test]
fn a_duplicate_for_each_retransmission_undoes_the_reduction() {
    let mut script = repeated(Start::of(10).in_window_of_peer().without_timestamps());
    script.window = 8;
    script.ack(240_000, 2, &[]);
    assert_eq!(script.sender.counts.undone, 0);
    script.dsack(328_000, 2, 0..1, &[]);
    assert_eq!((script.sender.counts.undone, script.sender.phase), (1, Phase::Open));
    assert_eq!((script.ssthresh(), script.cwnd() >= 10), (None, true));
}

#[test]
fn one_duplicate_for_two_retransmissions_does_not() {
    let mut script = Start::of(10).in_window_of_peer().without_timestamps().go();
    script.ack(200_000, 0, &[2..3]);
    // Proportional rate reduction lets one of 0 and 1 leave, and the other with the second delivery from here.
    assert_eq!(script.fire().1, [0]);
    script.window = 9;
    assert_eq!(script.ack(228_100, 1, &[2..3]), [0; 0]);
    assert_eq!(script.ack(228_200, 1, &[2..4]), [1]);
    script.window = 6;
    script.ack(229_000, 4, &[]);
    script.dsack(328_000, 4, 0..1, &[]);
    assert_eq!((script.sender.counts.undone, script.ssthresh()), (0, Some(5)));
    script.dsack(328_100, 4, 1..2, &[]);
    assert_eq!((script.sender.counts.undone, script.ssthresh()), (1, None));
}

#[test]
fn after_recovery_a_duplicate_still_undoes_it() {
    let mut script = repeated(Start::of(10).in_window_of_peer().without_timestamps());
    script.window = 4;
    script.ack(240_000, 10, &[]);
    // The threshold, and one more for the eight packets that were acknowledged with the end of recovery.
    assert_eq!((script.sender.phase, script.cwnd(), script.sender.counts.undone), (Phase::Open, 6, 0));
    script.dsack(328_000, 10, 0..1, &[]);
    assert_eq!((script.sender.counts.undone, script.cwnd() >= 10, script.ssthresh()), (1, true, None));
}

#[test]
fn the_probe_counts_as_one_retransmission() {
    let mut script = Start::of(10).in_window_of_peer().without_timestamps().go();
    assert_eq!(script.fire(), (304_000, vec![9]));
    // All were late, 0 most of all: the tail's acknowledgement makes it look lost.
    script.ack(310_000, 0, &[1..4]);
    assert_eq!(script.sender.phase, Phase::Recovery);
    assert_eq!(script.sender.undo_retransmissions, 2, "the probe and 0 (`tcp_init_undo`)");
    script.window = 4;
    script.ack(311_000, 10, &[]);
    script.dsack(405_000, 10, 9..10, &[]);
    assert_eq!(script.sender.counts.undone, 0);
    script.dsack(411_000, 10, 0..1, &[]);
    assert_eq!(script.sender.counts.undone, 1);
}

#[test]
fn an_echo_older_than_the_retransmission_undoes_it_at_once() {
    let mut script = repeated(Start::of(10).in_window_of_peer());
    script.window = 8;
    script.echoing(START).ack(240_000, 2, &[]);
    assert_eq!((script.sender.counts.undone, script.ssthresh(), script.cwnd() >= 10), (1, None, true));
    assert_eq!(script.sender.phase, Phase::Open);
    assert_eq!(script.sender.counts.reorderings, 1, "what filled the hole was late (`tcp_try_undo_partial`)");
}

#[test]
fn the_echo_of_the_retransmission_undoes_nothing() {
    let mut script = repeated(Start::of(10).in_window_of_peer());
    script.window = 8;
    script.ack(328_000, 2, &[]);
    assert_eq!((script.sender.counts.undone, script.ssthresh()), (0, Some(5)));
    assert_eq!(script.sender.phase, Phase::Recovery);
    script.ack(329_000, 10, &[]);
    assert_eq!((script.sender.phase, script.cwnd(), script.sender.counts.undone), (Phase::Open, 6, 0));
}

#[test]
fn a_timeout_is_undone_by_an_older_echo() {
    let mut script = Start::of(10).in_window_of_peer().go();
    script.fire();
    let (now, left) = script.fire();
    assert_eq!((left, script.cwnd(), script.ssthresh()), (vec![0], 1, Some(5)));
    script.window = 8;
    script.echoing(START).ack(now + 1_000, 2, &[]);
    assert_eq!((script.sender.phase, script.sender.counts.undone), (Phase::Open, 1));
    assert_eq!((script.ssthresh(), script.cwnd() >= 10, script.out()[2]), (None, true, 0));
}

#[test]
fn while_a_retransmission_is_out_a_late_original_lets_new_data_leave_and_nothing_be_repeated() {
    let mut script = Start::of(20).go();
    // 0 to 5 look lost; two are repeated, and the original of 0 arrives.
    script.ack(200_000, 0, &[6..7]);
    script.ack(200_100, 0, &[6..8]);
    assert_eq!(script.ack(200_200, 0, &[6..9]), [0]);
    assert_eq!(script.ack(200_300, 0, &[6..10]), [0; 0]);
    assert_eq!(script.ack(200_400, 0, &[6..11]), [1]);
    assert_eq!(script.out()[2..], [6, 2]);
    // Two more delivered let one leave, CEIL(5 / 2) - 2: new data (`tcp_try_undo_partial`), not 2, which is lost as well.
    assert_eq!(script.echoing(START).ack(200_500, 1, &[6..12]), [22]);
    assert_eq!((script.sender.phase, script.sender.counts.undone), (Phase::Recovery, 0));
}

#[test]
fn congestion_that_the_network_told_of_is_not_undone() {
    let mut script = Start::of(20).with_ecn().go();
    script.ack_ece(200_000, 1);
    script.ack(200_100, 1, &[2..3]);
    assert_eq!(script.fire().1, [1]);
    script.echoing(START).ack(240_000, 3, &[]);
    assert_eq!((script.sender.counts.undone, script.ssthresh()), (0, Some(10)));
}

/// The first block beyond the ACK reports a duplicate only if the second block contains it (`tcp_check_dsack`).
#[test]
fn a_duplicate_beyond_the_ack_is_recognized_by_the_second_block() {
    let counted = |blocks: &[Range<u64>]| {
        let mut script = Start::of(10).go();
        script.ack(200_000, 0, &[4..8]);
        script.dsack(200_100, 0, 5..6, blocks);
        assert_eq!(script.out()[1], blocks.iter().map(|block| block.end - block.start).sum::<u64>().max(4));
        script.sender.counts.duplicates
    };
    assert_eq!(counted(&[4..8]), 1);
    assert_eq!(counted(&[9..10, 4..8]), 0);
}
