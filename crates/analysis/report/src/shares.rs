//! The results of the groups of flows of a run beside each other, in sentences and as a table.

use crate::digest::{Group, RunDigest, factor_head, factor_number, factor_phrase, factor_text, metric_words};
use crate::estimate::Estimate;
use crate::harm;
use crate::number::{Column, MISSING, significant, with_unit};
use crate::report::Report;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{FlowClass, FlowGroup};
use wirespeed_scenario::run::ONLY_KEY;

/// Sets of groups with a sentence of their own.
const MOST_SETS: usize = 3;
/// Up to this many settings a sentence has the share in each.
const FEW_SETTINGS: usize = 3;
/// Rows on the page; the JSON has all.
const MOST_ROWS: usize = 500;
/// From this many rows on, a table scrolls in itself.
const TALL: usize = 17;
const SHARE: &str = "goodput_share";
const COMPLETION: &str = "fct_median_ns";

/// The columns of the table.
const METRICS: &[&str] = &[
    "goodput_bps",
    "flow_goodput_mean_bps",
    SHARE,
    "jain_index",
    "retransmission_ratio",
    COMPLETION,
    "fct_q99_ns",
    "unfinished_flows",
    "udp_loss_fraction",
    harm::GOODPUT,
    harm::COMPLETION,
];

/// The groups of a run that compete for goodput: those of its first class. UDP has its rate from the scenario.
pub(crate) fn competing(run: &RunDigest) -> Vec<&str> {
    let groups = || run.per_group.iter().filter(|found| found.metric(SHARE).is_some());
    let first = groups().map(|found| found.group.class).min();
    groups()
        .filter(|found| Some(found.group.class) == first)
        .map(|found| found.group.label.as_str())
        .collect()
}

/// The share of a group over runs.
pub(crate) fn share(runs: &[&RunDigest], label: &str) -> Option<Estimate> {
    Estimate::of(runs, &format!("group.{label}.{SHARE}"))
}

/// The groups of a setting that compete, with their shares.
struct Standing<'a> {
    setting: Group<'a>,
    shares: Vec<(&'a str, Estimate)>,
}

impl<'a> Standing<'a> {
    fn of(setting: Group<'a>) -> Option<Standing<'a>> {
        let labels = competing(setting.runs[0]);
        let share = |label| Some((label, share(&setting.runs, label)?));
        let shares: Vec<(&str, Estimate)> = labels.into_iter().filter_map(share).collect();
        (shares.len() > 1).then_some(Standing { setting, shares })
    }

    fn share(&self, label: &str) -> Option<Estimate> {
        self.shares.iter().find(|(known, _)| *known == label).map(|(_, share)| *share)
    }

    fn largest(&self) -> Option<&(&'a str, Estimate)> {
        self.shares.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
    }

    /// The values of `keys` in the setting.
    fn place(&self, keys: &[&String]) -> String {
        let factors = &self.setting.runs[0].info.factors;
        let phrases = keys.iter().filter_map(|key| Some(factor_phrase(key, factors.get(*key)?)));
        phrases.collect::<Vec<_>>().join(" · ")
    }
}

/// The shares of the goodput and the completion times of flows with a size; none where no groups are beside each other.
pub(crate) fn sentences(report: &Report) -> Vec<String> {
    let mut sets: Vec<(Vec<&str>, Vec<Standing>)> = Vec::new();
    for standing in Group::all(&report.runs).into_iter().filter_map(Standing::of) {
        let labels: Vec<&str> = standing.shares.iter().map(|(label, _)| *label).collect();
        match sets.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, standings)) => standings.push(standing),
            None => sets.push((labels, vec![standing])),
        }
    }
    let shares = sets.iter().take(MOST_SETS).filter_map(|(labels, standings)| of_set(labels, standings));
    shares.chain(completion(report)).chain(harms(report)).collect()
}

fn of_set(labels: &[&str], standings: &[Standing]) -> Option<String> {
    if let [only] = standings {
        return Some(ranked(only));
    }
    let keys = varied(standings.iter().map(|standing| standing.setting.runs[0]));
    match labels {
        [_, _] => of_pair(labels, standings, &keys),
        _ => {
            let won = |label: &str| {
                let is_first =
                    |standing: &&Standing| standing.largest().is_some_and(|(first, _)| *first == label);
                standings.iter().filter(is_first).count()
            };
            let mut wins: Vec<(&str, usize)> = labels.iter().map(|label| (*label, won(label))).collect();
            wins.retain(|(_, count)| *count > 0);
            wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let parts: Vec<String> =
                wins.iter().map(|(label, count)| format!("{label} in {count}")).collect();
            Some(format!(
                "The largest share of the goodput in {} settings: {}.",
                standings.len(),
                parts.join(", ")
            ))
        }
    }
}

