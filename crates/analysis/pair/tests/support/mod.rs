//! Pairs of captures of runs of the model, and changes of one of them.

use std::io::Cursor;
use wirespeed_capture::{Input, Settings};
use wirespeed_pair::{Options, PairTrace, Side, read};
use wirespeed_sim::{Outcome, simulate};

/// The only run of a scenario, carried out on the model.
pub fn outcome(scenario: &str) -> Outcome {
    let study = match wirespeed_scenario::parse(scenario, "test", &[], None) {
        Ok(study) => study,
        Err(error) => panic!("{error}\n{scenario}"),
    };
    simulate(&study.runs[0], &mut |_| true).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// The capture at a host.
pub fn capture(outcome: &Outcome, host: &str) -> Vec<u8> {
    outcome.captures.iter().find(|(name, _)| name == host).expect("the host has a capture").1.clone()
}

/// The comparison of two captures in memory.
pub fn pair(first: &[u8], second: &[u8], options: Options) -> PairTrace {
    let side = |bytes: &[u8], name: &str| {
        let bytes = bytes.to_vec();
        let open = move || Input::Reader(Box::new(Cursor::new(bytes.clone())));
        Side { name: name.into(), open: Box::new(open) }
    };
    let sides = [side(first, "first.pcap"), side(second, "second.pcap")];
    match read(&sides, &Settings::default(), options) {
        Ok((pair, _)) => pair,
        Err(error) => panic!("{error}"),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The capture with each record changed: `change` gets its time in nanoseconds and its frame, and returns the new time, or `None` to
/// leave it out.
pub fn edited(file: &[u8], mut change: impl FnMut(i64, &mut [u8]) -> Option<i64>) -> Vec<u8> {
    let (mut at, mut edited) = (24, file[..24].to_vec());
    while at < file.len() {
        let end = at + 16 + word(file, at + 8) as usize;
        let mut record = file[at..end].to_vec();
        let time = i64::from(word(file, at)) * 1_000_000_000 + i64::from(word(file, at + 4));
        if let Some(time) = change(time, &mut record[16..]) {
            record[..4].copy_from_slice(&((time / 1_000_000_000) as u32).to_le_bytes());
            record[4..8].copy_from_slice(&((time % 1_000_000_000) as u32).to_le_bytes());
            edited.extend(record);
        }
        at = end;
    }
    edited
}

/// The capture by a clock that is ahead by `offset_ns` and gains `skew_ppm`.
pub fn by_clock(file: &[u8], offset_ns: i64, skew_ppm: f64) -> Vec<u8> {
    edited(file, |time, _| Some(time + offset_ns + (time as f64 * skew_ppm * 1e-6) as i64))
}

/// Offset of the IPv4 header in a frame of the model.
const IP: usize = 14;

/// The capture behind a device that gives the client another address and port, and the packets another identification and fewer hops.
pub fn translated(file: &[u8], client: [u8; 4], public: [u8; 4], port: u16) -> Vec<u8> {
    edited(file, |time, frame| {
        for (address, ports) in [(IP + 12, IP + 20), (IP + 16, IP + 22)] {
            if frame[address..address + 4] == client {
                frame[address..address + 4].copy_from_slice(&public);
                frame[ports..ports + 2].copy_from_slice(&port.to_be_bytes());
            }
        }
        frame[IP + 8] -= 3;
        let id = u16::from_be_bytes([frame[IP + 4], frame[IP + 5]]).wrapping_mul(31).wrapping_add(7);
        frame[IP + 4..IP + 6].copy_from_slice(&id.to_be_bytes());
        Some(time)
    })
}
