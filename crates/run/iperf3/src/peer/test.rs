//! What is asked of a server.

use crate::import::Protocol;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Most streams of a test (iperf3's own limit).
pub const MOST_STREAMS: u32 = 128;
/// Longest test: a day (iperf3's own limit).
const LONGEST: Duration = Duration::from_secs(86_400);
/// Largest block of TCP, in bytes (iperf3's own limit).
const MOST_BLOCK: u32 = 1 << 20;
/// Largest datagram, in bytes (iperf3's own limit, and IPv4's).
const MOST_DATAGRAM: u32 = 65_507;

/// A test, as a server is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// What carries the data.
    pub protocol: Protocol,
    /// How many connections, at most [`MOST_STREAMS`].
    pub streams: u32,
    /// The server sends.
    pub reverse: bool,
    /// How long; the client ends it. The server is told whole seconds, rounded up.
    pub time: Duration,
    /// Bytes of a write, and of a datagram.
    pub block_bytes: u32,
    /// Rate of each stream in bit/s, for a server that sends; `None` is as fast as it can, which UDP may not.
    pub rate_bps: Option<u64>,
    /// Size of both socket buffers in bytes; `None` leaves them to the server's kernel.
    pub window_bytes: Option<u32>,
    /// Congestion control of a server that sends; `None` is its kernel's.
    pub congestion: Option<String>,
    /// TOS or traffic class of its packets; 0 is its kernel's default.
    pub tos: u8,
}

impl Test {
    /// A test of `streams` TCP connections, in which the server receives.
    pub fn tcp(streams: u32, time: Duration) -> Test {
        let block_bytes = 128 * 1024;
        Test {
            protocol: Protocol::Tcp,
            streams,
            reverse: false,
            time,
            block_bytes,
            rate_bps: None,
            window_bytes: None,
            congestion: None,
            tos: 0,
        }
    }

    /// A test of `streams` of datagrams of `datagram_bytes` at `rate_bps` each, in which the server receives.
    pub fn udp(streams: u32, time: Duration, datagram_bytes: u32, rate_bps: u64) -> Test {
        Test {
            protocol: Protocol::Udp,
            block_bytes: datagram_bytes,
            rate_bps: Some(rate_bps),
            ..Test::tcp(streams, time)
        }
    }

    /// What of it no server does, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MOST_STREAMS).contains(&self.streams) {
            return Err(format!("{} streams: iperf3 carries 1 to {MOST_STREAMS}", self.streams));
        }
        if self.time.is_zero() || self.time > LONGEST {
            return Err(format!(
                "a test of {} s: iperf3 takes part for up to a day",
                self.time.as_secs_f64()
            ));
        }
        let (least, most) = match self.protocol {
            Protocol::Tcp => (1, MOST_BLOCK),
            Protocol::Udp => (super::datagram::HEADER as u32, MOST_DATAGRAM),
        };
        if !(least..=most).contains(&self.block_bytes) {
            return Err(format!("blocks of {} bytes: iperf3 takes {least} to {most}", self.block_bytes));
        }
        if self.protocol == Protocol::Udp && self.reverse && self.rate_bps.is_none() {
            return Err("a server that sends datagrams has to be told a rate".into());
        }
        Ok(())
    }

    /// As it goes over the wire.
    pub(super) fn parameters(&self) -> Value {
        let mut all = Map::new();
        let mut set = |name: &str, value: Value| drop(all.insert(name.into(), value));
        set(if self.protocol == Protocol::Tcp { "tcp" } else { "udp" }, json!(true));
        let seconds = self.time.as_secs() + u64::from(self.time.subsec_nanos() > 0);
        for (name, value) in
            [("omit", 0), ("time", seconds), ("num", 0), ("blockcount", 0), ("parallel", self.streams.into())]
        {
            set(name, json!(value));
        }
        set("len", json!(self.block_bytes));
        if self.reverse {
            set("reverse", json!(true));
        }
        if let Some(window) = self.window_bytes {
            set("window", json!(window));
        }
        if let Some(rate) = self.rate_bps {
            set("bandwidth", json!(rate));
        }
        if let Some(congestion) = self.congestion.as_ref().filter(|_| self.reverse) {
            set("congestion", json!(congestion));
        }
        if self.tos > 0 {
            set("TOS", json!(self.tos));
        }
        if self.protocol == Protocol::Udp {
            set("udp_counters_64bit", json!(1));
        }
        set("client_version", json!(concat!("wirespeed ", env!("CARGO_PKG_VERSION"))));
        Value::Object(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_request_is_refused_before_a_server_is_asked() {
        let tcp = || Test::tcp(1, Duration::from_secs(1));
        assert!(tcp().check().is_ok());
        let refused = [
            (Test { streams: 0, ..tcp() }, "streams"),
            (Test { streams: 129, ..tcp() }, "streams"),
            (Test { time: Duration::ZERO, ..tcp() }, "day"),
            (Test { block_bytes: 8, protocol: Protocol::Udp, ..tcp() }, "bytes"),
            (Test { reverse: true, protocol: Protocol::Udp, block_bytes: 1000, ..tcp() }, "rate"),
        ];
        for (test, words) in refused {
            assert!(test.check().unwrap_err().contains(words), "{test:?}");
        }
    }

    #[test]
    fn parts_of_seconds_are_rounded_up() {
        assert_eq!(Test::tcp(2, Duration::from_millis(1500)).parameters()["time"], 2);
        let udp = Test::udp(1, Duration::from_secs(3), 1448, 1_000_000).parameters();
        assert_eq!((&udp["time"], &udp["bandwidth"], udp.get("tcp")), (&json!(3), &json!(1_000_000), None));
    }
}
