//! Which hosts there are, and how each is set.

use super::below::over_preset;
use super::hardware::{hardware, moderation};
use super::splitters;
use super::{check_delay, check_rate, within, within_bytes};
use crate::decode::decode;
use crate::error::Complaint;
use crate::file::{File, FqTable, HostTable, TopologyTable};
use crate::presets::{DEFAULT_HOST_PRESET, PresetKind};
use crate::run::{Family, Fq, Host, Offloads, Qdisc, Reach, TcpSettings, TopologyKind};
use crate::suggest;
use crate::tree::{Node, Place, layer};
use std::ops::RangeInclusive;
use wirespeed_units::{Bytes, Rate, Span};

const MOST_SENDERS: u64 = 1000;
const MOST_HOPS: u64 = 100;
/// IPv4's smallest (RFC 791) and the largest of a virtual interface.
const MTU: RangeInclusive<u64> = 68..=65_535;
/// Packets of one flow in fq. All flows together have room for 10,000 (sch_fq.c: `limit`).
const FQ_FLOW_LIMIT: RangeInclusive<u64> = 1..=10_000;
/// The kernel takes the nearest of these for a `quantum` outside (`fq_change`).
const FQ_QUANTUM: RangeInclusive<u64> = 256..=1 << 20;
/// An Ethernet header, which fq counts.
const HEADER: Bytes = Bytes::new(14);

/// Hosts and links before their settings.
pub(super) struct Layout {
    pub kind: TopologyKind,
    /// How many links the chain has.
    pub hops: usize,
    places: Vec<Placement>,
}

/// A host that the topology has by itself.
struct Placement {
    key: String,
    /// The table that sets all of its like, if it has one.
    group: Option<&'static str>,
    router: usize,
    role: Role,
}

#[derive(PartialEq)]
enum Role {
    Sender,
    Receiver,
    Cross,
}

impl Layout {
    /// Indices into the hosts of those that send by default, in turn.
    pub fn senders(&self) -> Vec<usize> {
        self.with_role(&Role::Sender)
    }

    /// Indices into the hosts of those that receive by default, in turn.
    pub fn receivers(&self) -> Vec<usize> {
        self.with_role(&Role::Receiver)
    }

    fn with_role(&self, role: &Role) -> Vec<usize> {
        (0..self.places.len()).filter(|&i| self.places[i].role == *role).collect()
    }
}

pub(super) fn layout(table: &TopologyTable, root: &Node) -> Result<Layout, Complaint> {
    let place = |key| root.place_of(&["topology", key]);
    let strange = |key: &'static str, given: bool, kind: &str| {
        match given {
        true => Err(Complaint::at(&place(key), format!("topology.{key}: a {kind} topology has no `{key}`"))
            .label("does not belong here")
            .help("direct takes none of them, dumbbell takes `senders` and `receivers`, parking-lot takes `hops`")),
        false => Ok(()),
    }
    };
    let host = |key: String, group, router, role| Placement { key, group, router, role };
    let links = root.get("link").map_or(&[][..], Node::elements);
    let links = links.iter().filter(|link| link.get("between").is_none()).count();
    let (hops, places) = match table.kind {
        TopologyKind::Direct => {
            strange("senders", table.senders.is_some(), "direct")?;
            strange("receivers", table.receivers.is_some(), "direct")?;
            strange("hops", table.hops.is_some(), "direct")?;
            let places = vec![
                host("sender".into(), None, 0, Role::Sender),
                host("receiver".into(), None, 1, Role::Receiver),
            ];
            (1, places)
        }
        TopologyKind::Dumbbell => {
            strange("hops", table.hops.is_some(), "dumbbell")?;
            let Some(senders) = table.senders else {
                return Err(Complaint::at(&place("kind"), "topology: a dumbbell needs `senders`")
                    .label("how many senders?")
                    .help("add senders = 3, and receivers = 3 if their number differs"));
            };
            let receivers = table.receivers.unwrap_or(senders);
            within(senders.into(), 1..=MOST_SENDERS, "topology.senders", &place("senders"))?;
            within(receivers.into(), 1..=MOST_SENDERS, "topology.receivers", &place("receivers"))?;
            let left = (1..=senders).map(|i| host(format!("sender{i}"), Some("sender"), 0, Role::Sender));
            let right =
                (1..=receivers).map(|i| host(format!("receiver{i}"), Some("receiver"), 1, Role::Receiver));
            (1, left.chain(right).collect())
        }
        TopologyKind::ParkingLot => {
            strange("senders", table.senders.is_some(), "parking-lot")?;
            strange("receivers", table.receivers.is_some(), "parking-lot")?;
            let hops = match table.hops {
                Some(hops) => hops as usize,
                None if links > 0 => links,
                None => {
                    return Err(Complaint::at(&place("kind"), "topology: a parking lot needs `hops`")
                        .label("how many links?")
                        .help("add hops = 3, or a [[link]] for each link"));
                }
            };
            within(hops as u64, 1..=MOST_HOPS, "topology.hops", &place("hops"))?;
            let mut places = vec![host("sender".into(), None, 0, Role::Sender)];
            for i in 1..=hops {
                places.push(host(format!("cross{i}-sender"), Some("cross"), i - 1, Role::Cross));
                places.push(host(format!("cross{i}-receiver"), Some("cross"), i, Role::Cross));
            }
            places.push(host("receiver".into(), None, hops, Role::Receiver));
            (hops, places)
        }
    };
    Ok(Layout { kind: table.kind, hops, places })
}

