//! What the running kernel is lent for a run, where this process may: congestion controls that it does not have, and a watch
//! on what it drops. All of it goes with the process.

use super::{first_port, try_congestion};
use crate::iperf3::server;
use crate::namespace::Namespace;
use crate::sent_again::{Piece, Pieces, Way};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_bpf::drops::{Filter, Range, Watch, can_watch};
use wirespeed_bpf::{Loaded, control};
use wirespeed_record::Counter;
use wirespeed_scenario::run::{FlowKind, Run};

/// Congestion controls.
pub struct Controls {
    _loaded: Vec<Loaded>,
}

/// Whether sockets here can have a congestion control, if it is lent where the kernel lacks it.
pub fn can_have(name: &str) -> bool {
    try_congestion(name).is_ok() || control(name).is_some_and(|control| control.can_load().is_ok())
}

impl Controls {
    /// Lends those that flows of the run want and the kernel does not have. What cannot be lent is said when a socket
    /// asks for it.
    pub fn lend(run: &Run, mut warn: impl FnMut(String)) -> Controls {
        let wanted: BTreeSet<&str> = run
            .flows
            .iter()
            .filter_map(|flow| match &flow.kind {
                FlowKind::Tcp { congestion, .. } => Some(congestion.name.as_str()),
                FlowKind::Udp { .. } => None,
            })
            .collect();
        let mut loaded = Vec::new();
        for name in wanted.into_iter().filter(|name| try_congestion(name).is_err()) {
            let Some(control) = control(name).filter(|control| control.can_load().is_ok()) else { continue };
            match control.load() {
                Ok(lent) => {
                    let after = if lent.vanishes() {
                        ""
                    } else {
                        "; it stays until `wirespeed cc unload`, if this is killed"
                    };
                    warn(format!(
                        "congestion control {name} is not the kernel's: it was lent by BPF for this run{after}"
                    ));
                    loaded.push(lent);
                }
                // Another agent of the same kernel may have been first.
                Err(_) if try_congestion(name).is_ok() => {}
                Err(error) => warn(error.to_string()),
            }
        }
        Controls { _loaded: loaded }
    }
}

/// Before the name of a counter of packets that the kernel dropped, by its own reason.
pub const DROPPED: &str = "bpf/dropped ";
/// What watching took, in nanoseconds.
const COST: &str = "bpf/cost_ns";
/// Packets it missed: they are counted elsewhere, without a reason.
pub const MISSED: &str = "bpf/missed";

/// Retransmissions and drops that were not matched with each other, since there were too many.
pub const UNLISTED: &str = "bpf/unlisted";

/// A watch on packets of the run that this kernel drops.
pub struct Drops {
    watch: Option<Watch>,
    /// What was dropped and sent again so far, by namespace, flow and reason.
    ranges: BTreeMap<(Option<u32>, Way, Option<String>), Vec<Piece>>,
    kept: usize,
    unlisted: u64,
    /// Somebody was told that not all could be read.
    told: bool,
}

impl Drops {
    /// Begins, where that is permitted. `warn` is told if the kernel does not do what it should be able to.
    pub fn watch(run: &Run, namespace: Option<u32>, warn: impl FnOnce(String)) -> Drops {
        let beyond = run.flows.len().saturating_sub(1).try_into().unwrap_or(u16::MAX);
        let first: BTreeSet<u16> = run.flows.iter().map(|flow| first_port(run, &flow.to)).collect();
        let mut ports: Vec<_> = first.iter().map(|port| *port..=port.saturating_add(beyond)).collect();
        ports.extend(server(run).ok().flatten().map(|server| server.port..=server.port));
        let filter = Filter { ports, namespace, measure: true, ranges: true };
        // Whoever may not watch is told so in the documentation, not in every run.
        let watch = can_watch()
            .ok()
            .and_then(|()| Watch::start(&filter).map_err(|error| warn(error.to_string())).ok());
        Drops { watch, ranges: BTreeMap::new(), kept: 0, unlisted: 0, told: false }
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

    /// What was dropped since, as counters of a host that `place` finds for a namespace (its inode).
    /// `warn` is told if they cannot be read.
    pub fn counters(
        &self,
        place: impl Fn(Option<u32>) -> Option<String>,
        warn: impl FnOnce(String),
    ) -> Vec<Counter> {
        let Some(watch) = &self.watch else { return Vec::new() };
        let mut by_reason: BTreeMap<(String, String), u64> = BTreeMap::new();
        let rows = watch.read().unwrap_or_else(|error| {
            warn(error.to_string());
            Vec::new()
        });
        for row in rows {
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

/// Names of nodes by the inodes of their namespaces.
pub fn by_inode<'a>(nodes: impl Iterator<Item = (&'a str, &'a Namespace)>) -> BTreeMap<u32, String> {
    nodes.filter_map(|(name, namespace)| Some((namespace.inode()?, name.to_owned()))).collect()
}
