//! The transfers.

use super::application::{self, PlannedSet};
use super::drawn::{self, Arrivals, Drawn, Sizes};
use super::hosts::Layout;
use super::routes::routes;
use super::splitters;
use super::{called, check_rate, host_named, positive, span_of, within};
use crate::error::Complaint;
use crate::file::{Carrier, CongestionChoice, File, FlowTable};
use crate::run::{
    Congestion, EcnFeedback, EcnField, Factor, Family, Flow, FlowKind, Host, Link, TopologyKind,
};
use crate::suggest;
use crate::tree::{Node, Place};
use crate::{CongestionControl, congestion_control, congestion_controls};
use std::collections::BTreeMap;
use wirespeed_congestion::{BuildError, Setup};
use wirespeed_units::{Bytes, Rate, Span};

/// The most flows of a run.
pub(super) const MOST_FLOWS: u64 = 10_000;
/// Room for a sequence number and a time.
const SMALLEST_DATAGRAM: u64 = 16;

/// Flows, each with its label before it is numbered.
#[derive(Debug, Clone, Default)]
pub(super) struct Labelled {
    pub flows: Vec<Flow>,
    stems: Vec<Stem>,
}

/// The label of a flow before it is numbered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stem {
    /// The label that its table gives, else the name of its congestion control.
    text: String,
    /// Number of its table, if that gives a label.
    given_by: Option<usize>,
}

impl Labelled {
    /// Adds a flow with the stem that flow `index` of `other` has.
    pub(super) fn push(&mut self, flow: Flow, other: &Labelled, index: usize) {
        self.flows.push(flow);
        self.stems.push(other.stems[index].clone());
    }

    /// Labels the flows: numbered from 1 where several have one stem. Labels given for one flow each have to differ by themselves;
    /// only what a table with several flows or a default makes is numbered.
    pub(super) fn number(&mut self) {
        let mut totals: BTreeMap<&Stem, usize> = BTreeMap::new();
        for stem in &self.stems {
            *totals.entry(stem).or_default() += 1;
        }
        let mut counts: BTreeMap<&Stem, usize> = BTreeMap::new();
        for (flow, stem) in self.flows.iter_mut().zip(&self.stems) {
            let number = counts.entry(stem).or_default();
            *number += 1;
            flow.label = if totals[stem] > 1 { format!("{}-{number}", stem.text) } else { stem.text.clone() };
        }
    }
}

/// The flows of a file.
pub(super) struct Flows {
    /// As far as they are the same in every repetition.
    pub labelled: Labelled,
    /// The flows of which the seed decides times or sizes.
    pub drawn: Vec<Drawn>,
    /// The flows that may start later than `start`, by number, and how much: `start_jitter` of their tables.
    pub start_jitters: Vec<(usize, Span)>,
    /// The data sets that flows send.
    pub data_sets: Vec<PlannedSet>,
}

