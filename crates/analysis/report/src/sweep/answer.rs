//! Sentences about a sweep of several factors: comparisons with all else equal.

use super::comparison::{LevelComparison, Scale, comparisons};
use super::factors::Factor;
use crate::digest::{Group, factor_phrase, metric_words};
use crate::link_share::share_of_link;
use crate::number::{significant, with_unit};
use crate::report::Report;
use wirespeed_statistics::Interval;

/// Up to this many settings are all reported; of more, the one with the largest and the one with the smallest ratio.
const MOST_SETTINGS: usize = 3;
/// Without an interval, smaller relative differences are none: they print as 0 %.
const LEVEL_BELOW: f64 = 5e-4;
/// Further factors with a sentence.
const MOST_FACTORS: usize = 2;

/// The sentences; `None` unless at least two factors have several levels, and some
/// settings differ in one factor alone.
pub(crate) fn sentences(report: &Report, metric: &str) -> Option<Vec<String>> {
    let factors = Factor::all(&report.runs);
    let (leading, others) = factors.split_first().filter(|(_, others)| !others.is_empty())?;
    let groups = Group::all(&report.runs);
    let all = comparisons(report);
    // Factors that vary together leave nothing to compare.
    if all.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    if let Some(chosen) = Chosen::of(leading, &groups, metric, &all) {
        let text = chosen.overall_text(leading);
        out.push(match leading.is_congestion() {
            true => format!("{} with all else equal: {text}.", capital(&metric_words(metric))),
            false => format!("With all else equal, {text}."),
        });
        out.extend(chosen.by_setting_text(leading));
    }
    out.extend(winners(leading, &groups, metric));
    let further = others.iter().filter_map(|factor| {
        let chosen = Chosen::of(factor, &groups, metric, &all)?;
        Some(format!("{}.", capital(&statement(factor, chosen.overall?))))
    });
    out.extend(further.take(MOST_FACTORS));
    out.extend(tested(&all));
    out.extend(highest(&groups, metric));
    Some(out)
}

/// The comparisons of a factor that a reader asks for first.
struct Chosen<'c> {
    overall: Option<&'c LevelComparison>,
    by_setting: Vec<&'c LevelComparison>,
}

