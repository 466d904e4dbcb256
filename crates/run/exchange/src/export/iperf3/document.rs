//! The JSON. Names and units are iperf3's: bytes, bit/s, seconds since the start of the test, microseconds of round-trip times.
//! Keys without a recorded value are left out; those that readers of iperf3's JSON take for granted are null.

use serde::Serialize;

#[derive(Serialize)]
pub struct Document {
    pub start: Start,
    pub intervals: Vec<Interval>,
    pub end: End,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_json: Option<Box<Document>>,
}

#[derive(Serialize)]
pub struct Start {
    pub connected: Vec<Connected>,
    pub version: String,
    pub system_info: Option<String>,
    pub timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connecting_to: Option<Peer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_connection: Option<Peer>,
    pub cookie: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_mss_default: Option<u32>,
    pub test_start: TestStart,
}

#[derive(Serialize)]
pub struct Connected {
    pub socket: u32,
    pub local_host: String,
    pub local_port: Option<u16>,
    pub remote_host: String,
    pub remote_port: Option<u16>,
}

#[derive(Serialize)]
pub struct Timestamp {
    pub time: Option<String>,
    pub timesecs: Option<i64>,
}

#[derive(Serialize)]
pub struct Peer {
    pub host: String,
    pub port: Option<u16>,
}

#[derive(Serialize)]
pub struct TestStart {
    pub protocol: &'static str,
    pub num_streams: usize,
    pub blksize: Option<u64>,
    pub omit: Seconds,
    pub duration: Seconds,
    pub bytes: u64,
    pub blocks: u64,
    pub reverse: u8,
}

/// Seconds: a whole number where they are one, as in iperf3's options.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Seconds {
    Whole(i64),
    Fraction(f64),
}

#[derive(Serialize)]
pub struct Interval {
    pub streams: Vec<Sample>,
    pub sum: Sample,
}

/// A stream in an interval or in the whole test, or the sum of several.
#[derive(Serialize, Default)]
pub struct Sample {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<u32>,
    pub start: f64,
    pub end: f64,
    pub seconds: f64,
    pub bytes: u64,
    pub bits_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_cwnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_wnd: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rttvar: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snd_cwnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snd_wnd: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_rtt: Option<i64>,
    #[serde(flatten)]
    pub udp: Option<UdpCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    pub sender: bool,
}

#[derive(Serialize, Default, Clone, Copy)]
pub struct UdpCounts {
    pub jitter_ms: Option<f64>,
    pub lost_packets: Option<i64>,
    pub packets: Option<u64>,
    pub lost_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
}

#[derive(Serialize)]
pub struct End {
    pub streams: Vec<Halves>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Sample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent: Option<Sample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received: Option<Sample>,
    pub cpu_utilization_percent: Cpu,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_tcp_congestion: Option<String>,
}

#[derive(Serialize)]
pub struct Halves {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<Sample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Sample>,
}

/// Only what the threads of the flows took in all was recorded, not how much of it in the kernel.
#[derive(Serialize, Default)]
pub struct Cpu {
    pub host_total: Option<f64>,
    pub host_user: Option<f64>,
    pub host_system: Option<f64>,
    pub remote_total: Option<f64>,
    pub remote_user: Option<f64>,
    pub remote_system: Option<f64>,
}

impl Seconds {
    pub fn of(ns: i64) -> Seconds {
        const SECOND_NS: i64 = 1_000_000_000;
        if ns % SECOND_NS == 0 { Seconds::Whole(ns / SECOND_NS) } else { Seconds::Fraction(ns as f64 / 1e9) }
    }
}