pub(super) fn flows(
    file: &File,
    layout: &Layout,
    hosts: &[Host],
    links: &[Link],
    root: &Node,
) -> Result<Flows, Complaint> {
    let nodes = root.get("flow").map_or(&[][..], Node::elements);
    if nodes.is_empty() {
        return Err(Complaint::at(&root.at, "the scenario has no flow, so nothing would be sent")
            .label("no [[flow]] in this file")
            .help("add a line [[flow]] and, below it, for example congestion = \"cubic\""));
    }
    check_own_controls(file, root)?;
    let (senders, receivers) = (layout.senders(), layout.receivers());
    let mut labelled = Labelled::default();
    let (mut drawn, mut start_jitters) = (Vec::new(), Vec::new());
    let mut data_sets = Vec::new();
    let mut expected = 0.0;
    for (number, (table, node)) in file.flow.iter().zip(nodes).enumerate() {
        let place = |key: &str| node.place_of(&[key]);
        let first = labelled.flows.len();
        // Of flows that arrive, a pattern for each pair of hosts.
        let pairs = match (&table.from, &table.to) {
            (Some(_), Some(_)) => 1,
            (None, Some(_)) => senders.len(),
            (Some(_), None) => receivers.len(),
            (None, None) => senders.len().max(receivers.len()),
        };
        let planned = application::application(table, number, &mut data_sets, node)?;
        let counted = if table.streams.is_some() { "streams" } else { "count" };
        let given = table.streams.or(table.count);
        let count = if table.arrivals.is_some() { pairs as u32 } else { given.unwrap_or(1) };
        within(count.into(), 1..=MOST_FLOWS, &format!("flow.{counted}"), &place(counted))?;
        within(first as u64 + u64::from(count), 0..=MOST_FLOWS, "number of flows", &place(counted))?;
        // Of a number that is given, 1 may be one of those that are swept.
        if table.stagger.is_some() && given.is_none() && table.arrivals.is_none() {
            return Err(Complaint::at(
                &place("stagger"),
                "flow.stagger: there is one flow, so nothing to stagger",
            )
            .help("add count = 3, or use start"));
        }
        check_beside_arrivals(table, node)?;
        let sizes = sizes_of(table, node)?;
        let mut slowest: Option<Rate> = None;
        let mut most_legs = 1;
        for i in 0..count {
            let index = if table.arrivals.is_some() { i as usize } else { labelled.flows.len() };
            let pick = |list: &[usize]| hosts[list[index % list.len()]].name.clone();
            let from = table.from.clone().unwrap_or_else(|| pick(&senders));
            let to = table.to.clone().unwrap_or_else(|| pick(&receivers));
            splitters::check_end(&from, hosts, "from", node)?;
            splitters::check_end(&to, hosts, "to", node)?;
            let ends = (
                host_named(&from, hosts, "flow.from", &place("from"))?,
                host_named(&to, hosts, "flow.to", &place("to"))?,
            );
            check_ends(ends.0, ends.1, layout.kind, node)?;
            let place_in_time = if table.arrivals.is_some() { 0 } else { i };
            let (start, stop) = times(table, place_in_time, file.run.duration, node)?;
            if table.bytes == Some(Bytes::ZERO) {
                return Err(Complaint::at(&place("bytes"), "flow.bytes: a flow of no bytes sends nothing"));
            }
            let [route, route_back] = routes(table, ends, links, node)?;
            let ways = (&route[..], &route_back[..]);
            slowest = slowest.into_iter().chain(span_of(ends.0, ends.1, links, ways).1).min();
            let kind = match table.kind {
                Carrier::Tcp => tcp(table, file, ends, (links, ways), node)?,
                Carrier::Udp => udp(table, ends, node)?,
            };
            check_ecn(table.ecn, &kind, ends, node)?;
            let (label, bytes) = (String::new(), table.bytes);
            if let Some(jitter) = table.start_jitter {
                start_jitters.push((labelled.flows.len(), jitter));
            }
            labelled.stems.push(stem(table, number, &kind));
            labelled.flows.push(Flow {
                label,
                from,
                to,
                start,
                stop,
                bytes,
                kind,
                dscp: table.dscp,
                ecn: table.ecn,
                route,
                route_back,
                leg: None,
                application: planned.as_ref().map(|planned| planned.application.clone()),
            });
            let last = labelled.flows.len() - 1;
            let legs = splitters::legs(&labelled.flows[last], hosts, node)?;
            application::check_legs(last, &labelled, legs, node)?;
            most_legs = most_legs.max(legs);
        }
        let arrivals = table
            .arrivals
            .as_ref()
            .map(|given| Arrivals::of(given, table, sizes.as_ref(), slowest, file.run.duration, node))
            .transpose()?;
        expected += arrivals.as_ref().map_or(f64::from(count), Arrivals::expected) * most_legs as f64;
        if expected > MOST_FLOWS as f64 {
            return Err(Complaint::at(
                &node.at,
                format!(
                    "with this flow a run would have some {expected:.0} flows, and has at most {MOST_FLOWS}"
                ),
            )
            .label("too many")
            .help("let fewer begin, here or in the tables before"));
        }
        let responses = planned.and_then(|planned| planned.responses);
        if sizes.is_some() || responses.is_some() || arrivals.is_some() {
            let flows = first..labelled.flows.len();
            drawn.push(Drawn { table: number, flows, sizes, responses, arrivals });
        }
    }
    labelled.number();
    check_labels(&labelled, &drawn, nodes)?;
    Ok(Flows { labelled, drawn, start_jitters, data_sets })
}

