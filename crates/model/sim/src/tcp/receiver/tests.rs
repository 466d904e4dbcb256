//! A receiver alone, against what `tcp_input.c` of Linux 6.12 makes of the same packets, worked out by hand.
//!
//! A packet is 1000 bytes and comes every 20 us, and the round trip of the handshake is 20 ms. Before a test begins, so many
//! packets have come that the window has its full size and only every other packet is acknowledged.

#![expect(clippy::single_range_in_vec_init, reason = "a list of one block is one range")]

use super::*;
use crate::host::SocketRules;
use crate::net::{Ack, Data};
use wirespeed_scenario::run::KernelVersion;

const MSS: u32 = 1000;
/// Packets that have come before.
const BEFORE: u64 = 2000;

fn settings() -> Settings {
    Settings {
        mss: MSS,
        ack_frame: 66,
        handshake_frame: 74,
        timestamps: true,
        sack: true,
        feedback: Feedback::Off,
        ack_ecn: Ecn::NotCapable,
        buffer: BufferSettings {
            fixed: Some(512 << 10),
            range: (512 << 10, 512 << 10),
            ceiling: 512 << 10,
            own_mss: MSS.into(),
            scaling: true,
            low_water: Some((1, 1)),
            packet_memory: None,
            adv_win_scale: None,
            rules: SocketRules::of(KernelVersion::TODAY),
            send_buffer: 1 << 20,
        },
    }
}

/// A receiver, and the time of the packet that comes next.
struct Script {
    receiver: Receiver,
    at: SimTime,
}

/// What an acknowledgement says: everything below a number, a duplicate, and the packets beyond.
type Said = (u64, Option<Range<u64>>, Vec<Range<u64>>);

impl Script {
    fn new() -> Script {
        Script::of(settings())
    }

    fn of(settings: Settings) -> Script {
        let mut receiver = Receiver::new(Rc::new(settings), 0);
        receiver.on_connect(SimTime::START, 1, &mut Vec::new());
        let at = SimTime::START + Span::ms(20);
        receiver.on_confirm(at);
        let mut script = Script { receiver, at };
        for number in 0..BEFORE {
            script.comes(number);
        }
        assert_eq!(
            (script.comes(BEFORE), script.comes(BEFORE + 1)),
            (vec![], vec![(BEFORE + 2, None, vec![])])
        );
        script
    }

    /// A packet that has left its sender just now.
    fn comes(&mut self, number: u64) -> Vec<Said> {
        self.comes_from(number, Span::ZERO)
    }

    /// A packet with the stamp of so long ago.
    fn comes_from(&mut self, number: u64, ago: Span) -> Vec<Said> {
        let stamp = clock::stamp(self.at + ago * -1);
        let (packet, data) = packet(number, self.at, stamp);
        let mut out = Vec::new();
        self.receiver.on_data(&packet, &data, &mut out);
        self.at = self.at + Span::us(20);
        said(&out)
    }

    /// The receiver's timer, and when it was due.
    fn fires(&mut self) -> (SimTime, Vec<Said>) {
        let (at, mut out) = (self.receiver.deadline().time(), Vec::new());
        self.receiver.on_timer(at, &mut out);
        (at, said(&out))
    }
}

fn packet(number: u64, at: SimTime, stamp: u32) -> (Train, Data) {
    let data = Data {
        first: number,
        stamp,
        last: false,
        pushes: 0,
        echo: 1,
        cwr: false,
        missing: 0,
        held: Span::ZERO,
    };
    let body = Body::Data(data);
    let frame = MSS + 66;
    (Train { at, gap: Span::ZERO, packets: 1, frame, flow: 0, ecn: Ecn::NotCapable, body }, data)
}

fn said(out: &[Train]) -> Vec<Said> {
    let of = |train: &Train| match &train.body {
        Body::Ack(Ack { next, sack, .. }) => {
            let (duplicate, blocks) = sack.as_ref().map_or((None, vec![]), |sack| {
                (sack.duplicate.clone(), sack.blocks.iter().cloned().collect())
            });
            (*next, duplicate, blocks)
        }
        other => panic!("a receiver acknowledges, and sends no {other:?}"),
    };
    out.iter().map(of).collect()
}

