//! The clock of the second capture against that of the first.
//!
//! Packets from the first capture point to the second have differences of times of `offset + delay`, those back `offset - delay`. No delay
//! is negative, so that the offset lies between the least of the first and the largest of the second. A skew tilts both borders.
//! It is the slope at which the borders touch the delays best: the linear program of Moon, Skelly and Towsley ("Estimation and removal
//! of clock skew from network delay measurements", INFOCOM 1999), with both directions in one program. Paxson ("On calibrating
//! measurements of packet transit times", SIGMETRICS 1998) shows that both directions together reveal steps.

use crate::envelope::{Dot, Envelope};
use crate::result::Direction;
use crate::steps;
use serde::Serialize;

/// Offset and skew of the second clock, relative to the first. Times are those of the first clock, in nanoseconds since the first packet of the
/// first capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Clock {
    /// Offset at time 0, in nanoseconds.
    pub offset_ns: i64,
    /// The offset is known to plus or minus so many nanoseconds: half the least RTT between the capture points. How much of that is
    /// one direction's delay cannot be measured. `None` if packets were captured in one direction only: then the least delay of
    /// that direction counts as 0.
    pub offset_bound_ns: Option<i64>,
    /// Skew: the second clock gains so many microseconds in a second.
    pub skew_ppm: f64,
    /// A skew further away than this would give some packets a negative RTT.
    pub skew_bound_ppm: Option<f64>,
    /// Sum of the least delays of both directions. It does not depend on the offset.
    pub min_rtt_ns: Option<i64>,
    /// Sudden changes of the offset.
    pub steps: Vec<Step>,
    /// The user states that the clocks agree: offset and skew are 0, and were not measured.
    pub is_assumed: bool,
    /// By so much the least RTT would be negative: no constant skew explains the times. 0 if the times fit.
    pub misfit_ns: i64,
    /// Differences are taken from this value, so that they fit into a floating-point number.
    #[serde(skip)]
    origin_ns: i64,
    /// The offset without the whole part.
    #[serde(skip)]
    rest_ns: f64,
}

/// A sudden change of the offset, as NTP makes one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// When, to about 1/64 of the time that both captures have.
    pub t_ns: i64,
    /// By how much the second clock went forward relative to the first.
    pub by_ns: i64,
    /// From these times on packets show it: those to the second capture point when they pass the first, and those back.
    #[serde(skip)]
    pub(crate) from_ns: [i64; 2],
}

impl Clock {
    /// From the least differences of times: of packets to the second capture point (second less first), and of those back
    /// (first less second).
    pub(crate) fn fit(forward: &Envelope, reverse: &Envelope) -> Clock {
        let (forward, reverse) = (forward.dots(), reverse.dots());
        let first = forward.first().map(|dot| dot.y).or(reverse.first().map(|dot| -dot.y));
        let origin_ns = first.unwrap_or(0);
        let point = |dot: &Dot, shift: i64| Point { x: dot.x as f64, y: (dot.y + shift) as f64 };
        let mut borders = Borders {
            forward: forward.iter().map(|dot| point(dot, -origin_ns)).collect(),
            reverse: reverse.iter().map(|dot| point(dot, origin_ns)).collect(),
        };
        let steps = steps::find(&mut borders);
        let slope = borders.slope();
        let (above, below) = (borders.forward_border(slope), borders.reverse_border(slope));
        let rest_ns = match (above, below) {
            (Some(above), Some(below)) => (above - below) / 2.0,
            (Some(above), None) => above,
            (None, Some(below)) => -below,
            (None, None) => 0.0,
        };
        let min_rtt = above.zip(below).map(|(above, below)| above + below);
        Clock {
            offset_ns: origin_ns + rest_ns.round() as i64,
            offset_bound_ns: min_rtt.map(|rtt| (rtt.max(0.0) / 2.0).ceil() as i64),
            skew_ppm: slope * 1e6,
            skew_bound_ppm: borders.slope_bound(slope).map(|bound| bound * 1e6),
            min_rtt_ns: min_rtt.map(|rtt| rtt.max(0.0).round() as i64),
            steps,
            is_assumed: false,
            misfit_ns: min_rtt.map_or(0, |rtt| (-rtt).max(0.0).round() as i64),
            origin_ns,
            rest_ns,
        }
    }

