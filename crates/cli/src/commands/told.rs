//! A single run in words: what limited it, what held its flows back, where its packets went and where it was worked on.

use std::fmt::Write;
use wirespeed_campaign::Judged;
use wirespeed_lab::{DROPPED, MISSED, SENT_AGAIN_FOR, SENT_AGAIN_SPURIOUS, SENT_AGAIN_UNMATCHED};
use wirespeed_metrics::{
    Interval, Lost, Moment, Unsteady, View, held_back as held_back_by, placement, timeline, unsteady,
};
use wirespeed_record::{Cause, Counter, Direction, HostInfo, LedgerRow, RunInfo};

/// What is worked out of a run beside its metrics.
pub(super) struct Analysis {
    /// What held its flows back.
    pub held_back: Vec<Interval>,
    /// The ledger by interval.
    pub timeline: Vec<Moment>,
    /// What of the places where it was worked on costs throughput.
    pub findings: Vec<String>,
    /// Why it is not steady, if it is not.
    pub unsteady: Option<Unsteady>,
}

impl Analysis {
    /// Of a recording.
    pub fn of(view: &View) -> Analysis {
        Analysis {
            held_back: held_back_by(view, SECOND_NS),
            timeline: timeline(view),
            findings: placement::findings(view),
            unsteady: unsteady(view),
        }
    }
}

/// The intervals over which it is told what held a flow back.
const SECOND_NS: i64 = 1_000_000_000;

/// The only run of a study.
pub(super) fn run(judged: &Judged, analysis: &Analysis) -> String {
    let info = &judged.recording.info;
    path_checks(info)
        + &held_back(&analysis.held_back, info)
        + &ledger(&judged.recording.ledger, info)
        + &when_lost(&analysis.timeline, info)
        + &retransmissions(judged)
        + &word_of_servers(info)
        + &kernel_reasons(&judged.recording.counters)
        + &placements(info, &analysis.findings)
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
fn ledger(rows: &[LedgerRow], info: &RunInfo) -> String {
    let whole = if info.omit_ns > 0 { " (whole run, omitted time included)" } else { "" };
    let mut text = format!("\nWhere the packets went{whole}:\n");
    for direction in [Direction::Data, Direction::Ack] {
        let of = |entry: &'static str| {
            rows.iter().filter(move |row| row.direction == direction && row.entry == entry).cloned()
        };
        let sum = |entry: &'static str| -> i64 { of(entry).map(|row| row.packets).sum() };
        let name = direction.word();
        if of("sent").next().is_none() {
            if of("delivered").next().is_none() {
                continue;
            }
            let _ = writeln!(
                text,
                "  {name}: {} delivered, {} lost where it arrived; nobody counts what was sent",
                sum("delivered"),
                sum("lost")
            );
        } else {
            let arrived = match of("unseen").next() {
                None => format!("{} delivered", sum("delivered")),
                Some(_) => format!("{} whose arrival nobody counts", sum("unseen")),
            };
            let _ = writeln!(text, "  {name}: {} sent, {arrived}, {} lost", sum("sent"), sum("lost"));
        }
        for row in of("lost").filter(|row| row.packets != 0) {
            let stage = row.stage.map_or("?", |stage| stage.word());
            let at = Cause::at(&row.place, row.cause);
            let _ = writeln!(text, "    {:>12}  {stage} at {at} ({})", row.packets, row.source);
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

/// When packets were lost and where, a line an interval; of many those in which most were.
fn when_lost(timeline: &[Moment], info: &RunInfo) -> String {
    const MOST: usize = 10;
    let mut lossy: Vec<&Moment> = timeline.iter().filter(|moment| moment.lost_anywhere() > 0).collect();
    if lossy.is_empty() {
        return String::new();
    }
    lossy.sort_by_key(|moment| -moment.lost_anywhere());
    let more = lossy.len().saturating_sub(MOST);
    lossy.truncate(MOST);
    lossy.sort_by_key(|moment| (moment.from_ns, moment.direction));
    let seconds = |ns: i64| (ns as f64 / 1e9 * 10.0).round() / 10.0;
    let of_reverse = format!(" of the {}", info.packets_of(Direction::Ack));
    let mut text = String::from("  when:\n");
    for moment in lossy {
        let whose = if moment.direction == Direction::Ack { &*of_reverse } else { "" };
        let places = moment.lost.iter().filter(|lost| lost.packets > 0);
        let at = |lost: &Lost| Cause::at(&lost.place, lost.cause);
        let places: Vec<String> =
            places.map(|lost| format!("{} lost in {} ({})", lost.packets, lost.stage, at(lost))).collect();
        let again = moment.sent_again.filter(|again| *again > 0);
        let again = again.map_or(String::new(), |again| format!("; {again} sent again"));
        // Where nothing passes while counters are read there is nothing to say.
        let within = Some(moment.uncertain).filter(|within| *within > 0);
        let within = within.map_or(String::new(), |within| format!("; known within {within}"));
        let (from, to) = (seconds(moment.from_ns), seconds(moment.to_ns));
        let _ = writeln!(text, "    {from}-{to} s{whose}: {}{again}{within}", places.join(", "));
    }
    if more > 0 {
        let _ = writeln!(text, "    and fewer in {more} more (--json has them)");
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
    let window = if judged.recording.info.omit_ns > 0 { " in the measurement window" } else { "" };
    format!("  retransmitted{window}: {again}, of which receivers reported {twice} as duplicates\n")
}

/// What iperf3 servers say that they received or sent: their word, beside what we have counted.
fn word_of_servers(info: &RunInfo) -> String {
    let word = |host: &HostInfo| {
        let told = |name: &str| host.settings.get(&format!("iperf3.{name}"));
        let server = told("server")?;
        let said: Vec<String> = ["received", "sent", "again", "lost", "jitter"]
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
        Some(format!("    {:>12}  {reason} at {}\n", row.after.saturating_sub(row.before), row.host))
    });
    let mut rows: String = rows.collect();
    let missed = missed(counters);
    if missed > 0 {
        let _ = writeln!(rows, "    {missed:>12}  missed by the watch");
    }
    rows.push_str(&matched(counters));
    if rows.is_empty() { rows } else { format!("  the kernels' own reasons (BPF):\n{rows}") }
}

/// How often the kernels passed over what watches their drops, because it was at work on another.
pub fn missed(counters: &[Counter]) -> u64 {
    counters.iter().filter(|row| row.counter == MISSED).map(|row| row.after.saturating_sub(row.before)).sum()
}

/// Retransmissions, packet by packet with the drop that each made good.
fn matched(counters: &[Counter]) -> String {
    let of = |row: &Counter| {
        let packets = row.after.saturating_sub(row.before);
        let what = match row.counter.as_str() {
            SENT_AGAIN_SPURIOUS => {
                "retransmitted although the receiver had them: it dropped the copies".to_owned()
            }
            SENT_AGAIN_UNMATCHED => {
                "retransmitted without a recorded drop: lost elsewhere, or spurious".to_owned()
            }
            counter => {
                format!("retransmitted after {} at {}", counter.strip_prefix(SENT_AGAIN_FOR)?, row.host)
            }
        };
        Some(format!("    {packets:>12}  {what}\n"))
    };
    counters.iter().filter_map(of).collect()
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
