//! Flows for which the model without trains sends and gets the same packets as Linux in virtual time, one by one: alone, through
//! losses, packets that others overtake and packets that arrive twice; and together, from their beginning to their end. With
//! other seeds some such flows differ after a thousand packets or more.
#![cfg(feature = "kernel")]

mod support;

use std::fs;
use std::path::Path;
use support::{errors, has_kernel, wirespeed};
use wirespeed_capture::{Body, Flags, Input, Reader, Segment, Tunnels};

/// One packet: numbers of bytes count from the first of its stream.
#[derive(Debug, PartialEq)]
enum Seen {
    Data { first: u32, bytes: u32, ends: bool },
    Ack { next: u32, window: u16, sack: Vec<(u32, u32)> },
}

/// The packets of the connections of a capture after their handshakes, in order of their SYNs.
fn connections(capture: &Path) -> Vec<Vec<Seen>> {
    let mut reader = Reader::open(Input::File(capture), Tunnels::default()).unwrap();
    let mut seen: Vec<Vec<Seen>> = Vec::new();
    // Sender and receiver, and the sender's first number.
    let mut known = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let Body::Tcp(segment) = packet.body else { panic!("the flows are of TCP") };
        let ends = [packet.source, packet.destination];
        let place = known.iter().position(|(known, _)| *known == ends || *known == [ends[1], ends[0]]);
        if segment.flags.contains(Flags::SYN) {
            if place.is_none() {
                known.push((ends, segment.seq + 1));
                seen.push(Vec::new());
            }
            continue;
        }
        let place = place.expect("a connection begins with a SYN");
        let (from, first) = known[place];
        if ends != from {
            seen[place].push(ack(&segment, first));
        } else if segment.payload_bytes > 0 || segment.flags.contains(Flags::FIN) {
            let first = segment.seq.wrapping_sub(first);
            let ends = segment.flags.contains(Flags::FIN);
            seen[place].push(Seen::Data { first, bytes: segment.payload_bytes, ends });
        }
    }
    seen
}

fn ack(segment: &Segment, first: u32) -> Seen {
    let since = |number: u32| number.wrapping_sub(first);
    let sack = segment.options.sack.iter().map(|block| (since(block.left), since(block.right))).collect();
    Seen::Ack { next: since(segment.ack), window: segment.window, sack }
}

#[test]
fn the_model_sends_the_packets_of_linux() {
    if !has_kernel("the_model_sends_the_packets_of_linux") {
        return;
    }
    let mut wrong = Vec::new();
    let late = "reorder = { probability = 1e-3, delay = \"30 ms\" }";
    let twice = "duplicate = { probability = 1e-2 }\nloss = 1e-3";
    let twice_and_late =
        "duplicate = { probability = 1e-3, delay = \"3 ms\" }\nreverse.duplicate = { probability = 1e-2 }";
    for (algorithm, path) in [
        ("reno", "loss = 1e-3"),
        ("reno", "loss = 1e-2"),
        ("cubic", "loss = 1e-3"),
        ("vegas", "loss = 1e-2"),
        ("reno", late),
        ("cubic", late),
        ("htcp", late),
        ("reno", twice),
        ("reno", twice_and_late),
    ] {
        let path = format!("rate = \"500 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 bdp\"\n{path}");
        let flow = format!("congestion = \"{algorithm}\"");
        let [model, kernel] = on_both(&path, &flow, "duration = \"1.5 s\"").map(|mut seen| seen.remove(0));
        // A capture may lack packets that were under way at the end of the run.
        let compared = model.len().min(kernel.len());
        assert!(
            compared > 500 && model.len().abs_diff(kernel.len()) < 100,
            "{} {}",
            model.len(),
            kernel.len()
        );
        if let Some(at) = (0..compared).find(|&at| model[at] != kernel[at]) {
            wrong.push(format!(
                "{algorithm}, {path}: packet {at} of {compared}: {:?} on the model, {:?} on Linux",
                model[at], kernel[at]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Transfers of published sizes, from a few packets to thousands, that meet at a small buffer: where the last data goes out, what
/// carries the FIN, and how that is acknowledged.
#[test]
fn the_model_ends_its_streams_as_linux() {
    if !has_kernel("the_model_ends_its_streams_as_linux") {
        return;
    }
    let path = "rate = \"100 Mbit/s\"\nrtt = \"1 ms\"\nbuffer = \"2 bdp\"";
    let flow = "congestion = \"reno\"\nsizes = \"web-search\"\narrivals = { load = 0.3, until = \"8 s\" }";
    let [model, kernel] = on_both(path, flow, "duration = \"12 s\"\nseed = 6324560762195097633");
    assert_eq!(model.len(), kernel.len());
    let equal = model.iter().zip(&kernel).filter(|(model, kernel)| model == kernel).count();
    assert!(model.len() > 10 && equal == model.len(), "{equal} of {} transfers are equal", model.len());
    let last = |seen: &[Seen]| {
        seen.iter().rev().find_map(|seen| match seen {
            Seen::Data { bytes, ends: true, .. } => Some(*bytes > 0),
            _ => None,
        })
    };
    let ends: Vec<bool> = kernel.iter().filter_map(|seen| last(seen)).collect();
    assert_eq!(ends.len(), kernel.len(), "each has its FIN");
    assert!(ends.contains(&true) && ends.contains(&false), "with data and alone");
}

/// The packets captured at the sender, on the model without trains and on the kernel.
fn on_both(path: &str, flow: &str, run: &str) -> [Vec<Vec<Seen>>; 2] {
    let folder = tempfile::tempdir().unwrap();
    [("model", "trains = false"), ("kernel", "")].map(|(substrate, trains)| {
        let text = format!(
            "schema = 1\nname = \"same\"\n[path]\n{path}\n[[flow]]\n{flow}\n[[capture]]\nat = \"sender\"\n\
             [run]\n{run}\n{trains}\n"
        );
        let file = format!("{substrate}.toml");
        fs::write(folder.path().join(&file), text).unwrap();
        let ran = wirespeed(folder.path(), &["run", &file, "--on", substrate, "--out", substrate]);
        assert!(ran.status.success(), "{}", errors(&ran));
        connections(&folder.path().join(substrate).join("runs/r0/raw/sender.pcap"))
    })
}
