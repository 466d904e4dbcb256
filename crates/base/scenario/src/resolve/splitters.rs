//! Hosts that split connections: where they may stand, and what flows may pass them.

use super::flows::congestion;
use super::hosts::Layout;
use super::within_bytes;
use crate::error::Complaint;
use crate::file::{File, HostRole, HostTable};
use crate::run::{Flow, Host, Side, Splitter, count_legs, side_name};
use crate::tree::Node;
use std::ops::RangeInclusive;
use wirespeed_units::Bytes;

/// The capacity of a pipe (pipe(7), 16 pages): what a relay by splice(2) holds unless it asks for more.
const DEFAULT_RELAY_BUFFER: Bytes = Bytes::kib(64);
const MOST_RELAYED: Bytes = Bytes::mib(1024);

/// The splitter that a host's table asks for. `is_placed`: the topology has the host by itself.
pub(super) fn splitter(
    table: &HostTable,
    node: &Node,
    (name, router, mtu): (&str, usize, Bytes),
    is_placed: bool,
    layout: &Layout,
    file: &File,
) -> Result<Option<Box<Splitter>>, Complaint> {
    let place = |key: &str| node.place_of(&[key]);
    if table.role.is_none() {
        let given =
            [("relay_buffer", table.relay_buffer.is_some()), ("congestion", table.congestion.is_some())];
        if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Complaint::at(&place(key), format!("host.{name}.{key}: only a splitter has it"))
                .label("has no effect")
                .help("add role = \"splitter\", or remove it; a flow's own is [[flow]] congestion"));
        }
    }
    if table.role.unwrap_or_default() == HostRole::End {
        return Ok(None);
    }
    let complain = |message: String, help: String| {
        Err(Complaint::at(&place("role"), message).label("splits nothing here").help(help))
    };
    if is_placed {
        return complain(
            format!("host.{name}.role: the topology has this host as an end of flows"),
            "add a host for it, for example [host.box] with router = 1 and role = \"splitter\"".into(),
        );
    }
    if layout.hops < 2 {
        return complain(
            format!("host.{name}.role: a splitter stands between two links, and this topology has one"),
            "write topology.kind = \"parking-lot\" with hops = 2 or more, and a [[link]] for each".into(),
        );
    }
    if router == 0 || router >= layout.hops {
        return complain(
            format!("host.{name}.role: router {router} is an end of the chain, where no flow passes"),
            format!("write router = {}", inner(layout.hops)),
        );
    }
    let relay_buffer = table.relay_buffer.unwrap_or(DEFAULT_RELAY_BUFFER.max(mtu));
    let room: RangeInclusive<u64> = mtu.get()..=MOST_RELAYED.get();
    within_bytes(relay_buffer, room, &format!("host.{name}.relay_buffer"), &place("relay_buffer"))?;
    let congestion =
        table.congestion.as_ref().map(|choice| congestion(choice, file, node, false)).transpose()?;
    Ok(Some(Box::new(Splitter { name: name.to_owned(), side: Side::Left, relay_buffer, congestion })))
}

fn inner(hops: usize) -> String {
    if hops == 2 { "1".into() } else { format!("1 to {}", hops - 1) }
}

/// The hosts of the run that a host is: a splitter is one for each of its interfaces.
pub(super) fn sides(host: Host) -> Vec<Host> {
    let Some(splitter) = &host.splitter else { return vec![host] };
    let side = |side: Side| Host {
        name: side_name(&splitter.name, side),
        splitter: Some(Box::new(Splitter { side, ..(**splitter).clone() })),
        ..host.clone()
    };
    vec![side(Side::Left), side(Side::Right)]
}

/// Refuses two splitters at one router: no link would be between them.
pub(super) fn check_apart(hosts: &[Host], root: &Node) -> Result<(), Complaint> {
    let all: Vec<&Splitter> = hosts.iter().filter_map(|host| host.splitter.as_deref()).collect();
    let stands = |splitter: &Splitter| hosts.iter().find(|host| host.splitter.as_deref() == Some(splitter));
    for (number, splitter) in all.iter().enumerate() {
        let twin = all[..number].iter().find(|other| {
            other.name != splitter.name
                && stands(other).map(|host| host.router) == stands(splitter).map(|host| host.router)
        });
        if let Some(other) = twin {
            let message =
                format!("host.{}.role: `{}` splits at this router already", splitter.name, other.name);
            return Err(Complaint::at(&root.place_of(&["host", &splitter.name, "role"]), message)
                .label("no link between them")
                .help("give each splitter a router of its own"));
        }
    }
    Ok(())
}

/// Refuses a flow that begins or ends at a splitter.
pub(super) fn check_end(name: &str, hosts: &[Host], key: &str, node: &Node) -> Result<(), Complaint> {
    let is_it = |splitter: &Splitter| {
        splitter.name == name
            || [Side::Left, Side::Right].iter().any(|side| side_name(&splitter.name, *side) == name)
    };
    match hosts.iter().filter_map(|host| host.splitter.as_deref()).find(|splitter| is_it(splitter)) {
        None => Ok(()),
        Some(splitter) => Err(Complaint::at(
            &node.place_of(&[key]),
            format!("flow.{key}: `{}` is a splitter, no flow begins or ends there", splitter.name),
        )
        .label("not an end of flows")
        .help("name another host, or add one at that router")),
    }
}

/// Refuses a flow that has a route and would be split: splitters are on the chain. Returns how many flows of the run it becomes.
pub(super) fn legs(flow: &Flow, hosts: &[Host], node: &Node) -> Result<usize, Complaint> {
    let legs = count_legs(flow, hosts);
    let key = if flow.route.is_empty() { "route_back" } else { "route" };
    if legs > 1 && !(flow.route.is_empty() && flow.route_back.is_empty()) {
        return Err(Complaint::at(
            &node.place_of(&[key]),
            format!("flow.{key}: a splitter is between its hosts, and splits flows along the chain only"),
        )
        .label("not possible beside a splitter")
        .help("remove it, or the splitter"));
    }
    Ok(legs)
}