/// `bbr has 72 % of the goodput, cubic 28 %.`
fn ranked(standing: &Standing) -> String {
    let mut shares = standing.shares.clone();
    shares.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    let part = |(index, (label, share)): (usize, &(&str, Estimate))| match index {
        0 => format!("{label} has {} of the goodput", percent(share)),
        _ => format!("{label} {}", percent(share)),
    };
    format!("{}.", shares.iter().enumerate().map(part).collect::<Vec<_>>().join(", "))
}

/// Two groups over several settings: the one with the largest share of all, where that is and where its least.
fn of_pair(labels: &[&str], standings: &[Standing], keys: &[&String]) -> Option<String> {
    let largest = standings.iter().filter_map(Standing::largest);
    let (winner, _) = *largest.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let other = labels.iter().find(|label| **label != winner)?;
    let mut shares: Vec<(&Standing, Estimate)> =
        standings.iter().filter_map(|standing| Some((standing, standing.share(winner)?))).collect();
    let number = |standing: &Standing| {
        let [key] = keys else { return None };
        factor_number(standing.setting.runs[0].info.factors.get(*key)?).map(|(number, _)| number)
    };
    let numbers: Option<Vec<f64>> = shares.iter().map(|(standing, _)| number(standing)).collect();
    let at =
        |(standing, share): &(&Standing, Estimate)| format!("{} at {}", percent(share), standing.place(keys));
    let has = |parts: &[String]| {
        let all = parts.join(if parts.len() == 2 { " and " } else { ", " });
        format!("Beside {other}, {winner} has {}", all.replacen(" at", " of the goodput at", 1))
    };
    if numbers.is_some() {
        shares.sort_by(|a, b| number(a.0).unwrap_or(0.0).total_cmp(&number(b.0).unwrap_or(0.0)));
        let ends = [at(shares.first()?), at(shares.last()?)];
        return Some(format!("{}{}.", has(&ends), crossings(&shares, keys)));
    }
    if shares.len() <= FEW_SETTINGS {
        return Some(format!("{}.", has(&shares.iter().map(at).collect::<Vec<_>>())));
    }
    shares.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    let ends = [at(shares.first()?), at(shares.last()?)];
    let won = shares.iter().filter(|(_, share)| share.mean > 0.5).count();
    Some(format!("{}. It has the larger share in {won} of {} settings.", has(&ends), shares.len()))
}

/// Between which values of the factor the larger share changes sides. A share whose interval contains one half has no side.
fn crossings(shares: &[(&Standing, Estimate)], keys: &[&String]) -> String {
    let side = |share: &Estimate| {
        let half = share.half_width.unwrap_or(0.0);
        match (share.mean - half > 0.5, share.mean + half < 0.5) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    };
    let clear: Vec<(&Standing, bool)> =
        shares.iter().filter_map(|(standing, share)| Some((*standing, side(share)?))).collect();
    let crossed: Vec<String> = clear
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| format!("{} and {}", pair[0].0.place(keys), pair[1].0.place(keys)))
        .collect();
    match &crossed[..] {
        [] => String::new(),
        [only] => format!("; the shares cross between {only}"),
        several => format!("; the shares cross {} times", several.len()),
    }
}

/// The median completion times of groups of flows with a size: a sentence for each group.
fn completion(report: &Report) -> Vec<String> {
    let groups = report.runs.iter().flat_map(|run| &run.per_group);
    let finite = groups.filter(|found| found.group.class == FlowClass::Finite);
    let labels: BTreeSet<&str> = finite.map(|found| found.group.label.as_str()).collect();
    let mut settings = Group::all(&report.runs);
    settings.retain(|setting| !harm::is_alone(setting.runs[0]));
    let keys = varied(settings.iter().map(|setting| setting.runs[0]));
    let sentence = |label: &str| {
        let times = settings.iter().filter_map(|setting| {
            let time = Estimate::of(&setting.runs, &format!("group.{label}.{COMPLETION}"))?;
            let factors = &setting.runs[0].info.factors;
            let phrases = keys.iter().filter_map(|key| Some(factor_phrase(key, factors.get(*key)?)));
            Some((time.mean, phrases.collect::<Vec<_>>().join(" · ")))
        });
        let mut times: Vec<(f64, String)> = times.collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let text = |(time, place): &(f64, String)| match place.is_empty() {
            true => with_unit(*time, "ns"),
            false => format!("{} at {place}", with_unit(*time, "ns")),
        };
        match &times[..] {
            [] => None,
            [only] => Some(format!("Half of the flows of {label} end within {}.", text(only))),
            [least, .., most] => Some(format!(
                "Half of the flows of {label} end within {}, and within {}.",
                text(least),
                text(most)
            )),
        }
    };
    labels.into_iter().take(MOST_SETS).filter_map(sentence).collect()
}

