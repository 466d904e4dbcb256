//! One run at a time: its figures above each other, its ledger, hosts, kernel, warnings and cost.

use super::figures;
use crate::digest::{Group, RunDigest, metric_words};
use crate::flow_lines::CROWD;
use crate::kept;
use crate::ledger::{Account, Balance, Extent, Line};
use crate::number::{Column, MISSING, significant, whole, with_unit};
use crate::palette::Palette;
use crate::report::Report;
use crate::run_metrics::RunMetrics;
use maud::{Markup, html};
use std::collections::BTreeSet;
use wirespeed_record::{Entry, KernelInfo, Stage};

/// From this many runs on a list to choose from is better than buttons.
const MOST_BUTTONS: usize = 10;

/// The section of single runs with its selector; none if there are none.
pub(super) fn section(report: &Report) -> Markup {
    let names: Vec<String> = report.detailed().map(|run| name(run, report)).collect();
    html! {
        @if !report.runs.is_empty() {
            section #runs {
                h2 { "Run by run" }
                @if names.len() < report.runs.len() { (others(report, names.len())) }
                (selector(&names))
                @for (index, run) in report.detailed().enumerate() {
                    @if index == 0 {
                        div.run data-panel=(index) { (panel(run, index, &report.palette)) }
                    } @else {
                        // The browser lays it out only when it is shown.
                        template data-panel=(index) { (panel(run, index, &report.palette)) }
                    }
                }
            }
        }
    }
}