    /// A clock that agrees with the first, as the user states.
    pub(crate) fn agreeing(forward: &Envelope, reverse: &Envelope) -> Clock {
        let least = |envelope: &Envelope| envelope.dots().iter().map(|dot| dot.y).min();
        let (one, other) = (least(forward), least(reverse));
        let negative = one.into_iter().chain(other).min().unwrap_or(0).min(0);
        Clock {
            offset_ns: 0,
            offset_bound_ns: Some(0),
            skew_ppm: 0.0,
            skew_bound_ppm: None,
            min_rtt_ns: one.zip(other).map(|(one, other)| one + other),
            steps: Vec::new(),
            is_assumed: true,
            misfit_ns: -negative,
            origin_ns: 0,
            rest_ns: 0.0,
        }
    }

    /// The offset when the first clock shows `x`.
    pub fn offset_at(&self, x: i64) -> i64 {
        self.offset_after(x, self.steps.iter().filter(|step| step.t_ns <= x).map(|step| step.by_ns).sum())
    }

    /// The time of the first clock when the second shows `t_ns`, both since the first packet of the first capture.
    pub fn in_first(&self, t_ns: i64) -> i64 {
        // The offset changes little within itself: skews are small.
        let near = t_ns - self.offset_at(t_ns - self.offset_ns);
        t_ns - self.offset_at(near)
    }

    /// The offset that a packet shows which passes the first capture point at `x`.
    pub(crate) fn offset_of_packet(&self, direction: Direction, x: i64) -> i64 {
        let from = |step: &&Step| step.from_ns[direction.index()] <= x;
        self.offset_after(x, self.steps.iter().filter(from).map(|step| step.by_ns).sum())
    }

    fn offset_after(&self, x: i64, stepped: i64) -> i64 {
        self.origin_ns + (self.rest_ns + self.skew_ppm * 1e-6 * x as f64).round() as i64 + stepped
    }
}

/// A difference of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// When.
    pub x: f64,
    /// The difference.
    pub y: f64,
}

/// Least differences of both directions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Borders {
    /// Offset and delay.
    pub forward: Vec<Point>,
    /// Delay less offset.
    pub reverse: Vec<Point>,
}

/// Clocks are off by less, or they are broken.
const MOST_SLOPE: f64 = 2e-3;

impl Borders {
    pub(crate) fn forward_border(&self, slope: f64) -> Option<f64> {
        least(&self.forward, slope)
    }

    pub(crate) fn reverse_border(&self, slope: f64) -> Option<f64> {
        least(&self.reverse, -slope)
    }

    /// The least RTT that one line allows.
    pub(crate) fn least_rtt(&self) -> Option<f64> {
        let slope = self.slope();
        Some(self.forward_border(slope)? + self.reverse_border(slope)?)
    }

    /// The slope whose borders have the least distance from all points.
    pub(crate) fn slope(&self) -> f64 {
        let usual = [self.forward.len(), self.reverse.len()].map(|count| 1.0 / count.max(1) as f64);
        let first = self.slope_with(usual);
        // The direction without a queue shows the clock best: its distances are small.
        let distances = [distance(&self.forward, first), distance(&self.reverse, -first)];
        self.slope_with([0, 1].map(|at| usual[at] / (distances[at] * usual[at] + 1_000.0)))
    }

    fn slope_with(&self, weights: [f64; 2]) -> f64 {
        let cost = |slope: f64| {
            weights[0] * distance(&self.forward, slope) + weights[1] * distance(&self.reverse, -slope)
        };
        // The cost is convex: a border is a least of linear functions of the slope.
        let (mut low, mut high) = (-MOST_SLOPE, MOST_SLOPE);
        for _ in 0..100 {
            let (one, other) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if cost(one) <= cost(other) { high = other } else { low = one }
        }
        if self.forward.len().max(self.reverse.len()) < 2 { 0.0 } else { f64::midpoint(low, high) }
    }

    /// How far from `slope` a slope can be without a negative least RTT.
    fn slope_bound(&self, slope: f64) -> Option<f64> {
        let rtt = |slope: f64| Some(self.forward_border(slope)? + self.reverse_border(slope)?);
        if rtt(slope)? < 0.0 {
            return None;
        }
        let reach = |sign: f64| {
            let (mut inside, mut outside) = (0.0, 2.0 * MOST_SLOPE);
            for _ in 0..60 {
                let middle = f64::midpoint(inside, outside);
                if rtt(slope + sign * middle)? >= 0.0 { inside = middle } else { outside = middle }
            }
            Some(inside)
        };
        Some(reach(1.0)?.max(reach(-1.0)?))
    }
}