/// The harm to each group, where it is largest and least.
fn harms(report: &Report) -> Vec<String> {
    let mut settings = Group::all(&report.runs);
    settings.retain(|setting| !harm::is_alone(setting.runs[0]));
    let keys = varied(settings.iter().map(|setting| setting.runs[0]));
    let groups = settings.iter().flat_map(|setting| &setting.runs[0].per_group);
    let labels: BTreeMap<&str, FlowClass> =
        groups.map(|found| (found.group.label.as_str(), found.group.class)).collect();
    let sentence = |(label, class): (&str, FlowClass)| {
        let (metric, what) = match class {
            FlowClass::Finite => (harm::COMPLETION, "of the completion time is due to other flows"),
            FlowClass::Endless | FlowClass::Udp => {
                (harm::GOODPUT, "of the goodput alone is lost beside other flows")
            }
        };
        let harm = |setting: &Group| {
            let harm = Estimate::of(&setting.runs, &format!("group.{label}.{metric}"))?;
            let factors = &setting.runs[0].info.factors;
            let place = keys.iter().filter_map(|key| Some(factor_phrase(key, factors.get(*key)?)));
            Some((harm, place.collect::<Vec<_>>().join(" · ")))
        };
        let mut found: Vec<(Estimate, String)> = settings.iter().filter_map(harm).collect();
        found.sort_by(|a, b| b.0.mean.total_cmp(&a.0.mean));
        let at = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
        match &found[..] {
            [] => None,
            [(only, place)] => {
                Some(format!("Harm to {label}: {} {what}{}.", signed_percent(only), at(place)))
            }
            [(most, at_most), .., (least, at_least)] => Some(format!(
                "Harm to {label}: {} {what}{}, and {}{}.",
                signed_percent(most),
                at(at_most),
                signed_percent(least),
                at(at_least)
            )),
        }
    };
    labels.into_iter().take(2 * MOST_SETS).filter_map(sentence).collect()
}

/// `72 % [68, 76]`, of a fraction that may be negative.
fn signed_percent(of: &Estimate) -> String {
    let number = |fraction: f64| significant(fraction * 100.0, 2);
    let ends = |half: f64| format!(" [{}, {}]", number(of.mean - half), number(of.mean + half));
    format!("{} %{}", number(of.mean), of.half_width.map_or(String::new(), ends))
}

/// `72 % [68, 76]`
fn percent(share: &Estimate) -> String {
    let number = |share: f64| significant(share.clamp(0.0, 1.0) * 100.0, 2);
    let ends = |half: f64| format!(" [{}, {}]", number(share.mean - half), number(share.mean + half));
    format!("{} %{}", number(share.mean), share.half_width.map_or(String::new(), ends))
}

