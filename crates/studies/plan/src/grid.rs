//! The surface over MTU and cores: both have few usual values, and each pair of them is simulated.

use crate::axis::Axis;
use crate::bench::Bench;
use crate::experiment::Laboratory;
use crate::point::Point;
use crate::question::{Effort, Question};
use crate::surface::{Surface, Tile};

/// Measures the surface of a question whose hosts have a machine; `None` without one. It has as many flows as the question has
/// at most, so that each core has some.
///
/// # Errors
/// Those of the laboratory.
pub(crate) fn measure<L: Laboratory>(
    bench: &mut Bench<L>,
    question: &Question,
    congestion: &str,
) -> Result<Option<Surface>, L::Error> {
    let (x, y) = (Axis::Mtu, Axis::Cores);
    let ascending = |axis: Axis| axis.first_values(question).into_iter().rev().collect::<Vec<f64>>();
    let (columns, mut rows) = (ascending(x), ascending(y));
    if rows.is_empty() {
        return Ok(None);
    }
    if columns.len() * rows.len() > question.effort.tiles() {
        rows = rows.into_iter().step_by(2).collect();
    }
    let flows = question.flows.last().copied().unwrap_or(1);
    let base = Point::of(question, congestion, flows);
    let places: Vec<((f64, f64), Point)> = edges(&rows)
        .into_iter()
        .zip(&rows)
        .flat_map(|(edge, row)| {
            let base = &base;
            columns.iter().map(move |column| (edge, y.set(&x.set(base, *column), *row)))
        })
        .collect();
    let points: Vec<Point> = places.iter().map(|(_, point)| point.clone()).collect();
    let packets = Effort::Low.packets().min(question.effort.packets());
    let measured = bench.measure(&points, packets)?;
    let tiles = places.iter().zip(edges(&columns).into_iter().cycle()).zip(measured);
    let tiles = tiles.map(|(((y, _), x), measured)| Tile { x, y: *y, measured });
    Ok(Some(Surface { congestion: congestion.into(), flows, x, y, tiles: tiles.collect() }))
}

/// The tiles of ascending values: they meet at the geometric means, and reach as far beyond the first and the last value.
fn edges(values: &[f64]) -> Vec<(f64, f64)> {
    /// Of a single value.
    const ALONE: f64 = 2.0;
    let ratio = |at: usize| values.get(at + 1).map(|next| next / values[at]);
    let last = values.len().saturating_sub(2);
    let edge = |at: usize| {
        let before = at.checked_sub(1).and_then(ratio).or(ratio(0)).unwrap_or(ALONE);
        let behind = ratio(at).or(ratio(last)).unwrap_or(ALONE);
        (values[at] / before.sqrt(), values[at] * behind.sqrt())
    };
    (0..values.len()).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_meet_at_geometric_means_and_a_single_value_has_one_too() {
        let near = |found: (f64, f64), expected: (f64, f64)| {
            (found.0 / expected.0 - 1.0).abs() < 1e-12 && (found.1 / expected.1 - 1.0).abs() < 1e-12
        };
        let found = edges(&[1.0, 4.0, 16.0]);
        for (found, expected) in found.into_iter().zip([(0.5, 2.0), (2.0, 8.0), (8.0, 32.0)]) {
            assert!(near(found, expected), "{found:?} and {expected:?}");
        }
        assert!(near(edges(&[1.0])[0], (0.5_f64.sqrt(), 2.0_f64.sqrt())));
        assert!(edges(&[]).is_empty());
    }
}
