//! Logs of `ss -tin`: its output again and again, with the time before each. A connection that moved data becomes a flow. The
//! sender's columns come from the socket that sent. If the log has the other end, too, delivered bytes are its received bytes.

mod log;
mod socket;

use super::table::{self, flow, host};
use super::{Content, Import, ImportError, MOST_FLOWS, Source, only};
use crate::clock::Moment;
use log::Log;
use serde_json::json;
use socket::{Address, Socket};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{FlowInfo, FlowSample, Recording, RunInfo, SubstrateKind};

const FORMAT: &str = "ss";
/// A connection with less than this part of the bytes of the largest one is not a flow, such as iperf3's control connection.
const LEAST_SHARE: f64 = 1e-4;

/// ss of iproute2.
pub struct Ss;

impl Import for Ss {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn about(&self) -> &'static str {
        "logs of ss with the time before each output \
         (`while sleep 0.1; do date +%s.%N; ss -tin; done > ss.log`, or `# TIME` lines)"
    }

    fn recognises(&self, content: &Content) -> bool {
        !content.is_json() && log::is_log(content.text())
    }

    fn recording(&self, sources: &[Source]) -> Result<Recording, ImportError> {
        let source = only(sources, FORMAT)?;
        import(&source.name, &log::read(source.content.text())?)
    }
}

/// Both ends of a connection, as far as the log has them. The first is the one that comes first in the order of addresses.
type Pair = (Address, Address);

/// A connection: what the sockets at its ends were at each time of the log.
#[derive(Default)]
struct Connection<'a> {
    /// By the local address of the socket, then by the number of the output.
    ends: BTreeMap<Address, BTreeMap<usize, &'a Socket>>,
}

impl Connection<'_> {
    /// Bytes that one end sent within the log, by its own count or that of the other end.
    fn sent_by(&self, near: &Address, far: &Address) -> u64 {
        let growth = |end: &Address, of: fn(&Socket) -> Option<u64>| {
            let sockets = self.ends.get(end)?;
            let values: Vec<u64> = sockets.values().filter_map(|socket| of(socket)).collect();
            Some(values.iter().max()?.saturating_sub(*values.iter().min()?))
        };
        let own = growth(near, |socket| Some(socket.acked_bytes.or(socket.sent_bytes).unwrap_or(0)));
        let other = growth(far, |socket| Some(socket.received_bytes.unwrap_or(0)));
        own.max(other).unwrap_or(0)
    }
}

fn import(file_name: &str, log: &Log) -> Result<Recording, ImportError> {
    let times = times(log)?;
    let mut connections: BTreeMap<Pair, Connection> = BTreeMap::new();
    for (number, output) in log.outputs.iter().enumerate() {
        for socket in &output.sockets {
            let ends = [socket.local.clone(), socket.peer.clone()];
            let key = if ends[0] <= ends[1] {
                (ends[0].clone(), ends[1].clone())
            } else {
                (ends[1].clone(), ends[0].clone())
            };
            let connection = connections.entry(key).or_default();
            connection.ends.entry(socket.local.clone()).or_default().insert(number, socket);
        }
    }
    let total = connections.len();
    let mut found: Vec<(u64, Address, Address, Connection)> = connections
        .into_iter()
        .map(|((a, b), connection)| {
            let (from_a, from_b) = (connection.sent_by(&a, &b), connection.sent_by(&b, &a));
            if from_a >= from_b { (from_a, a, b, connection) } else { (from_b, b, a, connection) }
        })
        .collect();
    let largest = found.iter().map(|(bytes, ..)| *bytes).max().unwrap_or(0);
    if largest == 0 {
        let reason = match total {
            0 => "it has no TCP connections; `ss -tin` lists them".to_owned(),
            _ => format!("none of its {total} connections moved data, or ss was called without -i"),
        };
        return Err(ImportError::NothingMeasured { reason });
    }
    found.retain(|(bytes, ..)| *bytes as f64 >= largest as f64 * LEAST_SHARE);
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (&a.1, &a.2).cmp(&(&b.1, &b.2))));
    found.truncate(MOST_FLOWS);
    let left_out = total - found.len();
    let (mut infos, mut rows) = (Vec::new(), Vec::new());
    for (number, (_, from, to, connection)) in found.iter().enumerate() {
        let own = flow_rows(number as u32, &times, connection, from, to);
        let sender = connection.ends.get(from);
        let congestion =
            sender.and_then(|sockets| sockets.values().find_map(|socket| socket.congestion.clone()));
        infos.push(FlowInfo {
            congestion,
            start_ns: own.first().map_or(0, |row| row.t_ns),
            stop_ns: own.last().map_or(0, |row| row.t_ns),
            ..flow(format!("{from} to {to}"), &from.host, &to.host)
        });
        rows.extend(own);
    }
    let hosts: BTreeSet<&str> =
        found.iter().flat_map(|(_, from, to, _)| [from.host.as_str(), to.host.as_str()]).collect();
    let info = RunInfo {
        id: FORMAT.into(),
        study: FORMAT.into(),
        about: format!(
            "ss: {} over {} s; imported from {file_name}.",
            counted(found.len()),
            times.last().map_or(0.0, |last| *last as f64 / 1e9)
        ),
        started: log
            .outputs
            .first()
            .and_then(|output| output.time)
            .map(|time| Moment { unix_ns: time.unix_ns / 1000 * 1000 }.to_string()),
        hosts: hosts
            .into_iter()
            .map(|name| host(name, &[("imported_from", Some(file_name.to_owned()))]))
            .collect(),
        flows: infos,
        scenario: json!({}),
        warnings: warnings(file_name, log, &found, left_out),
        ..RunInfo::default()
    };
    table::recording(SubstrateKind::Ss, info, rows)
}

