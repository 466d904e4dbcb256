//! Captures of any bytes: no panic, and every count adds up.

#[path = "support/any.rs"]
mod any;
#[path = "support/write.rs"]
mod write;

use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use std::{env, fs};
use write::{Frame, Order, Pcap, Tcp};

/// Small captures, each with what the others lack, by name.
fn samples() -> Vec<(String, Vec<u8>)> {
    let order = Order::Little;
    let syn = Tcp { flags: write::SYN, options: &[2, 4, 5, 180, 4, 2, 1, 3, 3, 7], ..Tcp::default() };
    let data =
        Tcp { seq: 1, payload: 100, options: &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9], ..Tcp::default() };
    let vxlan = write::udp(
        [1, 4789],
        &[&[8, 0, 0, 0, 0, 0, 1, 0], write::frame_v4(&data.ipv4()).as_slice()].concat(),
    );
    let frames = [
        Frame::new(1, write::frame_v4(&syn.ipv4())),
        Frame::new(2, write::frame_v4(&data.ipv4())).cut(70),
        Frame::new(
            3,
            write::ether(
                0x86dd,
                &write::ipv6(0, &[&[6, 0, 0xc2, 4, 0, 0, 0, 50], data.bytes().as_slice()].concat()),
            ),
        ),
        Frame::new(
            4,
            write::ether(
                0x8100,
                &[&[0, 1, 8, 0], write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 17, &vxlan).as_slice()].concat(),
            ),
        ),
        Frame::new(5, write::ether(0x8847, &[&[0, 1, 1, 64], data.ipv4().as_slice()].concat())),
        Frame::new(
            6,
            write::frame_v4(&write::ipv4(
                [1, 1, 1, 1],
                [2, 2, 2, 2],
                47,
                &[&[0, 0, 8, 0], data.ipv4().as_slice()].concat(),
            )),
        ),
    ];
    let mut pcapng = write::section(order, &[write::option(order, 1, b"comment")]);
    pcapng.extend(write::interface(order, 1, 0, &[write::option(order, 9, &[9])]));
    for frame in &frames {
        let options = [write::option(order, 2, &[1, 0, 0, 0]), write::option(order, 1, b"note")];
        pcapng.extend(write::enhanced(order, 0, frame.time_ns, frame, &options));
    }
    pcapng.extend(write::simple(order, &frames[0]));
    pcapng.extend(write::statistics(order, 0, &[(4, 9), (5, 1)]));
    let mut samples = vec![("pcapng".to_string(), pcapng)];
    for kind in [Pcap::Microseconds, Pcap::Nanoseconds, Pcap::Modified] {
        samples.push((format!("{kind:?}-big-endian"), write::pcap(kind, Order::Big, 1, &frames)));
    }
    for link_type in [0, 9, 51, 101, 104, 108, 113, 276] {
        let file = write::pcap(Pcap::Nanoseconds, order, link_type, &frames);
        samples.push((format!("link-type-{link_type}"), file));
    }
    samples
}

/// `BLESS=1` writes them. The fuzzer starts from them (tools/fuzz), and whatever it found is beside them.
#[test]
fn corpus_has_all_samples_and_does_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for (name, sample) in samples() {
        let path = folder.join(name);
        if env::var_os("BLESS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &sample).unwrap();
        }
        let is_current = fs::read(&path).ok().as_ref() == Some(&sample);
        assert!(is_current, "{}: `BLESS=1 cargo test -p wirespeed-capture` writes it", path.display());
    }
    for entry in fs::read_dir(folder).unwrap() {
        any::capture(&fs::read(entry.unwrap().path()).unwrap());
    }
}

#[test]
fn captures_cut_anywhere_are_read_up_to_there() {
    for (_, sample) in samples() {
        for length in 0..=sample.len() {
            any::capture(&sample[..length]);
        }
    }
}

proptest! {
    #[test]
    fn changed_bytes_do_no_harm(
        which in 0..12usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let (_, mut bytes) = samples().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        any::capture(&bytes);
    }

    #[test]
    fn frames_of_any_bytes_do_no_harm(
        link_type in prop::sample::select(vec![0u32, 1, 9, 50, 51, 101, 104, 108, 113, 228, 276]),
        start in prop::sample::select(vec![vec![], write::ether(0x0800, &[0x45]), write::ether(0x86dd, &[0x60]), write::ether(0x8847, &[])]),
        frames in vec(vec(any::<u8>(), 1..120), 1..5),
    ) {
        let frames: Vec<_> = frames.iter().map(|rest| Frame::new(1, [start.as_slice(), rest].concat())).collect();
        any::capture(&write::pcap(Pcap::Nanoseconds, Order::Little, link_type, &frames));
    }

    #[test]
    fn any_bytes_do_no_harm(
        start in prop::sample::select(vec![
            vec![], vec![0x1f, 0x8b, 8], vec![0x28, 0xb5, 0x2f, 0xfd], vec![0x0a, 0x0d, 0x0d, 0x0a],
            write::pcap_head(Pcap::Microseconds, Order::Little, 1), write::section(Order::Big, &[]),
        ]),
        rest in vec(any::<u8>(), 0..300),
    ) {
        any::capture(&[start, rest].concat());
    }
}
