//! Splitters: boxes at the edge of a network that end the TCP connections of flows, and open others toward their receivers.
//! They are split-connection performance-enhancing proxies (RFC 3135, section 2.4).
//!
//! A flow that is split is several flows of the run, its legs. They stand one behind the other, from the sender on.

use super::{Congestion, Flow, FlowKind, Host, Run};
use serde::{Deserialize, Serialize};
use wirespeed_units::Bytes;

/// An interface of a splitter. Each splitter has two, one to each side of its router. Each interface is a host of the run, which
/// separates the sockets and counters of the two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Splitter {
    /// Name of the splitter.
    pub name: String,
    /// The side that the interface faces.
    pub side: Side,
    /// Most bytes of a flow that the splitter holds between its two sockets.
    pub relay_buffer: Bytes,
    /// Congestion control of the connections that it opens; `None`: that of each flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
}

/// A side of a router in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Toward router 0.
    Left,
    /// Toward the last router.
    Right,
}

impl Side {
    /// Its name, which ends the name of the interface's host.
    pub fn name(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }
}

/// One connection of a flow that splitters have cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// Label of the whole flow.
    pub of: String,
    /// Number of the connection, from 1 at the sender.
    pub number: u32,
    /// How many there are.
    pub legs: u32,
    /// Relay buffer of the splitter that it begins at; `None`: it begins at the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_buffer: Option<Bytes>,
}

impl Leg {
    /// Whether its receiver is that of the flow.
    pub fn is_last(&self) -> bool {
        self.number == self.legs
    }
}

impl Flow {
    /// Whether a splitter sends it, not an application.
    pub fn is_relayed(&self) -> bool {
        self.leg.as_ref().is_some_and(|leg| leg.number > 1)
    }

    /// Whether a splitter receives it and sends it on.
    pub fn is_split(&self) -> bool {
        self.leg.as_ref().is_some_and(|leg| !leg.is_last())
    }
}

impl Run {
    /// Whether a flow is cut by a splitter.
    pub fn splits(&self) -> bool {
        self.flows.iter().any(Flow::is_split)
    }
}

/// Cuts the flows that pass splitters into legs. Others stay as they are, and so does their order.
pub(crate) fn into_legs(flows: Vec<Flow>, hosts: &[Host]) -> Vec<Flow> {
    if !hosts.iter().any(|host| host.splitter.is_some()) {
        return flows;
    }
    flows.into_iter().flat_map(|flow| legs_of(flow, hosts)).collect()
}

/// How many flows of the run a flow becomes.
pub(crate) fn count_legs(flow: &Flow, hosts: &[Host]) -> usize {
    1 + passed(flow, hosts).len()
}

/// The splitters that a flow passes, in its order: of each the interface that it comes to and the one that it leaves by.
fn passed<'a>(flow: &Flow, hosts: &'a [Host]) -> Vec<[&'a Host; 2]> {
    if matches!(flow.kind, FlowKind::Udp { .. }) {
        return Vec::new();
    }
    let router = |name: &str| hosts.iter().find(|host| host.name == name).map_or(0, |host| host.router);
    let (from, to) = (router(&flow.from), router(&flow.to));
    let rightwards = from < to;
    let mut found: Vec<[&Host; 2]> = Vec::new();
    for left in hosts {
        let Some(splitter) = left.splitter.as_ref().filter(|splitter| splitter.side == Side::Left) else {
            continue;
        };
        let is_other = |host: &&Host| {
            host.splitter.as_ref().is_some_and(|s| s.name == splitter.name && s.side == Side::Right)
        };
        let Some(right) = hosts.iter().find(is_other) else { continue };
        if from.min(to) < left.router && left.router < from.max(to) {
            found.push(if rightwards { [left, right] } else { [right, left] });
        }
    }
    found.sort_by_key(|[host, _]| if rightwards { host.router as i64 } else { -(host.router as i64) });
    found
}

fn legs_of(flow: Flow, hosts: &[Host]) -> Vec<Flow> {
    let passed = passed(&flow, hosts);
    if passed.is_empty() {
        return vec![flow];
    }
    let legs = passed.len() as u32 + 1;
    let begins = [None].into_iter().chain(passed.iter().map(|[_, leaves]| Some(*leaves)));
    let ends = passed.iter().map(|[arrives, _]| Some(*arrives)).chain([None]);
    let mut found = Vec::new();
    for (number, (begins, ends)) in (1..).zip(begins.zip(ends)) {
        let mut leg = flow.clone();
        if let Some((host, splitter)) = ends.and_then(|host| Some((host, host.splitter.as_ref()?))) {
            leg.label = label(&flow.label, &splitter.name);
            leg.to = host.name.clone();
        }
        let begins = begins.and_then(|host| Some((host, host.splitter.as_ref()?)));
        if let Some((host, splitter)) = begins {
            leg.from = host.name.clone();
            if let FlowKind::Tcp { congestion, max_rate, zero_copy, .. } = &mut leg.kind {
                // These are settings of the sender's socket.
                (*max_rate, *zero_copy) = (None, false);
                if let Some(own) = &splitter.congestion {
                    *congestion = own.clone();
                }
            }
        }
        let relay_buffer = begins.map(|(_, splitter)| splitter.relay_buffer);
        leg.leg = Some(Leg { of: flow.label.clone(), number, legs, relay_buffer });
        found.push(leg);
    }
    found
}

/// Name of the host that a splitter's interface is.
pub(crate) fn side_name(splitter: &str, side: Side) -> String {
    format!("{splitter}-{}", side.name())
}

/// Label of the leg of a flow that ends at a splitter. The last one has that of the flow.
fn label(flow: &str, splitter: &str) -> String {
    format!("{flow}/{splitter}")
}
