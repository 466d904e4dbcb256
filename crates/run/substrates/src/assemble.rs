//! From an agent's messages, or what the model leaves behind, to a [`Recording`].

#[cfg(feature = "linux")]
mod messages;

use crate::host_facts::host_info;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_ledger::intervals::{Standing, Standings, intervals};
use wirespeed_ledger::path::{self, Evidence};
use wirespeed_ledger::retransmissions::{Pieces, matched};
use wirespeed_record::{
    ApplicationInfo, Cause, Counter, FlowInfo, FlowSample, HostInfo, HostSample, KernelInfo, Leg, LinkChange,
    LinkInfo, QueueSample, Recording, RunInfo, SubstrateKind, Topology, Transport,
};
use wirespeed_scenario::layout::Layout;
use wirespeed_scenario::run::{Application, FlowKind, Link, Run};
use wirespeed_sim::Outcome;
use wirespeed_units::Span;

/// What was read at a border between intervals.
#[derive(Debug)]
struct Interim {
    t_ns: i64,
    took_ns: i64,
    counters: Vec<Counter>,
    in_flight: BTreeMap<String, u64>,
    drops: BTreeMap<String, Vec<(Cause, u64)>>,
    /// Rows of flows, queues and interfaces that had come before it.
    rows: [usize; 3],
}

/// Collects messages.
#[derive(Debug, Default)]
pub struct Assembler {
    recording: Recording,
    settings: BTreeMap<String, BTreeMap<String, String>>,
    topologies: BTreeMap<String, Topology>,
    /// Snapshots by host, as the agents sent them.
    inventories: BTreeMap<String, String>,
    in_flight: BTreeMap<String, u64>,
    /// Packets dropped and lost by queue and cause, where causes are told apart.
    drops: BTreeMap<String, Vec<(Cause, u64)>>,
    /// Flows, queues and interfaces after the run, where they were read again.
    rest: (Vec<FlowSample>, Vec<QueueSample>, Vec<HostSample>),
    interims: Vec<Interim>,
    /// Accounts at borders that were made already.
    standings: Vec<Standing>,
    pieces: Vec<Pieces>,
    kernel: KernelInfo,
    last_ns: i64,
    done: bool,
    failure: Option<String>,
}

impl Assembler {
    /// What the model leaves behind, as if it had been sent, and the accounts at the borders between intervals.
    pub fn of_outcome(outcome: Outcome, standings: Vec<Standing>) -> Self {
        let mut recording = Recording {
            flows: outcome.flows,
            queues: outcome.queues,
            hosts: outcome.hosts,
            cores: outcome.cores,
            counters: outcome.counters,
            events: outcome.events,
            datagrams: outcome.datagrams,
            exchanges: outcome.exchanges,
            queue_delays: outcome.queue_delays,
            ..Default::default()
        };
        recording.info.warnings = outcome.warnings;
        let Outcome { in_flight, drops, .. } = outcome;
        Assembler { recording, in_flight, drops, standings, done: true, ..Default::default() }
    }

    /// The recording, with everything that follows from the run itself. The caller adds tool, kernel build, cost
    /// and command.
    pub fn finish(mut self, run: &Run, layout: &Layout, substrate: SubstrateKind) -> Recording {
        let (flows, queues, hosts) = std::mem::take(&mut self.rest);
        let interims = std::mem::take(&mut self.interims);
        let mut standings = std::mem::take(&mut self.standings);
        let drops = std::mem::take(&mut self.drops);
        // One kernel has one clock.
        self.match_sent_again(0);
        let (mut recording, in_flight) = self.described(run, substrate);
        let evidence = Evidence {
            counters: &recording.counters,
            queues: path::by_queue(recording.queues.iter().chain(&queues)),
            interfaces: path::by_interface(recording.hosts.iter().chain(&hosts)),
            in_flight: &in_flight,
            drops: &drops,
            datagrams: datagrams(run, &flows),
        };
        recording.ledger = path::ledger(run, layout, &evidence);
        standings.extend(self::standings(run, layout, &recording, &interims));
        recording.ledger_intervals = intervals(&standings, &recording.ledger, run.duration.nanoseconds());
        recording.info.warnings.extend(path::ambiguous_hosts(run).into_iter().map(|host| {
            format!("{host} sends to both sides: the ledger cannot tell its data from its ACKs by direction")
        }));
        recording
    }

