//! Fixtures, and a recording with something in every column that exports use.

#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_exchange::{Content, Export, Source, exports};
use wirespeed_record::{
    Datagram, Exchange, FlowInfo, FlowSample, HostInfo, Recording, RunInfo, ThreadSample, Transport,
};

pub const SECOND_NS: i64 = 1_000_000_000;
/// The sampling grid of [`run`].
pub const SAMPLE_NS: i64 = 50_000_000;

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub fn bytes(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).unwrap()
}

pub fn source(name: &str) -> Source {
    Source { name: name.into(), content: Content::new(bytes(name)).unwrap() }
}

pub fn text_source(name: &str, text: &str) -> Source {
    Source { name: name.into(), content: Content::new(text.into()).unwrap() }
}

pub fn format(name: &str) -> &'static dyn Export {
    *exports().iter().find(|format| format.name() == name).unwrap()
}

/// The files that a recording becomes, by name.
pub fn exported(run: &Recording, name: &str) -> Vec<(String, Vec<u8>)> {
    let planned = format(name).plan(run).unwrap();
    planned
        .into_iter()
        .map(|file| {
            let (name, mut bytes) = (file.name.clone(), Vec::new());
            file.write(&mut bytes).unwrap();
            (name, bytes)
        })
        .collect()
}

/// Rates of the flows of [`run`] in bytes a sample.
const RATES: [u64; 3] = [625_000, 312_500, 100_000];
/// Payload of a packet.
const PACKET: u64 = 1000;

/// Two TCP flows from `a` to `b` at 100 and 50 Mbit/s, and a UDP flow that loses every tenth datagram. The run lasts 4 s, of which
/// the first is omitted. The first flow sends a file.
pub fn run() -> Recording {
    let end_ns = 4 * SECOND_NS;
    let flow = |label: &str, kind, congestion: Option<&str>| FlowInfo {
        label: label.into(),
        kind,
        congestion: congestion.map(Into::into),
        from: "a".into(),
        to: "b".into(),
        stop_ns: end_ns,
        ..FlowInfo::default()
    };
    let mut recording = Recording {
        info: RunInfo {
            id: "size=1,r0".into(),
            study: "exchange".into(),
            started: Some("2026-11-24T18:01:16Z".into()),
            duration_ns: end_ns,
            omit_ns: SECOND_NS,
            sample_ns: SAMPLE_NS,
            hosts: ["a", "b"].map(|name| HostInfo { name: name.into(), ..HostInfo::default() }).into(),
            flows: vec![
                flow("first", Transport::Tcp, Some("cubic")),
                flow("second", Transport::Tcp, Some("cubic")),
                flow("datagrams", Transport::Udp, None),
            ],
            ..RunInfo::default()
        },
        ..Recording::default()
    };
    for number in 0..=end_ns / SAMPLE_NS {
        for (flow, rate) in RATES.iter().enumerate() {
            recording.flows.push(sample(number as u64, flow as u32, *rate));
        }
    }
    for sequence in 0..20u64 {
        let sent_ns = SECOND_NS + sequence as i64 * 1_000_000;
        recording.datagrams.push(Datagram {
            flow: 2,
            sequence,
            sent_ns,
            arrived_ns: (sequence % 10 != 9).then(|| sent_ns + 5_000_000 + (sequence % 2) as i64 * 320_000),
            reordered_by: 0,
            duplicate: false,
        });
    }
    recording.exchanges.push(Exchange {
        flow: 0,
        number: 0,
        bytes: 1_000_000,
        begin_ns: SECOND_NS,
        first_ns: None,
        end_ns: Some(2 * SECOND_NS),
    });
    recording.threads = [false, true]
        .into_iter()
        .flat_map(|receives| {
            (0..2).map(move |flow| ThreadSample {
                t_ns: end_ns,
                host: if receives { "b" } else { "a" }.into(),
                flow,
                receives,
                run_ns: SECOND_NS,
                wait_ns: 0,
            })
        })
        .collect();
    recording
}

fn sample(number: u64, flow: u32, rate: u64) -> FlowSample {
    let delivered = number * rate;
    let mut row = FlowSample::empty(number as i64 * SAMPLE_NS, flow);
    row.delivered_bytes = Some(delivered);
    if flow == 2 {
        row.sent_bytes = Some(delivered / 9 * 10);
        row.data_packets_out = Some(delivered / 9 * 10 / PACKET);
        row.data_packets_in = Some(delivered / PACKET);
    } else {
        // 20 packets are in flight, and one in a sample is retransmitted.
        row.sent_bytes = Some(delivered + 20 * PACKET + number * PACKET);
        row.retrans_bytes = Some(number * PACKET);
        row.retrans_packets = Some(number);
        row.cwnd_bytes = Some(30 * PACKET + number);
        row.mss_bytes = Some(PACKET as u32);
        row.rtt_ns = Some(10_000_000 + number as i64 * 1000);
        row.rttvar_ns = Some(500_000);
        row.snd_wnd_bytes = Some(3_000_000);
    }
    row
}