/// Refuses keys beside `arrivals` that have no effect there.
fn check_beside_arrivals(table: &FlowTable, node: &Node) -> Result<(), Complaint> {
    let decided = [
        ("count", table.count.is_some()),
        ("stagger", table.stagger.is_some()),
        ("start_jitter", table.start_jitter.is_some()),
    ];
    match decided.iter().find(|(_, is_given)| *is_given && table.arrivals.is_some()) {
        None => Ok(()),
        Some((key, _)) => Err(Complaint::at(
            &node.place_of(&[key]),
            format!("flow.{key}: flow.arrivals decides how many flows begin, and when"),
        )
        .label("has no effect")
        .help("remove it, or arrivals")),
    }
}

/// The distribution of the flows' sizes, if they are drawn.
fn sizes_of(table: &FlowTable, node: &Node) -> Result<Option<Sizes>, Complaint> {
    let Some(given) = &table.sizes else { return Ok(None) };
    if table.bytes.is_some() {
        return Err(Complaint::at(
            &node.place_of(&["bytes"]),
            "flow.bytes: flow.sizes decides how much each sends",
        )
        .label("has no effect")
        .help("remove one of both"));
    }
    drawn::sizes(given, "flow.sizes", node.get("sizes").unwrap_or(node)).map(Some)
}

/// The label of a flow of table `number` before it is numbered.
fn stem(table: &FlowTable, number: usize, kind: &FlowKind) -> Stem {
    let text = match (&table.label, kind) {
        (Some(label), _) => label.clone(),
        (None, FlowKind::Tcp { congestion, .. }) => congestion.name.clone(),
        (None, FlowKind::Udp { .. }) => "udp".to_owned(),
    };
    Stem { text, given_by: table.label.is_some().then_some(number) }
}

fn check_ends(from: &Host, to: &Host, kind: TopologyKind, node: &Node) -> Result<(), Complaint> {
    let key = if node.get("to").is_some() { "to" } else { "from" };
    let at = node.place_of(&[key]);
    if from.name == to.name {
        return Err(Complaint::at(&at, format!("flow: `{}` would send to itself", from.name))
            .label("both ends are the same host")
            .help(
                "give `from` and `to` as two hosts; left out they are the topology's sender and receiver",
            ));
    }
    if from.router == to.router {
        let help = match kind {
            TopologyKind::ParkingLot => {
                "choose hosts at different routers, for example cross1-sender and cross1-receiver"
            }
            TopologyKind::Direct | TopologyKind::Dumbbell => "choose hosts on different sides of the link",
        };
        let message = format!(
            "flow: `{}` and `{}` share a router, so there is no link between them",
            from.name, to.name
        );
        return Err(Complaint::at(&at, message).label("expected a host behind another router").help(help));
    }
    Ok(())
}

/// Start and stop of the `i`-th of a table's flows, without jitter.
fn times(table: &FlowTable, i: u32, end: Span, node: &Node) -> Result<(Span, Span), Complaint> {
    let first = table.start.unwrap_or(Span::ZERO);
    let step = table.stagger.unwrap_or(Span::ZERO);
    let start = step.picoseconds().checked_mul(i.into()).and_then(|s| s.checked_add(first.picoseconds()));
    let Some(start) = start.map(Span::ps).filter(|start| *start < end) else {
        let key = if i == 0 { "start" } else { "stagger" };
        let message = match i {
            0 => format!("flow.start: {first} is not before the run's end at {end}"),
            _ => format!(
                "flow.stagger: flow {} of {} would start after the run's end at {end}",
                i + 1,
                table.count.unwrap_or(1)
            ),
        };
        return Err(Complaint::at(&node.place_of(&[key]), message)
            .label("would never start")
            .help("start it earlier, or raise run.duration"));
    };
    if let Some(jitter) = table.start_jitter {
        let place = node.place_of(&["start_jitter"]);
        if jitter >= end - start {
            let message =
                format!("flow.start_jitter: {start} and up to {jitter} is not before the run's end at {end}");
            return Err(Complaint::at(&place, message)
                .label("might never start")
                .help("lower it, start earlier, or raise run.duration"));
        }
    }
    match table.duration {
        None => Ok((start, end)),
        Some(duration) => {
            positive(duration, "flow.duration", node.place_of(&["duration"]), Span::ps(i64::MAX))?;
            Ok((start, start + duration.min(end - start)))
        }
    }
}