    /// Adds which drops were made good by what was sent again. `clocks_ns`: by how much hosts' clocks may differ.
    pub fn match_sent_again(&mut self, clocks_ns: i64) {
        let pieces = std::mem::take(&mut self.pieces);
        self.recording.counters.extend(matched(&pieces, clocks_ns));
    }

    /// The same without a ledger, and what was in flight at the end.
    pub fn described(mut self, run: &Run, substrate: SubstrateKind) -> (Recording, BTreeMap<String, u64>) {
        let mut recording = std::mem::take(&mut self.recording);
        recording.events.sort_by_key(|event| event.t_ns);
        let RunInfo { mut warnings, cost, mut placement, .. } = std::mem::take(&mut recording.info);
        let mut packets = BTreeMap::new();
        for row in &recording.flows {
            packets.insert(row.flow, row.data_packets_out.unwrap_or(0));
        }
        recording.info = describe(run, substrate, &mut self.settings);
        for host in &mut recording.info.hosts {
            host.topology = self.topologies.remove(&host.name);
            let json = self.inventories.remove(&host.name);
            match json.map(|json| serde_json::from_str(&json)).transpose() {
                Ok(inventory) => host.inventory = inventory,
                Err(error) => {
                    warnings.push(format!("the inventory of {} cannot be read: {error}", host.name))
                }
            }
        }
        // Real hosts tell in any order.
        placement.sort_by(|a, b| (a.flow, &a.host).cmp(&(b.flow, &b.host)));
        (recording.info.warnings, recording.info.cost, recording.info.placement) =
            (warnings, cost, placement);
        recording.info.kernel = Some(self.kernel);
        recording.info.cost.packets = packets.values().sum();
        (recording, self.in_flight)
    }
}

/// The accounts at the borders between intervals.
fn standings(run: &Run, layout: &Layout, recording: &Recording, interims: &[Interim]) -> Vec<Standing> {
    let mut standings = Standings::new(run, layout);
    for interim in interims {
        let [flows, queues, hosts] = interim.rows;
        let (flows, queues, hosts) =
            (&recording.flows[..flows], &recording.queues[..queues], &recording.hosts[..hosts]);
        let t_ns = interim.t_ns;
        let flows: Vec<FlowSample> = flows.iter().rev().take_while(|row| row.t_ns == t_ns).cloned().collect();
        let queues = queues.iter().rev().take_while(|row| row.t_ns == t_ns);
        let hosts = hosts.iter().rev().take_while(|row| row.t_ns == t_ns);
        let evidence = Evidence {
            counters: &interim.counters,
            queues: path::by_queue(queues),
            interfaces: path::by_interface(hosts),
            in_flight: &interim.in_flight,
            drops: &interim.drops,
            datagrams: datagrams(run, &flows),
        };
        standings.push(t_ns, interim.took_ns, &evidence);
    }
    standings.take()
}

/// Datagrams that each host has sent.
fn datagrams<'a>(run: &'a Run, flows: &[FlowSample]) -> BTreeMap<&'a str, i64> {
    let mut sent = BTreeMap::new();
    for row in flows {
        let flow = &run.flows[row.flow as usize];
        if let FlowKind::Udp { .. } = flow.kind {
            *sent.entry(flow.from.as_str()).or_default() += row.data_packets_out.unwrap_or(0) as i64;
        }
    }
    sent
}

