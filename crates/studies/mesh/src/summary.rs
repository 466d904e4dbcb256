//! What a mesh shows: losses by pair, the pairs that lose most, hosts that stand out, and what has changed in a week.

use super::Measured;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_diagnosis::{Finding, lossy_host, stands_out};

/// Loss of a pair, by its last measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairLoss {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Part of the datagrams that was lost.
    pub loss: f64,
    /// Where most of them were.
    pub stage: Option<String>,
}

/// A pair whose loss is another than a week before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Median loss of the measurements of about a week before.
    pub before: f64,
    /// Loss now.
    pub now: f64,
}

/// A host of which most paths lose, over all that is stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Site {
    /// The host.
    pub host: String,
    /// `sends` or `receives`.
    pub as_what: String,
    /// What most of its pairs lose at least, each on average.
    pub loss: f64,
    /// Median of all other pairs.
    pub others: f64,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// When the last sweep began, in seconds since 1970 (UTC).
    pub at: u64,
    /// Pairs by their loss, the highest first.
    pub pairs: Vec<PairLoss>,
    /// Number of pairs with a loss below each of [`EDGES`], and of the rest.
    pub histogram: Vec<u64>,
    /// Hosts that stand out.
    pub sites: Vec<Site>,
    /// The same as findings.
    pub findings: Vec<Finding>,
    /// What is different from a week ago.
    pub changes: Vec<Change>,
    /// Pairs without a measurement, and why.
    pub failures: Vec<(String, String, String)>,
}