/// The factors that differ between runs, in the order of their names.
fn varied<'a>(runs: impl Iterator<Item = &'a RunDigest> + Clone) -> Vec<&'a String> {
    let keys: BTreeSet<&String> = runs.clone().flat_map(|run| run.info.factors.keys()).collect();
    let differs = |key: &&String| {
        let mut values = runs.clone().map(|run| run.info.factors.get(*key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    keys.into_iter().filter(differs).collect()
}

/// A column of the table of groups.
pub(crate) struct GroupColumn {
    /// In words.
    pub head: String,
    /// The name of the metric or of the factor.
    pub title: String,
    /// Empty for names.
    pub unit: String,
    pub is_number: bool,
    pub cells: Vec<String>,
}

/// A row for each group of each setting that has several; `None` if none has. At most `most` rows, and how many are left out.
pub(crate) fn table(report: &Report, most: usize) -> Option<(Vec<GroupColumn>, usize)> {
    let mut rows: Vec<(Group, &str)> = Vec::new();
    for setting in Group::all(&report.runs) {
        let first = setting.runs[0];
        let groups = first.per_group.iter().filter(|_| first.per_group.len() > 1);
        rows.extend(groups.map(|found| (Group { runs: setting.runs.clone() }, found.group.label.as_str())));
    }
    let left_out = rows.len().saturating_sub(most);
    rows.truncate(most);
    let name = |head: &str, title: &str, cells| GroupColumn {
        head: head.into(),
        title: title.into(),
        unit: String::new(),
        is_number: false,
        cells,
    };
    let mut keys = report.factor_keys();
    // Rows are of runs with all groups.
    keys.retain(|key| key != ONLY_KEY);
    let mut columns = Vec::new();
    for key in &keys {
        let text =
            |row: &(Group, &str)| row.0.runs[0].info.factors.get(key).map_or(MISSING.into(), factor_text);
        columns.push(name(&factor_head(key, &keys), key, rows.iter().map(text).collect()));
    }
    columns.push(name("group", "group of flows", rows.iter().map(|row| row.1.to_owned()).collect()));
    let classes: BTreeSet<FlowClass> = rows.iter().filter_map(of_row).map(|group| group.class).collect();
    if classes.len() > 1 {
        let class = |row: &(Group, &str)| of_row(row).map_or("", |group| class_words(group.class)).to_owned();
        columns.push(name("kind", "TCP with or without a size, or UDP", rows.iter().map(class).collect()));
    }
    let counts: Vec<usize> =
        rows.iter().map(|row| of_row(row).map_or(0, |group| group.flows.len())).collect();
    let has_several = counts.iter().any(|count| *count > 1);
    if has_several {
        let cells = counts.iter().map(usize::to_string).collect();
        columns.push(GroupColumn { is_number: true, ..name("flows", "number of flows", cells) });
    }
    for metric in METRICS.iter().filter(|metric| has_several || **metric != "flow_goodput_mean_bps") {
        let full = |row: &(Group, &str)| format!("group.{}.{metric}", row.1);
        let means: Vec<Option<Estimate>> =
            rows.iter().map(|row| Estimate::of(&row.0.runs, &full(row))).collect();
        let is_of_interest = |value: f64| *metric != "unfinished_flows" || value > 0.0;
        if !means.iter().flatten().any(|mean| is_of_interest(mean.mean)) {
            continue;
        }
        let unit =
            rows.iter().map(|row| row.0.runs[0].unit(&full(row)).to_owned()).find(|unit| !unit.is_empty());
        let form = Column::new(&unit.unwrap_or_default(), means.iter().flatten().map(|mean| mean.mean));
        let cell = |mean: &Option<Estimate>| {
            let half = mean.and_then(|mean| mean.half_width);
            let half = half.map_or(String::new(), |half| format!(" ±{}", form.cell(Some(half))));
            format!("{}{half}", form.cell(mean.map(|mean| mean.mean)))
        };
        columns.push(GroupColumn {
            head: metric_words(metric),
            title: (*metric).into(),
            unit: form.unit.clone(),
            is_number: true,
            cells: means.iter().map(cell).collect(),
        });
    }
    (!rows.is_empty()).then_some((columns, left_out))
}

/// The group that a row of the table is about.
fn of_row<'a>(row: &(Group<'a>, &str)) -> Option<&'a FlowGroup> {
    row.0.runs[0].group(row.1).map(|found| &*found.group)
}

fn class_words(class: FlowClass) -> &'static str {
    match class {
        FlowClass::Endless => "TCP",
        FlowClass::Finite => "TCP with a size",
        FlowClass::Udp => "UDP",
    }
}

/// The section of the page.
pub(crate) fn section(report: &Report) -> Markup {
    let table = table(report, MOST_ROWS);
    html! {
        @if let Some((columns, left_out)) = &table {
            @let rows = columns.first().map_or(0, |column| column.cells.len());
            section #groups {
                h2 { "Groups of flows" }
                p.hint {
                    "Shares are of the goodput of all TCP flows. "
                    @if report.has_repeats() { "Means over repeats, ± half of their 95 % confidence interval." }
                }
                div.scroll.tall[rows >= TALL] {
                    table {
                        thead {
                            tr {
                                @for column in columns {
                                    th.number[column.is_number] title=(column.title) {
                                        (column.head)
                                        @if !column.unit.is_empty() { " " small { (column.unit) } }
                                    }
                                }
                            }
                        }
                        tbody {
                            @for row in 0..rows {
                                tr { @for column in columns { td.number[column.is_number] { (column.cells[row]) } } }
                            }
                        }
                    }
                }
                @if *left_out > 0 { p.hint { "And " (left_out) " more rows, which means.csv and the JSON have." } }
            }
        }
    }
}