impl<'c> Chosen<'c> {
    /// Of names, the best level over all settings and the next; of numbers, the first level and the last.
    fn of(factor: &Factor, groups: &[Group], metric: &str, all: &'c [LevelComparison]) -> Option<Chosen<'c>> {
        let pairs = factor.pairs();
        let ranked = ranked(factor, groups, metric);
        let (best, next) = (*ranked.first()?, *ranked.get(1)?);
        let wanted = [(best, next), (next, best), (0, best), (0, next)];
        let pair = match factor.is_numeric() {
            true => *pairs.last()?,
            false => wanted.into_iter().find(|pair| pairs.contains(pair))?,
        };
        let (first, other) = (&factor.levels[pair.0], &factor.levels[pair.1]);
        let of_pair = all.iter().filter(|c| c.factor == factor.key && c.first == *first && c.other == *other);
        let (overall, by_setting): (Vec<_>, Vec<_>) = of_pair.partition(|c| c.setting.is_none());
        let overall = overall.first().copied();
        (overall.is_some() || !by_setting.is_empty()).then_some(Chosen { overall, by_setting })
    }

    /// The comparison over all settings, or that of the only setting.
    fn overall_text(&self, factor: &Factor) -> String {
        let only = self.by_setting.first().copied();
        self.overall.or(only).map_or(String::new(), |comparison| statement(factor, comparison))
    }

    fn by_setting_text(&self, factor: &Factor) -> Option<String> {
        self.overall?;
        let mut shown: Vec<&LevelComparison> =
            self.by_setting.iter().copied().filter(|c| c.scale == Scale::Ratio).collect();
        if shown.len() > MOST_SETTINGS {
            shown.sort_by(|a, b| a.value.total_cmp(&b.value));
            shown = vec![*shown.last()?, *shown.first()?];
        }
        let texts: Vec<String> = shown.into_iter().map(|comparison| statement(factor, comparison)).collect();
        let joined = texts.join("; ");
        (!joined.is_empty()).then(|| format!("{}.", capital_of_level(factor, joined)))
    }
}

/// Names of algorithms stay as they are written; other sentences begin with a capital.
fn capital_of_level(factor: &Factor, text: String) -> String {
    let is_begin = |level| text.starts_with(&factor_phrase(&factor.key, level));
    let begins_with_name = factor.is_congestion() && factor.levels.iter().any(is_begin);
    if begins_with_name { text } else { capital(&text) }
}

/// Levels by their goodput over the settings that have all of them, the best first.
fn ranked(factor: &Factor, groups: &[Group], metric: &str) -> Vec<usize> {
    let mut scores = vec![0.0; factor.levels.len()];
    for block in factor.blocks(groups) {
        let means: Option<Vec<f64>> = block.iter().map(|group| (*group)?.mean(metric)).collect();
        // A mean of 0 has no logarithm and ranks last.
        let least = f64::MIN_POSITIVE;
        let logs = means.iter().flatten().map(|mean| mean.max(least).ln());
        scores.iter_mut().zip(logs).for_each(|(score, log)| *score += log);
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

/// How often each level is first, where there are several settings.
fn winners(factor: &Factor, groups: &[Group], metric: &str) -> Option<String> {
    let mut wins = vec![0_usize; factor.levels.len()];
    for block in factor.blocks(groups) {
        let means: Vec<(usize, f64)> = block
            .iter()
            .enumerate()
            .filter_map(|(level, group)| Some((level, (*group)?.mean(metric)?)))
            .collect();
        if means.len() > 1 {
            let (best, _) = *means.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            wins[best] += 1;
        }
    }
    let settings: usize = wins.iter().sum();
    let mut order: Vec<usize> = (0..wins.len()).filter(|level| wins[*level] > 0).collect();
    order.sort_by_key(|level| std::cmp::Reverse(wins[*level]));
    let part =
        |level: usize| format!("{} in {}", factor_phrase(&factor.key, &factor.levels[level]), wins[level]);
    let parts: Vec<String> = order.into_iter().map(part).collect();
    (settings > 1).then(|| format!("The highest mean of {settings} settings: {}.", parts.join(", ")))
}

/// How many comparisons show a difference, and how that is judged.
fn tested(all: &[LevelComparison]) -> Option<String> {
    let tested: Vec<&LevelComparison> =
        all.iter().filter(|c| c.setting.is_some() && c.adjusted_p.is_some()).collect();
    let shown = tested.iter().filter(|c| c.is_shown()).count();
    let brackets = "In brackets: 95 % intervals.";
    match (tested.len(), all.iter().any(|c| c.interval.is_some())) {
        (0, false) => None,
        (0, true) => Some(brackets.to_owned()),
        (count, _) => Some(format!(
            "{brackets} Of {count} comparisons {shown} show a difference (error probability 5 % for each factor, Holm)."
        )),
    }
}

fn highest(groups: &[Group], metric: &str) -> Option<String> {
    let means = groups.iter().filter_map(|group| Some((group, group.mean(metric)?)));
    let (group, mean) = means.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share =
        share_of_link(&group.runs[0].info, mean).map(|share| format!(", {share}")).unwrap_or_default();
    let words = metric_words(metric);
    Some(format!("The highest {words} is {}{share}: {}.", with_unit(mean, "bit/s"), group.name(&[])))
}

/// `bic exceeds cubic by 41 % [35, 48] at loss 1e-5`.
pub(super) fn statement(factor: &Factor, comparison: &LevelComparison) -> String {
    let place = match &comparison.setting {
        None => format!(" (geometric mean over {} settings)", comparison.settings),
        Some(setting) if setting.is_empty() => String::new(),
        Some(_) => format!(" at {}", setting_text(comparison)),
    };
    let [first, other] =
        [&comparison.first, &comparison.other].map(|level| factor_phrase(&factor.key, level));
    if comparison.scale == Scale::Difference {
        let size = with_unit(comparison.value.abs(), &comparison.unit);
        let (high, low) = if comparison.value >= 0.0 { (other, first) } else { (first, other) };
        return format!("{} by {size}{place}", exceeds(factor, comparison, &high, &low));
    }
    let (high, low, ratio, interval) = match comparison.value >= 1.0 {
        true => (other, first, comparison.value, comparison.interval),
        false => (first, other, 1.0 / comparison.value, comparison.interval.map(inverse)),
    };
    if interval.is_none() && ratio < 1.0 + LEVEL_BELOW {
        return format!("{high} and {low} are level{place}");
    }
    let amount = amount(ratio, interval);
    match comparison.adjusted_p.is_none() || comparison.is_shown() {
        true => format!("{} by {amount}{place}", exceeds(factor, comparison, &high, &low)),
        false => format!("no difference is shown between {high} and {low} ({amount}){place}"),
    }
}

fn exceeds(factor: &Factor, comparison: &LevelComparison, high: &str, low: &str) -> String {
    match factor.is_congestion() {
        true => format!("{high} exceeds {low}"),
        false => format!("{} with {high} exceeds that with {low}", metric_words(&comparison.metric)),
    }
}

fn inverse(interval: Interval) -> Interval {
    Interval { low: 1.0 / interval.high, high: 1.0 / interval.low, ..interval }
}

/// `41 % [35, 48]`, or `a factor of 5.8 [5.1, 6.6]` from 2 on.
pub(super) fn amount(ratio: f64, interval: Option<Interval>) -> String {
    let is_factor = ratio >= 1.995;
    let number = |ratio: f64| match is_factor {
        true => significant(ratio, 2),
        false => significant((ratio - 1.0) * 100.0, 2),
    };
    let brackets = interval
        .map_or(String::new(), |interval| format!(" [{}, {}]", number(interval.low), number(interval.high)));
    match is_factor {
        true => format!("a factor of {}{brackets}", number(ratio)),
        false => format!("{} %{brackets}", number(ratio)),
    }
}

/// The other factors of a comparison: `loss 1e-5 · rtt 1 ms`.
pub(super) fn setting_text(comparison: &LevelComparison) -> String {
    let factors = comparison.setting.iter().flatten();
    factors.map(|(key, value)| factor_phrase(key, value)).collect::<Vec<_>>().join(" · ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
