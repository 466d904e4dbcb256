//! Steps of a clock: sudden changes that both directions show with opposite sign. A queue changes one direction only.

use crate::clock::{Borders, Point, Step};

/// The time is divided into so many parts.
const PARTS: usize = 64;
/// Parts on each side of a step that are compared: enough that each has a packet without a queue.
const AROUND: usize = 6;
/// More steps are no steps.
const MOST: usize = 16;
/// Smaller steps are not distinguished from changes of the path.
const LEAST_NS: f64 = 100_000.0;

/// Finds the steps, and takes them out of `borders`.
pub(crate) fn find(borders: &mut Borders) -> Vec<Step> {
    let mut steps = Vec::new();
    while steps.len() < MOST {
        let Some((x, by)) = largest(borders) else { break };
        remove(borders, x, by);
        steps.push(Step { t_ns: x as i64, by_ns: by.round() as i64 });
    }
    if steps.len() == MOST {
        // Not a clock with steps, but one that nothing here describes: the misfit shows it.
        return steps;
    }
    steps.sort_by_key(|step| step.t_ns);
    steps
}

fn remove(borders: &mut Borders, x: f64, by: f64) {
    let later = |points: &mut Vec<Point>, by: f64| {
        for point in points.iter_mut().filter(|point| point.x >= x) {
            point.y -= by;
        }
    };
    later(&mut borders.forward, by);
    later(&mut borders.reverse, -by);
}

/// The largest step: its time and size.
fn largest(borders: &Borders) -> Option<(f64, f64)> {
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
    Some((exact_time(borders, slope, by, within)?, by))
}

/// The time at which a step leaves the largest least RTT: elsewhere some packets would arrive before they were sent.
fn exact_time(borders: &Borders, slope: f64, by: f64, within: impl Fn(f64) -> bool) -> Option<f64> {
    let mut all: Vec<(f64, usize, f64)> = Vec::new();
    for (points, which, sign) in [(&borders.forward, 0, 1.0), (&borders.reverse, 1, -1.0)] {
        let near = points.iter().filter(|point| within(point.x));
        all.extend(near.map(|point| (point.x, which, point.y - sign * slope * point.x)));
    }
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Least of those from a place on, with the step taken out.
    let mut after = vec![[f64::INFINITY; 2]; all.len() + 1];
    for at in (0..all.len()).rev() {
        let (_, which, y) = all[at];
        after[at] = after[at + 1];
        let sign = if which == 0 { 1.0 } else { -1.0 };
        after[at][which] = after[at][which].min(y - sign * by);
    }
    let (mut before, mut best) = ([f64::INFINITY; 2], None);
    for at in 0..all.len() {
        let rtt = before[0].min(after[at][0]) + before[1].min(after[at][1]);
        if best.is_none_or(|(most, _)| rtt > most) {
            best = Some((rtt, all[at].0));
        }
        let (_, which, y) = all[at];
        before[which] = before[which].min(y);
    }
    best.map(|(_, x)| x)
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
