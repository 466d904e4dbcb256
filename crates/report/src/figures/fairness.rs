//! Jain's fairness index over time.

use super::Draw;
use crate::figure::{Axis, AxisKind, Dash, Figure, Ink, Layer};
use crate::rate_series::throughput;
use crate::source::Source;
use std::collections::BTreeMap;

pub(crate) struct Fairness;

impl Draw for Fairness {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        if !source.has_several_flows() {
            return None;
        }
        let mut bins: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (_, _, samples) in source.flows() {
            for (t, rate) in throughput(source, samples).into_iter().filter(|p| p.1.is_finite()) {
                // Times are not negative: their bits are in order.
                bins.entry(t.to_bits()).or_default().push(rate);
            }
        }
        let points: Vec<_> =
            bins.into_iter().filter_map(|(t, rates)| Some((f64::from_bits(t), jain(&rates)?))).collect();
        let layer = Layer::line("Jain index", Ink::Total, Dash::Solid, points).unnamed();
        if layer.is_blank() {
            return None;
        }
        let x = Axis {
            title: format!("Time ({})", source.time.unit),
            kind: AxisKind::Time,
            range: (0.0, source.time.end),
        };
        let y = Axis { title: "Jain index".into(), kind: AxisKind::Linear, range: (0.0, 1.05) };
        Some(Figure {
            id: "fairness".into(),
            title: "Fairness".into(),
            note: "Jain's index of the throughput of the flows that run: 1 is an equal share, 1/n is one flow alone.".into(),
            x,
            y,
            layers: vec![layer],
            levels: vec![],
        })
    }
}

/// Jain, Chiu, Hawe (1984): (sum x)^2 / (n sum x^2). `None` with fewer than two flows, or when none carries anything.
fn jain(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equals_and_absent_for_one_flow() {
        assert_eq!(jain(&[2.0, 2.0]), Some(1.0));
        assert_eq!(jain(&[2.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[2.0]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
