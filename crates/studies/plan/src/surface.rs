//! How the rate depends on two factors at a time: rectangles that are cut where the rate bends.

use crate::axis::Axis;
use crate::bench::{Bench, Measured};
use crate::experiment::Laboratory;
use crate::point::Point;
use crate::question::{Effort, Question};
use serde::Serialize;

/// A part of a surface in which the rate was measured in the middle.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tile {
    /// From and to on the x axis.
    pub x: (f64, f64),
    /// From and to on the y axis.
    pub y: (f64, f64),
    /// The rate in its middle.
    pub measured: Measured,
}

/// A surface of the goodput of one algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Surface {
    /// Congestion control.
    pub congestion: String,
    /// Number of flows.
    pub flows: u32,
    /// The x axis, logarithmic.
    pub x: Axis,
    /// The y axis, logarithmic.
    pub y: Axis,
    /// The parts, which cover it.
    pub tiles: Vec<Tile>,
}

/// The surfaces over properties of the path: x axis and y axis.
pub(crate) const OVER_PATH: [(Axis, Axis); 2] = [(Axis::Loss, Axis::Rtt), (Axis::Loss, Axis::Buffer)];

/// Rates that differ by a smaller factor are the same on a surface: it is not cut for them.
pub(crate) const SAME: f64 = 1.1;

impl Surface {
    /// The rate in bit/s at a place, on the plane through the middles of its tile and of a tile beside it on each axis, in
    /// logarithms. At the surface's edge the plane is continued. `None` outside of the surface.
    pub fn at(&self, x: f64, y: f64) -> Option<f64> {
        let tile = self.tile(x, y)?;
        let middle = |tile: &Tile| (self.x.of(&tile.measured.point), self.y.of(&tile.measured.point));
        let (at_x, at_y) = middle(tile);
        let step = |other: &Tile| {
            let (x, y) = middle(other);
            let rate = |tile: &Tile| tile.measured.goodput_bps.max(1.0).ln();
            [(x / at_x).ln(), (y / at_y).ln(), rate(other) - rate(tile)]
        };
        let beside_x = beyond(tile.x, x < at_x).into_iter().find_map(|x| self.tile(x, y)).map(step);
        let beside_y = beyond(tile.y, y < at_y).into_iter().find_map(|y| self.tile(x, y)).map(step);
        let (along_x, along_y) = slopes(beside_x, beside_y);
        let best = self.tiles.iter().map(|tile| tile.measured.goodput_bps).fold(0.0, f64::max);
        let change = along_x * (x / at_x).ln() + along_y * (y / at_y).ln();
        Some((tile.measured.goodput_bps * change.exp()).min(best))
    }

