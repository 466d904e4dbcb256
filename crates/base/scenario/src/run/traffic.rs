//! Questions about the flows of a run as a whole.

use super::{Flow, FlowKind, Run};
use std::collections::BTreeSet;

impl Flow {
    /// Whether it is a flow of TCP.
    pub fn is_tcp(&self) -> bool {
        matches!(self.kind, FlowKind::Tcp { .. })
    }
}

impl Run {
    /// The names of the congestion control algorithms of its TCP flows, each once.
    pub fn algorithms(&self) -> BTreeSet<&str> {
        self.flows
            .iter()
            .filter_map(|flow| match &flow.kind {
                FlowKind::Tcp { congestion, .. } => Some(congestion.name.as_str()),
                FlowKind::Udp { .. } => None,
            })
            .collect()
    }

    /// Whether a host sends data that receives some, too.
    pub fn sends_both_ways(&self) -> bool {
        self.flows.iter().any(|flow| self.flows.iter().any(|other| other.from == flow.to))
    }
}
