//! Retransmissions that the host's own queue refuses (`tcp_xmit_retransmit_queue`).

use super::*;
use crate::tcp::sender::transmit::TRAIN_PACKETS;

/// Of twenty packets 0 to 15 are lost. 0 has left again and was acknowledged, which lets several more leave at once: they.
fn several_leave_again(script: &mut Script) -> Vec<u64> {
    for (index, first) in [16, 17, 18].into_iter().enumerate() {
        script.ack(200_000 + 100 * index as i64, 0, &[16..first + 1]);
    }
    let left = script.ack(300_000, 1, &[16..22]);
    assert!(left.len() >= 3 && left[0] == 1, "{left:?}");
    left
}

#[test]
fn what_is_refused_and_what_is_behind_it_waits_for_the_next_acknowledgement() {
    let mut script = Start::of(20).go();
    let left = several_leave_again(&mut script);
    let [_, _, lost, again] = script.out();
    assert_eq!(again, left.len() as u64);
    let counted = script.sender.counts.retransmitted;
    assert_eq!(script.sender.withdraw(2, 1), 1);
    script.sender.board.verify();
    assert_eq!(script.out()[2..], [lost, 1], "1 has left");
    // It was tried, and those behind it were not (`tcpi_total_retrans`).
    assert_eq!(script.sender.counts.retransmitted, counted - (left.len() as u64 - 2));
    assert_eq!([1, 2, 3].map(|number| script.sender.has_withdrawn(number)), [false, false, true]);
    for number in &left[2..] {
        script.sender.forget_withdrawn(*number, 1);
    }
    assert!(!script.sender.has_withdrawn(3));
    let next = script.ack(400_000, 2, &[16..22]);
    assert_eq!(next[..2], [2, 3]);
}

#[test]
fn of_a_train_of_packets_that_come_one_by_one_the_first_was_tried() {
    let mut script = Start::of(20).go();
    let left = several_leave_again(&mut script);
    let counted = script.sender.counts.retransmitted;
    assert_eq!(script.sender.withdraw(1, left.len() as u64), 1);
    script.sender.board.verify();
    assert_eq!(script.sender.counts.retransmitted, counted - (left.len() as u64 - 1));
    assert_eq!(script.out()[3], 0);
}

#[test]
fn number_that_never_left_again_changes_nothing() {
    let mut script = Start::of(20).go();
    several_leave_again(&mut script);
    let before = script.out();
    assert_eq!(script.sender.board.recall(10), []);
    assert_eq!(script.out(), before);
}

#[test]
fn fq_that_has_refused_is_asked_about_a_part_before_the_rest_follows() {
    let start = Start::of(200);
    let settings = Settings { paced: true, queued: true, held: true, ..start.settings() };
    let mut script = start.go_with(settings, START);
    assert_eq!(script.sender.withdraw(150, 1), 1);
    let part = script.ack(200_000, 100, &[]);
    assert_eq!(part, (150..150 + u64::from(TRAIN_PACKETS)).collect::<Vec<_>>());
    let (us, rest) = script.fire();
    assert_eq!((us, rest.first()), (200_000, Some(&(150 + u64::from(TRAIN_PACKETS)))), "it was accepted");

    // Refused: nothing follows before the next acknowledgement.
    assert_eq!(script.sender.withdraw(180, 1), 1);
    assert!(script.fire().0 > 200_000);
}

#[test]
fn fq_that_has_refused_nothing_gets_all_at_once() {
    let start = Start::of(200);
    let settings = Settings { paced: true, queued: true, held: true, ..start.settings() };
    let mut script = start.go_with(settings, START);
    assert_eq!(script.ack(200_000, 100, &[]).len(), 200);
}