fn tcp(
    table: &FlowTable,
    file: &File,
    (from, to): (&Host, &Host),
    (links, ways): (&[Link], (&[String], &[String])),
    node: &Node,
) -> Result<FlowKind, Complaint> {
    let place = |key: &str| node.place_of(&[key]);
    let udp_only = [
        ("rate", table.rate.is_some(), "use max_rate to limit TCP, or set kind = \"udp\""),
        ("datagram", table.datagram.is_some(), "remove it, or set kind = \"udp\""),
        ("rcvbuf", table.rcvbuf.is_some(), "use window to fix TCP's buffers, or set kind = \"udp\""),
    ];
    refuse(&udp_only, "TCP", node)?;
    if let Some(rate) = table.max_rate {
        check_rate(rate, "flow.max_rate", place("max_rate"))?;
    }
    let window = match table.window {
        None => None,
        Some(room) => {
            let (rtt, slowest) = span_of(from, to, links, ways);
            let bdp = slowest.unwrap_or(Rate::bps(0)).volume(rtt);
            let window = room.bytes(bdp, from.mtu.min(to.mtu)).filter(|w| w.get() <= i32::MAX as u64);
            let Some(window) = window.filter(|w| *w > Bytes::ZERO) else {
                return Err(Complaint::at(&place("window"), "flow.window: zero, or more than a socket buffer can be")
                    .label("out of range")
                    .help("write a size from one packet to \"2147483647 B\", or leave it out to let the kernel tune"));
            };
            Some(window)
        }
    };
    let choice = table.congestion.clone();
    let choice =
        choice.unwrap_or_else(|| CongestionChoice { name: "cubic".into(), parameters: BTreeMap::new() });
    let congestion = congestion(&choice, file, node, from.reach.is_some())?;
    let zero_copy = table.zero_copy.unwrap_or(false);
    Ok(FlowKind::Tcp { congestion, window, max_rate: table.max_rate, zero_copy })
}

fn udp(table: &FlowTable, (from, to): (&Host, &Host), node: &Node) -> Result<FlowKind, Complaint> {
    let place = |key: &str| node.place_of(&[key]);
    let remedy = "remove it, or set kind = \"tcp\"";
    let tcp_only = [
        ("congestion", table.congestion.is_some(), remedy),
        ("window", table.window.is_some(), "use rcvbuf, or set kind = \"tcp\""),
        ("max_rate", table.max_rate.is_some(), "use rate, or set kind = \"tcp\""),
        ("zero_copy", table.zero_copy.is_some(), remedy),
    ];
    refuse(&tcp_only, "UDP", node)?;
    let Some(rate) = table.rate else {
        return Err(Complaint::at(&node.at, "flow: UDP sends at a constant rate, and `rate` is missing")
            .label("in this flow")
            .help("add for example rate = \"2.4 Gbit/s\""));
    };
    check_rate(rate, "flow.rate", place("rate"))?;
    let mtu = from.mtu.min(to.mtu);
    let asked = [from, to].iter().find_map(|host| host.reach.as_ref()?.asked_family());
    let overhead = asked.unwrap_or(Family::Ipv4).datagram_overhead();
    let largest = mtu.get().saturating_sub(overhead);
    let datagram = table.datagram.map_or(largest, Bytes::get);
    if !(SMALLEST_DATAGRAM..=largest).contains(&datagram) {
        return Err(Complaint::at(&place("datagram"), format!("flow.datagram: {datagram} bytes is out of range"))
            .label("payload of one datagram")
            .help(format!(
                "write {SMALLEST_DATAGRAM} B (sequence number and time) to {largest} B (MTU {} less {overhead} bytes of headers; more would be fragmented)",
                mtu.get()
            )));
    }
    Ok(FlowKind::Udp { rate, datagram: Bytes::new(datagram), rcvbuf: table.rcvbuf })
}

