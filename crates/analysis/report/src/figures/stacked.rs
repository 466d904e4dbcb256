//! Throughput of all flows on top of each other.

use super::Draw;
use super::throughput::capacity;
use crate::figure::{Figure, From, Ink, Layer, Shape};
use crate::flow_lines::{Groups, is_crowd};
use crate::number::Quantity;
use crate::number::whole;
use crate::rate_series::throughput;
use crate::source::Source;
use crate::thin::Point;
use std::collections::BTreeMap;

pub(crate) struct Stacked;

/// As many x values as an area keeps: areas share them, so they are merged here and not thinned one by one.
const MOST_BINS: usize = 600;

impl Draw for Stacked {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        if !source.has_several_flows() {
            return None;
        }
        let series = if is_crowd(source) { by_group(source) } else { by_flow(source) };
        let mut grid: Vec<f64> = series.iter().flat_map(|area| area.points.iter().map(|p| p.0)).collect();
        grid.sort_by(f64::total_cmp);
        grid.dedup();
        let group = grid.len().div_ceil(MOST_BINS).max(1);
        let layers = series
            .into_iter()
            .map(|area| Layer::shaped(area.name, area.ink, Shape::Area, on_grid(&area.points, &grid, group)))
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

struct Area {
    name: String,
    ink: Ink,
    points: Vec<Point>,
}

fn by_flow(source: &Source) -> Vec<Area> {
    let area =
        |flow| Area { name: source.label(flow), ink: source.ink(flow), points: throughput(source, flow) };
    source.flows().map(|(flow, _, _)| area(flow)).collect()
}

/// What the flows of a crowd that are alike carry together.
fn by_group(source: &Source) -> Vec<Area> {
    let groups = Groups::of(&source.recording.info.flows);
    let mut sums = vec![BTreeMap::<u64, f64>::new(); groups.names.len()];
    for (flow, _, _) in source.flows() {
        for (x, y) in throughput(source, flow).into_iter().filter(|p| p.1.is_finite()) {
            // Times are not negative: their bits are in their order.
            *sums[groups.index(flow)].entry(x.to_bits()).or_default() += y;
        }
    }
    let area = |((name, ink), (size, sums)): ((String, Ink), (usize, BTreeMap<u64, f64>))| Area {
        name: format!("{name}, {} together", whole(size as i64)),
        ink,
        points: sums.into_iter().map(|(x, y)| (f64::from_bits(x), y)).collect(),
    };
    let named = groups.names.into_iter().zip(groups.inks);
    named.zip(groups.sizes.into_iter().zip(sums)).map(area).collect()
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
