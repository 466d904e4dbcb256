//! The series of a run that the page draws, in columns.

use serde::Serialize;
use std::collections::BTreeMap;
use wirespeed_record::{FlowSample, QueueSample};
use wirespeed_scenario::run::{FlowKind, Run};
use wirespeed_sim::Outcome;

/// A run: its headline numbers, and its series on the sampling grid. A value that was not measured is null.
#[derive(Debug, Serialize)]
pub(crate) struct RunSeries {
    /// Name of the run.
    id: String,
    /// How long it lasted.
    duration_ns: i64,
    /// Data packets that the model carried, retransmissions included.
    packets: u64,
    /// Payload that reached the receivers in order, of all flows, over the time from `omit` to the end.
    goodput_bps: Option<u64>,
    /// Mean of the smoothed round-trip times over samples and flows, from `omit` to the end.
    rtt_mean_ns: Option<i64>,
    /// Largest backlog of a link's forward queue.
    backlog_max_bytes: u64,
    /// Packets retransmitted by all flows.
    retransmitted_packets: u64,
    /// Packets dropped by the forward queues of links.
    dropped_packets: u64,
    /// Packets lost behind the forward queues of links.
    lost_packets: u64,
    /// Jain's index of the flows' goodput from `omit` to the end; null with a single flow.
    fairness: Option<f64>,
    /// Instants of sampling.
    t_ns: Vec<i64>,
    flows: Vec<FlowColumns>,
    queues: Vec<QueueColumns>,
}

/// A flow's columns. Those of counters are cumulative; goodput is that since the sample before.
#[derive(Debug, Serialize)]
struct FlowColumns {
    label: String,
    congestion: Option<String>,
    goodput_bps: Vec<Option<u64>>,
    cwnd_bytes: Vec<Option<u64>>,
    rtt_ns: Vec<Option<i64>>,
    retransmitted_packets: Vec<Option<u64>>,
}

/// The columns of a link's forward queue; packets are cumulative.
#[derive(Debug, Serialize)]
struct QueueColumns {
    queue: String,
    backlog_bytes: Vec<Option<u64>>,
    dropped_packets: Vec<Option<u64>>,
    lost_packets: Vec<Option<u64>>,
}

impl RunSeries {
    pub(crate) fn of(run: &Run, outcome: &Outcome) -> RunSeries {
        let grid = Grid::of(outcome);
        let flows: Vec<Option<&FlowSample>> =
            grid.placed(&outcome.flows, run.flows.len(), |row| (row.t_ns, row.flow as usize));
        let names = forward_queues(&outcome.queues);
        let position = |row: &QueueSample| names.iter().position(|name| *name == row.queue);
        let queues: Vec<Option<&QueueSample>> =
            grid.placed(&outcome.queues, names.len(), |row| (row.t_ns, position(row).unwrap_or(usize::MAX)));

        let omit = run.omit.nanoseconds();
        let flow_rows: Vec<Vec<Option<&FlowSample>>> =
            (0..run.flows.len()).map(|flow| grid.column(&flows, run.flows.len(), flow)).collect();
        let queue_rows: Vec<Vec<Option<&QueueSample>>> =
            (0..names.len()).map(|queue| grid.column(&queues, names.len(), queue)).collect();

        let goodputs: Vec<u64> = flow_rows.iter().filter_map(|rows| goodput(rows, omit)).collect();
        let last = |rows: &[Option<&QueueSample>]| rows.iter().rev().flatten().next().copied().cloned();
        let ends: Vec<QueueSample> = queue_rows.iter().filter_map(|rows| last(rows)).collect();
        RunSeries {
            id: run.id.clone(),
            duration_ns: run.duration.nanoseconds(),
            packets: outcome.packets,
            goodput_bps: (!goodputs.is_empty()).then(|| goodputs.iter().sum()),
            rtt_mean_ns: rtt_mean(&flow_rows, omit),
            backlog_max_bytes: queues.iter().flatten().map(|row| row.backlog_bytes).max().unwrap_or(0),
            retransmitted_packets: flow_rows.iter().map(|rows| retransmitted(rows)).sum(),
            dropped_packets: ends.iter().map(|row| row.dropped_packets).sum(),
            lost_packets: ends.iter().filter_map(|row| row.lost_packets).sum(),
            fairness: jain(&goodputs),
            flows: run.flows.iter().zip(&flow_rows).map(|(flow, rows)| FlowColumns::of(flow, rows)).collect(),
            queues: names.iter().zip(&queue_rows).map(|(name, rows)| QueueColumns::of(name, rows)).collect(),
            t_ns: grid.instants,
        }
    }
}

/// The instants of sampling, in order.
struct Grid {
    instants: Vec<i64>,
    places: BTreeMap<i64, usize>,
}