/// Upper edges of the histogram's classes; the first holds pairs that lost nothing.
pub const EDGES: [f64; 6] = [0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

const DAY: u64 = 24 * 3600;
const WEEK: u64 = 7 * DAY;
/// Losses that differ by less than this factor are the same.
const FACTOR: f64 = 3.0;
/// Datagrams by which two losses have to differ, or chance explains it.
const FEW: f64 = 10.0;

/// Sums up what was measured; `None` if there is nothing.
pub fn summarise(all: &[Measured]) -> Option<Summary> {
    let at = all.iter().map(|row| row.at).max()?;
    let last: Vec<&Measured> = all.iter().filter(|row| row.at == at).collect();
    let mut pairs: Vec<PairLoss> = last
        .iter()
        .filter_map(|row| {
            let stage =
                row.stages.iter().max_by_key(|(_, packets)| **packets).map(|(stage, _)| stage.clone());
            Some(PairLoss { from: row.from.clone(), to: row.to.clone(), loss: row.loss()?, stage })
        })
        .collect();
    pairs.sort_by(|a, b| b.loss.total_cmp(&a.loss).then_with(|| (&a.from, &a.to).cmp(&(&b.from, &b.to))));
    let class = |loss: f64| EDGES.iter().position(|edge| loss <= *edge).unwrap_or(EDGES.len());
    let mut histogram = vec![0; EDGES.len() + 1];
    for pair in &pairs {
        histogram[class(pair.loss)] += 1;
    }
    let failed = last.iter().filter_map(|row| Some((row.from.clone(), row.to.clone(), row.failure.clone()?)));
    let sites = sites(all);
    Some(Summary {
        at,
        findings: sites.iter().map(|s| lossy_host(&s.host, &s.as_what, s.loss, s.others)).collect(),
        sites,
        changes: last.iter().filter_map(|row| change(row, all)).collect(),
        failures: failed.collect(),
        pairs,
        histogram,
    })
}

/// Whether a pair loses otherwise than about a week ago.
fn change(now: &Measured, all: &[Measured]) -> Option<Change> {
    let about_a_week = (now.at.saturating_sub(WEEK + DAY))..=(now.at.saturating_sub(WEEK - DAY));
    let then = all.iter().filter(|row| {
        row.from == now.from && row.to == now.to && about_a_week.contains(&row.at) && row.loss().is_some()
    });
    let then: Vec<f64> = then.filter_map(Measured::loss).collect();
    let (before, loss) = (median(then)?, now.loss()?);
    let (low, high) = (before.min(loss), before.max(loss));
    let differs = high > low * FACTOR && (high - low) * now.sent as f64 >= FEW;
    differs.then(|| Change { from: now.from.clone(), to: now.to.clone(), before, now: loss })
}

/// Hosts whose pairs lose far more than the pairs of others.
fn sites(all: &[Measured]) -> Vec<Site> {
    let mut by_pair: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for row in all.iter().filter(|row| row.failure.is_none()) {
        let sum = by_pair.entry((&row.from, &row.to)).or_default();
        *sum = (sum.0.saturating_add(row.sent), sum.1.saturating_add(row.lost));
    }
    let losses: BTreeMap<(&str, &str), f64> =
        by_pair.into_iter().map(|(pair, (sent, lost))| (pair, lost as f64 / sent.max(1) as f64)).collect();
    let hosts: BTreeSet<&str> = losses.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let mut found = Vec::new();
    for host in hosts {
        for (as_what, is_its) in [("sends", true), ("receives", false)] {
            let of = |(from, to): &(&str, &str)| if is_its { *from == host } else { *to == host };
            let own: Vec<f64> = losses.iter().filter(|(pair, _)| of(pair)).map(|(_, loss)| *loss).collect();
            let other: Vec<f64> =
                losses.iter().filter(|(pair, _)| !of(pair)).map(|(_, loss)| *loss).collect();
            // One pair is no site.
            if own.len() < 2 {
                continue;
            }
            let (Some(loss), Some(others)) = (most_lose(own), median(other)) else {
                continue;
            };
            if stands_out(loss, others) {
                found.push(Site { host: host.into(), as_what: as_what.into(), loss, others });
            }
        }
    }
    found
}

/// What more than half of them exceed or reach: of an even number the lower one in the middle.
fn most_lose(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u64, from: &str, to: &str, lost: u64) -> Measured {
        Measured { at, from: from.into(), to: to.into(), sent: 1_000_000, lost, ..Default::default() }
    }

    /// A sweep of four hosts, of which `bad` loses some of what it receives.
    fn sweep(at: u64, bad: &str, lost: u64) -> Vec<Measured> {
        let hosts = ["a", "b", "c", "d"];
        let pairs = hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to)));
        pairs
            .filter(|(from, to)| from != to)
            .map(|(from, to)| row(at, from, to, if to == bad { lost } else { 0 }))
            .collect()
    }

    #[test]
    fn a_host_that_always_loses_a_little_stands_out() {
        let all: Vec<Measured> = (0..5).flat_map(|hour| sweep(hour * 3600, "c", 20)).collect();
        let summary = summarise(&all).unwrap();
        assert_eq!(summary.sites.len(), 1);
        assert_eq!((summary.sites[0].host.as_str(), summary.sites[0].as_what.as_str()), ("c", "receives"));
        assert_eq!(summary.findings[0].text, "c loses 2.0e-3 % of what it receives, other paths 0 %");
        assert_eq!(summary.histogram, [9, 0, 3, 0, 0, 0, 0]);
        assert_eq!(summary.pairs[0].to, "c");
        assert_eq!(summary.at, 4 * 3600);
    }

    #[test]
    fn one_bad_path_of_two_makes_no_bad_host() {
        let pairs =
            [("a", "b", 0), ("a", "c", 500), ("b", "a", 0), ("b", "c", 500), ("c", "a", 0), ("c", "b", 0)];
        let all: Vec<Measured> = pairs.iter().map(|(from, to, lost)| row(1, from, to, *lost)).collect();
        let sites = summarise(&all).unwrap().sites;
        let told: Vec<(&str, &str)> = sites.iter().map(|site| (&*site.host, &*site.as_what)).collect();
        assert_eq!(told, [("c", "receives")]);
    }

    #[test]
    fn values_like_those_of_last_week_are_no_change() {
        let mut all = sweep(0, "c", 200);
        all.extend(sweep(WEEK, "c", 210));
        assert!(summarise(&all).unwrap().changes.is_empty());
        all.extend(sweep(WEEK + 3600, "d", 200));
        let changes = summarise(&all).unwrap().changes;
        let told: BTreeSet<&str> = changes.iter().map(|change| change.to.as_str()).collect();
        assert_eq!(told.into_iter().collect::<Vec<_>>(), ["c", "d"]);
        let worse = changes.iter().find(|change| change.to == "d").unwrap();
        assert!(worse.before == 0.0 && worse.now == 2e-4);
    }

    #[test]
    fn nothing_gives_nothing_and_a_failure_is_kept() {
        assert!(summarise(&[]).is_none());
        let failed = Measured { failure: Some("no route".into()), ..row(5, "a", "b", 0) };
        let summary = summarise(&[failed]).unwrap();
        assert!(summary.pairs.is_empty());
        assert_eq!(summary.failures, [("a".into(), "b".into(), "no route".into())]);
    }
}
