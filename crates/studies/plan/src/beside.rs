//! Measured beside predicted: recorded runs at their places on the surfaces of a plan.

use crate::axis::Axis;
use crate::misfit::Misfit;
use crate::point::Point;
use crate::question::Question;
use crate::recorded::RecordedRun;
use crate::surface::{SAME, Surface, has};
use serde::Serialize;

/// Settings are near each other if they differ by at most this factor. A rate changes at most in proportion to one of them, and
/// a surface does not show smaller differences of rates either ([`SAME`]).
const NEAR: f64 = SAME;

/// A run on a surface.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The run.
    pub run: RecordedRun,
    /// The x axis of the surface.
    pub x: Axis,
    /// Its y axis.
    pub y: Axis,
    /// The surface's goodput in bit/s at the place of the run ([`Surface::at`]).
    pub predicted_bps: f64,
}

impl Compared {
    /// The settings of the run on both axes, with their units.
    pub(crate) fn place(&self) -> String {
        let text = |axis: Axis| format!("{} {}", axis.name(), axis.text(axis.of(&self.run.point)));
        format!("{}, {}", text(self.x), text(self.y))
    }

    /// Measured over predicted goodput.
    pub fn ratio(&self) -> f64 {
        self.run.goodput_bps / self.predicted_bps
    }
}

/// A run that fits no surface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Apart {
    /// Name for the reader.
    pub name: String,
    /// The reason of the surface that it comes closest to.
    pub reason: Misfit,
}

/// Recorded runs and the surfaces.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Beside {
    /// How many runs there are.
    pub runs: usize,
    /// By surface, then in the order of the runs. A run may be on several surfaces.
    pub compared: Vec<Compared>,
    /// The other runs.
    pub apart: Vec<Apart>,
}

impl Beside {
    /// Of runs with their names, and of those that cannot be points of a plan.
    pub(crate) fn new(
        question: &Question,
        surfaces: &[Surface],
        runs: Vec<(String, Result<RecordedRun, Misfit>)>,
    ) -> Beside {
        let count = runs.len();
        let mut beside = Beside { runs: count, ..Beside::default() };
        for (name, run) in runs {
            let mut closest = Misfit::Congestion;
            let before = beside.compared.len();
            match run {
                Err(reason) => closest = reason,
                Ok(run) => {
                    for surface in surfaces {
                        match predicted(question, surface, &run) {
                            Ok(predicted_bps) => beside.compared.push(Compared {
                                run: run.clone(),
                                x: surface.x,
                                y: surface.y,
                                predicted_bps,
                            }),
                            Err(reason) => closest = closest.max(reason),
                        }
                    }
                }
            }
            if beside.compared.len() == before {
                beside.apart.push(Apart { name, reason: closest });
            }
        }
        let place = |of: &Compared| surfaces.iter().position(|s| (s.x, s.y) == (of.x, of.y));
        beside.compared.sort_by_key(place);
        beside
    }

    /// The reasons of the runs that fit no surface, each with its number of runs, most frequent first.
    pub fn reasons(&self) -> Vec<(Misfit, usize)> {
        let mut reasons: Vec<(Misfit, usize)> = Vec::new();
        for apart in &self.apart {
            match reasons.iter_mut().find(|(reason, _)| *reason == apart.reason) {
                Some((_, count)) => *count += 1,
                None => reasons.push((apart.reason, 1)),
            }
        }
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        reasons
    }
}

/// The surface's goodput at the place of a run that belongs to it, or the first reason why it does not.
fn predicted(question: &Question, surface: &Surface, run: &RecordedRun) -> Result<f64, Misfit> {
    if run.point.congestion != surface.congestion {
        return Err(Misfit::Congestion);
    }
    if run.point.flows != surface.flows {
        return Err(Misfit::Flows);
    }
    if !is_near(run.rate.get() as f64, question.rate.get() as f64) {
        return Err(Misfit::Rate);
    }
    let plan = Point::of(question, &surface.congestion, surface.flows);
    let of = |axis: Axis| axis.of(&run.point);
    for axis in [Axis::Mtu, Axis::Rtt, Axis::Buffer, Axis::Loss, Axis::Cores] {
        let fits = match surface.range(axis) {
            Some(ends) => has(ends, of(axis)),
            // A plan that does not limit the cores takes those of the run as they are.
            None => axis == Axis::Cores || is_near(of(axis), axis.of(&plan)),
        };
        if !fits {
            return Err(axis.into());
        }
    }
    surface.at(of(surface.x), of(surface.y)).ok_or(surface.y.into())
}

