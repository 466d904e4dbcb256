//! Steps of a clock: sudden changes that both directions show with opposite sign. A queue changes one direction only.

use crate::clock::{Borders, Point, Step};

/// The time is divided into so many parts.
const PARTS: usize = 64;
/// Parts on each side of a step that are compared: enough that each has a packet without a queue.
const AROUND: usize = 6;
/// With more steps than this, the clock is not one with steps.
const MOST: usize = 16;
/// Smaller steps are not distinguished from changes of the path.
const LEAST_NS: f64 = 100_000.0;

/// Finds the steps, and takes them out of `borders`.
///
/// A drift of the clock looks like a step as well. So steps count only if the times fit better without them: if the least RTT that one
/// line allows grows by a good part of them.
pub(crate) fn find(borders: &mut Borders) -> Vec<Step> {
    let Some(plain) = borders.least_rtt() else { return Vec::new() };
    let mut tried = borders.clone();
    let mut steps: Vec<Step> = Vec::new();
    let mut best: Option<(f64, usize, Borders)> = None;
    while steps.len() < MOST {
        let Some((from, by)) = largest(&tried) else { break };
        remove(&mut tried, from, by);
        let from_ns = from.map(|x| x as i64);
        steps.push(Step { t_ns: i64::midpoint(from_ns[0], from_ns[1]), by_ns: by.round() as i64, from_ns });
        let gain = tried.least_rtt().unwrap_or(plain) - plain;
        let size = steps.iter().map(|step| step.by_ns.unsigned_abs()).max().unwrap_or(0) as f64;
        // More steps have to explain more.
        let is_better = best.as_ref().is_none_or(|&(most, ..)| gain > most * 1.1);
        if gain >= size / 8.0 && is_better {
            best = Some((gain, steps.len(), tried.clone()));
        }
    }
    let Some((_, count, without)) = best else { return Vec::new() };
    *borders = without;
    steps.truncate(count);
    steps.sort_by_key(|step| step.t_ns);
    steps
}

fn remove(borders: &mut Borders, from: [f64; 2], by: f64) {
    let later = |points: &mut Vec<Point>, x: f64, by: f64| {
        for point in points.iter_mut().filter(|point| point.x >= x) {
            point.y -= by;
        }
    };
    later(&mut borders.forward, from[0], by);
    later(&mut borders.reverse, from[1], -by);
}

/// The largest step: from which time on packets of each direction show it, and its size.
fn largest(borders: &Borders) -> Option<([f64; 2], f64)> {
    let ends = |points: &[Point]| Some((points.first()?.x, points.last()?.x));
    let (one, other) = (ends(&borders.forward)?, ends(&borders.reverse)?);
    let (from, to) = (one.0.max(other.0), one.1.min(other.1));
    let width = (to - from) / PARTS as f64;
    if width <= 0.0 {
        return None;
    }
    let slope = usual_slope(borders, from, width);
    let parts = |points: &[Point], slope: f64| {
        let mut parts = [f64::INFINITY; PARTS];
        for point in points {
            let part = (((point.x - from) / width).max(0.0) as usize).min(PARTS - 1);
            parts[part] = parts[part].min(point.y - slope * point.x);
        }
        parts
    };
    let (forward, reverse) = (parts(&borders.forward, slope), parts(&borders.reverse, -slope));
    let least = |parts: &[f64]| parts.iter().copied().fold(f64::INFINITY, f64::min);
    // The part with the step belongs to neither side.
    let step = |at: usize| {
        let (before, after) = (at.saturating_sub(AROUND)..at, at + 1..(at + 1 + AROUND).min(PARTS));
        let ahead = least(&forward[after.clone()]) - least(&forward[before.clone()]);
        let back = -(least(&reverse[after]) - least(&reverse[before]));
        let (small, large) = (ahead.abs().min(back.abs()), ahead.abs().max(back.abs()));
        let is_step = ahead.is_finite()
            && back.is_finite()
            && ahead * back > 0.0
            && small >= LEAST_NS
            && large - small <= 0.25 * large;
        is_step.then(|| f64::midpoint(ahead, back))
    };
    let found = (1..PARTS - 1).filter_map(|at| Some((at, step(at)?)));
    let (at, by) = found.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    let within = |x: f64| (x - from) / width >= at as f64 - 1.5 && (x - from) / width <= at as f64 + 2.5;
    let ahead = exact_time(&borders.forward, slope, by, within)?;
    let back = exact_time(&borders.reverse, -slope, -by, within)?;
    Some(([ahead, back], by))
}

/// The time from which on the points are higher by `by`. Elsewhere some packets would be faster than all others.
///
/// Both directions show a step of the second clock at different times of the first: packets to the second capture point
/// show it before it happens, and packets from there after it.
fn exact_time(points: &[Point], slope: f64, by: f64, within: impl Fn(f64) -> bool) -> Option<f64> {
    let near: Vec<Point> = points
        .iter()
        .filter(|point| within(point.x))
        .map(|point| Point { x: point.x, y: point.y - slope * point.x })
        .collect();
    // Least of those from a place on, with the step taken out.
    let mut after = vec![f64::INFINITY; near.len() + 1];
    for at in (0..near.len()).rev() {
        after[at] = after[at + 1].min(near[at].y - by);
    }
    let mut before = f64::INFINITY;
    let mut least = Vec::with_capacity(near.len());
    for (at, point) in near.iter().enumerate() {
        least.push((before.min(after[at]), point.x));
        before = before.min(point.y);
    }
    let best = least.iter().map(|(least, _)| *least).fold(f64::NEG_INFINITY, f64::max);
    // A place that is too late does not show where points rise, and one that is too early where they fall.
    let mut good = least.iter().filter(|(least, _)| *least >= best - by.abs() / 4.0);
    let found = if by > 0.0 { good.next() } else { good.next_back() };
    found.map(|(_, x)| *x)
}

/// The slope of the middle between both directions from part to part, which few steps do not change: a median.
fn usual_slope(borders: &Borders, from: f64, width: f64) -> f64 {
    let middle = |part: usize| {
        let (low, high) = (from + part as f64 * width, from + (part + 1) as f64 * width);
        let least = |points: &[Point]| {
            let from = points.partition_point(|point| point.x < low);
            let within = points[from..].iter().take_while(|point| point.x < high);
            within.copied().min_by(|one, other| one.y.total_cmp(&other.y))
        };
        let (ahead, back) = (least(&borders.forward)?, least(&borders.reverse)?);
        Some((f64::midpoint(ahead.x, back.x), (ahead.y - back.y) / 2.0))
    };
    let middles: Vec<(f64, f64)> = (0..PARTS).filter_map(middle).collect();
    // Over several parts, so that queues weigh less.
    let mut slopes: Vec<f64> = middles
        .iter()
        .zip(middles.iter().skip(AROUND))
        .filter(|(one, other)| other.0 > one.0)
        .map(|(one, other)| (other.1 - one.1) / (other.0 - one.0))
        .collect();
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or(0.0)
}
