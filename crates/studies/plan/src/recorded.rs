//! Recorded runs as points of a plan: their path, their flows and their goodput, whatever substrate they ran on.

use crate::misfit::Misfit;
use crate::point::Point;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{Applications, FlowInfo, HostModel, Interrupts, RunInfo, SubstrateKind, Transport};
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Direction, FlowKind, LossModel, Queue};
use wirespeed_units::{Bytes, Rate, Span};

/// The numbers of a run by the names of their metrics, in base units.
type Metrics = BTreeMap<&'static str, f64>;

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedRun {
    /// Name for the reader.
    pub name: String,
    /// The substrate that it ran on.
    pub substrate: SubstrateKind,
    /// Rate of its link.
    pub rate: Rate,
    /// Its other settings.
    pub point: Point,
    /// Goodput of all flows in bit/s, outside of `run.omit`.
    pub goodput_bps: f64,
}

impl RecordedRun {
    /// Of a recording's information and the metrics of the run.
    ///
    /// Nothing emulates the path between real hosts. There, the round-trip time is the least one that was measured, and the loss
    /// rate is the share of packets that were lost. Rate and buffer are those of the scenario.
    ///
    /// # Errors
    /// If a plan cannot have such a run.
    pub fn of(name: &str, info: &RunInfo, metrics: &Metrics) -> Result<RecordedRun, Misfit> {
        let is_real = info.substrate == SubstrateKind::Hosts;
        let run = settings(info, is_real)?;
        let ([link], [described]) = (&run.links[..], &info.links[..]) else { return Err(Misfit::Path) };
        if !is_real && !is_plain(&link.forward) || !all_flows_cross_it(&run) {
            return Err(Misfit::Path);
        }
        let (congestion, first) = bulk(&run, info)?;
        let goodput = metrics.get("goodput_bps").copied().filter(|goodput| *goodput > 0.0);
        let real = |metric: &str| metrics.get(metric).copied().filter(|_| is_real);
        let mtu = if is_real { real_mtu(info) } else { run.hosts.iter().map(|host| host.mtu).min() };
        Ok(RecordedRun {
            name: name.into(),
            substrate: info.substrate,
            rate: Rate::bps(described.rate_bps),
            goodput_bps: goodput.ok_or(Misfit::Goodput)?,
            point: Point {
                congestion,
                flows: u32::try_from(info.flows.len()).map_err(|_| Misfit::Traffic)?,
                loss: real("loss_fraction").unwrap_or(link.forward.loss),
                rtt: Span::ns(real("rtt_min_ns").map_or(first.base_rtt_ns, |ns| ns as i64)),
                buffer: Bytes::new(described.buffer_bytes),
                mtu: mtu.ok_or(Misfit::Settings)?,
                cores: cores(info, first),
            },
        })
    }
}

/// The resolved run of a recording. Imported recordings have none.
fn settings(info: &RunInfo, is_real: bool) -> Result<Run, Misfit> {
    let text = info.scenario.to_string();
    let run = if is_real { Run::from_json_of_real_hosts(&text) } else { Run::from_json(&text) };
    run.map_err(|_| Misfit::Settings)
}

/// Whether a direction has nothing but rate, delay, independent losses and a drop-tail queue.
fn is_plain(direction: &Direction) -> bool {
    let Direction {
        queue, loss_model, outages, reorder, duplicate, fec, policer, port_limit, changes, ..
    } = direction;
    *queue == Queue::default()
        && *loss_model == LossModel::default()
        && reorder.is_none()
        && duplicate.is_none()
        && fec.is_none()
        && policer.is_none()
        && port_limit.is_none()
        && outages.is_empty()
        && changes.is_empty()
}

/// Whether every flow goes over the link from left to right, on a path of the same length.
fn all_flows_cross_it(run: &Run) -> bool {
    let crosses = |from: &str, to: &str| run.host(from).router < run.host(to).router;
    let access = |name: &str| run.host(name).access_delay;
    let length = |from: &str, to: &str| access(from) + access(to);
    let lengths: BTreeSet<i64> =
        run.flows.iter().map(|flow| length(&flow.from, &flow.to).picoseconds()).collect();
    lengths.len() == 1 && run.flows.iter().all(|flow| flow.leg.is_none() && crosses(&flow.from, &flow.to))
}

/// The algorithm of the flows and the first of them, if all are TCP without an end and without limits of their own.
fn bulk<'a>(run: &Run, info: &'a RunInfo) -> Result<(String, &'a FlowInfo), Misfit> {
    let is_free = |kind: &FlowKind| match kind {
        FlowKind::Tcp { congestion, window, max_rate, .. } => {
            congestion.parameters.is_empty() && window.is_none() && max_rate.is_none()
        }
        FlowKind::Udp { .. } => false,
    };
    let has_no_end =
        |flow: &FlowInfo| flow.kind == Transport::Tcp && flow.bytes.is_none() && flow.application.is_none();
    let first = info.flows.first().ok_or(Misfit::Traffic)?;
    let is_bulk = run.flows.iter().all(|flow| is_free(&flow.kind)) && info.flows.iter().all(has_no_end);
    let is_uniform = info.flows.iter().all(|flow| flow.congestion == first.congestion);
    match &first.congestion {
        Some(name) if is_bulk && is_uniform => Ok((name.clone(), first)),
        _ => Err(Misfit::Traffic),
    }
}

/// The largest packet that real hosts may send each other: the least of their interfaces' MTUs and of those found on the path.
fn real_mtu(info: &RunInfo) -> Option<Bytes> {
    let settings = info.hosts.iter().flat_map(|host| &host.settings);
    let mtus = settings.filter(|(key, _)| *key == "interface.mtu" || key.starts_with("path_mtu."));
    mtus.filter_map(|(_, value)| value.parse().ok()).min().map(Bytes::new)
}

/// The cores of sender and receiver that serve flows and interrupts, if both have a host model with as many.
fn cores(info: &RunInfo, flow: &FlowInfo) -> Option<u32> {
    let of = |name: &str| {
        let host = info.hosts.iter().find(|host| host.name == name)?;
        used_cores(host.host_model.as_ref()?)
    };
    of(&flow.from).filter(|count| of(&flow.to) == Some(*count))
}

/// Cores that serve applications or interrupts. Hyper-threads of one core are one.
fn used_cores(model: &HostModel) -> Option<u32> {
    let all = model.nodes? * model.cores_per_node?;
    let (Applications::Pinned(applications) | Applications::Free(applications)) =
        model.applications.as_ref()?;
    let interrupts: Vec<u32> = match model.interrupts.as_ref()? {
        Interrupts::Cores(cores) => cores.clone(),
        Interrupts::MovedEvery(_) => (0..all).collect(),
    };
    let used = applications.iter().chain(&interrupts).map(|core| core % all.max(1));
    Some(used.collect::<BTreeSet<u32>>().len() as u32)
}
