//! The answer in a few sentences, from the data alone.

use crate::adaptation;
use crate::digest::{Group, leading_metric, metric_words};
use crate::ended_early;
use crate::exchanges;
use crate::flow_groups;
use crate::harm;
use crate::kept;
use crate::ledger::{Balance, Extent, Loss};
use crate::link_share::share_of_link;
use crate::number::{significant, whole, with_unit};
use crate::observations::note;
use crate::report::Report;
use crate::run_metrics::RunMetrics;
use crate::steadiness;
use crate::sweep;
use std::collections::BTreeMap;
use wirespeed_record::{Direction, Entry, Stage};
use wirespeed_scenario::run::ONLY_KEY;
use wirespeed_statistics::{Interval, Level, unpaired};

/// First who leads and by how much, then what the reader must know to trust it.
pub(crate) fn sentences(report: &Report) -> Vec<String> {
    if report.runs.is_empty() {
        return vec![match report.incomplete.len() {
            0 => "There are no runs to report on.".into(),
            1 => "The only run did not complete, so there is nothing to compare.".into(),
            n => format!("None of the {n} runs completed, so there is nothing to compare."),
        }];
    }
    let mut out = Vec::new();
    match leading_metric(&report.runs) {
        Some(metric) => ranking(report, metric, &mut out),
        None => out.push("No run has a goodput: nothing was delivered, or it was not recorded.".into()),
    }
    out.extend(flow_groups::sentences(report));
    out.extend(exchanges::sentences(&report.runs));
    out.extend(adaptation::sentence(&report.runs));
    losses(report, &mut out);
    caveats(report, &mut out);
    out
}

