//! The needs of a path, by the formulas of the audit's rules.

use crate::question::Question;
use serde::Serialize;
use wirespeed_diagnosis::audit::needs::{
    Need, backlog, flows, memory_pages, moderation, pacing, packets_per_s, queue, rate, receive_buffer,
    receive_ring, requested_buffer, send_buffer, window,
};
use wirespeed_diagnosis::audit::{Path, Profile};

/// Bytes of a page of memory on x86-64 and most of aarch64.
const PAGE: u64 = 4096;

/// A value that the path needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeedRow {
    /// A setting, or a property of the transfer.
    pub what: &'static str,
    /// The value with its unit.
    pub value: String,
    /// The formula with its numbers.
    pub formula: String,
}

/// The needs of so many flows.
pub(crate) fn of(question: &Question, count: u32) -> Vec<NeedRow> {
    let path = question.path(count);
    let profile = profile(&path);
    let plain = |what, need: Need| NeedRow {
        what,
        value: format!("{} {}", need.value, need.unit),
        formula: need.formula,
    };
    let moderated = moderation(&path);
    let mut rows = vec![
        plain("least flows", flows(&path)),
        plain("window of a flow", window(&path)),
        plain("net.ipv4.tcp_rmem, third value", receive_buffer(&path, None)),
        plain("net.ipv4.tcp_wmem, third value", send_buffer(&path)),
        plain("net.core.rmem_max and wmem_max", requested_buffer(&path, profile)),
        plain("net.ipv4.tcp_mem, second value", memory_pages(&path, None, PAGE)),
        plain("receive ring of a queue", receive_ring(&path, profile, moderated.value)),
        plain("net.core.netdev_max_backlog", backlog(&path, profile)),
        plain("queue of the interface", queue(&path, true)),
        plain("interrupt moderation (rx-usecs)", moderated),
    ];
    rows.push(match pacing(&path) {
        Some(need) => NeedRow {
            what: "pacing of a flow",
            value: rate(need.value),
            formula: format!("{}: the buffer is smaller than the bandwidth-delay product", need.formula),
        },
        None => NeedRow {
            what: "pacing of a flow",
            value: "none".into(),
            formula: "the buffer holds a bandwidth-delay product".into(),
        },
    });
    rows.push(NeedRow {
        what: "packets per second",
        value: packets_per_s(&path).to_string(),
        formula: format!("{} / ({} + 38) bytes", rate(path.rate_bps), path.mtu_bytes),
    });
    rows
}

/// The profile of the audit that such a path belongs to.
fn profile(path: &Path) -> Profile {
    const WIDE_AREA_NS: i64 = 2_000_000;
    if path.rtt_ns >= WIDE_AREA_NS { Profile::Wan } else { Profile::Lan }
}