fn refuse(keys: &[(&str, bool, &str)], kind: &str, node: &Node) -> Result<(), Complaint> {
    match keys.iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((key, _, help)) => {
            Err(Complaint::at(&node.place_of(&[key]), format!("flow.{key}: a {kind} flow has no `{key}`"))
                .label("does not belong here")
                .help(*help))
        }
    }
}

/// Refuses a control of the user's own that has the name of another: the kernel could hold only one of them.
fn check_own_controls(file: &File, root: &Node) -> Result<(), Complaint> {
    // The default kernel has none of those that need L4S: a C file may have their names.
    let taken = |name: &&String| {
        congestion_control(name).is_some_and(|control| control.linux.is_some() && !control.needs_l4s())
    };
    match file.congestion.keys().find(taken) {
        None => Ok(()),
        Some(name) => Err(Complaint::at(
            &root.place_of(&["congestion", name]),
            format!("[congestion.{name}]: the kernel has a congestion control of this name"),
        )
        .label("taken")
        .help("give yours another name, here and in its C file")),
    }
}

/// Looks the control up and calls its parameters by their own names. What the user's own has is not known
/// here: its parameters pass as they are. A real sender (`is_real`) may have controls that are not known here either.
pub(super) fn congestion(
    choice: &CongestionChoice,
    file: &File,
    node: &Node,
    is_real: bool,
) -> Result<Congestion, Complaint> {
    if file.congestion.contains_key(&choice.name) {
        let CongestionChoice { name, parameters } = choice.clone();
        return Ok(Congestion { name, parameters, own: true });
    }
    let table = node.place_of(&["congestion"]);
    let Some(control) = congestion_control(&choice.name) else {
        let own = file.congestion.keys().map(String::as_str);
        let names: Vec<&str> = congestion_controls().iter().map(|c| c.name).chain(own).collect();
        let at = node.place_of(&["congestion", "name"]);
        if is_real && choice.parameters.is_empty() && can_be_of_linux(&choice.name) {
            let (name, parameters) = (choice.name.clone(), BTreeMap::new());
            return Ok(Congestion { name, parameters, own: false });
        }
        return Err(Complaint::at(&at, format!("unknown congestion control `{}`", choice.name))
            .label("no such congestion control")
            .help(suggest::choices(&choice.name, "those there are", &names)));
    };
    let mut parameters = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for (name, value) in &choice.parameters {
        let entry = node.get("congestion").and_then(|n| n.entries().iter().find(|e| e.key == *name));
        let at = entry.map_or(&table, |e| &e.at);
        let value_at = entry.map_or(&table, |e| &e.node.at);
        let (name, value) = parameter(control, name, value, at, value_at)?;
        if parameters.insert(name.to_owned(), Factor::Integer(value)).is_some() {
            return Err(Complaint::at(at, format!("{}: `{name}` is given under two names", control.name)));
        }
        numbers.insert(name.to_owned(), value);
    }
    // Conditions beyond a range, such as a power of two, are known to the algorithm only.
    if let Err(error) = control.build(&Setup::new(Bytes::new(1448), 10), &numbers) {
        let blamed = choice.parameters.keys().find(|name| match &error {
            BuildError::Range { name: wrong, .. } => {
                control.parameter(name).is_some_and(|parameter| parameter.name == *wrong)
            }
            _ => false,
        });
        let at = blamed.map_or(table, |name| node.place_of(&["congestion", name]));
        return Err(Complaint::at(&at, error.to_string()).label("out of range"));
    }
    Ok(Congestion { name: control.name.to_owned(), parameters, own: false })
}

