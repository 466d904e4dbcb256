//! How many pairs of hosts lost how large a share of their datagrams.

use super::Draw;
use super::loss_histogram::{CLASSES, class};
use crate::digest::RunDigest;
use crate::figure::{Axis, AxisKind, Figure, Ink, Layer, Shape};
use crate::number::whole;
use crate::pairs::{different, outstanding};
use crate::source::Source;
use std::borrow::Cow;
use wirespeed_metrics::{Pair, pairs};

pub(crate) struct PairLosses;

/// Fewer pairs are read one by one: those of three hosts.
const LEAST_PAIRS: usize = 6;
/// More hosts that stand out are the rule, not the exception.
const MOST_HOSTS: usize = 4;

impl Draw for PairLosses {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let pairs = match &source.stored {
            Some(stored) => Cow::Borrowed(&stored.pairs),
            None => Cow::Owned(pairs(source.recording)),
        };
        let what = format!("for each of {} pairs of hosts", pairs.len());
        histogram(&pairs, "Share of the pairs (%)", &what)
    }

    fn of_study(&self, runs: &[RunDigest]) -> Option<Figure> {
        let with = runs.iter().filter(|run| !run.pairs.is_empty()).count();
        if with < 2 {
            return None;
        }
        let pairs: Vec<Pair> = runs.iter().flat_map(|run| run.pairs.iter().cloned()).collect();
        let what = format!(
            "for each of {} measurements: {} pairs of hosts in {with} runs",
            pairs.len(),
            different(&pairs)
        );
        histogram(&pairs, "Share of the measurements (%)", &what)
    }
}

fn histogram(pairs: &[Pair], unit: &str, what: &str) -> Option<Figure> {
    if pairs.len() < LEAST_PAIRS || different(pairs) < 2 {
        return None;
    }
    let mut hosts = outstanding(pairs);
    hosts.truncate(MOST_HOSTS);
    let mut rest: Vec<&Pair> = pairs.iter().collect();
    let mut layers = Vec::new();
    for (place, host) in hosts.iter().enumerate() {
        let (own, others): (Vec<&Pair>, Vec<&Pair>) = rest.into_iter().partition(|pair| pair.is_of(host));
        layers.push(layer(format!("from and to {host}"), Ink::Place(place), &own, pairs.len()));
        rest = others;
    }
    let name = if hosts.is_empty() { "all" } else { "others" };
    layers.push(layer(name.into(), Ink::Total, &rest, pairs.len()));
    if hosts.is_empty() {
        layers.iter_mut().for_each(|layer| layer.legend = false);
    }
    let share_of = |class: usize| -> f64 {
        let points = layers.iter().flat_map(|layer| &layer.points);
        points.filter(|point| point.1 == class as f64).map(|point| point.0).sum()
    };
    let largest = (0..CLASSES.len()).map(share_of).fold(0.0, f64::max);
    let names: Vec<String> = CLASSES.iter().map(|(_, name)| (*name).into()).collect();
    let rows = names.len() as f64;
    let least = pairs.iter().map(|pair| pair.sent).min().unwrap_or(0);
    Some(Figure {
        id: "pair-losses".into(),
        title: "How much how many pairs lost".into(),
        note: format!(
            "Lost datagrams as a share of those sent, {what}, at least {} datagrams each.{}",
            whole(i64::try_from(least).unwrap_or(i64::MAX)),
            remark(&hosts)
        ),
        x: Axis { title: unit.into(), kind: AxisKind::Linear, range: (0.0, largest * 1.12) },
        y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, rows - 0.5) },
        layers,
        levels: vec![],
        drawing: None,
    })
}

/// The pairs of one kind by class, as shares of `all`.
fn layer(name: String, ink: Ink, pairs: &[&Pair], all: usize) -> Layer {
    let mut counts = [0_u32; CLASSES.len()];
    for pair in pairs {
        counts[class(pair.share())] += 1;
    }
    let percent = |count: u32| f64::from(count) * 100.0 / all as f64;
    let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let points = filled.map(|(place, count)| (percent(*count), place as f64)).collect();
    Layer::shaped(name, ink, Shape::StackedBars, points)
}

fn remark(hosts: &[&str]) -> String {
    match hosts {
        [] => String::new(),
        [host] => format!(" Every pair of {host} loses at least ten times what half of the others do."),
        hosts => format!(
            " Every pair of {} loses at least ten times what half of the others do.",
            hosts.join(", of ")
        ),
    }
}