    /// The values of an axis that has few of them ([`Axis::Mtu`], [`Axis::Cores`]), ascending; else none.
    pub(crate) fn values(&self, axis: Axis) -> Vec<f64> {
        if !matches!(axis, Axis::Mtu | Axis::Cores) {
            return Vec::new();
        }
        let mut values: Vec<f64> = self.tiles.iter().map(|tile| axis.of(&tile.measured.point)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// From the least to the greatest value of one of its axes; `None` for another axis.
    pub fn range(&self, axis: Axis) -> Option<(f64, f64)> {
        let of: fn(&Tile) -> (f64, f64) = match axis {
            axis if axis == self.x => |tile| tile.x,
            axis if axis == self.y => |tile| tile.y,
            _ => return None,
        };
        self.tiles.iter().map(of).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// The tile at a place.
    fn tile(&self, x: f64, y: f64) -> Option<&Tile> {
        self.tiles.iter().find(|tile| has(tile.x, x) && has(tile.y, y))
    }
}

/// Whether a value lies between two ends. A rounding error of the ends, which are made from logarithms, does not count.
pub(crate) fn has((from, to): (f64, f64), value: f64) -> bool {
    const ROUNDING: f64 = 1.0 + 1e-9;
    from <= value * ROUNDING && value <= to * ROUNDING
}

/// Values just beyond both ends of a tile, the one on the wanted side first.
fn beyond((from, to): (f64, f64), is_lower_wanted: bool) -> [f64; 2] {
    const BEYOND: f64 = 1.0 + 1e-6;
    let (lower, higher) = (from / BEYOND, to * BEYOND);
    if is_lower_wanted { [lower, higher] } else { [higher, lower] }
}

/// The slopes along both axes of a plane, by the steps to two of its points: along x, along y, and of the rate.
fn slopes(beside_x: Option<[f64; 3]>, beside_y: Option<[f64; 3]>) -> (f64, f64) {
    match (beside_x, beside_y) {
        (Some([x1, y1, rate1]), Some([x2, y2, rate2])) if x1 * y2 != y1 * x2 => {
            let area = x1 * y2 - y1 * x2;
            ((rate1 * y2 - y1 * rate2) / area, (x1 * rate2 - rate1 * x2) / area)
        }
        (Some([x, _, rate]), _) => (rate / x, 0.0),
        (None, Some([_, y, rate])) => (0.0, rate / y),
        (None, None) => (0.0, 0.0),
    }
}

/// A surface is finished when its runs have cost so many times the packets of a number.
const ALLOWANCE: f64 = 12.0;
/// Columns and rows to begin with.
const COARSE: usize = 3;

/// A rectangle, in logarithms.
#[derive(Debug, Clone, Copy)]
struct Place {
    x: (f64, f64),
    y: (f64, f64),
}

impl Place {
    fn middle(&self) -> (f64, f64) {
        ((self.x.0 + self.x.1) / 2.0, (self.y.0 + self.y.1) / 2.0)
    }

    fn quarters(&self) -> [Place; 4] {
        let (x, y) = self.middle();
        let (left, right) = ((self.x.0, x), (x, self.x.1));
        let (low, high) = ((self.y.0, y), (y, self.y.1));
        [(left, low), (right, low), (left, high), (right, high)].map(|(x, y)| Place { x, y })
    }

    /// Whether they have a part of a side in common.
    fn touches(&self, other: &Place) -> bool {
        const NEAR: f64 = 1e-9;
        let meet = |a: (f64, f64), b: (f64, f64)| a.0 <= b.1 + NEAR && b.0 <= a.1 + NEAR;
        meet(self.x, other.x) && meet(self.y, other.y)
    }
}

/// The range of an axis for a surface, around the path.
fn range(axis: Axis, question: &Question) -> (f64, f64) {
    let rtt = question.rtt.as_secs_f64();
    let bdp = question.rate.volume(question.rtt).get() as f64;
    match axis {
        Axis::Loss => (1e-7, 1e-2),
        Axis::Rtt => (rtt / 4.0, rtt * 4.0),
        Axis::Buffer => ((bdp / 256.0).max(8.0 * question.mtu.get() as f64), bdp * 2.0),
        // From the worst of their values to the best.
        Axis::Mtu | Axis::Cores => {
            let values = axis.first_values(question);
            let end = |value: Option<&f64>| value.copied().unwrap_or(1.0);
            (end(values.last()), end(values.first()))
        }
    }
}

/// Measures a surface.
///
/// # Errors
/// Those of the laboratory.
pub(crate) fn measure<L: Laboratory>(
    bench: &mut Bench<L>,
    question: &Question,
    base: &Point,
    (x, y): (Axis, Axis),
) -> Result<Surface, L::Error> {
    let packets = Effort::Low.packets().min(question.effort.packets());
    let log = |axis| {
        let (from, to) = range(axis, question);
        (from.ln(), to.ln())
    };
    let rate = |bench: &mut Bench<L>, places: &[Place]| {
        let points: Vec<Point> = places
            .iter()
            .map(|place| {
                let (at_x, at_y) = place.middle();
                y.set(&x.set(base, at_x.exp()), at_y.exp())
            })
            .collect();
        bench.measure(&points, packets)
    };
    let mut places = grid(log(x), log(y));
    let until = bench.spent() + ALLOWANCE * packets;
    let mut measured = rate(bench, &places)?;
    while places.len() + 3 <= question.effort.tiles() && bench.spent() < until {
        let Some(at) = steepest(&places, &measured) else { break };
        let quarters = places.swap_remove(at).quarters();
        measured.swap_remove(at);
        measured.extend(rate(bench, &quarters)?);
        places.extend(quarters);
    }
    let exp = |(from, to): (f64, f64)| (from.exp(), to.exp());
    let tiles = places.iter().zip(measured).map(|(place, measured)| Tile {
        x: exp(place.x),
        y: exp(place.y),
        measured,
    });
    Ok(Surface { congestion: base.congestion.clone(), flows: base.flows, x, y, tiles: tiles.collect() })
}

fn grid(x: (f64, f64), y: (f64, f64)) -> Vec<Place> {
    let part = |(from, to): (f64, f64), at: usize| {
        let step = (to - from) / COARSE as f64;
        (from + step * at as f64, from + step * (at + 1) as f64)
    };
    let places = (0..COARSE * COARSE).map(|at| Place { x: part(x, at % COARSE), y: part(y, at / COARSE) });
    places.collect()
}

/// The rectangle whose rate differs most from a neighbour's, times its size; `None` if all rates are the [`SAME`].
fn steepest(places: &[Place], measured: &[Measured]) -> Option<usize> {
    let rate = |at: usize| measured[at].goodput_bps.max(1.0).ln();
    let bend = |at: usize| {
        let place = &places[at];
        let others = (0..places.len()).filter(|other| *other != at && place.touches(&places[*other]));
        let most = others.map(|other| (rate(at) - rate(other)).abs()).fold(0.0, f64::max);
        let area = (place.x.1 - place.x.0) * (place.y.1 - place.y.0);
        if most > SAME.ln() { most * area } else { 0.0 }
    };
    let best = (0..places.len()).max_by(|a, b| bend(*a).total_cmp(&bend(*b)))?;
    (bend(best) > 0.0).then_some(best)
}