/// How to see the runs whose details the page does not have.
fn others(report: &Report, detailed: usize) -> Markup {
    let example = report.runs.iter().find(|run| !run.is_detailed).map_or("RUN", |run| &run.info.id);
    html! {
        p.hint {
            "Details of " (detailed) " of " (whole(report.runs.len() as i64)) " runs: the first run of settings across the \
             sweep, and runs with extremes. For another run, choose its name in the summary. This command, in the folder of \
             the study, then writes its page to its own folder:"
        }
        pre.command { "wirespeed report 'runs/" span #other-run { (example) } "'" }
    }
}

/// Buttons or a list to choose one of several runs.
pub(crate) fn selector(names: &[String]) -> Markup {
    if names.len() < 2 {
        return html! {};
    }
    let names = names.iter().enumerate();
    html! {
        @if names.len() <= MOST_BUTTONS {
            div.selector role="group" aria-label="Run" {
                @for (index, name) in names {
                    button type="button" data-run=(index) aria-pressed=(index == 0) { (name) }
                }
            }
        } @else {
            div.selector {
                label {
                    "Run "
                    select #run-select { @for (index, name) in names { option value=(index) { (name) } } }
                }
                button type="button" data-step="-1" { "‹ previous" }
                button type="button" data-step="1" { "next ›" }
            }
        }
    }
}

fn name(run: &RunDigest, report: &Report) -> String {
    let name = Group { runs: vec![run] }.name(&[]);
    if report.has_repeats() { format!("{name} · repeat {}", run.info.repeat) } else { name }
}

fn panel(run: &RunDigest, index: usize, palette: &Palette) -> Markup {
    let window = |account: &Account| {
        let window = run.measured.accounts.iter().find(|window| window.direction == account.direction);
        window.filter(|_| run.measured.extent == Extent::Window)
    };
    let cost = cost(run);
    html! {
        p.hint {
            "Run " code { (run.info.id) } ", seed " (run.info.seed) "."
            @if !run.figures.is_empty() {
                " The figures share one time axis: drag over any of them to zoom all, double-click to return."
            }
        }
        @if let Some(hint) = kept::hint(run) { p.hint { (hint) } }
        @if let Some(unsteady) = &run.unsteady { p.warning { "Not steady: " (unsteady.words()) "." } }
        @if let Some(region) = &run.info.validated_region { p.hint { (region) "." } }
        @for warning in run.info.warnings.iter() { p.warning { (warning) } }
        (diagnosis(run))
        div.stack { @for figure in &run.figures { (figures::frame(figure, palette, &index.to_string(), true)) } }
        (flows(run))
        @for account in run.accounts.iter() { (ledger(account, window(account))) }
        (events(run))
        (hosts(run))
        @if let Some(info) = &run.info.kernel { (kernel(info)) }
        @if !cost.is_empty() { p.cost { (cost.trim()) "." } }
        @if !run.info.command.is_empty() {
            h3 { "This run again" }
            pre.command { (run.info.command) }
        }
    }
}

/// The diagnosis as on the terminal; warnings stand above it.
fn diagnosis(run: &RunDigest) -> Markup {
    let sections = run.diagnosis.iter().filter(|section| section.title != "Warnings");
    html! {
        @for section in sections {
            h3 { (section.title) }
            pre.diagnosis { (section.lines.join("\n")) }
        }
    }
}

fn flows(run: &RunDigest) -> Markup {
    let count = run.info.flows.len();
    html! {
        @if count > 0 {
            h3 { "Flows" }
            @if count > CROWD {
                details {
                    summary { "All " (whole(count as i64)) " flows" }
                    (flow_table(run))
                }
            } @else {
                (flow_table(run))
            }
        }
    }
}

fn flow_table(run: &RunDigest) -> Markup {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for metric in run.per_flow.iter().flat_map(RunMetrics::iter) {
        if !columns.iter().any(|(name, _)| *name == metric.name) {
            columns.push((metric.name, metric.unit));
        }
    }
    let value = |flow: usize, name: &str| {
        run.per_flow.get(flow).and_then(|metrics| metrics.get(name)).map(|metric| metric.value)
    };
    let forms: Vec<Column> = columns
        .iter()
        .map(|(name, unit)| Column::new(unit, (0..run.per_flow.len()).filter_map(|flow| value(flow, name))))
        .collect();
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th { "Flow" }
                        th { "Control" }
                        th { "From, to" }
                        th.number { "Start" }
                        @for ((name, _), form) in columns.iter().zip(&forms) {
                            th.number title=(name) {
                                (metric_words(name))
                                @if !form.unit.is_empty() { small { (form.unit) } }
                            }
                        }
                    }
                }
                tbody {
                    @for (number, flow) in run.info.flows.iter().enumerate() {
                        tr {
                            td { (flow.label) }
                            td { (flow.congestion.as_deref().unwrap_or(flow.kind.word())) }
                            td { (flow.from) " → " (flow.to) }
                            td.number { (with_unit(flow.start_ns as f64, "ns")) }
                            @for ((name, _), form) in columns.iter().zip(&forms) {
                                td.number { (form.cell(value(number, name))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The account of the whole run, with a column of what of it is of the measurement window if that is less.
fn ledger(account: &Account, window: Option<&Account>) -> Markup {
    html! {
        div.head {
            h3 { "Loss ledger, " (account.packets) }
            (balance(account.balance))
        }
        p.hint { (account.equation()) }
        div.scroll {
            table.ledger {
                thead {
                    tr {
                        th { "Entry" }
                        th { "Stage" }
                        th { "Place" }
                        th.number { "Packets" }
                        @if window.is_some() { th.number { "In the measurement window" } }
                        th.number { "Share of sent" }
                        th { "Read from" }
                    }
                }
                tbody { @for line in &account.lines { (ledger_row(line, account.sent, window)) } }
            }
        }
    }
}

fn balance(balance: Balance) -> Markup {
    html! {
        @match balance {
            Balance::Even => span.pass { "✓ balances: every packet is accounted for" },
            Balance::Unexplained(n) => span.fail { "✗ " (whole(n)) " packets unexplained" },
            Balance::Unseen(n) => { (whole(n)) " packets whose arrival is not counted" },
            Balance::Wrong(n) => span.fail { "✗ does not add up: off by " (whole(n)) " packets" },
            Balance::Open => span.fail { "✗ cannot balance: what was sent is not recorded" },
        }
    }
}

fn ledger_row(line: &Line, sent: Option<i64>, window: Option<&Account>) -> Markup {
    let share_of_sent =
        sent.filter(|sent| *sent > 0 && line.packets != 0).map(|sent| share(line.packets, sent));
    let same = |other: &&Line| Line { packets: line.packets, ..(*other).clone() } == *line;
    let is_loss = line.entry == Entry::Lost && line.packets > 0;
    html! {
        tr class=[is_loss.then_some("lost")] {
            td { (line.entry.word().replace('_', " ")) }
            td { (line.stage.map_or("", Stage::word)) }
            td { (line.at()) }
            td.number { (whole(line.packets)) }
            @if let Some(window) = window {
                td.number { (whole(window.lines.iter().find(same).map_or(0, |line| line.packets))) }
            }
            td.number { (share_of_sent.unwrap_or_default()) }
            td.source { (line.source) }
        }
    }
}

/// Percent, or `1 in n` where percents would be zeros.
pub(crate) fn share(packets: i64, sent: i64) -> String {
    let share = packets.abs() as f64 / sent as f64;
    if share >= 1e-3 {
        format!("{} %", significant(share * 100.0, 4))
    } else {
        format!("1 in {}", significant(1.0 / share, 3))
    }
}

fn events(run: &RunDigest) -> Markup {
    html! {
        @if !run.events.is_empty() {
            details {
                summary { "Events (" (run.events.len()) ")" }
                div.scroll {
                    table {
                        tbody {
                            @for (t, text) in &run.events {
                                tr {
                                    td.number { (format!("{:.6} s", *t as f64 / 1e9)) }
                                    td.wrap { (text) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn hosts(run: &RunDigest) -> Markup {
    let hosts = run.info.hosts.as_slice();
    let settings: BTreeSet<&String> = hosts.iter().flat_map(|host| host.settings.keys()).collect();
    html! {
        @if !settings.is_empty() {
            details {
                summary { "Host settings, as read back" }
                div.scroll {
                    table {
                        thead { tr { th { "Setting" } @for host in hosts { th { (host.name) } } } }
                        tbody {
                            @for setting in settings {
                                tr {
                                    td { code { (setting) } }
                                    @for host in hosts {
                                        td { (host.settings.get(setting).map_or(MISSING, String::as_str)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn kernel(kernel: &KernelInfo) -> Markup {
    html! {
        details {
            summary { "Kernel " (kernel.release) }
            dl {
                dt { "Version" }
                dd { (kernel.version) }
                dt { "Build" }
                dd { code { (kernel.build) } }
                dt { "Changes to its sources" }
                dd {
                    @if kernel.edits.is_empty() { "none" }
                    @else { ul { @for edit in &kernel.edits { li { (edit) } } } }
                }
            }
        }
    }
}

/// Time, memory and packets of a run, and the version that recorded it; empty if nothing is known.
fn cost(run: &RunDigest) -> String {
    let cost = &run.info.cost;
    let mut facts = Vec::new();
    if cost.wall_s > 0.0 {
        facts.push(format!("{} of wall time", with_unit(cost.wall_s, "s")));
    }
    if cost.cpu_s > 0.0 {
        facts.push(format!("{} of CPU", with_unit(cost.cpu_s, "s")));
    }
    if cost.packets > 0 {
        facts.push(format!("{} data packets", whole(cost.packets.min(i64::MAX as u64) as i64)));
        if cost.wall_s > 0.0 {
            facts.push(format!("{} packets a second", whole((cost.packets as f64 / cost.wall_s) as i64)));
        }
    }
    if cost.peak_rss_bytes > 0 {
        facts.push(format!("{} of memory at most", with_unit(cost.peak_rss_bytes as f64, "bytes")));
    }
    if let Some(started) = &run.info.started {
        facts.push(format!("begun {started}"));
    }
    let by = match run.info.tool.version.as_str() {
        "" => String::new(),
        version => format!("by wirespeed {version} {}", run.info.tool.git),
    };
    match (facts.is_empty(), by.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("Recorded {by}"),
        (false, _) => {
            facts.extend((!by.is_empty()).then_some(by));
            format!("Cost of this run: {}", facts.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_as_percent_or_as_one_in_many() {
        assert_eq!(share(50, 100), "50 %");
        assert_eq!(share(1, 98_000), "1 in 98,000");
    }
}
