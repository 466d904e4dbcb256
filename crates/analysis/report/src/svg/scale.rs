//! From values to pixels, and where the ticks go.

use crate::number::significant;

/// A labelled place on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

/// An axis in pixels.
#[derive(Debug, Clone)]
pub(super) struct Mapping {
    range: (f64, f64),
    pixels: (f64, f64),
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Linear,
    Log { zero: Option<f64> },
    Names(Vec<String>),
}

impl Mapping {
    pub fn linear(range: (f64, f64), pixels: (f64, f64)) -> Self {
        Mapping { range, pixels, kind: Kind::Linear }
    }

    /// `range` in values; both ends above 0. `zero` is where 0 is drawn.
    pub fn log(range: (f64, f64), zero: Option<f64>, pixels: (f64, f64)) -> Self {
        Mapping { range: (range.0.log10(), range.1.log10()), pixels, kind: Kind::Log { zero } }
    }

    pub fn names(names: Vec<String>, range: (f64, f64), pixels: (f64, f64)) -> Self {
        Mapping { range, pixels, kind: Kind::Names(names) }
    }

    /// The pixel of `value`.
    pub fn at(&self, value: f64) -> f64 {
        let value = if matches!(self.kind, Kind::Log { .. }) { value.log10() } else { value };
        let length = self.range.1 - self.range.0;
        let share = if length == 0.0 { 0.5 } else { (value - self.range.0) / length };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// About `wanted` ticks at round values, all within the axis.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match &self.kind {
            Kind::Linear => linear_ticks(self.range, wanted),
            Kind::Log { zero } => log_ticks(self.range, *zero),
            Kind::Names(names) => {
                names.iter().enumerate().map(|(i, name)| Tick { at: i as f64, label: name.clone() }).collect()
            }
        }
    }
}

fn linear_ticks((from, to): (f64, f64), wanted: usize) -> Vec<Tick> {
    let length = to - from;
    if !length.is_finite() || length <= 0.0 {
        return Vec::new();
    }
    let rough = length / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|s| *s >= rough)
        .unwrap_or(10.0 * power);
    let decimals = (0..12).find(|d| is_whole(step * 10f64.powi(*d))).unwrap_or(0) as usize;
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    (first..=last)
        .map(|i| {
            let at = i as f64 * step;
            let label = if at.abs() >= 1e4 { significant(at, 6) } else { format!("{at:.decimals$}") };
            Tick { at, label }
        })
        .collect()
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() < 1e-6
}

/// Every power of ten, and 2 and 5 between them when there are few. With a place for `zero`, 0 and those above it.
fn log_ticks((from, to): (f64, f64), zero: Option<f64>) -> Vec<Tick> {
    let few = to - from < 2.0;
    let mut ticks = Vec::new();
    for power in (from.floor() as i32)..=(to.ceil() as i32) {
        for factor in [1.0, 2.0, 5.0] {
            if factor > 1.0 && !few {
                continue;
            }
            let at = factor * 10f64.powi(power);
            if (from - 1e-9..=to + 1e-9).contains(&at.log10()) {
                let label = if (-3..4).contains(&power) { significant(at, 2) } else { format!("{at:e}") };
                ticks.push(Tick { at, label });
            }
        }
    }
    if let Some(zero) = zero {
        ticks.retain(|tick| tick.at > zero * 1.5);
        if zero.log10() >= from {
            ticks.insert(0, Tick { at: zero, label: "0".into() });
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(linear_ticks((0.0, 9.9), 5)), ["0", "2", "4", "6", "8"]);
        assert_eq!(labels(linear_ticks((12.1, 13.2), 5)), ["12.25", "12.50", "12.75", "13.00"]);
        assert!(linear_ticks((1.0, 1.0), 5).is_empty());
    }

    #[test]
    fn log_ticks_stand_on_decades() {
        assert_eq!(labels(log_ticks((-6.04, -3.96), None)), ["1e-6", "1e-5", "1e-4"]);
        assert_eq!(labels(log_ticks((0.0, 1.0), None)), ["1", "2", "5", "10"]);
    }

    #[test]
    fn log_ticks_are_in_tens_or_finer() {
        assert_eq!(labels(log_ticks((-0.16, 4.16), None)), ["1", "10", "100", "1,000", "1e4"]);
        assert_eq!(labels(log_ticks((0.95, 2.05), None)), ["10", "20", "50", "100"]);
    }

    #[test]
    fn axes_of_counts_begin_at_zero_and_one() {
        assert_eq!(labels(log_ticks((-0.4, 2.3), Some(0.5))), ["0", "1", "10", "100"]);
        assert_eq!(labels(log_ticks((-0.2, 1.9), Some(0.5))), ["1", "10"]);
    }

    #[test]
    fn the_ends_of_an_axis_are_the_ends_of_the_plot() {
        let axis = Mapping::log((1.0, 100.0), None, (0.0, 200.0));
        assert_eq!((axis.at(1.0), axis.at(10.0), axis.at(100.0)), (0.0, 100.0, 200.0));
    }
}