impl Grid {
    fn of(outcome: &Outcome) -> Grid {
        let all = outcome.flows.iter().map(|row| row.t_ns).chain(outcome.queues.iter().map(|row| row.t_ns));
        let mut instants: Vec<i64> = all.collect();
        instants.sort_unstable();
        instants.dedup();
        let places = instants.iter().enumerate().map(|(place, t)| (*t, place)).collect();
        Grid { instants, places }
    }

    /// The rows by instant and number; `key` gives both, and rows with a number that is too large are left out.
    fn placed<'a, R>(
        &self,
        rows: &'a [R],
        numbers: usize,
        key: impl Fn(&R) -> (i64, usize),
    ) -> Vec<Option<&'a R>> {
        let mut placed: Vec<Option<&R>> = vec![None; self.instants.len() * numbers];
        for row in rows {
            let (t_ns, number) = key(row);
            if number < numbers {
                placed[self.places[&t_ns] * numbers + number] = Some(row);
            }
        }
        placed
    }

    /// The rows of one number, one for each instant.
    fn column<'a, R>(&self, placed: &[Option<&'a R>], numbers: usize, number: usize) -> Vec<Option<&'a R>> {
        (0..self.instants.len()).map(|place| placed[place * numbers + number]).collect()
    }
}

/// Names of the links' forward queues, in the order in which they were sampled.
fn forward_queues(rows: &[QueueSample]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows.iter().take_while(|row| row.t_ns == rows[0].t_ns) {
        if row.queue.ends_with("/forward") && !names.contains(&row.queue) {
            names.push(row.queue.clone());
        }
    }
    names
}

/// Bytes over a time as a rate.
fn rate(bytes: u64, span_ns: i64) -> Option<u64> {
    let span = u128::try_from(span_ns).ok().filter(|span| *span > 0)?;
    Some((u128::from(bytes) * 8_000_000_000 / span) as u64)
}

/// Payload of a flow from `omit` to its last sample.
fn goodput(rows: &[Option<&FlowSample>], omit: i64) -> Option<u64> {
    let mut counted = rows.iter().flatten().filter(|row| row.t_ns >= omit);
    let first = counted.next()?;
    let last = counted.next_back()?;
    let bytes = last.delivered_bytes?.checked_sub(first.delivered_bytes.unwrap_or(0))?;
    rate(bytes, last.t_ns - first.t_ns)
}

fn rtt_mean(flows: &[Vec<Option<&FlowSample>>], omit: i64) -> Option<i64> {
    let rows = flows.iter().flatten().flatten().filter(|row| row.t_ns >= omit);
    let (sum, count) = rows
        .filter_map(|row| row.rtt_ns)
        .fold((0_i128, 0), |(sum, count), rtt| (sum + i128::from(rtt), count + 1));
    (count > 0).then(|| (sum / count) as i64)
}

fn retransmitted(rows: &[Option<&FlowSample>]) -> u64 {
    rows.iter().rev().flatten().next().and_then(|row| row.retrans_packets).unwrap_or(0)
}

/// Jain, Chiu and Hawe, DEC-TR-301 (1984): (sum x)^2 / (n sum x^2).
fn jain(goodputs: &[u64]) -> Option<f64> {
    let sum: f64 = goodputs.iter().map(|x| *x as f64).sum();
    let squares: f64 = goodputs.iter().map(|x| (*x as f64) * (*x as f64)).sum();
    (goodputs.len() > 1 && squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

impl FlowColumns {
    fn of(flow: &wirespeed_scenario::run::Flow, rows: &[Option<&FlowSample>]) -> FlowColumns {
        let mut before: Option<(i64, u64)> = None;
        let mut goodput = Vec::with_capacity(rows.len());
        for row in rows {
            let now = row.and_then(|row| Some((row.t_ns, row.delivered_bytes?)));
            let since = before.zip(now).and_then(|((t0, b0), (t1, b1))| rate(b1.saturating_sub(b0), t1 - t0));
            goodput.push(since);
            before = now.or(before);
        }
        let congestion = match &flow.kind {
            FlowKind::Tcp { congestion, .. } => Some(congestion.name.clone()),
            _ => None,
        };
        FlowColumns {
            label: flow.label.clone(),
            congestion,
            goodput_bps: goodput,
            cwnd_bytes: rows.iter().map(|row| row.and_then(|row| row.cwnd_bytes)).collect(),
            rtt_ns: rows.iter().map(|row| row.and_then(|row| row.rtt_ns)).collect(),
            retransmitted_packets: rows.iter().map(|row| row.and_then(|row| row.retrans_packets)).collect(),
        }
    }
}

impl QueueColumns {
    fn of(name: &str, rows: &[Option<&QueueSample>]) -> QueueColumns {
        QueueColumns {
            queue: name.to_owned(),
            backlog_bytes: rows.iter().map(|row| row.map(|row| row.backlog_bytes)).collect(),
            dropped_packets: rows.iter().map(|row| row.map(|row| row.dropped_packets)).collect(),
            lost_packets: rows.iter().map(|row| row.and_then(|row| row.lost_packets)).collect(),
        }
    }
}
