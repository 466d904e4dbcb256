//! Acknowledgements that others overtook (PAWS of RFC 7323; `tcp_paws_discard`, `tcp_disordered_ack`), and a recovery that
//! begins where another ends.

use super::*;
use wirespeed_congestion::Phase;

/// An acknowledgement with the peer's clock of `stamp_us`.
fn stamped(script: &mut Script, us: i64, stamp_us: i64, next: u64, blocks: &[Range<u64>]) -> Vec<u64> {
    let sack = Sack { duplicate: None, blocks: blocks.iter().cloned().collect() };
    let ack = Incoming { stamp: (stamp_us / 1000 + 1) as u32, ..script.incoming(us, next, &sack) };
    script.sender.on_ack(ack, &mut script.out);
    script.left()
}

#[test]
fn an_acknowledgement_that_later_ones_overtook_by_more_than_a_tick_says_nothing() {
    let mut script = Start::of(10).go();
    stamped(&mut script, 200_000, 200_000, 2, &[]);
    stamped(&mut script, 200_010, 198_000, 4, &[]);
    assert_eq!((script.sender.una, script.sender.peer_stamp), (2, 201));
    stamped(&mut script, 200_020, 199_000, 4, &[]);
    assert_eq!((script.sender.una, script.sender.peer_stamp), (4, 201), "the last stamp is echoed");
}

#[test]
fn a_mere_duplicate_is_listened_to_for_a_timeout() {
    let mut script = Start::of(10).go();
    stamped(&mut script, 200_000, 200_000, 2, &[]);
    stamped(&mut script, 250_000, 250_000, 2, &[4..5]);
    let window = script.sender.rtt.rto * 1200;
    script.sender.peer_stamp += 2 * window as u32 / 1000;
    let last = 250_000 + 2 * window;
    stamped(&mut script, 250_010, last - window, 2, &[3..4]);
    assert_eq!(script.sender.sacked_out(), 2);
    stamped(&mut script, 250_020, last - window - 50_000, 2, &[5..6]);
    assert_eq!(script.sender.sacked_out(), 2);
}

#[test]
fn a_recovery_that_begins_where_another_ends_reduces_what_that_one_left() {
    let mut script = Start::of(10).go();
    script.ack(200_000, 0, &[1..10]);
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Recovery, Some(5)));
    let (window, sent) = (script.sender.cwnd, script.sender.nxt);
    script.ack(300_000, 10, &[11..sent]);
    assert_eq!((script.sender.phase, script.ssthresh()), (Phase::Recovery, Some(2)));
    assert_eq!(script.sender.prior_cwnd, 5, "not the {window} of the recovery");
}

#[test]
fn the_first_data_echoes_the_stamp_of_the_answer() {
    let start = Start::of(2);
    let stream = Stream {
        flow: 0,
        packets: u64::MAX,
        last_bytes: MSS as u32,
        peer_stamp_offset: 0,
        seed: 0,
        stays_open: false,
    };
    let (mut sender, mut out) = (Sender::new(Rc::new(start.settings()), stream), Vec::new());
    sender.connect(SimTime::START, &mut out);
    sender.on_reply(at(START), 77, 100 * MSS, &mut out);
    let echoed: Vec<u32> = out
        .iter()
        .map(|train| match &train.body {
            Body::Handshake { echo, .. } => *echo,
            Body::Data(data) => data.echo,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(echoed, [0, 77, 77, 77], "SYN, ACK, data");
}