/// Whether the runs on the model lie within the validated region: a sentence per outcome, with the number of runs where
/// runs differ. The most frequent ones.
pub(crate) fn validated_regions(report: &Report) -> Vec<String> {
    /// More are not read; each run has its own further down the page and in JSON.
    const MOST: usize = 3;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let stamps = report.runs.iter().filter_map(|run| run.info.validated_region.as_ref());
    stamps.for_each(|stamp| *counts.entry(stamp.to_string()).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let is_alike = counts.len() == 1 && counts[0].1 == report.runs.len();
    let more = counts.len().saturating_sub(MOST);
    let rest: usize = counts.iter().skip(MOST).map(|(_, count)| count).sum();
    let mut out: Vec<String> = counts
        .into_iter()
        .take(MOST)
        .map(|(text, count)| match (is_alike, count) {
            (true, _) => text,
            (false, 1) => format!("{text}: 1 run"),
            (false, count) => format!("{text}: {count} runs"),
        })
        .collect();
    if more > 0 {
        out.push(format!("{rest} runs have {more} further outcomes of that kind, given with each run"));
    }
    out
}

fn ranking(report: &Report, metric: &str, out: &mut Vec<String>) {
    // The highest and the lowest of all settings differ in several factors, so their ratio has no single cause.
    if let Some(sentences) = sweep::answer::sentences(report, metric) {
        out.extend(sentences);
        return;
    }
    let settings = harm::with_all_groups(&report.runs).into_iter();
    let mut groups: Vec<(Group, f64)> = settings.filter_map(|g| g.mean(metric).map(|m| (g, m))).collect();
    groups.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words = metric_words(metric);
    let Some((first, best)) = groups.first() else { return };
    let (runs, counted) = (first.runs.len(), first.observations().len());
    let mean = match note(runs, counted) {
        Some(note) => format!(" ({note})"),
        None if runs > 1 => format!(" (mean of {runs} runs)"),
        None => String::new(),
    };
    let share = share_of_link(&first.runs[0].info, *best).map(|s| format!(", {s}")).unwrap_or_default();
    if groups.len() == 1 {
        out.push(format!(
            "{} reaches a {words} of {}{mean}{share}.",
            first.name(&[ONLY_KEY]),
            with_unit(*best, "bit/s")
        ));
        out.extend(flow_by_flow(first, metric));
        return;
    }
    let (second, next) = &groups[1];
    let interval = lead_interval(first, second, metric);
    let lead =
        if *next > 0.0 { lead_text(best / next, interval) } else { "while the next carries nothing".into() };
    let no_lead = |why: &str| {
        format!("no clear lead over {} ({}): {why}", second.name(&[ONLY_KEY]), with_unit(*next, "bit/s"))
    };
    let lead = match interval {
        _ if overlap(first, second, metric) => no_lead("their repeats overlap"),
        Some(interval) if interval.contains(1.0) => no_lead("the 95 % interval of their ratio includes 1"),
        _ => format!("{lead} {} ({})", second.name(&[ONLY_KEY]), with_unit(*next, "bit/s")),
    };
    out.push(format!(
        "{} has the highest {words}: {}{mean}{share}, {lead}.",
        first.name(&[ONLY_KEY]),
        with_unit(*best, "bit/s"),
    ));
    if let Some((last, least)) = groups.last().filter(|_| groups.len() > 2) {
        let times = if *least > 0.0 && best / least >= 2.0 {
            format!(", less than the first by a factor of {}", significant(best / least, 2))
        } else {
            String::new()
        };
        out.push(format!("{} is last with {}{times}.", last.name(&[ONLY_KEY]), with_unit(*least, "bit/s")));
    }
}

/// Who got what where flows share a single run; more flows than a sentence holds are left to the table.
fn flow_by_flow(group: &Group, metric: &str) -> Option<String> {
    const MOST: usize = 6;
    let [run] = group.runs[..] else { return None };
    let rate = |flow: &RunMetrics| flow.get(metric).map(|m| m.value);
    let mut flows: Vec<(&str, f64)> = run
        .info
        .flows
        .iter()
        .zip(&run.per_flow)
        .filter_map(|(flow, metrics)| Some((flow.label.as_str(), rate(metrics)?)))
        .collect();
    if !(2..=MOST).contains(&flows.len()) {
        return None;
    }
    flows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let parts: Vec<String> =
        flows.iter().map(|(label, rate)| format!("{label} {}", with_unit(*rate, "bit/s"))).collect();
    Some(format!("Flow by flow: {}.", parts.join(", ")))
}

/// The 95 % interval of the ratio of two means, if both settings have repeats that scatter.
fn lead_interval(first: &Group, second: &Group, metric: &str) -> Option<Interval> {
    let (best, next) = (first.values(metric), second.values(metric));
    unpaired::ratio(&next, &best, Level::NINETY_FIVE).map(|found| found.interval)
}

fn lead_text(ratio: f64, interval: Option<Interval>) -> String {
    let between = |number: &dyn Fn(f64) -> String| {
        interval.map_or(String::new(), |i| format!(" [{}, {}]", number(i.low), number(i.high)))
    };
    let percent = |ratio: f64| significant((ratio - 1.0) * 100.0, 2);
    if ratio >= 1.995 {
        let number = |ratio: f64| significant(ratio, 2);
        format!("{} times{} that of", number(ratio), between(&number))
    } else if ratio >= 1.005 {
        format!("{} %{} ahead of", percent(ratio), between(&percent))
    } else {
        "practically level with".into()
    }
}

/// Whether the values of two groups overlap; with single runs that cannot be told.
fn overlap(first: &Group, second: &Group, metric: &str) -> bool {
    let (a, b) = (first.values(metric), second.values(metric));
    a.len() > 1
        && b.len() > 1
        && a.iter().copied().fold(f64::INFINITY, f64::min)
            <= b.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn losses(report: &Report, out: &mut Vec<String>) {
    let mut causes: Vec<(Loss, i64)> = Vec::new();
    let mut sent = 0;
    let runs = || report.runs.iter().map(|run| &run.measured);
    let accounts = || runs().flat_map(|run| run.accounts.iter()).filter(|a| a.direction == Direction::Data);
    for account in accounts() {
        sent += account.sent.unwrap_or(0);
        for (cause, packets) in account.lost_by_cause() {
            match causes.iter_mut().find(|(known, _)| *known == cause) {
                Some(known) => known.1 += packets,
                None => causes.push((cause, packets)),
            }
        }
    }
    if accounts().next().is_none() || sent == 0 {
        return;
    }
    causes.sort_by_key(|(_, packets)| -packets);
    let lost: i64 = causes.iter().map(|s| s.1).sum();
    let extent = Extent::words(runs().map(|run| run.extent));
    if lost == 0 {
        let of = |entry: Entry| -> i64 {
            let lines = accounts().flat_map(|account| &account.lines);
            lines.filter(|line| line.entry == entry).map(|line| line.packets.abs()).sum()
        };
        let rest = match (of(Entry::Unseen), of(Entry::Unexplained)) {
            (0, 0) => "none was lost".to_owned(),
            (0, unexplained) => {
                format!("none was counted as lost, and {} are unexplained", whole(unexplained))
            }
            (unseen, _) => {
                format!("none was counted as lost; the arrival of {} is not counted", whole(unseen))
            }
        };
        out.push(format!("Of {} data packets{extent} {rest}.", whole(sent)));
        return;
    }
    let words = |(stage, cause): &Loss| {
        let cause = cause.map_or(String::new(), |cause| format!(" ({})", cause.name()));
        format!("{}{cause}", stage_words(*stage))
    };
    let places: Vec<String> = match causes.as_slice() {
        [(only, _)] => vec![format!("all of them in {}", words(only))],
        several => several.iter().map(|(s, n)| format!("{} in {}", whole(*n), words(s))).collect(),
    };
    let plural = if lost == 1 { "was" } else { "were" };
    out.push(format!(
        "Of {} data packets{extent} {} {plural} lost, {}.",
        whole(sent),
        whole(lost),
        places.join(", ")
    ));
}

fn stage_words(stage: Option<Stage>) -> String {
    match stage {
        Some(Stage::Network) => "the network".into(),
        Some(Stage::NetworkOrHost) => "the network or a host that is not seen (not known which)".into(),
        None => "a place that is not recorded".into(),
        Some(other) => format!("stage {other}"),
    }
}

fn caveats(report: &Report, out: &mut Vec<String>) {
    let groups = Group::all(&report.runs);
    if groups.len() > 1 && groups.iter().all(|g| g.observations().len() == 1) {
        let repeats = groups.iter().any(|g| g.runs.len() > 1);
        out.push(if repeats {
            "The repeats of a setting cannot differ and count as one: nothing in these runs is drawn at random.".into()
        } else {
            "Each setting ran once: small differences may be chance.".into()
        });
    }
    out.extend(ended_early::sentence(&report.runs));
    out.extend(steadiness::sentence(&report.runs));
    out.extend(kept::sentence(&report.runs));
    let failed = report.runs.iter().filter(|run| run.failed() > 0).count();
    if failed > 0 {
        out.push(format!("{} the expected bounds.", plural(failed, "run misses", "runs miss")));
    }
    let odd = |run: &crate::digest::RunDigest| {
        run.accounts.iter().any(|a| matches!(a.balance, Balance::Wrong(_) | Balance::Unexplained(_)))
    };
    let odd = report.runs.iter().filter(|run| odd(run)).count();
    if odd > 0 {
        out.push(format!("The loss ledger of {} does not balance.", plural(odd, "run", "runs")));
    }
    if !report.incomplete.is_empty() {
        let n = report.incomplete.len();
        out.push(format!(
            "{} complete and {} left out.",
            plural(n, "run did not", "runs did not"),
            if n == 1 { "is" } else { "are" }
        ));
    }
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
