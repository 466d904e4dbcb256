//! The answer: needs, rates, budgets, surfaces and risks of a path.

use crate::axis::Axis;
use crate::bench::{Bench, Measured};
use crate::beside::Beside;
use crate::budget::{self, Budget};
use crate::experiment::Laboratory;
use crate::grid;
use crate::misfit::Misfit;
use crate::needs::{self, NeedRow};
use crate::point::Point;
use crate::question::Question;
use crate::recorded::RecordedRun;
use crate::risk::{self, Risk};
use crate::surface::{self, Surface};
use serde::Serialize;

/// The shares of the rate that budgets are for: a fifth of it is lost, and four fifths.
const LEFT: [f64; 2] = [0.8, 0.2];

/// Packets that a flow begins with (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;

/// The rate of an algorithm with a number of flows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// The rate.
    pub measured: Measured,
    /// Seconds that the bytes of the question take, with those of the ends of the rate's interval.
    pub completion_s: Option<(f64, f64, f64)>,
}

/// All that is known of a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// Number of flows that needs, surfaces and the second budgets are for.
    pub flows: u32,
    /// The needs of the path.
    pub needs: Vec<NeedRow>,
    /// By algorithm, then by number of flows.
    pub rates: Vec<Rate>,
    /// By algorithm.
    pub budgets: Vec<Budget>,
    /// Of the best algorithm. One over MTU and cores is there if the hosts of the question have a machine.
    pub surfaces: Vec<Surface>,
    /// Ceilings and conditions of the hosts, the path and the plan itself.
    pub risks: Vec<Risk>,
    /// Recorded runs on the surfaces, if some were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// Every point that was measured, with the name of its scenario.
    pub points: Vec<Measured>,
}

impl Answer {
    /// The rate that is best for the number of flows of the needs.
    pub fn best(&self) -> Option<&Rate> {
        best(&self.rates, self.flows)
    }

    /// Compares recorded runs with the surfaces. Each has its name for the reader, and is either a run or the reason why a plan
    /// cannot have it.
    pub fn compare(&mut self, runs: Vec<(String, Result<RecordedRun, Misfit>)>) {
        self.beside = Some(Beside::new(&self.question, &self.surfaces, runs));
    }
}

fn best(rates: &[Rate], flows: u32) -> Option<&Rate> {
    let of_flows = rates.iter().filter(|rate| rate.measured.point.flows == flows);
    of_flows.max_by(|a, b| a.measured.goodput_bps.total_cmp(&b.measured.goodput_bps))
}

/// Answers a question that was checked ([`Question::check`]) with experiments of the laboratory.
///
/// # Errors
/// Those of the laboratory.
pub fn answer<L: Laboratory>(question: &Question, laboratory: &mut L) -> Result<Answer, L::Error> {
    let mut bench = Bench::new(question, laboratory);
    let points: Vec<Point> = question
        .congestion
        .iter()
        .flat_map(|name| question.flows.iter().map(|count| Point::of(question, name, *count)))
        .collect();
    let measured = bench.measure(&points, question.effort.packets())?;
    let rates: Vec<Rate> = measured
        .into_iter()
        .map(|measured| Rate { completion_s: completion(question, &measured), measured })
        .collect();
    let flows = question.flows_enough();
    let mut budgets = Vec::new();
    // Of few and of more flows, also where one is enough.
    let more = if flows > question.flows[0] { flows } else { question.flows[question.flows.len() / 2] };
    let mut counts = vec![question.flows[0], more];
    counts.dedup();
    for name in &question.congestion {
        for count in &counts {
            let point = Point::of(question, name, *count);
            budgets.extend(budget::search(&mut bench, question, &point, Axis::Loss, &LEFT)?);
        }
        let point = Point::of(question, name, flows);
        budgets.extend(budget::search(&mut bench, question, &point, Axis::Buffer, &LEFT[..1])?);
        if question.loss > 0.0 {
            budgets.extend(budget::search(&mut bench, question, &point, Axis::Rtt, &LEFT)?);
        }
    }
    let mut surfaces = Vec::new();
    if let Some(best) = best(&rates, flows) {
        let base = &best.measured.point;
        for axes in surface::OVER_PATH {
            surfaces.push(surface::measure(&mut bench, question, base, axes)?);
        }
        surfaces.extend(grid::measure(&mut bench, question, &base.congestion)?);
    }
    Ok(Answer {
        needs: needs::of(question, flows),
        risks: risk::of(question, &rates, &budgets),
        points: bench.into_known(),
        question: question.clone(),
        flows,
        beside: None,
        rates,
        budgets,
        surfaces,
    })
}

