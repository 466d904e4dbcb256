//! Changes of packets by devices between the captures.

use crate::result::Direction;
use crate::sighting::Sighting;
use serde::Serialize;
use std::collections::BTreeMap;
use wirespeed_capture::{Connection, Ecn};

/// A field of packets that differs between the captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewritten {
    /// Address or port of the client or the server: a device translates addresses.
    Address,
    /// Initial sequence number.
    InitialSequenceNumber,
    /// Maximum segment size in the handshake.
    Mss,
    /// Window scale option in the handshake.
    WindowScale,
    /// SACK-permitted option in the handshake.
    SackPermitted,
    /// Timestamps option in the handshake.
    TimestampsOption,
    /// Time to live or hop limit. Every router takes 1.
    Ttl,
    /// Differentiated services code point.
    Dscp,
    /// ECN field. To CE is a mark of congestion.
    Ecn,
    /// Window field.
    Window,
    /// Timestamp value.
    TimestampValue,
    /// Identification of IPv4.
    IpId,
}

/// A change that packets of one direction have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The field.
    pub field: Rewritten,
    /// Direction of the packets.
    pub direction: Direction,
    /// Value at the capture that the packets pass first; empty where each packet has its own.
    pub from: String,
    /// Value at the other.
    pub to: String,
    /// Packets with the change; 1 for a handshake.
    pub packets: u64,
}

/// Changes of the packets of one direction while they are counted.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    counts: BTreeMap<(Rewritten, u16, u16), u64>,
}

/// So many different changes are counted: a path changes few fields, and each to few values.
const MOST: usize = 64;

impl Changes {
    /// Compares a packet at both capture points.
    pub(crate) fn compare(&mut self, near: &Sighting, far: &Sighting) {
        if near.ttl != far.ttl {
            self.add(Rewritten::Ttl, near.ttl.into(), far.ttl.into());
        }
        if near.dscp != far.dscp {
            self.add(Rewritten::Dscp, near.dscp.into(), far.dscp.into());
        }
        if near.ecn != far.ecn {
            self.add(Rewritten::Ecn, near.ecn as u16, far.ecn as u16);
        }
        if near.window != far.window {
            self.add(Rewritten::Window, 0, 0);
        }
        if near.value != far.value {
            self.add(Rewritten::TimestampValue, 0, 0);
        }
        if near.ip_id != far.ip_id {
            self.add(Rewritten::IpId, 0, 0);
        }
    }

    fn add(&mut self, field: Rewritten, from: u16, to: u16) {
        if self.counts.len() < MOST || self.counts.contains_key(&(field, from, to)) {
            *self.counts.entry((field, from, to)).or_default() += 1;
        }
    }

    /// The changes, as text.
    pub(crate) fn finish(self, direction: Direction) -> impl Iterator<Item = Change> {
        self.counts.into_iter().map(move |((field, from, to), packets)| {
            let text = |value: u16| match field {
                Rewritten::Ecn => ecn(value).to_owned(),
                Rewritten::Ttl | Rewritten::Dscp => value.to_string(),
                _ => String::new(),
            };
            Change { field, direction, from: text(from), to: text(to), packets }
        })
    }
}

fn ecn(value: u16) -> &'static str {
    const NAMES: [(Ecn, &str); 4] =
        [(Ecn::NotEct, "Not-ECT"), (Ecn::Ect1, "ECT(1)"), (Ecn::Ect0, "ECT(0)"), (Ecn::Ce, "CE")];
    NAMES.iter().find(|(ecn, _)| *ecn as u16 == value).map_or("", |(_, name)| name)
}

/// Differences of the handshake. `near` and `far` see the announcements of their client, if `from_client`, or of their server.
pub(crate) fn of_handshake(
    near: &Connection,
    far: &Connection,
    [near_direction, far_direction]: [wirespeed_capture::Direction; 2],
    direction: Direction,
) -> Vec<Change> {
    let change = |field, from: String, to: String| Change { field, direction, from, to, packets: 1 };
    let mut changes = Vec::new();
    let end = |connection: &Connection, direction| match direction {
        wirespeed_capture::Direction::ClientToServer => connection.client,
        wirespeed_capture::Direction::ServerToClient => connection.server,
    };
    let (one, other) = (end(near, near_direction), end(far, far_direction));
    if one != other {
        changes.push(change(Rewritten::Address, one.to_string(), other.to_string()));
    }
    let (one, other) = (near.sender(near_direction), far.sender(far_direction));
    let (Some(isn), Some(other_isn)) = (one.isn, other.isn) else { return changes };
    if isn != other_isn {
        changes.push(change(Rewritten::InitialSequenceNumber, isn.to_string(), other_isn.to_string()));
    }
    if !one.has_all_options || !other.has_all_options {
        return changes;
    }
    fn option<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(|| "none".into(), |value| value.to_string())
    }
    if one.mss != other.mss {
        changes.push(change(Rewritten::Mss, option(one.mss), option(other.mss)));
    }
    if one.window_scale != other.window_scale {
        changes.push(change(Rewritten::WindowScale, option(one.window_scale), option(other.window_scale)));
    }
    let word = |is_there: bool| if is_there { "present" } else { "none" }.to_owned();
    if one.sack_permitted != other.sack_permitted {
        changes.push(change(Rewritten::SackPermitted, word(one.sack_permitted), word(other.sack_permitted)));
    }
    if one.has_timestamps != other.has_timestamps {
        changes.push(change(
            Rewritten::TimestampsOption,
            word(one.has_timestamps),
            word(other.has_timestamps),
        ));
    }
    changes
}
