//! Packet by packet: what a capture at the sender shows is what a real kernel showed, from the first packet to the last one of
//! the trace: the same packets, acknowledgements, windows and selective acknowledgements in the same order at the same times.
//!
//! Traces are in `kernel/`, beside the scenarios they are of. One is made anew with
//!
//! ```text
//! wirespeed run crates/model/sim/tests/kernel/NAME.toml --on kernel --out OUT
//! KERNEL_CAPTURE=OUT/runs/r0/raw/sender.pcap cargo test -p wirespeed-sim --test packets -- NAME
//! ```

mod support;

use std::fmt::Write;
use support::{frames, outcome, run_of};

/// The kernel rounds the time that each packet takes up to whole nanoseconds, and its timers.
const LATE_NS: i64 = 4_000;
/// Payload of a full packet, with time stamps.
const MSS: u32 = 1448;

/// A captured packet: whose it is, and what it says. Numbers are in packets since the start of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Packet {
    Data { number: u32 },
    Ack { next: u32, window: u16, blocks: Vec<(u32, u32)> },
}

/// The packets of a capture behind the handshake, with their times in nanoseconds.
fn packets(capture: &[u8]) -> Vec<(i64, Packet)> {
    let mut start = None;
    let of_frame = |(time, length, kept): (i64, usize, &[u8])| {
        let tcp = &kept[14 + 20..];
        let payload = length - 14 - 20 - usize::from(tcp[12] >> 4) * 4;
        packet(tcp, payload, &mut start).map(|packet| (time, packet))
    };
    frames(capture).into_iter().filter_map(of_frame).collect()
}

/// A TCP packet of so much payload; `start`: sequence number of the stream's first byte.
fn packet(tcp: &[u8], payload: usize, start: &mut Option<u32>) -> Option<Packet> {
    let four = |at: usize| u32::from_be_bytes(tcp[at..at + 4].try_into().expect("four bytes"));
    let (flags, from_receiver) = (tcp[13], u16::from_be_bytes([tcp[0], tcp[1]]) == 5001);
    if flags & 2 != 0 {
        if !from_receiver {
            *start = Some(four(4).wrapping_add(1));
        }
        return None;
    }
    let start = start.expect("a stream begins with SYN");
    let number = |sequence: u32| {
        let byte = sequence.wrapping_sub(start);
        assert_eq!(byte % MSS, 0, "packets are full ones");
        byte / MSS
    };
    if !from_receiver {
        return (payload > 0).then(|| Packet::Data { number: number(four(4)) });
    }
    let (mut at, mut blocks) = (20, Vec::new());
    while at < usize::from(tcp[12] >> 4) * 4 {
        match tcp[at] {
            1 => at += 1,
            5 => {
                let bounds = (at + 2..at + usize::from(tcp[at + 1])).step_by(8);
                blocks.extend(bounds.map(|at| (number(four(at)), number(four(at + 4)))));
                at += usize::from(tcp[at + 1]);
            }
            _ => at += usize::from(tcp[at + 1]),
        }
    }
    Some(Packet::Ack { next: number(four(8)), window: u16::from_be_bytes([tcp[14], tcp[15]]), blocks })
}

/// As lines: `TIME > FIRST COUNT` and `TIME < NEXT WINDOW FIRST-END...`, times in microseconds.
fn written(packets: &[(i64, Packet)]) -> String {
    let mut text = String::new();
    let mut left = packets;
    while let [(time, first), ..] = left {
        let time = time / 1000;
        let mut taken = 1;
        match first {
            Packet::Data { number } => {
                let follows = |taken: usize| {
                    left.get(taken).is_some_and(|(at, next)| {
                        at / 1000 == time && *next == Packet::Data { number: number + taken as u32 }
                    })
                };
                while follows(taken) {
                    taken += 1;
                }
                writeln!(text, "{time} > {number} {taken}").expect("a string takes all");
            }
            Packet::Ack { next, window, blocks } => {
                let blocks: String = blocks.iter().map(|(first, end)| format!(" {first}-{end}")).collect();
                writeln!(text, "{time} < {next} {window}{blocks}").expect("a string takes all");
            }
        }
        left = &left[taken..];
    }
    text
}

fn read(text: &str) -> Vec<(i64, Packet)> {
    let mut packets = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let number =
            |field: &str| -> u32 { field.parse().unwrap_or_else(|_| panic!("a number in {line:?}")) };
        let time = i64::from(number(fields[0])) * 1000;
        if fields[1] == ">" {
            let (first, count) = (number(fields[2]), number(fields[3]));
            packets.extend((first..first + count).map(|number| (time, Packet::Data { number })));
        } else {
            let block = |field: &&str| {
                let (first, end) = field.split_once('-').expect("a block has an end");
                (number(first), number(end))
            };
            let blocks = fields[4..].iter().map(block).collect();
            packets.push((
                time,
                Packet::Ack { next: number(fields[2]), window: number(fields[3]) as u16, blocks },
            ));
        }
    }
    packets
}

/// The model's capture of a scenario, with trains and without, against the kernel's; at least `least` packets are compared.
fn compare(name: &str, least: usize) {
    let folder = format!("{}/tests/kernel", env!("CARGO_MANIFEST_DIR"));
    let (scenario, trace) = (format!("{folder}/{name}.toml"), format!("{folder}/{name}.txt"));
    if let Ok(capture) = std::env::var("KERNEL_CAPTURE") {
        let capture = std::fs::read(capture).expect("the kernel's capture");
        std::fs::write(&trace, written(&packets(&capture))).expect("the trace is written");
    }
    let kernel = read(&std::fs::read_to_string(trace).expect("the kernel's trace"));
    assert!(kernel.len() >= least, "{} packets are in the trace", kernel.len());
    let scenario = std::fs::read_to_string(scenario).expect("the scenario");
    for trains in ["true", "false"] {
        let run = run_of(&scenario.replace("[run]\n", &format!("[run]\ntrains = {trains}\n")));
        let mut model = packets(&outcome(&run).captures[0].1);
        // Packets that leave together may be written when the train does: in order of time.
        model.sort_by_key(|(time, _)| *time);
        for (index, (kernel, model)) in kernel.iter().zip(&model).enumerate() {
            let (is, was) = (&model.1, &kernel.1);
            assert!(
                is == was && (model.0 - kernel.0).abs() <= LATE_NS,
                "packet {index}, trains = {trains}: the kernel's is {was:?} at {} ns, here {is:?} at {} ns",
                kernel.0,
                model.0
            );
        }
        // What leaves as the run ends is in one capture or the other.
        let end = kernel.last().expect("the trace has packets").0 - 1_000_000;
        let before = |packets: &[(i64, Packet)]| packets.iter().filter(|(time, _)| *time < end).count();
        assert_eq!(before(&model), before(&kernel), "packets, trains = {trains}");
    }
}

#[test]
fn opening() {
    compare("opening", 5_000);
}

#[test]
fn overflow() {
    compare("overflow", 3_000);
}

#[test]
fn sparse() {
    compare("sparse", 5_000);
}

#[test]
fn lossy() {
    compare("lossy", 5_000);
}

#[test]
fn paced() {
    compare("paced", 1_200);
}