/// All hosts: those of the topology in its order, then those the file adds.
pub(super) fn hosts(file: &File, layout: &Layout, root: &Node) -> Result<Vec<Host>, Complaint> {
    let empty = Node::empty_table(root.at.clone());
    let tables = root.get("host").unwrap_or(&empty);
    let mut hosts: Vec<(Host, Node)> = Vec::new();
    for placement in &layout.places {
        let group = placement.group.and_then(|group| tables.get(group));
        let own = tables.get(&placement.key);
        let merged = match (group, own) {
            (Some(group), Some(own)) => layer(group, own),
            (Some(table), None) | (None, Some(table)) => table.clone(),
            (None, None) => empty.clone(),
        };
        push(&mut hosts, host(&placement.key, Some(placement.router), &merged, layout, file)?)?;
    }
    for entry in tables.entries() {
        let known = |p: &Placement| p.key == entry.key || p.group == Some(&entry.key);
        if layout.places.iter().any(known) {
            continue;
        }
        if entry.node.get("router").is_none() {
            let mut names: Vec<&str> = Vec::new();
            for placement in &layout.places {
                names.extend(placement.group.filter(|g| !names.contains(g)));
                names.push(&placement.key);
            }
            return Err(Complaint::at(
                &entry.at,
                format!("[host.{}]: the topology has no such host", entry.key),
            )
            .label("names no host")
            .help(format!(
                "{}; to add a host, say where: router = 0 to {}",
                suggest::choices(&entry.key, "hosts", &names),
                layout.hops
            )));
        }
        let (added, node) = host(&entry.key, None, &entry.node, layout, file)?;
        for side in splitters::sides(added) {
            push(&mut hosts, (side, node.clone()))?;
        }
    }
    let hosts: Vec<Host> = hosts.into_iter().map(|(host, _)| host).collect();
    splitters::check_apart(&hosts, root)?;
    Ok(hosts)
}

/// Where a real machine is.
fn reach(table: &HostTable, merged: &Node) -> Result<Option<Reach>, Complaint> {
    let Some(ssh) = table.ssh.clone() else {
        let given = [
            ("address", table.address.is_some()),
            ("family", table.family.is_some()),
            ("port", table.port.is_some()),
        ];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(None),
            Some((key, _)) => {
                let what = match key {
                    "port" => "a port",
                    "family" => "a version of IP",
                    _ => "an address",
                };
                Err(Complaint::at(&merged.place_of(&[key]), format!("{what}, but no way to log in there"))
                    .label("needs `ssh`")
                    .help("add `ssh = \"NAME\"`, the machine's name for ssh"))
            }
        };
    };
    if !Reach::is_name(&ssh) {
        return Err(Complaint::at(
            &merged.place_of(&["ssh"]),
            format!("{ssh:?} is not a valid host name for ssh"),
        )
        .label("not a host name")
        .help("write it as for ssh: `dtn1`, `user@dtn1.example.org`"));
    }
    if let Some(port) = table.port {
        within(port.into(), 1024..=65_535, "host.port", &merged.place_of(&["port"]))?;
    }
    if let Some(address) = table.address {
        let place = merged.place_of(&["address"]);
        Reach::check_address(address)
            .map_err(|what| Complaint::at(&place, what).label("cannot carry a test"))?;
        if let Some(family) = table.family.filter(|family| *family != Family::of(address)) {
            let what = format!("host.family: {address} is not an {family} address");
            return Err(Complaint::at(&merged.place_of(&["family"]), what)
                .label("contradicts the address")
                .help("remove `family`, or give another address"));
        }
    }
    Ok(Some(Reach { ssh, address: table.address, family: table.family, port: table.port }))
}

