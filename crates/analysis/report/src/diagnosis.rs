//! A single run in words: what limited it, second by second, where its packets went, why hosts dropped them, and on which cores
//! it ran. The terminal and the page show the same sections.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;
use wirespeed_diagnosis::{Diagnosis, Finding, Interval, Setting, placement};
use wirespeed_metrics::{Lost, Moment, View};
use wirespeed_record::{
    Cause, Counter, DROPPED, DUPLICATES, Direction, Entry, EventKind, HostInfo, LedgerRow, MISSED, RunInfo,
    SENT_AGAIN_FOR, SENT_AGAIN_SPURIOUS, SENT_AGAIN_UNMATCHED, WITHOUT_PAYLOAD,
};

/// Title of the section on what limited a run.
pub(crate) const LIMITING_FACTOR: &str = "Limiting factor";

/// A part of what is said of a run. A line that belongs to the one before it is indented by two spaces more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its lines; none has a line break.
    pub lines: Vec<String>,
}

impl Section {
    fn of(title: &str, text: &str) -> Option<Section> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        (!lines.is_empty()).then(|| Section { title: title.to_owned(), lines })
    }

    /// As text, with an empty line before it.
    pub fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("\n{}:\n{lines}", self.title)
    }
}

/// The sections of a run with its findings and its ledger by interval, without empty ones. `metric` returns its metrics by name.
pub fn diagnosis(
    view: &View,
    found: &Diagnosis,
    timeline: &[Moment],
    metric: impl Fn(&str) -> Option<f64>,
) -> Vec<Section> {
    let recording = view.recording;
    let info = &recording.info;
    let placed: Vec<&Finding> = found.of_family("placement").collect();
    let went = ledger(&recording.ledger, info)
        + &when_lost(timeline, info)
        + &retransmissions(info, metric)
        + &statements_of_servers(info);
    [
        Section::of("Path, measured before the run", &path_checks(info)),
        Section::of("Warnings", &warnings(info)),
        Section::of(LIMITING_FACTOR, &found.sentence().map_or(String::new(), |limit| limit + "\n")),
        Section::of("What to do", &remedies(&found.findings)),
        Section::of("Limiting factor over time", &over_time(&found.intervals, info)),
        Section::of("Other load on the hosts", &other_load(view)),
        Section::of("Where the packets went", &went),
        Section::of("Drop reasons of the kernels (BPF)", &drop_reasons(&recording.counters)),
        Section::of("Retransmissions by the drop before them (BPF)", &matched(&recording.counters)),
        Section::of("CPU placement", &placements(info, &placed)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What was measured of the path before the run.
fn path_checks(info: &RunInfo) -> String {
    info.path_checks.iter().map(|check| format!("{check}\n")).collect()
}

fn warnings(info: &RunInfo) -> String {
    info.warnings.iter().map(|warning| format!("{}\n", warning.replace('\n', " "))).collect()
}

/// The next steps, those of the worst findings first, with the names under which `--json` and the pages have them.
fn remedies(findings: &[Finding]) -> String {
    /// More steps than this before the next test hide which one helped.
    const MOST: usize = 5;
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| Reverse(finding.severity));
    // Flows with the same finding have the same remedy, and need it once.
    let mut seen = BTreeSet::new();
    sorted.retain(|finding| seen.insert(&*finding.remedy));
    let line = |finding: &&Finding| {
        let settings: String = finding.settings.iter().take(MOST).map(setting).collect();
        format!("{}: {}\n{settings}", finding.id.word(), finding.remedy)
    };
    let left = sorted.len().saturating_sub(MOST);
    let mut text: String = sorted.iter().take(MOST).map(line).collect();
    if left > 0 {
        let _ = writeln!(text, "and {left} more findings (--json has them)");
    }
    text
}

/// A setting of a host that explains the finding above it, with the command that changes it.
fn setting(setting: &Setting) -> String {
    let Setting { host, finding } = setting;
    let unit = if finding.unit.is_empty() { String::new() } else { format!(" {}", finding.unit) };
    let values = match (finding.found.as_str(), finding.wanted.as_str()) {
        ("", _) | (_, "") => finding.text.clone(),
        (found, wanted) => format!("{found}, wanted {wanted}{unit}"),
    };
    let because = match finding.formula.as_str() {
        "" => String::new(),
        formula => format!(" ({formula})"),
    };
    let step = finding.commands().into_iter().next();
    let step = step.map_or(String::new(), |step| format!(": {}", step.trim_end_matches('.')));
    format!("  {host}, {}: {values}{because}{step}\n", finding.rule)
}

/// A line a flow, of the first few.
fn over_time(intervals: &[Interval], info: &RunInfo) -> String {
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
            .map(|i| format!("{} to {} s {}", seconds(i.from_ns), seconds(i.to_ns), i.factor.words()))
            .collect();
        let more = if of_flow.len() > INTERVALS { ", and so on" } else { "" };
        let _ = writeln!(text, "{}: {}{more}", flow.label, told.join(", "));
    }
    let left = info.flows.len().saturating_sub(FLOWS);
    if left > 0 && !text.is_empty() {
        let _ = writeln!(text, "and {left} more flows (--json has them)");
    }
    text
}

/// Processes that are not of the test and used the hosts' cores.
fn other_load(view: &View) -> String {
    let loads = view.recording.events.iter().filter(|event| event.kind == EventKind::OtherLoad);
    let line = |host: &str, detail: &str| format!("{host}: {detail}\n");
    let mut lines: Vec<String> =
        loads.map(|event| line(event.host.as_deref().unwrap_or("a host"), &event.detail)).collect();
    // Hosts that are one machine have the same processes.
    let mut told = BTreeSet::new();
    lines.retain(|line| told.insert(line.split_once(": ").map_or(line.clone(), |(_, rest)| rest.to_owned())));
    lines.concat()
}

/// The ledger, a line for each place that lost something and one for those that did not.
fn ledger(rows: &[LedgerRow], info: &RunInfo) -> String {
    let mut text = String::new();
    if info.omit_ns > 0 && !rows.is_empty() {
        text.push_str("whole run, omitted time included\n");
    }
    for direction in [Direction::Data, Direction::Ack] {
        let of = |entry: Entry| {
            rows.iter().filter(move |row| row.direction == direction && row.entry == entry).cloned()
        };
        let sum = |entry: Entry| -> i64 { of(entry).map(|row| row.packets).sum() };
        let name = direction.word();
        if of(Entry::Sent).next().is_none() {
            if of(Entry::Delivered).next().is_none() {
                continue;
            }
            let _ = writeln!(
                text,
                "{name}: {} delivered, {} lost where it arrived; what was sent is not counted",
                sum(Entry::Delivered),
                sum(Entry::Lost)
            );
        } else {
            let arrived = match of(Entry::Unseen).next() {
                None => format!("{} delivered", sum(Entry::Delivered)),
                Some(_) => format!("{} whose arrival is not counted", sum(Entry::Unseen)),
            };
            let _ = writeln!(text, "{name}: {} sent, {arrived}, {} lost", sum(Entry::Sent), sum(Entry::Lost));
        }
        for row in of(Entry::Copied) {
            let _ =
                writeln!(text, "  {:>12}  delivered twice by {} ({})", row.packets, row.place, row.source);
        }
        for (entry, what) in [
            (Entry::Repair, "repair packets added"),
            (Entry::Decoded, "repair packets decoded"),
            (Entry::Recovered, "lost packets recovered"),
        ] {
            for row in of(entry) {
                let _ = writeln!(text, "  {:>12}  {what} by {} ({})", row.packets, row.place, row.source);
            }
        }
        for row in of(Entry::Lost).filter(|row| row.packets != 0) {
            let stage = row.stage.map_or("?", |stage| stage.word());
            let at = Cause::at(&row.place, row.cause);
            let _ = writeln!(text, "  {:>12}  {stage} at {at} ({})", row.packets, row.source);
        }
        let clear = clear_places(&of(Entry::Lost).collect::<Vec<_>>());
        if !clear.is_empty() {
            let _ = writeln!(text, "  nothing at {clear}");
        }
        for row in of(Entry::Unexplained).filter(|row| row.packets != 0) {
            let _ = writeln!(text, "  {:>12}  unexplained ({})", row.packets, row.source);
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
    let mut text = String::from("when:\n");
    for moment in lossy {
        let whose = if moment.direction == Direction::Ack { &*of_reverse } else { "" };
        let places = moment.lost.iter().filter(|lost| lost.packets > 0);
        let at = |lost: &Lost| Cause::at(&lost.place, lost.cause);
        let places: Vec<String> =
            places.map(|lost| format!("{} lost in {} ({})", lost.packets, lost.stage, at(lost))).collect();
        let again = moment.sent_again.filter(|again| *again > 0);
        let again = again.map_or(String::new(), |again| format!("; {again} retransmitted"));
        // Where nothing passes while counters are read there is nothing to say.
        let within = Some(moment.uncertain).filter(|within| *within > 0);
        let within = within.map_or(String::new(), |within| {
            format!("; {within} packets may belong to a neighbouring interval")
        });
        let (from, to) = (seconds(moment.from_ns), seconds(moment.to_ns));
        let _ = writeln!(text, "  {from}-{to} s{whose}: {}{again}{within}", places.join(", "));
    }
    if more > 0 {
        let _ = writeln!(text, "  and fewer in {more} more (--json has them)");
    }
    text
}

/// What was retransmitted, and whether it was needed.
fn retransmissions(info: &RunInfo, metric: impl Fn(&str) -> Option<f64>) -> String {
    let again = metric("retransmissions_packets").unwrap_or(0.0);
    let twice = metric("spurious_retransmissions_packets").unwrap_or(0.0);
    if again == 0.0 && twice == 0.0 {
        return String::new();
    }
    let window = if info.omit_ns > 0 { " in the measurement window" } else { "" };
    if twice > again {
        return format!(
            "retransmitted{window}: {again}; receivers reported more duplicates, {twice}: the network delivers packets \
             twice\n"
        );
    }
    format!("retransmitted{window}: {again}, of which receivers reported {twice} as duplicates\n")
}

/// What iperf3 servers report of what they received or sent, beside what was counted here.
fn statements_of_servers(info: &RunInfo) -> String {
    let statement = |host: &HostInfo| {
        let told = |name: &str| host.settings.get(&format!("iperf3.{name}"));
        let server = told("server")?;
        let said: Vec<String> = ["received", "sent", "again", "lost", "jitter"]
            .iter()
            .filter_map(|name| told(name).map(|value| format!("{name} {value}")))
            .collect();
        Some(format!("reported by {}, iperf3 server {server}: {}\n", host.name, said.join(", ")))
    };
    info.hosts.iter().filter_map(statement).collect()
}

/// Why the hosts' kernels dropped packets of the run. Copies of what had arrived are no losses, and stand apart.
fn drop_reasons(counters: &[Counter]) -> String {
    let grown = |row: &Counter| row.after.saturating_sub(row.before);
    let (mut lost, mut harmless) = (String::new(), String::new());
    for row in counters.iter().filter(|row| grown(row) > 0) {
        let Some(reason) = row.counter.strip_prefix(DROPPED) else { continue };
        let (into, note) = match () {
            () if DUPLICATES.contains(&reason) => {
                (&mut harmless, " (a duplicate: the payload had arrived, nothing was lost)")
            }
            () if WITHOUT_PAYLOAD.contains(&reason) => {
                (&mut harmless, " (an acknowledgement, or a packet of a connection that had ended)")
            }
            () => (&mut lost, ""),
        };
        let _ = writeln!(into, "{:>12}  {reason} at {}{note}", grown(row), row.host);
    }
    let missed = missed(counters);
    if missed > 0 {
        let _ = writeln!(lost, "{missed:>12}  drops were missed by the watch");
    }
    lost + &harmless
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
                "retransmitted, and no host recorded a drop: lost between the hosts, or a spurious retransmission"
                    .to_owned()
            }
            counter => {
                format!("retransmitted after {} at {}", counter.strip_prefix(SENT_AGAIN_FOR)?, row.host)
            }
        };
        Some(format!("{packets:>12}  {what}\n"))
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

/// On which cores the flows ran, and what of it costs throughput.
fn placements(info: &RunInfo, findings: &[&Finding]) -> String {
    /// Ends of flows: more nobody reads.
    const MOST: usize = 8;
    if info.placement.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for placement in info.placement.iter().take(MOST) {
        let label = info.flows.get(placement.flow as usize).map_or("?", |flow| flow.label.as_str());
        let _ = writeln!(text, "{label}, {}", placement::words(info, placement));
    }
    for finding in findings {
        let _ = writeln!(text, "note: {finding}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_diagnosis::{Id, Subject};

    fn counter(host: &str, counter: String, after: u64) -> Counter {
        Counter { host: host.into(), counter, before: 0, after }
    }

    #[test]
    fn remedy_of_the_worst_finding_comes_first_and_each_once() {
        let about = |id: Id, flow: u32| {
            Finding::new(id, Subject::Flow { flow, label: String::new() }, "", Vec::new())
        };
        let found =
            [about(Id::LimitCwnd, 0), about(Id::LimitReceiveWindow, 1), about(Id::LimitReceiveWindow, 2)];
        let text = remedies(&found);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let step = format!("limit.receive-window: {}", Id::LimitReceiveWindow.remedy());
        assert_eq!(lines[0], step);
        assert!(lines[1].starts_with("limit.cwnd: "), "{text}");
        let many: Vec<Finding> = Id::ALL.iter().take(7).map(|id| about(*id, 0)).collect();
        assert!(remedies(&many).ends_with("\nand 2 more findings (--json has them)\n"));
    }

    #[test]
    fn duplicates_that_arrived_are_no_losses() {
        let rows = [
            counter("receiver", format!("{DROPPED}NETFILTER_DROP"), 7),
            counter("receiver", format!("{DROPPED}TCP_OLD_DATA"), 9),
        ];
        let text = drop_reasons(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("7  NETFILTER_DROP at receiver"), "{text}");
        assert!(lines[1].contains("TCP_OLD_DATA at receiver (a duplicate"), "{text}");
    }
}