/// Seconds for the bytes of the question. Slow start doubles the window of a flow in each round trip until the flow has its share.
/// The rest goes at its rate.
fn completion(question: &Question, measured: &Measured) -> Option<(f64, f64, f64)> {
    let bytes = question.bytes?.get() as f64;
    let rtt = measured.point.rtt.as_secs_f64();
    let seconds = |bps: f64| {
        let window = bps * rtt / 8.0 / f64::from(measured.point.flows) / measured.point.mtu.get() as f64;
        let rounds = (window / INITIAL_WINDOW).max(1.0).log2();
        // A geometric series: what slow start sends is about one window of the end, in all its rounds.
        bytes * 8.0 / bps + rtt * (rounds - 1.0).max(0.0)
    };
    Some((seconds(measured.goodput_bps), seconds(measured.high_bps), seconds(measured.low_bps.max(1.0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Crossing;
    use crate::experiment::{Experiment, Reading};
    use crate::question::Effort;
    use std::convert::Infallible;
    use wirespeed_units::{Bytes, Rate as BitRate, Span};

    /// A path on which a flow gets `1.2 / sqrt(loss)` packets in a round trip (Mathis et al. 1997), at most its share.
    struct Formula {
        runs: usize,
    }

    impl Laboratory for Formula {
        type Error = Infallible;

        fn carry_out(&mut self, experiments: &[Experiment]) -> Result<Vec<Reading>, Infallible> {
            self.runs += experiments.len();
            let reading = |experiment: &Experiment| {
                let point = &experiment.point;
                let packets = f64::from(point.flows) * 1.2 / point.loss.max(1e-30).sqrt();
                let bps = (packets * point.mtu.get() as f64 * 8.0 / point.rtt.as_secs_f64()).min(10e9);
                // One per cent to both sides, so that intervals have a width.
                let goodput_bps = (0..10).map(|part| bps * if part % 2 == 0 { 0.99 } else { 1.01 }).collect();
                Reading { goodput_bps, retransmitted: 0.0, limit: "cwnd".into() }
            };
            Ok(experiments.iter().map(reading).collect())
        }
    }

    fn question() -> Question {
        Question {
            rate: BitRate::gbit(10),
            rtt: Span::ms(20),
            loss: 1e-5,
            buffer: Bytes::new(25_000_000),
            is_buffer_assumed: false,
            mtu: Bytes::new(9000),
            flows: vec![1, 4],
            congestion: vec!["reno".into()],
            host: None,
            bytes: Some(Bytes::new(1_000_000_000_000)),
            effort: Effort::High,
        }
    }

    #[test]
    fn budgets_of_loss_are_where_the_formula_has_them() {
        let answer = answer(&question(), &mut Formula { runs: 0 }).unwrap();
        let of = |flows: u32, left: f64| {
            let budget =
                answer.budgets.iter().find(|b| b.axis == Axis::Loss && b.flows == flows && b.left == left);
            budget.map(|budget| budget.crossing).unwrap()
        };
        for (flows, left) in [(1, 0.2), (1, 0.8), (4, 0.2), (4, 0.8)] {
            let windows = f64::from(flows) * 1.2 * 9000.0 * 8.0 / 0.02;
            let exact = (windows / (left * 10e9)).powi(2);
            let Crossing::At { low, high, .. } = of(flows, left) else { panic!("{flows} {left}") };
            assert!(
                low <= exact && exact <= high,
                "{flows} flows, {left}: {exact:.2e} of {low:.2e} to {high:.2e}"
            );
            assert!(high / low < 4.0, "{low:.2e} to {high:.2e}");
        }
    }

    #[test]
    fn rates_have_the_time_of_the_transfer() {
        let answer = answer(&question(), &mut Formula { runs: 0 }).unwrap();
        let rate = answer.rates.iter().find(|rate| rate.measured.point.flows == 4).unwrap();
        let exact = 4.0 * 1.2 / 1e-5_f64.sqrt() * 72_000.0 / 0.02;
        assert!((rate.measured.goodput_bps / exact - 1.0).abs() < 0.02);
        let (seconds, least, most) = rate.completion_s.unwrap();
        assert!((seconds / (8e12 / exact) - 1.0).abs() < 0.02 && least <= seconds && seconds <= most);
    }

    #[test]
    fn surface_is_covered_and_is_finer_where_the_rate_falls() {
        let answer = answer(&question(), &mut Formula { runs: 0 }).unwrap();
        let surface = &answer.surfaces[0];
        let area = |tile: &surface::Tile| (tile.x.1 / tile.x.0).ln() * (tile.y.1 / tile.y.0).ln();
        let whole = (1e-2_f64 / 1e-7).ln() * 16.0_f64.ln();
        assert!((surface.tiles.iter().map(area).sum::<f64>() / whole - 1.0).abs() < 1e-6);
        assert!(surface.tiles.len() > 9 && surface.tiles.len() <= Effort::High.tiles());
    }

    #[test]
    fn rate_between_the_middles_of_tiles_is_that_of_the_formula() {
        let answer = answer(&question(), &mut Formula { runs: 0 }).unwrap();
        let surface = &answer.surfaces[0];
        for loss in [1e-7_f64, 3e-6, 1e-5, 2e-4, 1e-3, 1e-2] {
            for rtt in [0.005_f64, 0.02, 0.07, 0.08] {
                let exact = (f64::from(answer.flows) * 1.2 / loss.sqrt() * 72_000.0 / rtt).min(10e9);
                let found = surface.at(loss, rtt).unwrap();
                let off = (found / exact).max(exact / found);
                assert!(off < 1.3, "loss {loss:e}, RTT {rtt}: {found:.2e}, and {exact:.2e} by the formula");
            }
        }
        assert_eq!([surface.at(1e-8, 0.02), surface.at(1e-5, 1.0), surface.at(0.0, 0.02)], [None; 3]);
    }

    #[test]
    fn surface_over_mtu_and_cores_is_there_if_the_hosts_have_a_machine() {
        let surfaces = |host: Option<&str>, effort: Effort| {
            let question = Question { host: host.map(str::to_owned), effort, ..question() };
            answer(&question, &mut Formula { runs: 0 }).unwrap().surfaces
        };
        for host in [None, Some("tuned")] {
            assert_eq!(surfaces(host, Effort::Low).len(), surface::OVER_PATH.len(), "{host:?}");
        }
        let cores = |effort: Effort| {
            let found = surfaces(Some("epyc-2024-400g"), effort).pop().unwrap();
            assert_eq!((found.x, found.y, found.flows), (Axis::Mtu, Axis::Cores, 4));
            assert_eq!(found.values(Axis::Mtu), [1500.0, 4000.0, 9000.0]);
            assert_eq!(found.tiles.len(), 3 * found.values(Axis::Cores).len());
            found.values(Axis::Cores)
        };
        assert_eq!(cores(Effort::Normal), [1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!(cores(Effort::Low), [1.0, 4.0, 16.0]);
    }
}
