//! Claims and numbers for people.

use super::expect::{Bound, Expect};
use wirespeed_report::with_unit;

/// The published side in a few words.
pub(super) fn published(expect: &Expect, unit: &str) -> String {
    let mut parts = Vec::new();
    if let Some((value, rtol)) = expect.value {
        parts.push(format!("{} ± {} %", with_unit(value, unit), percent(rtol)));
    }
    match (&expect.min, &expect.max) {
        (Some(Bound::One(min)), Some(Bound::One(max))) => {
            parts.push(format!("{} to {}", with_unit(*min, unit), with_unit(*max, unit)));
        }
        (min, max) => {
            parts.extend(min.iter().map(|bound| limit("at least", bound, unit)));
            parts.extend(max.iter().map(|bound| limit("at most", bound, unit)));
        }
    }
    if let Some(trend) = &expect.trend {
        let way = if trend.rises { "rises" } else { "falls" };
        let slack = match trend.within {
            0.0 => String::new(),
            within => format!(" (steps within {} % are level)", percent(within)),
        };
        parts.push(format!("{way} over {}{slack}", trend.levels.join(", ")));
    }
    parts.extend(expect.order.iter().map(|order| order.text.clone()));
    if let Some(ratio) = &expect.ratio {
        let how = match (ratio.value, ratio.min, ratio.max) {
            (Some((value, rtol)), ..) => format!("= {value} ± {} %", percent(rtol)),
            (None, Some(min), None) => format!("at least {min}"),
            (None, None, Some(max)) => format!("at most {max}"),
            (None, min, max) => format!("{} to {}", min.unwrap_or(0.0), max.unwrap_or(f64::INFINITY)),
        };
        parts.push(format!("{} / {} {how}", ratio.of.join(", "), ratio.to));
    }
    if !expect.zero.is_empty() {
        parts.push(format!("none at {}", expect.zero.join(", ")));
    }
    match (&expect.shape, parts.is_empty()) {
        (None, _) => parts.join("; "),
        (Some(shape), true) => shape.clone(),
        // The published words, and what of them is judged.
        (Some(shape), false) => format!("{shape}; read as: {}", parts.join("; ")),
    }
}

fn limit(word: &str, bound: &Bound, unit: &str) -> String {
    match bound {
        Bound::One(value) => format!("{word} {}", with_unit(*value, unit)),
        Bound::ByStage(stages) => {
            let each = stages.iter().map(|(stage, value)| format!("{stage} {}", plain(*value)));
            format!("{word} {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A share as a percentage without needless digits.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 10.0 || percent.fract().abs() < 1e-9 {
        format!("{percent:.0}")
    } else {
        format!("{percent:.1}")
    }
}

/// A number without a unit.
pub(super) fn plain(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { with_unit(value, "") }
}
