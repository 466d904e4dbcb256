//! The links between routers.

use super::hosts::Layout;
use super::{ETHERNET_HEADER, check_delay, check_rate, over_preset};
use crate::decode::decode;
use crate::error::Complaint;
use crate::file::{DirectionTable, PathTable};
use crate::presets::PresetKind;
use crate::room::Room;
use crate::run::{Direction, Host, Link, TopologyKind};
use crate::tree::{Node, layer};
use wirespeed_units::{Bytes, Span};

const LARGEST_BUFFER: Bytes = Bytes::new(1 << 40);
const ONE_BDP: Room = Room::Bdp(1_000_000);

pub(super) fn links(layout: &Layout, hosts: &[Host], root: &Node) -> Result<Vec<Link>, Complaint> {
    let empty = Node::empty_table(root.at.clone());
    let path = over_preset(root.get("path").unwrap_or(&empty), PresetKind::Path, None)?;
    let tables = root.get("link").map_or(&[][..], Node::elements);
    if layout.kind != TopologyKind::ParkingLot && !tables.is_empty() {
        return Err(Complaint::at(&tables[0].at, "[[link]]: only a parking lot has several links")
            .label("does not belong here")
            .help("describe the one link in [path], or set topology.kind = \"parking-lot\""));
    }
    if let Some(extra) = tables.get(layout.hops) {
        let message = format!("[[link]]: {} tables, but topology.hops is {}", tables.len(), layout.hops);
        return Err(Complaint::at(&extra.at, message)
            .label("one too many")
            .help("raise hops or remove a [[link]]"));
    }
    let packet = Bytes::new(hosts.iter().map(|h| h.mtu.get()).max().unwrap_or(0) + ETHERNET_HEADER);
    let mut links: Vec<Link> = Vec::with_capacity(layout.hops);
    for i in 0..layout.hops {
        let mut own = tables.get(i).cloned().unwrap_or_else(|| Node::empty_table(path.at.clone()));
        let named = own.remove("name");
        let name = match (&named, layout.kind) {
            (Some(entry), _) => entry.node.text().unwrap_or_default().to_owned(),
            (None, TopologyKind::ParkingLot) => format!("link{}", i + 1),
            (None, _) => "bottleneck".to_owned(),
        };
        if links.iter().any(|l| l.name == name) {
            let at = named.map_or(own.at.clone(), |e| e.node.at);
            return Err(Complaint::at(&at, format!("two links of one name: `{name}`"))
                .label("taken by another link")
                .help("give each link a name of its own"));
        }
        let what = if tables.get(i).is_some() { "link" } else { "path" };
        links.push(link(name, what, &layer(&path, &own), packet)?);
    }
    Ok(links)
}

fn link(name: String, what: &str, merged: &Node, packet: Bytes) -> Result<Link, Complaint> {
    let table: PathTable = decode(merged, what)?;
    let (forward, reverse) = delays(&table, what, merged)?;
    let rtt = forward + reverse;
    // As the file says: `path.loss` is the loss of data, and data goes forward.
    let forward =
        direction(&table, &table.forward, "forward", (forward, rtt, table.loss), what, merged, packet)?;
    let reverse = direction(&table, &table.reverse, "reverse", (reverse, rtt, None), what, merged, packet)?;
    Ok(Link { name, forward, reverse, emulator: table.emulator.unwrap_or_default() })
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

fn direction(
    table: &PathTable,
    own: &DirectionTable,
    key: &str,
    (delay, rtt, shared_loss): (Span, Span, Option<f64>),
    what: &str,
    merged: &Node,
    packet: Bytes,
) -> Result<Direction, Complaint> {
    // A value comes from the direction's table or from the one above; blame the one it came from.
    let origin = |leaf: &'static str, own: bool| match own {
        true => (format!("{what}.{key}.{leaf}"), merged.place_of(&[key, leaf])),
        false => (format!("{what}.{leaf}"), merged.place_of(&[leaf])),
    };
    let rate = own.rate.or(table.rate).ok_or_else(|| missing("rate", "\"9.5 Gbit/s\"", what, merged))?;
    let (name, at) = origin("rate", own.rate.is_some());
    check_rate(rate, &name, at)?;
    let loss = own.loss.or(shared_loss).unwrap_or(0.0);
    if !(0.0..=1.0).contains(&loss) {
        let (name, at) = origin("loss", own.loss.is_some());
        return Err(Complaint::at(&at, format!("{name}: {loss} is not a probability"))
            .label("out of range")
            .help("write 0 to 1, for example 1e-5 for one packet in 100,000"));
    }
    let bdp = rate.volume(rtt);
    let room = own.buffer.or(table.buffer).unwrap_or(ONE_BDP);
    let (name, at) = origin("buffer", own.buffer.is_some());
    let buffer = room.bytes(bdp, packet).filter(|b| *b <= LARGEST_BUFFER).ok_or_else(|| {
        Complaint::at(&at, format!("{name}: more than 1 TiB"))
            .label("too large")
            .help("write at most \"1 TiB\"")
    })?;
    if buffer < packet {
        let given = match room {
            Room::Bdp(_) => format!("{buffer} (1 bdp is {rate} x {rtt} = {bdp})"),
            _ => buffer.to_string(),
        };
        let message = format!("{name}: {given} does not hold one packet, so nothing would pass");
        return Err(Complaint::at(&at, message).label("smaller than a packet").help(format!(
            "write at least \"{packet}\" (the largest MTU and {ETHERNET_HEADER} bytes of Ethernet header), or \"1 packets\""
        )));
    }
    Ok(Direction { rate, delay, loss, buffer })
}

fn missing(key: &str, example: &str, what: &str, merged: &Node) -> Complaint {
    Complaint::at(&merged.at, format!("`{key}` is missing in [{what}]"))
        .label("in this table")
        .help(format!("add {key} = {example} to [path], or a preset; `wirespeed list presets` shows them"))
}