fn describe(
    run: &Run,
    substrate: SubstrateKind,
    settings: &mut BTreeMap<String, BTreeMap<String, String>>,
) -> RunInfo {
    RunInfo {
        format_version: wirespeed_record::FORMAT_VERSION,
        id: run.id.clone(),
        study: run.study.clone(),
        about: run.about.clone(),
        factors: run.factors.iter().map(|(k, v)| (k.clone(), serde_json::json!(v))).collect(),
        repeat: run.repeat,
        seed: run.seed,
        substrate,
        duration_ns: run.duration.nanoseconds(),
        omit_ns: run.omit.nanoseconds(),
        sample_ns: run.sample.nanoseconds(),
        links: run
            .links
            .iter()
            .map(|link| LinkInfo {
                name: link.name.clone(),
                rate_bps: link.forward.rate.get(),
                buffer_bytes: link.forward.buffer.get(),
                rtt_ns: (link.forward.delay + link.reverse.delay).nanoseconds(),
                forward_queue: format!("{}/forward", link.name),
                reverse_queue: format!("{}/reverse", link.name),
                is_assumed: false,
                changes: link_changes(link),
            })
            .collect(),
        hosts: run
            .hosts
            .iter()
            .map(|host| HostInfo {
                settings: settings.remove(&host.name).unwrap_or_default(),
                ..host_info(host)
            })
            .collect(),
        flows: (run.flows.iter().zip(run.flow_groups()))
            .map(|(flow, group)| describe_flow(run, flow, group))
            .collect(),
        scenario: run.recorded(),
        ..Default::default()
    }
}

/// State of a link after each change of either direction.
fn link_changes(link: &Link) -> Vec<LinkChange> {
    let mut times: Vec<Span> =
        [&link.forward, &link.reverse].iter().flat_map(|way| &way.changes).map(|change| change.at).collect();
    times.sort();
    times.dedup();
    let ways = [&link.forward, &link.reverse].map(|way| way.states().collect::<Vec<_>>());
    let changes = times.into_iter().map(|at| {
        // The first state is that of the start.
        let [forward, reverse] =
            ways.each_ref().map(|states| states[states.partition_point(|state| state.at <= at) - 1]);
        LinkChange {
            t_ns: at.nanoseconds(),
            rate_bps: forward.rate.get(),
            buffer_bytes: forward.buffer.get(),
            rtt_ns: (forward.delay + reverse.delay).nanoseconds(),
        }
    });
    changes.collect()
}

fn describe_flow(run: &Run, flow: &wirespeed_scenario::run::Flow, group: String) -> FlowInfo {
    let crossed = run.way_out(flow).into_iter().chain(run.way_back(flow));
    let crossed: BTreeSet<usize> = crossed.map(|(link, _)| link).collect();
    let (kind, congestion) = match &flow.kind {
        FlowKind::Tcp { congestion, .. } => (Transport::Tcp, Some(congestion.name.clone())),
        FlowKind::Udp { .. } => (Transport::Udp, None),
    };
    FlowInfo {
        label: flow.label.clone(),
        kind,
        congestion,
        from: flow.from.clone(),
        to: flow.to.clone(),
        start_ns: flow.start.nanoseconds(),
        stop_ns: flow.stop.nanoseconds(),
        base_rtt_ns: run.base_rtt(flow).nanoseconds(),
        links: crossed.into_iter().map(|link| run.links[link].name.clone()).collect(),
        group: Some(group),
        bytes: flow.bytes.map(|bytes| bytes.get()),
        leg: (flow.leg.as_ref()).map(|leg| Leg { of: leg.of.clone(), number: leg.number, legs: leg.legs }),
        application: flow.application.as_ref().map(|application| describe_application(run, application)),
    }
}

fn describe_application(run: &Run, application: &Application) -> ApplicationInfo {
    match application {
        Application::DataSet { set } => {
            let files = &run.data_sets[*set as usize];
            ApplicationInfo::DataSet {
                set: *set,
                files: files.files.len() as u64,
                bytes: files.bytes().get(),
            }
        }
        Application::Requests { count, .. } => ApplicationInfo::Requests { count: count.map(u64::from) },
    }
}