fn push(hosts: &mut Vec<(Host, Node)>, new: (Host, Node)) -> Result<(), Complaint> {
    if hosts.iter().any(|(old, _)| old.name == new.0.name) {
        return Err(Complaint::at(
            &new.1.place_of(&["name"]),
            format!("two hosts of one name: `{}`", new.0.name),
        )
        .label("taken by another host")
        .help(
            "give each host a name of its own; `name` under a group such as [host.sender] renames all of it",
        ));
    }
    hosts.push(new);
    Ok(())
}

/// The settings of fq that differ from those of Linux.
fn fq(table: &HostTable, qdisc: Qdisc, mtu: Bytes, node: &Node, what: &str) -> Result<Option<Fq>, Complaint> {
    let Some(FqTable { flow_limit, quantum, maxrate }) = table.fq else { return Ok(None) };
    if qdisc != Qdisc::Fq {
        return Err(Complaint::at(&node.place_of(&["fq"]), format!("{what}.fq: the host's qdisc is not fq"))
            .label("settings of another qdisc")
            .help("add qdisc = \"fq\", or leave the settings out"));
    }
    let key = |key: &str| (format!("{what}.fq.{key}"), node.place_of(&["fq", key]));
    let default = Fq { flow_limit: 100, quantum: (mtu + HEADER) * 2, maxrate: None };
    if let Some(packets) = flow_limit {
        let (name, at) = key("flow_limit");
        within(packets.into(), FQ_FLOW_LIMIT, &name, &at)?;
    }
    if let Some(quantum) = quantum {
        let (name, at) = key("quantum");
        within_bytes(quantum, FQ_QUANTUM, &name, &at)?;
    }
    if let Some(rate) = maxrate {
        let (name, at) = key("maxrate");
        check_maxrate(rate, &name, at)?;
    }
    let fq = Fq {
        flow_limit: flow_limit.unwrap_or(default.flow_limit),
        quantum: quantum.unwrap_or(default.quantum),
        maxrate,
    };
    Ok((fq != default).then_some(fq))
}

/// The kernel holds the rate as 32 bits of bytes per second, all ones for none (`TCA_FQ_FLOW_MAX_RATE`).
fn check_maxrate(rate: Rate, what: &str, at: Place) -> Result<(), Complaint> {
    let bytes = rate.bytes_per_second();
    if bytes > 0 && bytes < u64::from(u32::MAX) {
        return Ok(());
    }
    let (why, help) = match bytes {
        0 => ("is less than a byte a second", "write a higher rate, for example \"1 Gbit/s\""),
        _ => ("does not fit the kernel's 32 bits", "write at most \"34 Gbit/s\", or leave it out: unlimited"),
    };
    Err(Complaint::at(&at, format!("{what}: {rate} {why}")).label("out of range").help(help))
}

