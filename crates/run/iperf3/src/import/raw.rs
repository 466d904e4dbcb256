//! The JSON as it is written: names are iperf3's. Fields that no part of this program uses are left out; fields of
//! later versions are passed over.

use serde::de::{Deserializer, Error, Unexpected};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
pub struct Raw {
    pub start: Option<Start>,
    #[serde(default)]
    pub intervals: Vec<Interval>,
    pub end: Option<End>,
    pub error: Option<String>,
    pub server_output_json: Option<Box<Raw>>,
}

#[derive(Debug, Deserialize)]
pub struct Event {
    pub event: String,
    #[serde(default)]
    pub data: Value,
}

#[derive(Debug, Default, Clone, Deserialize)]
pub struct Start {
    #[serde(default)]
    pub connected: Vec<Connected>,
    pub version: Option<String>,
    pub system_info: Option<String>,
    pub timestamp: Option<Timestamp>,
    pub connecting_to: Option<Host>,
    pub accepted_connection: Option<Host>,
    pub cookie: Option<String>,
    pub test_start: Option<TestStart>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Connected {
    pub socket: i64,
    pub local_host: String,
    pub local_port: Option<u16>,
    pub remote_host: String,
    pub remote_port: Option<u16>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Timestamp {
    #[serde(default, deserialize_with = "whole")]
    pub timesecs: Option<i64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Host {
    pub host: String,
    pub port: Option<u16>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct TestStart {
    pub protocol: String,
    #[serde(default, deserialize_with = "count")]
    pub num_streams: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub blksize: Option<u64>,
    #[serde(default)]
    pub omit: Option<f64>,
    #[serde(default)]
    pub duration: Option<f64>,
    #[serde(default, deserialize_with = "count")]
    pub bytes: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub blocks: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub reverse: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub bidir: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub tos: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub target_bitrate: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct Interval {
    #[serde(default)]
    pub streams: Vec<Sample>,
}

/// A stream in an interval, or one of its two halves at the end.
#[derive(Debug, Deserialize)]
pub struct Sample {
    pub socket: i64,
    pub start: f64,
    pub end: f64,
    #[serde(default, deserialize_with = "count")]
    pub bytes: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub retransmits: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub snd_cwnd: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub snd_wnd: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub rtt: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub rttvar: Option<u64>,
    #[serde(default)]
    pub jitter_ms: Option<f64>,
    #[serde(default, deserialize_with = "whole")]
    pub lost_packets: Option<i64>,
    #[serde(default, deserialize_with = "count")]
    pub packets: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub out_of_order: Option<u64>,
    #[serde(default)]
    pub omitted: bool,
    /// Since 3.7; before it, the interval's own direction is that of the test.
    pub sender: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
pub struct End {
    #[serde(default)]
    pub streams: Vec<Halves>,
    pub sum_received: Option<Sum>,
    pub cpu_utilization_percent: Option<CpuPercent>,
    pub sender_tcp_congestion: Option<String>,
    pub receiver_tcp_congestion: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Halves {
    pub sender: Option<Sample>,
    pub receiver: Option<Sample>,
    pub udp: Option<Sample>,
}

#[derive(Debug, Deserialize)]
pub struct Sum {
    #[serde(default)]
    pub end: f64,
    #[serde(default, deserialize_with = "count")]
    pub bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub struct CpuPercent {
    #[serde(default)]
    pub host_total: Option<f64>,
    #[serde(default)]
    pub host_user: Option<f64>,
    #[serde(default)]
    pub host_system: Option<f64>,
    #[serde(default)]
    pub remote_total: Option<f64>,
    #[serde(default)]
    pub remote_user: Option<f64>,
    #[serde(default)]
    pub remote_system: Option<f64>,
}

/// Largest count taken, 2^62: iperf3 has counts as doubles, and nobody moves more.
const MOST: f64 = 4_611_686_018_427_387_904.0;

/// -1 without a sign, as a double, 2^64.
const MINUS_ONE: f64 = 18_446_744_073_709_551_616.0;

/// A count; null, and -1 as iperf3 writes it for what it does not know, are none.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match whole(deserializer)? {
        None | Some(-1) => Ok(None),
        Some(value) => u64::try_from(value)
            .map(Some)
            .map_err(|_| D::Error::invalid_value(Unexpected::Signed(value), &"a count")),
    }
}

/// A whole number, which large ones of iperf3 are though they are written as 1.5e+16.
pub fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    // 3.12 writes -1, and whatever is negative, as 64 bits without a sign.
    if let Some(value) = number.as_i64().or_else(|| number.as_u64().map(u64::cast_signed)) {
        return Ok(Some(value));
    }
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && value.abs() <= MOST => Ok(Some(value as i64)),
        Some(MINUS_ONE) => Ok(Some(-1)),
        Some(value) => Err(D::Error::invalid_value(Unexpected::Float(value), &"a whole number below 2^62")),
        None => Err(D::Error::custom("a number that is none")),
    }
}
