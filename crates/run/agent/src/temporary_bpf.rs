//! BPF programs that a run loads into the running kernel, if this process may: congestion controls that the kernel lacks, and a
//! watch on the packets that it drops. All of them go with the process.

use super::{ports, try_congestion};
use std::collections::BTreeMap;
use std::net::IpAddr;
use wirespeed_bpf::drops::{Buffers, Filter, Protocol, Range, Watch, can_watch};
use wirespeed_bpf::{Loaded, control};
use wirespeed_host::Way as HostWay;
use wirespeed_ledger::hosts::drop_reasons::{self, Seen};
use wirespeed_ledger::retransmissions::{Piece, Pieces, Way};
use wirespeed_record::{Counter, DROPPED, MISSED};
use wirespeed_scenario::run::{Flow, Run};
use wirespeed_topology::namespace::Namespace;

/// Congestion controls.
pub struct Controls {
    _loaded: Vec<Loaded>,
}

/// Whether sockets here can have a congestion control, loaded by BPF where the kernel lacks it.
pub fn can_have(name: &str) -> bool {
    try_congestion(name).is_ok() || control(name).is_some_and(|control| control.can_load().is_ok())
}

impl Controls {
    /// Loads those that flows of the run name and the kernel does not have. What cannot be loaded is reported when a socket
    /// asks for it.
    pub fn load(run: &Run, mut warn: impl FnMut(String)) -> Controls {
        let mut loaded = Vec::new();
        for name in run.algorithms().into_iter().filter(|name| try_congestion(name).is_err()) {
            let Some(control) = control(name).filter(|control| control.can_load().is_ok()) else { continue };
            match control.load() {
                Ok(control) => {
                    let after = if control.vanishes() {
                        ""
                    } else {
                        ", and stays until `wirespeed cc unload` if this process is killed"
                    };
                    warn(format!(
                        "congestion control {name} is not the kernel's: it was loaded by BPF for this run{after}"
                    ));
                    loaded.push(control);
                }
                // Another agent of the same kernel may have been first.
                Err(_) if try_congestion(name).is_ok() => {}
                Err(error) => warn(error.to_string()),
            }
        }
        Controls { _loaded: loaded }
    }
}

/// What watching took, in nanoseconds.
const COST: &str = "bpf/cost_ns";

/// Retransmissions and drops that were not matched with each other, since there were too many.
pub const UNLISTED: &str = "bpf/unlisted";

/// A watch on packets of the run that this kernel drops.
pub struct Drops {
    watch: Option<Watch>,
    /// What was dropped and sent again so far, by namespace, flow and reason.
    ranges: BTreeMap<(Option<u32>, Way, Option<String>), Vec<Piece>>,
    /// Packets with payload of TCP that were dropped, by reason and direction.
    with_payload: BTreeMap<(Way, String), u64>,
    kept: usize,
    unlisted: u64,
    /// Somebody was told that not all could be read.
    told: bool,
    /// Dropped socket buffers of all flows after the first and before the last reading of the kernel's other counters.
    /// `None` if the kernel did not return its counts.
    first: Option<Vec<Buffers>>,
    last: Option<Vec<Buffers>>,
}

impl Drops {
    /// Begins, where that is permitted. `warn` is told if the kernel does not do what it should be able to.
    pub fn watch(run: &Run, namespace: Option<u32>, warn: impl FnOnce(String)) -> Drops {
        let filter = Filter { ports: ports(run), namespace, measure: true, ranges: true };
        // Whoever may not watch is told so in the documentation, not in every run.
        let watch = can_watch()
            .ok()
            .and_then(|()| Watch::start(&filter).map_err(|error| warn(error.to_string())).ok());
        Drops {
            watch,
            ranges: BTreeMap::new(),
            with_payload: BTreeMap::new(),
            kept: 0,
            unlisted: 0,
            told: false,
            first: None,
            last: None,
        }
    }