fn least(points: &[Point], slope: f64) -> Option<f64> {
    points.iter().map(|point| point.y - slope * point.x).reduce(f64::min)
}

/// Sum of the distances of all points from their border.
fn distance(points: &[Point], slope: f64) -> f64 {
    let Some(border) = least(points, slope) else { return 0.0 };
    points.iter().map(|point| point.y - slope * point.x - border).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute of packets: 1 ms there and 3 ms back, with a queue that fills and empties in one direction.
    fn envelopes(offset: impl Fn(i64) -> i64) -> [Envelope; 2] {
        let [mut forward, mut reverse] = [Envelope::default(), Envelope::default()];
        for number in 0..60_000i64 {
            let x = number * 1_000_000;
            let queue = (number * 7_919 % 5_000) * 1_000 + (number % 13) * 40_000;
            forward.add(Dot { x, y: offset(x) + 1_000_000 + queue });
            reverse.add(Dot { x: x + 300_000, y: -offset(x + 300_000) + 3_000_000 + (number % 17) * 2_000 });
        }
        [forward, reverse]
    }

    #[test]
    fn offset_of_hours_and_skew_are_found_within_their_bounds() {
        for skew in [0.0, 50e-6, -120e-6] {
            let truth = |x: i64| 7_200_000_000_000 + (skew * x as f64) as i64;
            let [forward, reverse] = envelopes(truth);
            let clock = Clock::fit(&forward, &reverse);
            assert!((clock.skew_ppm - skew * 1e6).abs() < 0.1, "{clock:?}");
            assert!((clock.min_rtt_ns.unwrap() - 4_000_000).abs() < 5_000, "{clock:?}");
            let bound = clock.offset_bound_ns.unwrap() + 5_000;
            for x in [0, 30_000_000_000, 60_000_000_000] {
                assert!((clock.offset_at(x) - truth(x)).abs() <= bound, "{x}: {clock:?}");
            }
            assert!(clock.steps.is_empty() && clock.misfit_ns == 0, "{clock:?}");
        }
    }

    #[test]
    fn step_of_a_clock_is_found_with_its_size() {
        for by in [40_000_000, -900_000, 3_600_000_000_000] {
            let at = 23_000_000_000;
            let truth = |x: i64| 5_000 + (20e-6 * x as f64) as i64 + if x >= at { by } else { 0 };
            let [forward, reverse] = envelopes(truth);
            let clock = Clock::fit(&forward, &reverse);
            assert_eq!(clock.steps.len(), 1, "{clock:?}");
            let step = clock.steps[0];
            assert!((step.t_ns - at).abs() < 1_000_000_000, "{clock:?}");
            assert!((step.by_ns - by).abs() < 50_000, "{clock:?}");
            assert!((clock.skew_ppm - 20.0).abs() < 0.5, "{clock:?}");
        }
    }

    #[test]
    fn queue_that_grows_is_no_step_and_no_skew() {
        let [mut forward, mut reverse] = [Envelope::default(), Envelope::default()];
        for number in 0..2_000i64 {
            let x = number * 1_000_000;
            // It empties at the begin only, and jumps by 2 ms in the middle.
            let queue = 3_000 * number + if number > 1_000 { 2_000_000 } else { 0 };
            forward.add(Dot { x, y: 500 + 1_000_000 + queue });
            reverse.add(Dot { x, y: -500 + 3_000_000 + number % 3 * 1_000 });
        }
        let clock = Clock::fit(&forward, &reverse);
        assert!(clock.steps.is_empty() && clock.skew_ppm.abs() < 1.0, "{clock:?}");
    }

    #[test]
    fn clock_that_is_set_and_set_back_has_two_steps() {
        let truth = |x: i64| if (20_000_000_000..35_000_000_000).contains(&x) { 700_000_000 } else { 0 };
        let [forward, reverse] = envelopes(truth);
        let clock = Clock::fit(&forward, &reverse);
        let sizes: Vec<i64> = clock.steps.iter().map(|step| (step.by_ns + 50_000) / 1_000_000).collect();
        assert_eq!(sizes, [700, -699], "{clock:?}");
    }

    #[test]
    fn clock_that_agrees_and_gives_negative_delays_is_a_misfit() {
        let [forward, reverse] = envelopes(|_| -1_500_000);
        let clock = Clock::agreeing(&forward, &reverse);
        assert_eq!((clock.misfit_ns, clock.offset_at(9), clock.min_rtt_ns), (500_000, 0, Some(4_000_000)));
    }
}
