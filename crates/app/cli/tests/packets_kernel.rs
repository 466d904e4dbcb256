//! Single flows for which the model without trains sends and gets the same packets as Linux in virtual time, one by one, through
//! losses and packets that others overtake. With other seeds some such flows differ after a thousand packets or more.
#![cfg(feature = "kernel")]

mod support;

use std::fs;
use std::path::Path;
use support::{errors, has_kernel, wirespeed};
use wirespeed_capture::{Body, Flags, Input, Reader, Segment, Tunnels};

/// One packet: numbers of bytes count from the first of its stream.
#[derive(Debug, PartialEq)]
enum Seen {
    Data { first: u32, bytes: u32 },
    Ack { next: u32, window: u16, sack: Vec<(u32, u32)> },
}

/// The packets of a capture with one connection, after its handshake.
fn packets(capture: &Path) -> Vec<Seen> {
    let mut reader = Reader::open(Input::File(capture), Tunnels::default()).unwrap();
    let mut seen = Vec::new();
    let mut sender = None;
    while let Some(packet) = reader.next_packet() {
        let Body::Tcp(segment) = packet.body else { panic!("the flow is one of TCP") };
        if segment.flags.contains(Flags::SYN) {
            sender.get_or_insert((packet.source, segment.seq + 1));
            continue;
        }
        let (source, first) = sender.expect("a connection begins with a SYN");
        if packet.source != source {
            seen.push(ack(&segment, first));
        } else if segment.payload_bytes > 0 {
            seen.push(Seen::Data { first: segment.seq.wrapping_sub(first), bytes: segment.payload_bytes });
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
    for (algorithm, path) in [
        ("reno", "loss = 1e-3"),
        ("reno", "loss = 1e-2"),
        ("cubic", "loss = 1e-3"),
        ("vegas", "loss = 1e-2"),
        ("reno", late),
        ("cubic", late),
        ("htcp", late),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for (substrate, trains) in [("model", "trains = false"), ("kernel", "")] {
            let text = format!(
                "schema = 1\nname = \"same\"\n[path]\nrate = \"500 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 bdp\"\n\
                 {path}\n[[flow]]\ncongestion = \"{algorithm}\"\n[[capture]]\nat = \"sender\"\n\
                 [run]\nduration = \"1.5 s\"\n{trains}\n"
            );
            let file = format!("{substrate}.toml");
            fs::write(folder.path().join(&file), text).unwrap();
            let ran = wirespeed(folder.path(), &["run", &file, "--on", substrate, "--out", substrate]);
            assert!(ran.status.success(), "{}", errors(&ran));
        }
        let [model, kernel] = ["model", "kernel"]
            .map(|substrate| packets(&folder.path().join(substrate).join("runs/r0/raw/sender.pcap")));
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
