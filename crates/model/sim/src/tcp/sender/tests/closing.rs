//! How a stream ends (`tcp_send_fin`).

use super::*;
use crate::net::Ack;

/// Payload of each packet that has left, and whether it carries the FIN.
fn packets(out: &mut Vec<Train>) -> Vec<(u32, bool)> {
    let mut packets = Vec::new();
    for train in out.drain(..) {
        let Body::Data(data) = train.body else { continue };
        let last = train.packets - 1;
        packets.extend((0..train.packets).map(|i| (train.frame - 66, data.last && i == last)));
    }
    packets
}

/// A sender of GSO packets of four segments at most, which has half a millisecond of round-trip time and so many bytes to
/// send, and what it has sent.
fn connected(bytes: u64) -> (Sender, Vec<(u32, bool)>) {
    let start = Start::of(10);
    let settings = Settings { gso_packets: 4, ..start.settings() };
    let stream = Stream {
        flow: 0,
        packets: bytes.div_ceil(MSS),
        last_bytes: ((bytes - 1) % MSS + 1) as u32,
        stays_open: false,
        peer_stamp_offset: 0,
        seed: 0,
    };
    let (mut sender, mut out) = (Sender::new(Rc::new(settings), stream), Vec::new());
    sender.connect(SimTime::START, &mut out);
    sender.on_reply(at(500), 0, 100 * MSS, &mut out);
    (sender, packets(&mut out))
}

/// What leaves when everything below `next` is acknowledged.
fn acknowledge(sender: &mut Sender, us: i64, next: u64) -> Vec<(u32, bool)> {
    let mut out = Vec::new();
    let ack = Ack {
        next,
        stride: 1,
        window: 100 * MSS,
        stamp: (us / 1000 + 1) as u32,
        echo: 1,
        ece: false,
        asks: false,
        marks: None,
        sack: None,
    };
    sender.on_acks(at(us), Span::ZERO, 1, &ack, &mut out);
    sender.board.verify();
    packets(&mut out)
}

#[test]
fn the_fin_is_a_separate_packet_if_all_data_has_left() {
    let (mut sender, sent) = connected(2_400);
    assert_eq!(sent, [(1000, false), (1000, false), (400, false), (0, true)]);
    assert_eq!((sender.bytes(3), sender.bytes(4)), (2_400, 2_400));
    assert_eq!((sender.sequence(3), sender.sequence(4)), (2_400, 2_401), "the FIN takes a number");
    assert_eq!(sender.counts.packets_out, 3, "the FIN is not counted as data");
    assert_eq!(sender.counts.bytes_out, 2_400);
    // It is waited for, and repeated, like data.
    assert_eq!(acknowledge(&mut sender, 1_000, 3), []);
    let mut out = Vec::new();
    sender.on_timer(sender.deadline().time(), &mut out);
    assert_eq!(packets(&mut out), [(0, true)]);
}

#[test]
fn unsent_data_carries_the_fin() {
    let (mut sender, sent) = connected(11_400);
    assert_eq!(sent, [(1000, false); 10]);
    assert_eq!(acknowledge(&mut sender, 1_700, 10), [(1000, false), (400, true)]);
    assert_eq!(sender.counts.bytes_out, 11_400);
    assert_eq!(sender.sequence(12), 11_401);
}

/// With room for two segments, a third of the window is not reached and the next ACK is due: Linux waits for more, unless
/// nothing more can come.
#[test]
fn the_end_of_a_stream_waits_only_for_the_window() {
    // The window has room for all of it and more.
    let (mut sender, _) = connected(11_400);
    assert_eq!(acknowledge(&mut sender, 1_000, 1), [(1000, false), (400, true)]);
    // The window has room for just this (`is_cwnd_limited`).
    let (mut sender, _) = connected(12_000);
    assert_eq!(acknowledge(&mut sender, 1_000, 1), []);
    // It is not the end.
    let (mut sender, _) = connected(20_000);
    assert_eq!(acknowledge(&mut sender, 1_000, 1), []);
}