    /// To be called right after the first reading of the kernel's other counters, which do not have earlier drops.
    pub fn begin_counting(&mut self) {
        self.first = self.of_all_flows();
    }

    /// To be called right before another reading of them, for [`Drops::dropped`]. A busy machine drops packets of other flows
    /// between the two readings. These would hide drops that the watch did not see.
    pub fn end_counting(&mut self) {
        self.last = self.of_all_flows();
    }

    fn of_all_flows(&self) -> Option<Vec<Buffers>> {
        self.watch.as_ref()?.read_all_flows().ok()
    }

    /// Takes in what was dropped and sent again since: the kernel has room for a part of it only. `origin_ns`: where the run's
    /// time begins, by CLOCK_MONOTONIC. `warn` is told, once in a run, if not all of it can be read.
    pub fn follow(&mut self, origin_ns: i64, warn: impl FnOnce(String)) {
        let Some(watch) = &self.watch else { return };
        let (ranges, failed) = watch.ranges();
        ranges.into_iter().for_each(|range| self.keep(origin_ns, range));
        if let Some(error) = failed.filter(|_| !std::mem::replace(&mut self.told, true)) {
            warn(format!(
                "{error}; of drops and retransmissions of TCP some were not matched with each other"
            ));
        }
    }

    fn keep(&mut self, origin_ns: i64, range: Range) {
        /// Takes some 10 MB here, and as much again on its way.
        const MOST: usize = 500_000;
        if let Some(reason) = &range.reason {
            let way = (range.flow.source, range.flow.target);
            *self.with_payload.entry((way, reason.clone())).or_default() += u64::from(range.packets);
        }
        if self.kept == MOST {
            self.unlisted += 1;
            return;
        }
        self.kept += 1;
        let Range { monotonic_ns, flow, namespace, reason, sequence, bytes, packets } = range;
        let piece = Piece { t_ns: monotonic_ns - origin_ns, sequence, bytes, packets };
        self.ranges.entry((namespace, (flow.source, flow.target), reason)).or_default().push(piece);
    }

    /// What was dropped and sent again, at the hosts that `place` finds for namespaces, in messages of bounded size.
    pub fn pieces(&mut self, place: impl Fn(Option<u32>) -> Option<String>) -> Vec<Pieces> {
        const TOGETHER: usize = 10_000;
        let mut all = Vec::new();
        for ((namespace, way, reason), pieces) in std::mem::take(&mut self.ranges) {
            let Some(host) = place(namespace) else { continue };
            let of = |pieces: &[Piece]| Pieces {
                host: host.clone(),
                way,
                reason: reason.clone(),
                pieces: pieces.to_vec(),
            };
            all.extend(pieces.chunks(TOGETHER).map(of));
        }
        all
    }

    /// The drops of this host that the watch saw, or `None` without a watch or its counts. Of TCP's data only packets with payload count,
    /// as in the ledger.
    pub fn dropped(&self, run: &Run, host: &str, addresses: &[IpAddr]) -> Option<Seen> {
        let watch = self.watch.as_ref()?;
        let rows = watch.read().ok()?;
        let all_flows = between(self.first.as_ref()?, self.last.as_ref()?);
        let missed = watch.cost().ok()?.missed;
        let own = addresses.get(run.hosts.iter().position(|other| other.name == host)?)?;
        let is_listed = watch.unlisted().is_ok_and(|unlisted| unlisted == 0);
        let mut seen = Seen { missed, all_flows, ..Seen::default() };
        for row in rows {
            let way = match () {
                () if row.flow.source.ip() == *own => HostWay::Tx,
                // What no interface has been told of is on its way out, perhaps of another namespace.
                () if row.namespace.is_none() && row.device.is_none() => continue,
                () if row.flow.target.ip() == *own => HostWay::Rx,
                () => continue,
            };
            let of_protocol = |flow: &&Flow| flow.is_tcp() == (row.flow.protocol == Protocol::Tcp);
            let mut flows = run.flows.iter().filter(of_protocol).peekable();
            if flows.peek().is_none() {
                continue;
            }
            let sends = flows.clone().any(|flow| flow.from == host);
            let receives = flows.any(|flow| flow.to == host);
            let is_data = if way == HostWay::Tx { sends && !receives } else { receives && !sends };
            let packets = if is_data && is_listed && row.flow.protocol == Protocol::Tcp {
                let way = (row.flow.source, row.flow.target);
                self.with_payload.get(&(way, row.reason.clone())).copied().unwrap_or(0).min(row.packets)
            } else {
                row.packets
            };
            if let Some(stage) = drop_reasons::stage(&row.reason, way) {
                let [all, buffers] = seen.sizes.entry((stage, way)).or_default();
                (*all, *buffers) = (*all + row.packets, *buffers + row.buffers);
            }
            *seen.dropped.entry((row.reason, way)).or_default() += packets;
        }
        Some(seen)
    }