/// Packets that come out of order, by how far they are beyond the next one, and what is said of them at once.
fn beyond(script: &mut Script, distances: impl IntoIterator<Item = u64>) -> Vec<Said> {
    let next = script.receiver.next;
    distances.into_iter().flat_map(|distance| script.comes(next + distance)).collect()
}

#[test]
fn what_was_held_back_leaves_without_the_block_that_makes_it_leave() {
    let mut script = Script::new();
    let next = script.receiver.next;
    let block = |range: Range<u64>| next + range.start..next + range.end;
    // Three are answered at once, and one because the window grows. The fifth is held back.
    let at_once = beyond(&mut script, [1, 2, 4, 5]);
    assert_eq!(at_once.last(), Some(&(next, None, vec![block(4..6), block(1..3)])));
    assert_eq!(beyond(&mut script, [6]), []);
    // A third block: what is held back leaves, and does not know it yet.
    assert_eq!(beyond(&mut script, [8]), [(next, None, vec![block(4..7), block(1..3)])]);
    // It counts as answered: nothing is held back for the fourth block to let go.
    assert_eq!(beyond(&mut script, [10]), []);
    assert_eq!(beyond(&mut script, [12]), [(next, None, vec![block(10..11), block(8..9), block(4..7)])]);
}

#[test]
fn what_was_held_back_leaves_with_an_old_block_as_it_is_now_and_where_it_was() {
    let mut script = Script::new();
    let next = script.receiver.next;
    let block = |range: Range<u64>| next + range.start..next + range.end;
    beyond(&mut script, [1, 3, 5, 7]);
    assert_eq!(beyond(&mut script, [8]), []);
    // It extends the third of the blocks.
    assert_eq!(beyond(&mut script, [2]), [(next, None, vec![block(7..9), block(5..6), block(2..4)])]);
    assert_eq!(beyond(&mut script, [10]), [], "it was answered");
}

#[test]
fn the_timer_of_a_delayed_ack_that_has_left_lets_go_what_is_held_back() {
    let mut script = Script::new();
    // The last packet that waited for an acknowledgement came two packets ago, and 40 ms later its timer fires.
    let last = script.at + Span::us(-40);
    script.at = clock::wheel(last, DELAY_MIN_TICKS) + Span::us(-150);
    let next = script.receiver.next;
    beyond(&mut script, [1, 2, 3, 4, 5]);
    let (at, said) = script.fires();
    assert_eq!(at, clock::wheel(last, DELAY_MIN_TICKS));
    assert_eq!(said, [(next, None, vec![next + 1..next + 6])]);
    // It does so once. From then on what is held back leaves with its own timer.
    script.at = at + Span::us(20);
    beyond(&mut script, [6]);
    let own = script.receiver.compressed_at.time();
    assert_eq!((script.fires().0, own > at), (own, true));
}

#[test]
fn a_packet_that_is_much_older_than_the_last_is_answered_and_not_taken() {
    let mut script = Script::new();
    let next = script.receiver.next;
    // Another filled the hole before it.
    assert_eq!(script.comes_from(next - 4, Span::ms(30)), [(next, Some(next - 4..next - 3), vec![])]);
    // None has: it stays missing.
    assert_eq!(script.comes_from(next, Span::ms(30)), [(next, None, vec![])]);
    assert_eq!((script.receiver.next, script.receiver.counts.duplicates), (next, 2));
    // One tick may be due to rounding.
    script.comes_from(next, Span::ms(1));
    assert_eq!(script.receiver.next, next + 1);
}

#[test]
fn the_stamp_of_an_old_packet_is_not_echoed() {
    let mut script = Script::new();
    let (next, echo) = (script.receiver.next, script.receiver.echo);
    script.comes_from(next - 4, Span::ms(30));
    assert_eq!(script.receiver.echo, echo);
    // Nor that of a new copy of what was acknowledged (`tcp_sequence` comes before `tcp_replace_ts_recent`).
    script.at = script.at + Span::ms(5);
    assert_eq!(script.comes(next - 4).len(), 1);
    assert_eq!(script.receiver.echo, echo);
}

