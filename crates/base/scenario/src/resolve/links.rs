//! The links between routers.

mod changes;
mod direction;
mod dual_pi2;
mod fec;
mod queue;
mod schedule;

pub(super) use schedule::files as schedule_files;

use super::below::over_preset;
use super::hosts::Layout;
use super::{ETHERNET_HEADER, check_delay, within};
use crate::decode::decode;
use crate::error::Complaint;
use crate::file::{LinkTable, PathTable};
use crate::presets::PresetKind;
use crate::run::{Host, Link, TopologyKind};
use crate::tree::{Node, layer};
pub(super) use changes::too_late;
use direction::{Side, Way};
use wirespeed_units::{Bytes, Span};

/// Links of a run at most.
const MOST_LINKS: u64 = 100;

pub(super) fn links(
    written: &[LinkTable],
    layout: &Layout,
    hosts: &[Host],
    duration: Span,
    root: &Node,
) -> Result<Vec<Link>, Complaint> {
    let empty = Node::empty_table(root.at.clone());
    let path = over_preset(root.get("path").unwrap_or(&empty), PresetKind::Path, None)?;
    let tables = root.get("link").map_or(&[][..], Node::elements);
    let (beside, chain): (Vec<_>, Vec<_>) =
        tables.iter().zip(written).partition(|(_, table)| table.between.is_some());
    if let Some((first, _)) = chain.first()
        && layout.kind != TopologyKind::ParkingLot
    {
        return Err(Complaint::at(&first.at, "[[link]]: only a parking lot has several links in a row")
            .label("does not belong here")
            .help(
                "describe the one link in [path], set topology.kind = \"parking-lot\", or add between = [0, 1] for a \
                 link beside the one there is",
            ));
    }
    if let Some((extra, _)) = chain.get(layout.hops) {
        let message = format!("[[link]]: {} tables, but topology.hops is {}", chain.len(), layout.hops);
        return Err(Complaint::at(&extra.at, message)
            .label("one too many")
            .help("raise hops or remove a [[link]]"));
    }
    if let Some((last, _)) = beside.last() {
        within((layout.hops + beside.len()) as u64, 1..=MOST_LINKS, "number of links", &last.at)?;
    }
    let packet = Bytes::new(hosts.iter().map(|h| h.mtu.get()).max().unwrap_or(0) + ETHERNET_HEADER);
    let mut links: Vec<Link> = Vec::with_capacity(layout.hops);
    let beside = beside.into_iter().map(|(node, table)| (Some(node), table.between));
    let chain = (0..layout.hops).map(|i| (chain.get(i).map(|(node, _)| *node), None));
    for (i, (written, between)) in chain.chain(beside).enumerate() {
        let mut own = written.cloned().unwrap_or_else(|| Node::empty_table(path.at.clone()));
        if let Some([left, right]) = between
            && (left >= right || right > layout.hops)
        {
            let message = format!("link.between: routers {left} and {right}");
            return Err(Complaint::at(&own.place_of(&["between"]), message)
                .label("no way from left to right")
                .help(format!("write two of the routers 0 to {}, the left one first: [0, 1]", layout.hops)));
        }
        own.remove("between");
        let named = own.remove("name");
        let name = match (&named, layout.kind) {
            (Some(entry), _) => entry.node.text().unwrap_or_default().to_owned(),
            (None, TopologyKind::Direct | TopologyKind::Dumbbell) if between.is_none() => {
                "bottleneck".to_owned()
            }
            (None, _) => format!("link{}", i + 1),
        };
        if links.iter().any(|l| l.name == name) {
            let at = named.map_or(own.at.clone(), |e| e.node.at);
            return Err(Complaint::at(&at, format!("two links of one name: `{name}`"))
                .label("taken by another link")
                .help("give each link a name of its own"));
        }
        let what = if written.is_some() { "link" } else { "path" };
        let made = link(name, what, &layer(&path, &own), packet, duration)?;
        links.push(Link { between, ..made });
    }
    Ok(links)
}

fn link(name: String, what: &str, merged: &Node, packet: Bytes, duration: Span) -> Result<Link, Complaint> {
    let table: PathTable = decode(merged, what)?;
    let (forward, reverse) = delays(&table, what, merged)?;
    let rtt = forward + reverse;
    let side = |way, delay| Side { table: &table, way, what, merged, delay, rtt, packet, duration }.resolve();
    let (forward, reverse) = (side(Way::Forward, forward)?, side(Way::Reverse, reverse)?);
    Ok(Link { name, forward, reverse, emulator: table.emulator.unwrap_or_default(), between: None })
}

/// One-way delays: what a direction gives, and the rest of the round-trip time.
fn delays(table: &PathTable, what: &str, merged: &Node) -> Result<(Span, Span), Complaint> {
    let place = |path: &[&str]| merged.place_of(path);
    for (span, path) in [
        (table.rtt, &["rtt"][..]),
        (table.forward.delay, &["forward", "delay"]),
        (table.reverse.delay, &["reverse", "delay"]),
    ] {
        check_delay(span.unwrap_or(Span::ZERO), &format!("{what}.{}", path.join(".")), place(path))?;
    }
    match (table.rtt, table.forward.delay, table.reverse.delay) {
        (None, Some(forward), Some(reverse)) => Ok((forward, reverse)),
        (Some(rtt), Some(forward), Some(reverse)) if forward + reverse == rtt => Ok((forward, reverse)),
        (Some(rtt), Some(forward), Some(reverse)) => {
            let message = format!("{what}: the delays make {}, the rtt is {rtt}", forward + reverse);
            Err(Complaint::at(&place(&["forward", "delay"]), message)
                .label("does not add up")
                .help("give rtt and one delay (the other direction has the rest), or both delays and no rtt"))
        }
        (Some(rtt), Some(one), None) if one <= rtt => Ok((one, rtt - one)),
        (Some(rtt), None, Some(one)) if one <= rtt => Ok((rtt - one, one)),
        (Some(rtt), forward, None) if forward.is_none() => {
            let half = Span::ps(rtt.picoseconds() / 2);
            Ok((half, rtt - half))
        }
        (Some(rtt), forward, _) => {
            let key = if forward.is_some() { "forward" } else { "reverse" };
            let message = format!("{what}.{key}.delay is longer than the whole rtt of {rtt}");
            Err(Complaint::at(&place(&[key, "delay"]), message)
                .label("too long")
                .help("raise rtt or lower the delay"))
        }
        (None, _, _) => Err(missing("rtt", "\"12.2 ms\"", what, merged)),
    }
}

fn missing(key: &str, example: &str, what: &str, merged: &Node) -> Complaint {
    Complaint::at(&merged.at, format!("`{key}` is missing in [{what}]"))
        .label("in this table")
        .help(format!("add {key} = {example} to [path], or a preset; `wirespeed list presets` shows them"))
}
