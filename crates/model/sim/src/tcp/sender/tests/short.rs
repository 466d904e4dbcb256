//! What leaves into the end of a receive window that is no number of whole segments (`tcp_mss_split_point`).

use super::*;

/// Payload of each packet that has left, and where its first byte stands in the stream.
fn packets(out: &mut Vec<Train>) -> Vec<(u64, u64)> {
    let mut packets = Vec::new();
    for train in out.drain(..) {
        let Body::Data(data) = train.body else { continue };
        for number in data.first..data.first + u64::from(train.packets) {
            packets.push((u64::from(train.frame) - 66, number * MSS - u64::from(data.missing)));
        }
    }
    packets
}

/// A sender of GSO packets of four segments at most, connected to a peer with a window of so many bytes, and what it has sent.
fn connected(window: u64) -> (Sender, Vec<Train>) {
    let start = Start::of(10);
    let settings = Settings { gso_packets: 4, ..start.settings() };
    let stream = Stream {
        flow: 0,
        packets: u64::MAX,
        last_bytes: MSS as u32,
        stays_open: false,
        peer_stamp_offset: 0,
        seed: 0,
    };
    let (mut sender, mut out) = (Sender::new(Rc::new(settings), stream), Vec::new());
    sender.connect(SimTime::START, &mut out);
    sender.on_reply(at(START), 0, window, &mut out);
    (sender, out)
}

fn acknowledge(sender: &mut Sender, us: i64, next: u64, window: u64) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    let (echo, stamp) = ((START / 1000 + 1) as u32, (us / 1000 + 1) as u32);
    sender.on_ack(
        Incoming {
            now: at(us),
            next,
            window,
            echo,
            stamp,
            ece: false,
            marks: None,
            sack: None,
            count: 1,
            gap: Span::ZERO,
            stride: 1,
            leaving: None,
            by_first: false,
        },
        &mut out,
    );
    sender.board.verify();
    packets(&mut out)
}

#[test]
fn a_gso_packet_is_cut_to_the_last_byte_of_the_window() {
    let (mut sender, mut out) = connected(5_500);
    let sent = packets(&mut out);
    // Half the window is the goal of a GSO packet: two segments. The third has a segment and a half.
    assert_eq!(sent, [(1000, 0), (1000, 1000), (1000, 2000), (1000, 3000), (1000, 4000), (500, 5000)]);
    assert_eq!(sender.bytes(6), 5_500);
    // Two segments more, and the short packet is still out: only whole ones leave.
    assert_eq!(acknowledge(&mut sender, 200_000, 2, 5_900), [(1000, 5500), (1000, 6500)]);
    // It is acknowledged: a window of three segments and a half is filled again.
    let sent = acknowledge(&mut sender, 201_000, 6, 5_500);
    assert_eq!(sent, [(1000, 7500), (1000, 8500), (1000, 9500), (500, 10_500)]);
    // What is less than a segment alone is not worth a packet (`tcp_snd_wnd_test`).
    assert_eq!(acknowledge(&mut sender, 202_000, 10, 900), []);
}

#[test]
fn a_window_of_whole_segments_is_filled_with_whole_ones() {
    let (mut sender, mut out) = connected(6_000);
    assert!(packets(&mut out).iter().all(|(bytes, _)| *bytes == MSS));
    assert!(acknowledge(&mut sender, 200_000, 2, 6_000).iter().all(|(bytes, _)| *bytes == MSS));
    assert_eq!(sender.bytes(8), 8_000);
}

#[test]
fn a_message_begins_behind_the_short_end_of_the_one_before() {
    let stream =
        Stream { flow: 0, packets: 2, last_bytes: 500, stays_open: true, peer_stamp_offset: 0, seed: 0 };
    let (mut sender, mut out) = (Sender::new(Rc::new(Start::of(10).settings()), stream), Vec::new());
    sender.connect(SimTime::START, &mut out);
    sender.on_reply(at(START), 0, 100 * MSS, &mut out);
    let ack = Incoming {
        now: at(2 * START),
        next: 2,
        window: 100 * MSS,
        echo: 1,
        stamp: 1,
        ece: false,
        marks: None,
        sack: None,
        count: 1,
        gap: Span::ZERO,
        stride: 2,
        leaving: None,
        by_first: false,
    };
    sender.on_ack(ack, &mut out);
    assert!(sender.awaits_message());
    sender.begin_message(at(2 * START), MSS, &mut out);
    assert_eq!([2, 3].map(|number| sender.bytes(number)), [MSS + 500, 2 * MSS + 500]);
}
