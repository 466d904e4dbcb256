//! A single run in words: what limited it, what held its flows back, where its packets went and where it was worked on.

use std::fmt::Write;
use wirespeed_campaign::Judged;
use wirespeed_lab::{DROPPED, MISSED};
use wirespeed_metrics::{Interval, placement};
use wirespeed_record::{Counter, Direction, HostInfo, LedgerRow, RunInfo};

/// The only run of a study.
pub(super) fn run(judged: &Judged, held: &[Interval], findings: &[String]) -> String {
    let info = &judged.recording.info;
    path_checks(info)
        + &held_back(held, info)
        + &ledger(&judged.recording.ledger)
        + &retransmissions(judged)
        + &word_of_servers(info)
        + &kernel_reasons(&judged.recording.counters)
        + &placements(info, findings)
}

/// What was measured of the path before the run.
fn path_checks(info: &RunInfo) -> String {
    let lines: String = info.path_checks.iter().map(|check| format!("  {check}\n")).collect();
    if lines.is_empty() { lines } else { format!("\nThe path, measured before the run:\n{lines}") }
}

/// What limited each run, a line each.
pub(super) fn limits(limits: &[String]) -> String {
    /// More lines than this nobody reads; `--json` has them all.
    const MOST: usize = 12;
    if limits.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nWhat limited:\n");
    for limit in limits.iter().take(MOST) {
        text.push_str(&format!("  {limit}\n"));
    }
    if limits.len() > MOST {
        text.push_str(&format!("  and {} more runs (--json has them)\n", limits.len() - MOST));
    }
    text
}

/// The same as text: a line a flow, of the first few.
fn held_back(intervals: &[Interval], info: &RunInfo) -> String {
    const FLOWS: usize = 4;
    const INTERVALS: usize = 8;
    let mut text = String::new();
    for (number, flow) in info.flows.iter().enumerate().take(FLOWS) {
        let of_flow: Vec<&Interval> = intervals.iter().filter(|i| i.flow as usize == number).collect();
        if of_flow.is_empty() {
            continue;
        }
        let seconds = |ns: i64| (ns as f64 / 1e9 * 10.0).round() / 10.0;
        let told: Vec<String> = of_flow
            .iter()
            .take(INTERVALS)
            .map(|i| format!("{} to {} s {}", seconds(i.from_ns), seconds(i.to_ns), i.holder.words()))
            .collect();
        let more = if of_flow.len() > INTERVALS { ", and so on" } else { "" };
        text.push_str(&format!("  {}: {}{more}\n", flow.label, told.join(", ")));
    }
    if text.is_empty() { text } else { format!("\nWhat held the flows back:\n{text}") }
}

/// The ledger, a line for each place that lost something and one for those that did not.
fn ledger(rows: &[LedgerRow]) -> String {
    let mut text = String::from("\nWhere the packets went:\n");
    for direction in [Direction::Data, Direction::Ack] {
        let of = |entry: &'static str| {
            rows.iter().filter(move |row| row.direction == direction && row.entry == entry).cloned()
        };
        let sum = |entry: &'static str| -> i64 { of(entry).map(|row| row.packets).sum() };
        if of("sent").next().is_none() {
            continue;
        }
        let name = direction.word();
        let arrived = match of("unseen").next() {
            None => format!("{} delivered", sum("delivered")),
            Some(_) => format!("{} whose arrival nobody counts", sum("unseen")),
        };
        let _ = writeln!(text, "  {name}: {} sent, {arrived}, {} lost", sum("sent"), sum("lost"));
        for row in of("lost").filter(|row| row.packets != 0) {
            let stage = row.stage.map_or("?", |stage| stage.word());
            let _ = writeln!(text, "    {:>12}  {stage} at {} ({})", row.packets, row.place, row.source);
        }
        let clear = clear_places(&of("lost").collect::<Vec<_>>());
        if !clear.is_empty() {
            let _ = writeln!(text, "    nothing at {clear}");
        }
        for row in of("unexplained").filter(|row| row.packets != 0) {
            let _ = writeln!(text, "    {:>12}  unexplained ({})", row.packets, row.source);
        }
    }
    text
}

/// What was sent again, and whether it was needed.
fn retransmissions(judged: &Judged) -> String {
    let metric = |name: &str| judged.metrics.iter().find(|m| m.name == name).map(|m| m.value);
    let again = metric("retransmissions_packets").unwrap_or(0.0);
    if again == 0.0 {
        return String::new();
    }
    let twice = metric("spurious_retransmissions_packets").unwrap_or(0.0);
    format!("  sent again: {again}, of which receivers reported {twice} that they had already\n")
}

/// What iperf3 servers say that they received: their word, beside what we have counted.
fn word_of_servers(info: &RunInfo) -> String {
    let word = |host: &HostInfo| {
        let told = |name: &str| host.settings.get(&format!("iperf3.{name}"));
        let server = told("server")?;
        let said: Vec<String> = ["received", "lost", "jitter"]
            .iter()
            .filter_map(|name| told(name).map(|value| format!("{name} {value}")))
            .collect();
        Some(format!("  the word of {}, iperf3 server {server}: {}\n", host.name, said.join(", ")))
    };
    info.hosts.iter().filter_map(word).collect()
}

/// Why the hosts' kernels dropped packets of the run, in their own words, where that could be watched.
fn kernel_reasons(counters: &[Counter]) -> String {
    let rows = counters.iter().filter_map(|row| {
        let reason = row.counter.strip_prefix(DROPPED)?;
        Some(format!("    {:>12}  {reason} at {}\n", row.after - row.before, row.host))
    });
    let mut rows: String = rows.collect();
    let missed: u64 =
        counters.iter().filter(|row| row.counter == MISSED).map(|row| row.after - row.before).sum();
    if missed > 0 {
        let _ = writeln!(rows, "    {missed:>12}  missed by the watch");
    }
    if rows.is_empty() { rows } else { format!("  the kernels' own reasons (BPF):\n{rows}") }
}

/// Stages of each host at which nothing was lost, as far as it counts.
fn clear_places(lost: &[LedgerRow]) -> String {
    let host =
        |row: &LedgerRow| row.place.split_once('/').map_or(row.place.clone(), |(host, _)| host.to_owned());
    let mut clear: Vec<(String, Vec<&str>)> = Vec::new();
    for row in lost {
        let (host_name, Some(stage)) = (host(row), row.stage) else { continue };
        if lost.iter().any(|other| other.packets != 0 && other.stage == row.stage && host(other) == host_name)
        {
            continue;
        }
        match clear.iter_mut().find(|(name, _)| *name == host_name) {
            Some((_, stages)) if stages.contains(&stage.word()) => {}
            Some((_, stages)) => stages.push(stage.word()),
            None => clear.push((host_name, vec![stage.word()])),
        }
    }
    clear.iter().map(|(host, stages)| format!("{host}: {}", stages.join(", "))).collect::<Vec<_>>().join("; ")
}

/// Where the flows were worked on, and what of it costs throughput.
fn placements(info: &RunInfo, findings: &[String]) -> String {
    /// Ends of flows: more nobody reads.
    const MOST: usize = 8;
    if info.placement.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nWhere it was worked on:\n");
    for placement in info.placement.iter().take(MOST) {
        let label = info.flows.get(placement.flow as usize).map_or("?", |flow| flow.label.as_str());
        let _ = writeln!(text, "  {label}, {}", placement::words(info, placement));
    }
    for finding in findings {
        let _ = writeln!(text, "  note: {finding}");
    }
    text
}