fn is_near(a: f64, b: f64) -> bool {
    // A rounding error of a quotient does not count.
    const ROUNDING: f64 = 1.0 + 1e-9;
    a == b || (a > 0.0 && b > 0.0 && (a / b).max(b / a) <= NEAR * ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Measured;
    use crate::question::Effort;
    use crate::surface::Tile;
    use wirespeed_record::SubstrateKind;
    use wirespeed_units::{Bytes, Rate, Span};

    fn question() -> Question {
        Question {
            rate: Rate::gbit(10),
            rtt: Span::ms(20),
            loss: 0.0,
            buffer: Bytes::new(6_000_000),
            is_buffer_assumed: false,
            mtu: Bytes::new(9000),
            flows: vec![4],
            congestion: vec!["cubic".into()],
            host: None,
            bytes: None,
            effort: Effort::Low,
        }
    }

    /// A surface of one tile, which has 4 Gbit/s everywhere.
    fn surface(y: Axis, ends: (f64, f64)) -> Surface {
        let point = Point { loss: 1e-5, ..Point::of(&question(), "cubic", 4) };
        let measured = Measured {
            point,
            goodput_bps: 4e9,
            low_bps: 4e9,
            high_bps: 4e9,
            limit: String::new(),
            is_settled: true,
            duration: Span::secs(1),
            repeats: 1,
            scale: 1,
        };
        let tiles = vec![Tile { x: (1e-7, 1e-2), y: ends, measured }];
        Surface { congestion: "cubic".into(), flows: 4, x: Axis::Loss, y, tiles }
    }

    fn beside(change: impl Fn(&mut RecordedRun)) -> Beside {
        let mut run = RecordedRun {
            name: "a".into(),
            substrate: SubstrateKind::Netns,
            rate: Rate::gbit(10),
            point: Point { loss: 1e-4, ..Point::of(&question(), "cubic", 4) },
            goodput_bps: 1e9,
        };
        change(&mut run);
        let surfaces = [surface(Axis::Rtt, (5e-3, 80e-3)), surface(Axis::Buffer, (1e6, 50e6))];
        Beside::new(&question(), &surfaces, vec![("a".into(), Ok(run))])
    }

    #[test]
    fn run_is_on_each_surface_whose_other_settings_are_near() {
        let both = beside(|_| {});
        let found: Vec<_> = both.compared.iter().map(|of| (of.y, of.predicted_bps, of.ratio())).collect();
        assert_eq!(found, [(Axis::Rtt, 4e9, 0.25), (Axis::Buffer, 4e9, 0.25)]);
        assert!(both.apart.is_empty());
        let near = beside(|run| run.point.buffer = Bytes::new(6_600_000));
        assert_eq!(near.compared.len(), 2, "a tenth more is near");
        let far = beside(|run| run.point.buffer = Bytes::new(6_700_000));
        assert_eq!(far.compared.iter().map(|of| of.y).collect::<Vec<_>>(), [Axis::Buffer]);
    }

    #[test]
    fn run_on_no_surface_has_the_reason_of_the_closest() {
        let reason = |change: fn(&mut RecordedRun)| {
            let found = beside(change);
            assert!(found.compared.is_empty());
            found.reasons()
        };
        assert_eq!(reason(|run| run.point.congestion = "bbr".into()), [(Misfit::Congestion, 1)]);
        assert_eq!(reason(|run| run.point.flows = 1), [(Misfit::Flows, 1)]);
        assert_eq!(reason(|run| run.rate = Rate::gbit(9)), [(Misfit::Rate, 1)]);
        assert_eq!(reason(|run| run.point.mtu = Bytes::new(1500)), [(Misfit::Mtu, 1)]);
        assert_eq!(reason(|run| run.point.loss = 0.0), [(Misfit::Loss, 1)]);
        // The surface over buffers rejects this RTT, and the one over RTTs this buffer.
        let both: fn(&mut RecordedRun) = |run| {
            run.point.rtt = Span::ms(40);
            run.point.buffer = Bytes::new(3_000_000);
        };
        assert_eq!(reason(both), [(Misfit::Buffer, 1)]);
    }

    #[test]
    fn runs_that_cannot_be_points_are_counted_by_reason() {
        let runs = [Misfit::Path, Misfit::Unreadable, Misfit::Path];
        let runs = runs.into_iter().map(|reason| ("a".into(), Err(reason))).collect();
        let beside = Beside::new(&question(), &[], runs);
        assert_eq!(beside.reasons(), [(Misfit::Path, 2), (Misfit::Unreadable, 1)]);
        assert_eq!((beside.runs, beside.apart.len()), (3, 3));
    }
}