/// Whether a kernel could have a control of that name (TCP_CA_NAME_MAX of include/net/tcp.h, with its closing zero).
fn can_be_of_linux(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..16).contains(&name.len()) && name.chars().all(is_plain)
}

fn parameter(
    control: &CongestionControl,
    name: &str,
    value: &Factor,
    key_at: &Place,
    value_at: &Place,
) -> Result<(&'static str, i64), Complaint> {
    let Some(parameter) = control.parameter(name) else {
        let names: Vec<&str> = control.parameters.iter().map(|p| p.name).collect();
        let aliases: Vec<&str> =
            control.parameters.iter().map(|p| p.alias).filter(|a| !a.is_empty()).collect();
        return Err(Complaint::at(key_at, format!("{} has no parameter `{name}`", control.name))
            .label("no such parameter")
            .help(suggest::choices_with_aliases(name, "parameters", &names, &aliases)));
    };
    let number = match value {
        Factor::Integer(v) => Some(*v),
        Factor::Bool(v) if (parameter.min, parameter.max) == (0, 1) => Some(i64::from(*v)),
        _ => None,
    };
    match number.filter(|v| (parameter.min..=parameter.max).contains(v)) {
        Some(v) => Ok((parameter.name, v)),
        None => Err(Complaint::at(value_at, format!("{} {name}: `{value}` is out of range", control.name))
            .label("out of range")
            .help(format!(
                "{}: a whole number from {} to {}, {} if left out",
                parameter.about, parameter.min, parameter.max, parameter.default
            ))),
    }
}

/// Refuses labels that two flows have, or may have in a repetition.
fn check_labels(labelled: &Labelled, drawn: &[Drawn], nodes: &[Node]) -> Result<(), Complaint> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let taken = |k: usize, earlier: usize| {
        let blamed = labelled.stems[k].given_by.or(labelled.stems[earlier].given_by);
        let at = blamed.map_or_else(|| nodes[0].at.clone(), |table| nodes[table].place_of(&["label"]));
        Err(Complaint::at(&at, format!("two flows are labelled alike: {}", called(&labelled.flows[k])))
            .label("taken by another flow")
            .help("give each flow a label of its own"))
    };
    for (k, flow) in labelled.flows.iter().enumerate() {
        if let Some(&earlier) = seen.get(flow.label.as_str()) {
            return taken(k, earlier);
        }
        seen.insert(&flow.label, k);
    }
    for arriving in drawn.iter().filter(|drawn| drawn.arrivals.is_some()) {
        let stem = &labelled.stems[arriving.flows.start];
        let is_numbered = |label: &str| {
            let rest = label.strip_prefix(stem.text.as_str()).and_then(|rest| rest.strip_prefix('-'));
            rest.is_some_and(|rest| rest.parse::<u32>().is_ok())
        };
        let other = (0..labelled.flows.len())
            .find(|&k| labelled.stems[k] != *stem && is_numbered(&labelled.flows[k].label));
        if let Some(k) = other {
            return taken(k, arriving.flows.start);
        }
    }
    Ok(())
}

/// A TCP flow sends ECN-capable packets only where both ends have agreed to it (RFC 3168, section 6.1.1).
fn check_ecn(
    field: Option<EcnField>,
    kind: &FlowKind,
    (from, to): (&Host, &Host),
    node: &Node,
) -> Result<(), Complaint> {
    let FlowKind::Tcp { congestion, .. } = kind else { return Ok(()) };
    let is_capable = matches!(field, Some(EcnField::Ect0 | EcnField::Ect1));
    if !is_capable || EcnFeedback::negotiated(congestion, from, to) != EcnFeedback::Off {
        return Ok(());
    }
    let message =
        format!("flow.ecn: `{}` and `{}` do not negotiate ECN for {}", from.name, to.name, congestion.name);
    Err(Complaint::at(&node.place_of(&["ecn"]), message)
        .label("not negotiated")
        .help("set ecn = 3 (Accurate ECN) or ecn = 1 at the hosts, or leave this out"))
}
