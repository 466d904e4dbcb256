//! Tables with aligned columns.

use super::quantity::{count, duration, rate, size};
use super::words;
use crate::result::{ConnectionTrace, FlowTrace, Trace};
use crate::round::Round;

/// Rows under a head: the first `left` columns aligned to the left, the others to the right.
pub(super) fn table(head: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut text = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            let width = widths[column];
            text += &match column < left {
                true => format!("{cell:<width$}  "),
                false => format!("{cell:>width$}  "),
            };
        }
        format!("{}\n", text.trim_end())
    };
    let mut text = line(head.to_vec());
    for row in rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text
}

/// The connections with most data, at most `rows`.
pub(super) fn connections(trace: &Trace, rows: usize) -> String {
    let mut found: Vec<&ConnectionTrace> = trace.connections.iter().collect();
    found.sort_by_key(|connection| std::cmp::Reverse((bytes(connection), u64::MAX - connection.number)));
    let shown = found.len().min(rows);
    let lines: Vec<Vec<String>> = found[..shown].iter().flat_map(|connection| lines(connection)).collect();
    let head =
        ["connection", "from", "to", "data", "time", "goodput", "packets", "retransmitted", "least RTT"];
    let mut text = table(&head, &lines, 3);
    let hidden = trace.total_connections - shown as u64;
    if hidden > 0 {
        text += &format!(
            "{} more connections with less data; --all prints those that are kept.\n",
            count(hidden)
        );
    }
    text
}

fn bytes(connection: &ConnectionTrace) -> u64 {
    [&connection.from_client, &connection.from_server]
        .into_iter()
        .flatten()
        .map(|flow| flow.unique_bytes)
        .sum()
}

fn lines(connection: &ConnectionTrace) -> Vec<Vec<String>> {
    let (client, server) = (connection.client.as_str(), connection.server.as_str());
    let line = |flow: &FlowTrace, from: &str, to: &str| {
        let sides = [flow.rtt_to_sender_ns, flow.rtt_to_receiver_ns];
        let rtt: i64 = sides.iter().flatten().map(|side| side.min).sum();
        vec![
            connection.number.to_string(),
            from.to_owned(),
            to.to_owned(),
            size(flow.unique_bytes),
            duration(flow.duration_ns),
            if flow.duration_ns > 0 { rate(flow.goodput_bps) } else { "-".into() },
            count(flow.packets),
            count(flow.retransmissions.packets),
            if rtt > 0 { duration(rtt) } else { "-".into() },
        ]
    };
    let mut lines = Vec::new();
    lines.extend(connection.from_client.as_ref().map(|flow| line(flow, client, server)));
    lines.extend(connection.from_server.as_ref().map(|flow| line(flow, server, client)));
    if lines.is_empty() {
        let mut empty = vec![connection.number.to_string(), client.to_owned(), server.to_owned(), size(0)];
        empty.extend(["-"; 5].map(str::to_owned));
        lines.push(empty);
    }
    lines
}

/// The first rounds of a flow.
pub(super) fn rounds(rounds: &[Round], start_ns: i64, mss: u32) -> String {
    let has_duplicates = rounds.iter().any(|round| round.duplicates > 0);
    let line = |round: &Round| {
        let mut cells = vec![
            round.number.to_string(),
            duration(round.start_ns - start_ns),
            count(round.packets),
            count(round.retransmitted),
        ];
        if has_duplicates {
            cells.push(count(round.duplicates));
            cells.push(round.first_duplicate.map_or("-".into(), count));
        }
        cells.extend([
            count(round.max_in_flight_bytes.div_ceil(u64::from(mss.max(1)))),
            round.rtt_ns.map_or("-".into(), duration),
            round.rate_before_duplicates_bps.or(round.rate_bps).map_or("-".into(), rate),
            words::limit(round.limit).to_owned(),
        ]);
        cells
    };
    let mut head = vec!["round", "start", "packets", "retransmitted"];
    if has_duplicates {
        head.extend(["duplicates", "from packet"]);
    }
    head.extend(["in flight", "least RTT", "rate", "limited by"]);
    table(&head, &rounds.iter().map(line).collect::<Vec<_>>(), 0)
}
