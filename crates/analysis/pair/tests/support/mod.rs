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

/// Offset of the TCP header in a frame of the model.
const TCP: usize = IP + 20;

fn number(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(frame[at..at + 4].try_into().expect("four bytes"))
}

fn from_client(frame: &[u8]) -> bool {
    frame[IP + 12..IP + 16] == [10, 0, 0, 1]
}

/// The capture behind a device that gives the client other sequence numbers, and does not change SACK blocks.
pub fn shifted(file: &[u8], by: u32) -> Vec<u8> {
    edited(file, |time, frame| {
        let is_syn = frame[TCP + 13] & 0x12 == 0x02;
        let at = if from_client(frame) { TCP + 4 } else { TCP + 8 };
        let has_number = from_client(frame) || frame[TCP + 13] & 0x10 != 0;
        if has_number || is_syn {
            let changed = number(frame, at).wrapping_add(by);
            frame[at..at + 4].copy_from_slice(&changed.to_be_bytes());
        }
        Some(time)
    })
}

/// The capture with another MSS in the client's SYN.
pub fn with_client_mss(file: &[u8], mss: u16) -> Vec<u8> {
    edited(file, |time, frame| {
        if from_client(frame) && frame[TCP + 13] & 0x02 != 0 {
            assert_eq!(frame[TCP + 20..TCP + 22], [2, 4], "the MSS is the first option");
            frame[TCP + 22..TCP + 24].copy_from_slice(&mss.to_be_bytes());
        }
        Some(time)
    })
}

/// The capture as a host has it with segmentation offload: up to `most` packets in a row of the same flags and timestamps are one. Returns
/// the number of super-packets.
pub fn merged(file: &[u8], most: usize) -> (Vec<u8>, usize) {
    struct Merged {
        time: i64,
        frame: Vec<u8>,
        payload: usize,
        packets: usize,
    }
    let (mut all, mut last): (Vec<Merged>, Option<usize>) = (Vec::new(), None);
    edited(file, |time, frame| {
        let length = usize::from(u16::from_be_bytes([frame[IP + 2], frame[IP + 3]]));
        let headers = 20 + usize::from(frame[TCP + 12] >> 4) * 4;
        let payload = length - headers;
        // All of the header but sequence number, flags and checksum.
        let rest = |frame: &[u8]| {
            [&frame[TCP + 8..TCP + 13], &frame[TCP + 14..TCP + 16], &frame[TCP + 18..IP + headers]].concat()
        };
        let fits = |before: &Merged| {
            payload > 0
                && before.packets < most
                && before.payload.is_multiple_of(1448)
                && number(&before.frame, TCP + 4).wrapping_add(before.payload as u32)
                    == number(frame, TCP + 4)
                && u16::from_be_bytes([before.frame[IP + 4], before.frame[IP + 5]])
                    .wrapping_add(before.packets as u16)
                    == u16::from_be_bytes([frame[IP + 4], frame[IP + 5]])
                && rest(&before.frame) == rest(frame)
                && time - before.time < 2_000_000
        };
        match last.filter(|&at| from_client(frame) && fits(&all[at])) {
            Some(at) => {
                let before = &mut all[at];
                before.payload += payload;
                before.packets += 1;
                before.frame[TCP + 13] |= frame[TCP + 13];
                let length = (headers + before.payload) as u16;
                before.frame[IP + 2..IP + 4].copy_from_slice(&length.to_be_bytes());
            }
            None => {
                if payload > 0 {
                    last = Some(all.len());
                }
                all.push(Merged { time, frame: frame.to_vec(), payload, packets: 1 });
            }
        }
        None
    });
    let mut bytes = file[..24].to_vec();
    for Merged { time, frame, payload, .. } in &all {
        let on_the_wire = frame.len().max(payload + 66);
        for word in [time / 1_000_000_000, time % 1_000_000_000, frame.len() as i64, on_the_wire as i64] {
            bytes.extend_from_slice(&(word as u32).to_le_bytes());
        }
        bytes.extend_from_slice(frame);
    }
    (bytes, all.iter().filter(|one| one.packets > 1).count())
}
