//! Recordings of one capture and of two.

use crate::flows::{Found, Receiver, found, of_second, samples};
use crate::ledger::{self, Hosts};
use crate::sampler::{FlowKey, Sampler};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use wirespeed_pair::{Clock, Direction, PairTrace, PairedConnection, Point};
use wirespeed_record::{
    Event, EventKind, FlowInfo, FlowSample, HostInfo, Recording, RunInfo, SubstrateKind, rfc3339,
};
use wirespeed_trace::text::quantity::things;
use wirespeed_trace::{Position, Trace};

/// A recording of a capture with this file name. `tool` and `command` are the caller's to fill in.
pub fn of_one(name: &str, trace: &Trace, sampler: &Sampler) -> Recording {
    let (flows, left_out) = found(trace);
    let width_ns = sampler.width_ns();
    let mut made = Made::default();
    for (number, flow) in (0..).zip(&flows) {
        made.add(flow, samples(number, flow, sampler, &|t_ns| t_ns, None, width_ns));
    }
    let (senders, receivers) = made.hosts();
    let ledger = ledger::of_one(&flows, name, &Hosts { senders: &senders, receivers: &receivers });
    let mut warnings = vec![format!(
        "recorded from {name}, a packet capture: it has no queues, interfaces and counters of the hosts, so these are not recorded"
    )];
    if flows.iter().any(|found| found.flow.capture_point.position != Position::Sender) {
        warnings.push(
            "the capture is not at the sender of every flow; windows and RTTs of the others are not recorded"
                .into(),
        );
    }
    warnings
        .push("delivered bytes are the acknowledged payload, when the capture has the acknowledgment".into());
    made.recording(&[name], trace, left_out, width_ns, warnings, ledger)
}

/// A recording of two captures with these file names. Times are those of the first clock.
pub fn of_pair(names: [&str; 2], pair: &PairTrace, samplers: [&Sampler; 2]) -> Recording {
    let origins_ns = samplers.map(Sampler::origin_ns);
    let times = |point: Point| {
        move |t_ns: i64| match point {
            Point::First => t_ns,
            Point::Second => of_second(&pair.clock, origins_ns, t_ns),
        }
    };
    let width_ns = samplers[0].width_ns().max(samplers[1].width_ns());
    let (mut made, mut flows, mut left_out) = (Made::default(), Vec::new(), 0);
    let of_traces = [0, 1].map(|file| found(&pair.traces[file]));
    for point in [Point::First, Point::Second] {
        let (all, without) = &of_traces[point.index()];
        left_out = left_out.max(*without);
        for flow in all {
            // Each flow once: as the capture near its sender has it.
            let paired =
                pair.connections.iter().find(|one| one.numbers[point.index()] == flow.connection.number);
            let Some(paired) = paired else { continue };
            let direction = direction(paired, flow, point);
            if direction.near() != point {
                continue;
            }
            let number = flows.len() as u32;
            let (near, far) = (times(point), times(point.other()));
            let receiver = Receiver {
                sampler: samplers[point.other().index()],
                key: key_at(paired, flow, point),
                time: &far,
            };
            let rows = samples(number, flow, samplers[point.index()], &near, Some(&receiver), width_ns);
            made.add(flow, rows);
            flows.push(flow);
        }
    }
    let (senders, receivers) = made.hosts();
    let ledger = ledger::of_pair(pair, names, &Hosts { senders: &senders, receivers: &receivers });
    let mut warnings = vec![format!(
        "recorded from {} and {}, packet captures: they have no queues, interfaces and counters of the hosts, so these are not \
         recorded",
        names[0], names[1]
    )];
    warnings.extend(clock_warning(&pair.clock));
    made.recording(&names, &pair.traces[0], left_out, width_ns, warnings, ledger)
}

fn clock_warning(clock: &Clock) -> Option<String> {
    let bound = clock.offset_bound_ns.filter(|&bound| bound > 0)?;
    let bound_ms = bound as f64 / 1e6;
    Some(format!(
        "times of the second capture are known to plus or minus {bound_ms:.3} ms, half the least RTT between both"
    ))
}

/// The direction between the capture points of a flow as the capture at `point` has it.
fn direction(paired: &PairedConnection, flow: &Found<'_>, point: Point) -> Direction {
    let is_client = is_same_client(paired, flow, point);
    match (is_client == flow.is_from_client) == (paired.client_side == Point::First) {
        true => Direction::FromFirst,
        false => Direction::FromSecond,
    }
}