#[test]
fn answers_to_old_packets_are_none_of_the_quick_ones() {
    let quick_after = |before: &[u64]| {
        let mut script = Script::new();
        beyond(&mut script, before.iter().copied());
        let old = script.receiver.next - 4;
        script.comes(old);
        script.receiver.quick
    };
    assert_eq!(quick_after(&[]), arrive::QUICK_ACKS);
    // The fifth waited for an acknowledgement, and this is it.
    assert_eq!(quick_after(&[1, 2, 3, 4, 5]), arrive::QUICK_ACKS - 1);
}

/// The ACKs sent when the stream ends: `before` data packets arrive, then one with `payload` bytes and the FIN.
fn ends(before: u64, payload: u32) -> Vec<Said> {
    let mut script = Script::new();
    let next = BEFORE + 2;
    for number in 0..before {
        assert_eq!(script.comes(next + number), []);
    }
    let (mut train, mut data) = packet(next + before, script.at, clock::stamp(script.at));
    (train.frame, data.last) = (66 + payload, true);
    let mut out = Vec::new();
    script.receiver.on_data(&train, &data, &mut out);
    assert!(script.receiver.is_finished());
    assert_eq!(script.receiver.delivered_bytes(), (next + before) * u64::from(MSS) + u64::from(payload));
    said(&out)
}

/// `tcp_fin` takes the socket for one that will answer, and the FIN counts as a byte (`__tcp_ack_snd_check`).
#[test]
fn the_end_of_a_stream_is_acknowledged_late_unless_more_than_a_segment_waits() {
    let next = BEFORE + 2;
    assert_eq!(ends(0, 0), [], "the FIN alone");
    assert_eq!(ends(0, 400), [], "a short packet with it, although it is pushed");
    assert_eq!(ends(0, MSS), [(next + 1, None, vec![])], "a full segment and the FIN");
    assert_eq!(ends(1, 0), [(next + 2, None, vec![])], "a segment that waits and the FIN");
}

/// Packets that GRO merged are acknowledged as one, whatever the ECN feedback.
#[test]
fn of_merged_packets_one_acknowledgement_says_all_with_ecn_as_without() {
    for feedback in [Feedback::Off, Feedback::Classic, Feedback::ExactEcho, Feedback::Accurate] {
        let mut script = Script::of(Settings { feedback, ..settings() });
        let (single, data) = packet(BEFORE + 2, script.at, clock::stamp(script.at));
        let mut out = Vec::new();
        let merged = Train { packets: 3, ecn: Ecn::Capable, ..single };
        script.receiver.on_merged(&merged, &data, &mut out);
        assert_eq!(said(&out), [(BEFORE + 5, None, vec![])], "{feedback:?}");
    }
}

#[test]
fn memory_of_the_first_merged_packets_makes_the_window_with_ecn_as_without() {
    let window = |feedback| {
        let mut receiver = Receiver::new(Rc::new(Settings { feedback, ..settings() }), 0);
        receiver.on_connect(SimTime::START, 1, &mut Vec::new());
        let at = SimTime::START + Span::ms(20);
        receiver.on_confirm(at);
        let (single, data) = packet(0, at, clock::stamp(at));
        receiver.on_merged(&Train { packets: 10, ..single }, &data, &mut Vec::new());
        receiver.buffer.payload_of(1 << 20)
    };
    assert_eq!(window(Feedback::Classic), window(Feedback::Off));
}

#[test]
fn the_first_data_measures_the_round_trip_by_the_stamp_of_the_answer() {
    let (mut receiver, mut out) = (Receiver::new(Rc::new(settings()), 0), Vec::new());
    receiver.on_connect(SimTime::START + Span::ms(10), 1, &mut out);
    let Body::Handshake { stamp, echo, .. } = out[0].body else { panic!("{:?}", out[0]) };
    assert_eq!((stamp, echo), (11, 1));
    let at = SimTime::START + Span::ms(50);
    receiver.on_confirm(at);
    let (packet, data) = packet(0, at, 31);
    receiver.on_data(&packet, &Data { echo: stamp, ..data }, &mut out);
    assert_eq!(receiver.buffer.round_trip_us(), 40_000);
}
