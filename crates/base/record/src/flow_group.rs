//! Groups of flows, whose results are also given together.

use crate::info::{FlowInfo, RunInfo};
use crate::transport::Transport;
use crate::words;

words! {
    /// What flows must have in common to be added up or compared. Ordered: a run's totals are of the first of its classes.
    FlowClass {
        /// TCP without a size: it sends until it is stopped.
        Endless = "tcp",
        /// TCP that sends so many bytes and ends, or that sends what an application asks for.
        Finite = "tcp-finite",
        /// UDP, whose rate the scenario decides.
        Udp = "udp",
        /// TCP that ends at a splitter: what it delivers counts where the last leg of its flow delivers it.
        Leg = "tcp-leg",
    }
}

/// Flows of one run and one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowGroup {
    /// Unique in its run.
    pub label: String,
    /// The class of all its flows.
    pub class: FlowClass,
    /// Numbers of its flows, in order; at least one.
    pub flows: Vec<u32>,
}

impl FlowInfo {
    /// Whether both carry the data of one flow: they are the same, or legs of a flow that splitters cut.
    pub fn is_of_same_flow(&self, other: &FlowInfo) -> bool {
        match (&self.leg, &other.leg) {
            (Some(leg), Some(other)) => leg.of == other.of,
            _ => self.label == other.label,
        }
    }

    /// The class of the flow.
    pub fn class(&self) -> FlowClass {
        if self.leg.as_ref().is_some_and(|leg| leg.number < leg.legs) {
            return FlowClass::Leg;
        }
        match self.kind {
            Transport::Udp => FlowClass::Udp,
            Transport::Tcp if self.bytes.is_some() || self.application.is_some() => FlowClass::Finite,
            Transport::Tcp => FlowClass::Endless,
        }
    }
}

impl RunInfo {
    /// The groups of the run's flows, in the order of their first flows. Empty for imported recordings and those made before
    /// groups were kept.
    pub fn flow_groups(&self) -> Vec<FlowGroup> {
        let mut groups: Vec<FlowGroup> = Vec::new();
        for (number, flow) in (0..).zip(&self.flows) {
            let Some(label) = &flow.group else { continue };
            // Flows of two classes are never one group, whatever a file says.
            match groups.iter_mut().find(|group| group.label == *label && group.class == flow.class()) {
                Some(group) => group.flows.push(number),
                None => {
                    groups.push(FlowGroup { label: label.clone(), class: flow.class(), flows: vec![number] })
                }
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::Leg;

    #[test]
    fn flows_without_a_group_are_in_none() {
        let flow = |group: Option<&str>, bytes| FlowInfo {
            group: group.map(str::to_owned),
            bytes,
            ..FlowInfo::default()
        };
        let flows =
            vec![flow(Some("a"), None), flow(None, None), flow(Some("b"), Some(1)), flow(Some("a"), None)];
        let found = RunInfo { flows, ..RunInfo::default() }.flow_groups();
        let short: Vec<_> = found.iter().map(|g| (g.label.as_str(), g.class, &g.flows[..])).collect();
        assert_eq!(short, [("a", FlowClass::Endless, &[0, 3][..]), ("b", FlowClass::Finite, &[2])]);
    }

    #[test]
    fn what_a_leg_delivers_to_a_splitter_is_no_total() {
        let leg = |label: &str, number| FlowInfo {
            label: label.into(),
            leg: Some(Leg { of: "f".into(), number, legs: 2 }),
            ..FlowInfo::default()
        };
        let (first, last) = (leg("f/box", 1), leg("f", 2));
        assert_eq!((first.class(), last.class()), (FlowClass::Leg, FlowClass::Endless));
        assert!(first.class() > FlowClass::Udp && first.is_of_same_flow(&last));
        assert!(!first.is_of_same_flow(&FlowInfo { label: "f".into(), ..FlowInfo::default() }));
    }

    #[test]
    fn totals_are_of_endless_flows_first() {
        assert!(FlowClass::Endless < FlowClass::Finite && FlowClass::Finite < FlowClass::Udp);
    }
}
