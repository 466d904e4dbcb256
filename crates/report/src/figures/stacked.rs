//! Throughput of all flows on top of each other.

use super::Draw;
use super::throughput::capacity;
use crate::figure::{Figure, From, Layer, Shape};
use crate::number::Quantity;
use crate::rate_series::throughput;
use crate::source::Source;
use crate::thin::Point;

pub(crate) struct Stacked;

/// As many x values as an area keeps: areas share them, so they are merged here and not thinned one by one.
const MOST_BINS: usize = 600;

impl Draw for Stacked {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        if !source.has_several_flows() {
            return None;
        }
        let series: Vec<(u32, Vec<Point>)> =
            source.flows().map(|(flow, _, _)| (flow, throughput(source, flow))).collect();
        let mut grid: Vec<f64> = series.iter().flat_map(|(_, points)| points.iter().map(|p| p.0)).collect();
        grid.sort_by(f64::total_cmp);
        grid.dedup();
        let group = grid.len().div_ceil(MOST_BINS).max(1);
        let layers = series
            .into_iter()
            .map(|(flow, points)| {
                let shape = Shape::Area;
                Layer::shaped(source.label(flow), source.ink(flow), shape, on_grid(&points, &grid, group))
            })
            .collect();
        let figure = Figure::over_time(
            "throughput-stacked",
            "Throughput, stacked",
            "Throughput",
            &Quantity::Rate,
            From::Zero,
            &source.time,
            layers,
            capacity(source),
        )?;
        Some(figure.with_note("The upper edge is what all flows carry together."))
    }
}

/// Means over `group` neighbouring bins. A flow that does not run carries nothing: here it is 0 and not missing.
fn on_grid(points: &[Point], grid: &[f64], group: usize) -> Vec<Point> {
    grid.chunks(group)
        .map(|xs| {
            let value = |x: &f64| {
                let index = points.partition_point(|p| p.0 < *x);
                points.get(index).filter(|p| p.0 == *x && p.1.is_finite()).map_or(0.0, |p| p.1)
            };
            let middle = xs.iter().sum::<f64>() / xs.len() as f64;
            (middle, xs.iter().map(value).sum::<f64>() / xs.len() as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_that_does_not_run_adds_nothing() {
        let stacked = on_grid(&[(2.0, 6.0), (3.0, f64::NAN)], &[1.0, 2.0, 3.0], 1);
        assert_eq!(stacked, [(1.0, 0.0), (2.0, 6.0), (3.0, 0.0)]);
        assert_eq!(on_grid(&[(1.0, 2.0), (2.0, 6.0)], &[1.0, 2.0, 3.0], 2), [(1.5, 4.0), (3.0, 0.0)]);
    }
}
