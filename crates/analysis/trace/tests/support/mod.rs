//! Captures for tests: those of runs of the model.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::Cursor;
use wirespeed_capture::{Input, Settings};
use wirespeed_scenario::Run;
use wirespeed_sim::{Outcome, simulate};
use wirespeed_trace::{FlowTrace, Options, Trace};

/// The runs of a scenario.
pub fn runs(scenario: &str) -> Vec<Run> {
    match wirespeed_scenario::parse(scenario, "test", &[], None) {
        Ok(study) => study.runs,
        Err(error) => panic!("{error}\n{scenario}"),
    }
}

/// Carries a run out on the model.
pub fn outcome(run: &Run) -> Outcome {
    simulate(run, &mut |_| true).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// The capture at a host.
pub fn trace(outcome: &Outcome, host: &str) -> Trace {
    let (_, file) = outcome.captures.iter().find(|(name, _)| name == host).expect("the host has a capture");
    analyze(file)
}

/// The data of the only connection, which its client sends.
pub fn flow(trace: &Trace) -> &FlowTrace {
    trace.connections[0].from_client.as_ref().expect("the client sends")
}

/// The analysis of a capture in memory.
pub fn analyze(file: &[u8]) -> Trace {
    let input = Input::Reader(Box::new(Cursor::new(file.to_vec())));
    let (trace, _) = wirespeed_trace::read(input, &Settings::default(), Options::default())
        .expect("the model writes captures that can be read");
    trace
}

/// The records of a pcap file, with their heads, and the payload of the TCP packet in each.
fn records(file: &[u8]) -> Vec<(&[u8], usize)> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize;
    let (mut at, mut records) = (24, Vec::new());
    while at < file.len() {
        let end = at + 16 + word(at + 8);
        let frame = &file[at + 16..end];
        let length = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        let payload = length - 20 - usize::from(frame[14 + 20 + 12] >> 4) * 4;
        records.push((&file[at..end], payload));
        at = end;
    }
    records
}

/// The capture with every `every`th pair of data packets in the other order, but the times as they are. Returns the number of pairs.
pub fn swap_packets(file: &[u8], every: usize) -> (Vec<u8>, u64) {
    let records = records(file);
    let mut frames: Vec<&[u8]> = records.iter().map(|(record, _)| &record[8..]).collect();
    let (mut swapped, mut data) = (0, 0);
    for at in 1..records.len() {
        data += usize::from(records[at].1 > 0);
        if records[at].1 > 0 && records[at - 1].1 > 0 && data >= every {
            frames.swap(at - 1, at);
            (swapped, data) = (swapped + 1, 0);
        }
    }
    let mut swapped_file = file[..24].to_vec();
    for ((record, _), frame) in records.iter().zip(frames) {
        swapped_file.extend_from_slice(&record[..8]);
        swapped_file.extend_from_slice(frame);
    }
    (swapped_file, swapped)
}

/// The capture without every `every`th packet of new data. Returns how many are missing.
pub fn drop_data(file: &[u8], every: usize) -> (Vec<u8>, u64) {
    let (mut kept, mut dropped, mut data, mut newest) = (file[..24].to_vec(), 0, 0, 0);
    for (record, payload) in records(file) {
        let sequence = u32::from_be_bytes(record[54..58].try_into().expect("four bytes"));
        let is_new = payload > 0 && sequence > newest;
        newest = if payload > 0 { newest.max(sequence) } else { newest };
        data += usize::from(is_new);
        if is_new && data.is_multiple_of(every) {
            dropped += 1;
        } else {
            kept.extend_from_slice(record);
        }
    }
    (kept, dropped)
}
