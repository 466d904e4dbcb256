//! Bytes as a capture, up to connections, and what holds for every capture. Shared with fuzz/fuzz_targets/capture.rs.

use std::collections::HashSet;
use std::io::Cursor;
use wirespeed_capture::{
    Captured, Connection, EndReason, Input, Limits, Observer, Reader, Separate, Tracker, Tunnels,
};

#[derive(Default)]
struct Checked {
    open: HashSet<u32>,
    slots: HashSet<u32>,
    ended: u64,
    packets: u64,
    last_ordinal: u64,
}

impl Observer for Checked {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        assert_eq!(captured.connection, connection.index);
        if self.open.insert(connection.index) {
            assert!(self.slots.insert(connection.slot), "two open connections have one slot");
        }
        assert!(captured.packet.ordinal >= self.last_ordinal);
        self.last_ordinal = captured.packet.ordinal;
        assert_eq!(captured.wire_packets, 1, "all super-packets are taken apart");
        assert!(captured.packet.time_ns <= connection.last_ns);
        for (left, right) in captured.sack64() {
            let _ = connection.window_bytes(captured.direction, captured.packet.segment().unwrap());
            assert!(left.abs_diff(right) <= 1 << 32);
        }
        self.packets += 1;
    }

    fn ended(&mut self, connection: &Connection, _: EndReason) {
        assert!(self.open.remove(&connection.index), "a connection ends once");
        assert!(self.slots.remove(&connection.slot));
        self.ended += 1;
    }
}

/// Reads `bytes` to the end, with few open connections, so that all ways to end one are tried.
pub fn capture(bytes: &[u8]) {
    let input = Input::Reader(Box::new(Cursor::new(bytes.to_vec())));
    let Ok(mut reader) = Reader::open(input, Tunnels::default()) else { return };
    let mut checked = Checked::default();
    let mut tracker = Tracker::new(Limits { most_open: 3, ..Limits::default() });
    let mut delivered = 0u64;
    // More than this is the work of super-packets of one byte each.
    while let Some(packet) = reader.next_packet() {
        delivered += 1;
        if checked.packets > 1 << 20 {
            break;
        }
        tracker.packet(&packet, &mut Separate(&mut checked));
    }
    let facts = reader.facts();
    let skipped: u64 = facts.skipped.values().map(|skipped| skipped.packets).sum();
    if checked.packets <= 1 << 20 {
        assert_eq!(facts.all.packets, facts.tcp.packets + facts.udp.packets + skipped);
        assert_eq!(delivered, facts.tcp.packets + facts.udp.packets);
    }
    let tracked = tracker.finish(&mut checked);
    assert!(checked.open.is_empty() && tracked.most_open <= 3);
    assert_eq!(checked.ended, tracked.connections);
}