/// One host from its table; `given` is where the topology puts it.
fn host(
    key: &str,
    given: Option<usize>,
    table: &Node,
    layout: &Layout,
    file: &File,
) -> Result<(Host, Node), Complaint> {
    let what = format!("host.{key}");
    let merged = over_preset(table, PresetKind::Host, Some(DEFAULT_HOST_PRESET))?;
    let table: HostTable = decode(&merged, &what)?;
    let place = |key: &str| merged.place_of(&[key]);
    let name = table.name.clone().unwrap_or_else(|| key.to_owned());
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        return Err(Complaint::at(&place("name"), format!("{what}: `{name}` cannot name a host"))
            .help("use letters, digits, `-`, `_` and `.`"));
    }
    let router = table.router.or(given).unwrap_or(0);
    within(router as u64, 0..=layout.hops as u64, &format!("{what}.router"), &place("router"))?;
    if let Some(rate) = table.nic_rate {
        check_rate(rate, &format!("{what}.nic_rate"), place("nic_rate"))?;
    }
    let access_delay = table.access_delay.unwrap_or(Span::ZERO);
    check_delay(access_delay, &format!("{what}.access_delay"), place("access_delay"))?;
    let mtu = table.mtu.unwrap_or(Bytes::new(1500));
    within_bytes(mtu, MTU, &format!("{what}.mtu"), &place("mtu"))?;
    let ecn = table.ecn.unwrap_or(2);
    within(ecn.into(), 0..=3, &format!("{what}.ecn"), &place("ecn"))?;
    let txqueuelen = table.txqueuelen.unwrap_or(1000);
    within(txqueuelen.into(), 1..=1_000_000_000, &format!("{what}.txqueuelen"), &place("txqueuelen"))?;

    let mut rmem = table.tcp_rmem.unwrap_or([Bytes::kib(4), Bytes::kib(128), Bytes::mib(6)]);
    let mut wmem = table.tcp_wmem.unwrap_or([Bytes::kib(4), Bytes::kib(16), Bytes::mib(4)]);
    rmem[2] = table.tcp_rmem_max.unwrap_or(rmem[2]);
    wmem[2] = table.tcp_wmem_max.unwrap_or(wmem[2]);
    let rmem_max = table.rmem_max.unwrap_or(Bytes::new(212_992));
    let wmem_max = table.wmem_max.unwrap_or(Bytes::new(212_992));
    let sizes = [
        ("tcp_rmem_max", rmem[2]),
        ("tcp_wmem_max", wmem[2]),
        ("tcp_rmem", rmem[0].max(rmem[1]).max(rmem[2])),
        ("tcp_wmem", wmem[0].max(wmem[1]).max(wmem[2])),
        ("rmem_max", rmem_max),
        ("wmem_max", wmem_max),
    ];
    for (key, largest) in sizes.into_iter().filter(|(key, _)| merged.get(key).is_some()) {
        if largest.get() > i32::MAX as u64 {
            let message = format!("{what}.{key}: {} bytes do not fit the kernel's sysctl", largest.get());
            return Err(Complaint::at(&place(key), message)
                .label("too large")
                .help("the largest is \"2147483647 B\"; \"2 GiB\" is one byte more"));
        }
    }
    for (key, least) in
        [("tcp_rmem", rmem[0]), ("tcp_wmem", wmem[0]), ("tcp_rmem", rmem[2]), ("tcp_wmem", wmem[2])]
    {
        if least == Bytes::ZERO {
            return Err(Complaint::at(
                &place(key),
                format!("{what}.{key}: a buffer of zero bytes holds nothing"),
            ));
        }
    }
    if let Some(scale) = table.adv_win_scale {
        within(scale.into(), 1..=31, &format!("{what}.adv_win_scale"), &place("adv_win_scale"))?;
    }
    let hardware = hardware(&table, &merged, &what)?;
    let moderation = if hardware.is_none() { moderation(&table, &merged, &what)? } else { None };
    let qdisc = table.qdisc.unwrap_or(Qdisc::PfifoFast);
    let splitter = splitters::splitter(&table, &merged, (&name, router, mtu), given.is_some(), layout, file)?;
    let host = Host {
        name,
        router,
        nic_rate: table.nic_rate,
        access_delay,
        mtu,
        qdisc,
        fq: fq(&table, qdisc, mtu, &merged, &what)?,
        txqueuelen,
        offloads: Offloads {
            tso: table.tso.unwrap_or(false),
            gso: table.gso.unwrap_or(false),
            gro: table.gro.unwrap_or(false),
        },
        tcp: TcpSettings {
            rmem,
            wmem,
            rmem_max,
            wmem_max,
            timestamps: table.timestamps.unwrap_or(true),
            sack: table.sack.unwrap_or(true),
            window_scaling: table.window_scaling.unwrap_or(true),
            ecn,
            no_metrics_save: table.no_metrics_save.unwrap_or(true),
            adv_win_scale: table.adv_win_scale,
            small_queues: table.small_queues.unwrap_or(true),
            stretch_acks: table.stretch_acks.unwrap_or(true),
            initial_window: table.initial_window,
        },
        netdev_max_backlog: table.netdev_max_backlog.unwrap_or(1000),
        reach: reach(&table, &merged)?,
        sysctls: table.sysctls.into_iter().map(|(name, value)| (name, value.0)).collect(),
        moderation,
        hardware,
        splitter,
    };
    Ok((host, merged))
}
