//! The table of all metrics. The rows stand beside the functions that compute them, one family per file.

use crate::view::View;
use crate::{
    adaptation, completion, convergence, delay, exchanges, fairness, goodput, harm, host, limits, link, loss,
    marks, rates, requeue, retransmission, udp, window_cycles,
};
use std::sync::LazyLock;

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It describes, and does not judge.
    Neither,
}

/// A row of the registry.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Unique name; ends with the suffix of its unit.
    pub name: &'static str,
    /// `bit/s`, `ns`, `bytes`, `packets`, `1/s`, or empty for plain numbers and fractions.
    pub unit: &'static str,
    /// What exactly is computed, from which columns, and how flows are combined.
    pub definition: &'static str,
    /// Where the definition comes from.
    pub reference: &'static str,
    /// Which way it is better.
    pub better: Better,
    /// Whether the narrow table in the terminal shows it.
    pub headline: bool,
    /// The value over a run; `None` if the recording does not give it. Only this crate calls it: [`crate::evaluate`] returns an
    /// error if a column could not be read, instead of leaving the metric out.
    pub(crate) compute: fn(&View) -> Option<f64>,
}

impl Metric {
    /// What the name of a metric of this unit ends with: `_bps` for `bit/s`; empty if it has no unit.
    pub fn suffix(&self) -> &'static str {
        match self.unit {
            "bit/s" => "_bps",
            "ns" => "_ns",
            "bytes" => "_bytes",
            "packets" => "_packets",
            "1/s" => "_per_s",
            _ => "",
        }
    }
}

static ALL: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    [
        rates::ROWS,
        goodput::ROWS,
        link::ROWS,
        fairness::ROWS,
        harm::ROWS,
        convergence::ROWS,
        adaptation::ROWS,
        completion::ROWS,
        exchanges::ROWS,
        delay::ROWS,
        requeue::ROWS,
        retransmission::ROWS,
        loss::ROWS,
        loss::STAGE_ROWS,
        marks::ROWS,
        marks::CLASS_ROWS,
        limits::ROWS,
        window_cycles::ROWS,
        host::ROWS,
        udp::ROWS,
    ]
    .concat()
});

/// Every metric, in the order in which tables show them.
pub fn all() -> &'static [Metric] {
    &ALL
}

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    all().iter().find(|m| m.name == name)
}

/// Up to five names that `name` may have meant, the likeliest first. Empty if nothing is near.
pub fn suggest(name: &str) -> Vec<&'static str> {
    let wanted = name.to_ascii_lowercase();
    let mut near: Vec<(usize, &'static str)> = all()
        .iter()
        .filter_map(|m| {
            let distance = strsim::levenshtein(&wanted, m.name);
            let contained = !wanted.is_empty() && m.name.contains(&wanted);
            // Half of the letters wrong is another word; a part of the name is always worth showing.
            let near = contained || distance * 2 < wanted.chars().count();
            near.then_some((if contained { 0 } else { distance }, m.name))
        })
        .collect();
    // Shorter names first among equals: the plain metric before its variants.
    near.sort_by_key(|(distance, name)| (*distance, name.len()));
    near.into_iter().take(5).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_end_with_their_unit() {
        let mut seen = BTreeSet::new();
        for metric in all() {
            assert!(seen.insert(metric.name), "{} is there twice", metric.name);
            assert!(metric.unit.is_empty() || !metric.suffix().is_empty(), "{}: unknown unit", metric.name);
            assert!(metric.name.ends_with(metric.suffix()), "{} does not end with its unit", metric.name);
            assert!(!metric.definition.is_empty() && !metric.reference.is_empty(), "{}", metric.name);
        }
    }

    #[test]
    fn a_name_that_promises_a_unit_has_it() {
        for suffix in ["_bps", "_ns", "_bytes", "_packets", "_per_s"] {
            for metric in all().iter().filter(|m| m.name.ends_with(suffix)) {
                assert_eq!(metric.suffix(), suffix, "{}", metric.name);
            }
        }
    }

    #[test]
    fn suggests_what_was_meant() {
        assert_eq!(suggest("jain_indx").first(), Some(&"jain_index"));
        assert!(suggest("rtt").contains(&"rtt_median_ns"));
        assert!(suggest("xylophone").is_empty());
        assert!(suggest("").is_empty());
    }
}