fn counted(connections: usize) -> String {
    if connections == 1 { "one connection".into() } else { format!("{connections} connections") }
}

/// The times of the outputs, in nanoseconds since the first.
fn times(log: &Log) -> Result<Vec<i64>, ImportError> {
    let mut times: Vec<i64> = Vec::new();
    let first = log.outputs.first().and_then(|output| output.time);
    for output in &log.outputs {
        let time = output.time.zip(first).ok_or_else(|| ImportError::NothingMeasured {
            reason: format!(
                "the output of ss at line {} has no time before it; write one with `date +%s.%N` before each call of ss",
                output.line
            ),
        })?;
        let t_ns = time.0.unix_ns.saturating_sub(time.1.unix_ns);
        let before = times.last().copied();
        if before.is_some_and(|before| t_ns <= before) || table::seconds_ns(t_ns as f64 / 1e9).is_none() {
            return Err(ImportError::Line {
                line: output.line,
                reason: "its time is not after the one before it, or more than 100 days later".into(),
            });
        }
        times.push(t_ns);
    }
    match times.len() {
        0 | 1 => Err(ImportError::NothingMeasured {
            reason: "it has one output of ss; a rate needs two, with the time before each".into(),
        }),
        _ => Ok(times),
    }
}

/// A row for each output that has an end of the connection.
fn flow_rows(
    number: u32,
    times: &[i64],
    connection: &Connection,
    from: &Address,
    to: &Address,
) -> Vec<FlowSample> {
    let empty = BTreeMap::new();
    let sender = connection.ends.get(from).unwrap_or(&empty);
    let receiver = connection.ends.get(to).unwrap_or(&empty);
    let outputs: BTreeSet<usize> = sender.keys().chain(receiver.keys()).copied().collect();
    let mut rows: Vec<FlowSample> = Vec::new();
    if let Some(before) = outputs.first().and_then(|first| first.checked_sub(1)) {
        // It is not in the output before, so nothing had been sent then.
        rows.push(FlowSample { delivered_bytes: Some(0), ..FlowSample::empty(times[before], number) });
    }
    for output in outputs {
        let mut row = FlowSample::empty(times[output], number);
        if let Some(socket) = sender.get(&output) {
            socket.fill_sender(&mut row);
        }
        match receiver.get(&output) {
            Some(socket) => socket.fill_receiver(&mut row),
            // Acknowledged payload had arrived. The SYN is counted as a byte.
            None if receiver.is_empty() => {
                row.delivered_bytes = row.acked_bytes.map(|bytes| bytes.saturating_sub(1))
            }
            None => {}
        }
        rows.push(row);
    }
    rows
}

fn warnings(
    file_name: &str,
    log: &Log,
    found: &[(u64, Address, Address, Connection)],
    left_out: usize,
) -> Vec<String> {
    let mut warnings = vec![format!(
        "imported from {file_name} (ss, {} outputs): it has no queues, interfaces and counters of the hosts, so these are not \
         recorded",
        log.outputs.len()
    )];
    if found.iter().any(|(_, _, to, connection)| !connection.ends.contains_key(to)) {
        warnings.push(
            "the receiver's socket is not in the log of every flow; goodput of the others is the acknowledged payload"
                .into(),
        );
    }
    if left_out > 0 {
        let (connections, verb) =
            (counted(left_out), if left_out == 1 { "is not a flow" } else { "are not flows" });
        warnings.push(format!("{connections} of the log {verb}, with little or no data"));
    }
    if log.skipped > 0 {
        let lines = if log.skipped == 1 { "line was" } else { "lines were" };
        warnings.push(format!(
            "{} {lines} skipped that ss does not write, the first at line {}",
            log.skipped, log.first_skipped
        ));
    }
    warnings
}
