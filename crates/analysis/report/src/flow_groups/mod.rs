//! The results of the groups of flows of a run beside each other: in sentences here, as a table in `table.rs`.

mod table;

use crate::digest::{Group, RunDigest, factor_number, factor_phrase};
use crate::estimate::Estimate;
use crate::harm;
use crate::number::{significant, with_unit};
use crate::report::Report;
use std::collections::BTreeSet;
pub(crate) use table::{GroupColumn, section, table};
use wirespeed_record::FlowClass;

/// Sets of groups with a sentence of their own.
const MOST_SETS: usize = 3;
/// Up to this many settings a sentence has the share in each.
const FEW_SETTINGS: usize = 3;
const SHARE: &str = "goodput_share";
const COMPLETION: &str = "fct_median_ns";

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
        0 => format!("{label} has {} of the goodput", share_percent(share)),
        _ => format!("{label} {}", share_percent(share)),
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
    let at = |(standing, share): &(&Standing, Estimate)| {
        format!("{} at {}", share_percent(share), place(&standing.setting, keys))
    };
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
        .map(|pair| format!("{} and {}", place(&pair[0].0.setting, keys), place(&pair[1].0.setting, keys)))
        .collect();
    match &crossed[..] {
        [] => String::new(),
        [only] => format!("; the shares cross between {only}"),
        several => format!("; the shares cross {} times", several.len()),
    }
}

/// The median completion times of groups of flows with a size: a sentence for each group.
fn completion(report: &Report) -> Vec<String> {
    let settings = Settings::of(report);
    let finite = settings.labels().into_iter().filter(|(_, class)| *class == FlowClass::Finite);
    let sentence = |(label, _): (&str, FlowClass)| {
        let mut times = settings.estimates(label, COMPLETION);
        times.sort_by(|a, b| a.0.mean.total_cmp(&b.0.mean));
        let text = |(time, at): &(Estimate, String)| format!("{}{at}", with_unit(time.mean, "ns"));
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
    finite.take(MOST_SETS).filter_map(sentence).collect()
}

/// The harm to each group, where it is largest and least.
fn harms(report: &Report) -> Vec<String> {
    let settings = Settings::of(report);
    let sentence = |(label, class): (&str, FlowClass)| {
        let (metric, what) = match class {
            FlowClass::Finite => (harm::COMPLETION, "of the completion time is due to other flows"),
            FlowClass::Endless | FlowClass::Udp | FlowClass::Leg => {
                (harm::GOODPUT, "of the goodput alone is lost beside other flows")
            }
        };
        let mut found = settings.estimates(label, metric);
        found.sort_by(|a, b| b.0.mean.total_cmp(&a.0.mean));
        match &found[..] {
            [] => None,
            [(only, at)] => Some(format!("Harm to {label}: {} {what}{at}.", percent(only))),
            [(most, at_most), .., (least, at_least)] => Some(format!(
                "Harm to {label}: {} {what}{at_most}, and {}{at_least}.",
                percent(most),
                percent(least)
            )),
        }
    };
    settings.labels().into_iter().take(2 * MOST_SETS).filter_map(sentence).collect()
}

/// The settings with all groups, and the factors that differ between them.
struct Settings<'a> {
    all: Vec<Group<'a>>,
    keys: Vec<&'a String>,
}

impl<'a> Settings<'a> {
    fn of(report: &'a Report) -> Settings<'a> {
        let all = harm::with_all_groups(&report.runs);
        let keys = varied(all.iter().map(|setting| setting.runs[0]));
        Settings { all, keys }
    }

    /// The labels of all groups, in order, with their classes.
    fn labels(&self) -> BTreeSet<(&'a str, FlowClass)> {
        let groups = self.all.iter().flat_map(|setting| &setting.runs[0].per_group);
        groups.map(|found| (found.group.label.as_str(), found.group.class)).collect()
    }

    /// A metric of a group in each setting that has it, and ` at ` with the place of the setting, or nothing if there is one.
    fn estimates(&self, label: &str, metric: &str) -> Vec<(Estimate, String)> {
        let full = format!("group.{label}.{metric}");
        let at = |setting: &Group| match place(setting, &self.keys) {
            place if place.is_empty() => place,
            place => format!(" at {place}"),
        };
        let estimate = |setting: &Group| Some((Estimate::of(&setting.runs, &full)?, at(setting)));
        self.all.iter().filter_map(estimate).collect()
    }
}

/// The values of `keys` in a setting.
fn place(setting: &Group, keys: &[&String]) -> String {
    let factors = &setting.runs[0].info.factors;
    let phrases = keys.iter().filter_map(|key| Some(factor_phrase(key, factors.get(*key)?)));
    phrases.collect::<Vec<_>>().join(" · ")
}

/// `72 % [68, 76]`
fn percent(of: &Estimate) -> String {
    percent_within(of, f64::NEG_INFINITY, f64::INFINITY)
}

/// The same of a share. Its interval does not leave 0 to 100 %.
fn share_percent(share: &Estimate) -> String {
    percent_within(share, 0.0, 1.0)
}

fn percent_within(of: &Estimate, least: f64, most: f64) -> String {
    let number = |fraction: f64| significant(fraction.clamp(least, most) * 100.0, 2);
    let ends = |half: f64| format!(" [{}, {}]", number(of.mean - half), number(of.mean + half));
    format!("{} %{}", number(of.mean), of.half_width.map_or(String::new(), ends))
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
