//! What the two sides tell each other in the end.

use crate::import::{count, whole};
use serde::Deserialize;
use serde_json::{Value, json};

/// What one side measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// Time of the processor in percent of a core: in all, in the program, in the kernel.
    pub cpu_percent: [f64; 3],
    /// Its congestion control, if it said so.
    pub congestion: Option<String>,
    /// Of each stream, in their order.
    pub streams: Vec<StreamResult>,
}

/// What one side measured of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StreamResult {
    /// Payload: of a sender what it wrote, of a receiver what it read.
    pub bytes: u64,
    /// Packets that TCP sent again, of a sender that knows.
    pub retransmits: Option<u64>,
    /// Deviation of the transit time (RFC 1889, section 6.3.1), in seconds; of a receiver of datagrams.
    pub jitter_s: f64,
    /// Datagrams missing, less those that came late after all; of a receiver.
    pub lost: i64,
    /// Datagrams: of a sender those sent; of a receiver the highest number that came.
    pub packets: u64,
    /// How long it sent or received, in seconds; 0 of versions before 3.2.
    pub lasted_s: f64,
}

/// The number by which both sides know the n-th stream: 1, 3, 4, 5, ...
pub(super) fn id(index: usize) -> i64 {
    if index == 0 { 1 } else { index as i64 + 2 }
}

impl Results {
    /// As it goes over the wire. `sends` is whether this side does.
    pub(super) fn wire(&self, sends: bool) -> Value {
        let streams: Vec<Value> = (self.streams.iter().enumerate())
            .map(|(index, stream)| {
                json!({
                    "id": id(index),
                    "bytes": stream.bytes,
                    "retransmits": stream.retransmits.map_or(-1, |count| count as i64),
                    "jitter": stream.jitter_s,
                    "errors": stream.lost,
                    "omitted_errors": 0,
                    "packets": stream.packets,
                    "omitted_packets": 0,
                    "start_time": 0,
                    "end_time": stream.lasted_s,
                })
            })
            .collect();
        // -1: it does not send, and so has nothing to say of that.
        let has_retransmits = match self.streams.iter().any(|stream| stream.retransmits.is_some()) {
            _ if !sends => -1,
            has => i32::from(has),
        };
        let mut all = json!({
            "cpu_util_total": self.cpu_percent[0],
            "cpu_util_user": self.cpu_percent[1],
            "cpu_util_system": self.cpu_percent[2],
            "sender_has_retransmits": has_retransmits,
            "streams": streams,
        });
        if let Some(name) = &self.congestion {
            all["congestion_used"] = json!(name);
        }
        all
    }

    /// From the wire, of a test of so many streams; `sends` is whether the other side does.
    pub(super) fn of(value: Value, streams: usize, sends: bool) -> Result<Results, String> {
        let wire: Wire = serde_path_to_error::deserialize(value).map_err(|error| error.to_string())?;
        let knows = wire.sender_has_retransmits == Some(1);
        let of = |index: usize| {
            let found = wire.streams.iter().find(|stream| stream.id == id(index));
            let found = found.ok_or_else(|| format!("stream {} is missing", index + 1))?;
            Ok(StreamResult {
                bytes: found.bytes.unwrap_or(0),
                retransmits: found.retransmits.filter(|_| sends && knows),
                jitter_s: found.jitter,
                lost: found.errors.unwrap_or(0),
                packets: found.packets.unwrap_or(0),
                lasted_s: (found.end_time - found.start_time).max(0.0),
            })
        };
        let streams = (0..streams).map(of).collect::<Result<_, String>>()?;
        let cpu_percent = [wire.cpu_util_total, wire.cpu_util_user, wire.cpu_util_system];
        Ok(Results { cpu_percent, congestion: wire.congestion_used, streams })
    }
}

#[derive(Deserialize)]
struct Wire {
    cpu_util_total: f64,
    cpu_util_user: f64,
    cpu_util_system: f64,
    #[serde(default, deserialize_with = "whole")]
    sender_has_retransmits: Option<i64>,
    congestion_used: Option<String>,
    streams: Vec<WireStream>,
}

#[derive(Deserialize)]
struct WireStream {
    id: i64,
    #[serde(default, deserialize_with = "count")]
    bytes: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    retransmits: Option<u64>,
    #[serde(default)]
    jitter: f64,
    #[serde(default, deserialize_with = "whole")]
    errors: Option<i64>,
    #[serde(default, deserialize_with = "count")]
    packets: Option<u64>,
    #[serde(default)]
    start_time: f64,
    #[serde(default)]
    end_time: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let stream =
            |bytes| StreamResult { bytes, retransmits: Some(3), lasted_s: 2.5, ..StreamResult::default() };
        Results {
            cpu_percent: [3.0, 1.0, 2.0],
            congestion: Some("bbr".into()),
            streams: vec![stream(10), stream(1 << 60)],
        }
    }

    #[test]
    fn results_sent_are_received() {
        assert_eq!(Results::of(results().wire(true), 2, true), Ok(results()));
        // A receiver has nothing to say of what was sent again.
        let received = Results::of(results().wire(false), 2, false).unwrap();
        assert_eq!(received.streams[0].retransmits, None);
    }

    #[test]
    fn results_of_other_streams_are_refused() {
        let wire = results().wire(true);
        assert!(Results::of(wire.clone(), 3, true).unwrap_err().contains("stream 3"));
        let mut damaged = wire;
        damaged["streams"][1]["bytes"] = json!("many");
        let message = Results::of(damaged, 2, true).unwrap_err();
        assert!(message.contains("streams[1].bytes"), "{message}");
    }
}