    /// What was dropped since, as counters of a host that `place` finds for a namespace (its inode).
    /// `own`: the only host's address, if there is one. `warn` is told if they cannot be read.
    pub fn counters(
        &self,
        place: impl Fn(Option<u32>) -> Option<String>,
        own: Option<IpAddr>,
        warn: impl FnOnce(String),
    ) -> Vec<Counter> {
        let Some(watch) = &self.watch else { return Vec::new() };
        let mut by_reason: BTreeMap<(String, String), u64> = BTreeMap::new();
        let rows = watch.read().unwrap_or_else(|error| {
            warn(error.to_string());
            Vec::new()
        });
        for row in rows {
            let is_nowhere = row.namespace.is_none() && row.device.is_none();
            // It is of the host that sends it.
            if is_nowhere && own.is_some_and(|own| row.flow.source.ip() != own) {
                continue;
            }
            if let Some(host) = place(row.namespace) {
                *by_reason.entry((host, format!("{DROPPED}{}", row.reason))).or_default() += row.packets;
            }
        }
        if let (Ok(cost), Some(host)) = (watch.cost(), place(None)) {
            let took = cost.runs.map_or(0, |(_, took)| took.as_nanos() as u64);
            by_reason.insert((host.clone(), COST.into()), took);
            by_reason.insert((host.clone(), MISSED.into()), cost.missed);
            by_reason.insert((host, UNLISTED.into()), self.unlisted + watch.unlisted().unwrap_or(0));
        }
        let row = |((host, counter), after)| Counter { host, counter, before: 0, after };
        by_reason.into_iter().map(row).collect()
    }
}

/// The socket buffers that were dropped between two readings.
fn between(first: &[Buffers], last: &[Buffers]) -> Vec<Buffers> {
    let key = |row: &Buffers| (row.reason.clone(), row.device, row.namespace);
    let before: BTreeMap<_, u64> = first.iter().map(|row| (key(row), row.buffers)).collect();
    let since = |row: &Buffers| row.buffers.saturating_sub(before.get(&key(row)).copied().unwrap_or(0));
    last.iter().map(|row| Buffers { buffers: since(row), ..row.clone() }).collect()
}

/// Names of nodes by the inodes of their namespaces.
pub fn by_inode<'a>(nodes: impl Iterator<Item = (&'a str, &'a Namespace)>) -> BTreeMap<u32, String> {
    nodes.filter_map(|(name, namespace)| Some((namespace.inode()?, name.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drops_between_the_two_readings_count() {
        let row = |reason: &str, device, buffers| Buffers {
            reason: reason.into(),
            device: Some(device),
            namespace: Some(1),
            buffers,
        };
        let first = [row("QDISC_DROP", 2, 40), row("QDISC_DROP", 3, 7)];
        let last = [row("QDISC_DROP", 2, 55), row("QDISC_DROP", 3, 7), row("NETFILTER_DROP", 2, 3)];
        let expected = [row("QDISC_DROP", 2, 15), row("QDISC_DROP", 3, 0), row("NETFILTER_DROP", 2, 3)];
        assert_eq!(between(&first, &last), expected);
    }
}