/// The capture takes the same end for the client as the pair does.
fn is_same_client(paired: &PairedConnection, flow: &Found<'_>, point: Point) -> bool {
    paired.client[point.index()] == flow.connection.client
}

/// The same flow in the other capture.
fn key_at(paired: &PairedConnection, flow: &Found<'_>, point: Point) -> FlowKey {
    let other = paired.numbers[point.other().index()];
    let is_from_client = is_same_client(paired, flow, point) == flow.is_from_client;
    // In the second capture the ends may have changed their names: each capture has its own client.
    let is_flipped = paired.is_flipped;
    let way = usize::from(!is_from_client);
    let way = match point.other() {
        Point::Second if is_flipped => 1 - way,
        _ => way,
    };
    (other, way)
}

/// Parts of a recording.
#[derive(Default)]
struct Made {
    infos: Vec<FlowInfo>,
    rows: Vec<FlowSample>,
    events: Vec<Event>,
}

/// An address without its port.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host.trim_matches(['[', ']']))
}

impl Made {
    fn add(&mut self, found: &Found<'_>, rows: Vec<FlowSample>) {
        let number = self.infos.len() as u32;
        let [from, to] = found.ends();
        let (start_ns, stop_ns) =
            (rows.first().map_or(0, |row| row.t_ns), rows.last().map_or(0, |row| row.t_ns));
        let event = |t_ns, kind, detail: &str| Event {
            t_ns,
            kind,
            flow: Some(number),
            host: Some(host(from).into()),
            detail: detail.into(),
            burst_packet: None,
        };
        self.events.push(event(start_ns, EventKind::FlowStart, "first data of the capture"));
        self.events.push(event(stop_ns, EventKind::FlowEnd, "last data or acknowledgment of the capture"));
        self.infos.push(FlowInfo {
            label: format!("{from} to {to}"),
            from: host(from).into(),
            to: host(to).into(),
            start_ns,
            stop_ns,
            ..FlowInfo::default()
        });
        self.rows.extend(rows);
    }

    /// Sending and receiving hosts.
    fn hosts(&self) -> (String, String) {
        let names = |of: fn(&FlowInfo) -> &str| {
            let names: BTreeSet<&str> = self.infos.iter().map(of).collect();
            names.into_iter().collect::<Vec<_>>().join(", ")
        };
        (names(|info| &info.from), names(|info| &info.to))
    }

    fn recording(
        mut self,
        names: &[&str],
        trace: &Trace,
        left_out: usize,
        width_ns: i64,
        mut warnings: Vec<String>,
        ledger: Vec<wirespeed_record::LedgerRow>,
    ) -> Recording {
        self.rows.sort_by_key(|row| (row.t_ns, row.flow));
        self.events.sort_by_key(|event| event.t_ns);
        warnings.push(
            "the congestion window is an estimate: the largest number of bytes in flight in each round"
                .into(),
        );
        if left_out > 0 {
            warnings.push(format!("{} with little data not recorded", things(left_out as u64, "flow")));
        }
        let hosts: BTreeSet<&str> =
            self.infos.iter().flat_map(|info| [info.from.as_str(), info.to.as_str()]).collect();
        let from = names.join(" and ");
        let host = |name: &str| HostInfo {
            name: name.into(),
            settings: [("recorded_from".to_owned(), from.clone())].into(),
            ..HostInfo::default()
        };
        let last_ns = self.rows.last().map_or(0, |row| row.t_ns);
        let started = u64::try_from(trace.first_ns).ok().map(Duration::from_nanos);
        let scenario: Value = json!({});
        let info = RunInfo {
            id: "capture".into(),
            study: "capture".into(),
            about: format!(
                "Packet capture: {} over {:.3} s, from {from}.",
                things(self.infos.len() as u64, "flow"),
                last_ns as f64 / 1e9
            ),
            substrate: SubstrateKind::Capture,
            started: started.map(|since| rfc3339(SystemTime::UNIX_EPOCH + since)),
            duration_ns: last_ns,
            sample_ns: width_ns,
            hosts: hosts.into_iter().map(host).collect(),
            flows: self.infos,
            scenario,
            warnings,
            ..RunInfo::default()
        };
        Recording { info, flows: self.rows, events: self.events, ledger, ..Recording::default() }
    }
}
