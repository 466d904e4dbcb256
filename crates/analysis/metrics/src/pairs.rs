//! Datagrams that pairs of hosts lost.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wirespeed_record::{Recording, RunInfo};

/// Datagrams of one host to another in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Datagrams sent whose fate is known.
    pub sent: u64,
    /// Those that did not arrive.
    pub lost: u64,
}

impl Pair {
    /// Lost ones as a share of those sent, 0 to 1.
    pub fn share(&self) -> f64 {
        self.lost as f64 / self.sent as f64
    }

    /// Whether a host is one of its ends.
    pub fn is_of(&self, host: &str) -> bool {
        self.from == host || self.to == host
    }
}

/// One flow, while its datagrams are counted.
#[derive(Default, Clone)]
struct Flow {
    sent: u64,
    /// When those were sent that did not arrive.
    missing_ns: Vec<i64>,
    longest_ns: i64,
}

/// The pairs of a recording. A datagram that did not arrive is lost. It is not counted if it may be in flight at the end: if it
/// was sent later than the base round-trip time before the end, or than the longest transit time of its flow.
pub fn pairs(recording: &Recording) -> Vec<Pair> {
    let RunInfo { flows, duration_ns, .. } = &recording.info;
    let mut counts = vec![Flow::default(); flows.len()];
    for datagram in recording.datagrams.iter().filter(|datagram| !datagram.duplicate) {
        let Some(flow) = counts.get_mut(datagram.flow as usize) else { continue };
        flow.sent += 1;
        match datagram.arrived_ns {
            Some(at) => flow.longest_ns = flow.longest_ns.max(at - datagram.sent_ns),
            None => flow.missing_ns.push(datagram.sent_ns),
        }
    }
    let mut pairs: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for (info, flow) in flows.iter().zip(&counts).filter(|(_, flow)| flow.sent > 0) {
        let known = duration_ns - flow.longest_ns.max(info.base_rtt_ns);
        let lost = flow.missing_ns.iter().filter(|sent| **sent <= known).count() as u64;
        let pair = pairs.entry((&info.from, &info.to)).or_default();
        pair.0 += flow.sent - (flow.missing_ns.len() as u64 - lost);
        pair.1 += lost;
    }
    let known = pairs.into_iter().filter(|(_, (sent, _))| *sent > 0);
    known.map(|((from, to), (sent, lost))| Pair { from: from.into(), to: to.into(), sent, lost }).collect()
}
