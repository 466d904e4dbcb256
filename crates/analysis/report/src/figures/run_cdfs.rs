//! Distributions within one run: round-trip times, and completion times of its flows.

use super::Draw;
use crate::distribution::{FLOW_TIMES, RTT_SAMPLES, flow_times, steps};
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Ink, Layer};
use crate::number::whole;
use crate::number_axis::{NumberAxis, Spread, Values};
use crate::source::Source;
use wirespeed_metrics::{quantiles, smoothed_rtts};

/// The round-trip times of a run.
pub(crate) struct RttCdf;

/// The completion times of the flows of a run.
pub(crate) struct FlowTimesCdf;

/// From this ratio of the largest to the least value on, the axis is logarithmic.
const LOG_FROM: f64 = 30.0;
/// For fewer flows, the table is enough.
const FEWEST_FLOWS: usize = 5;
/// Steps that a picture shows.
const MOST_STEPS: usize = 400;

impl Draw for RttCdf {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let (values, note) = match &source.stored {
            Some(stored) => {
                let note =
                    "All samples of all flows in the measurement window, before the series were reduced.";
                (stored.rtt_quantiles.clone(), note.to_owned())
            }
            None => {
                let all = smoothed_rtts(&source.view);
                let samples = whole(all.len() as i64);
                (quantiles(&all), format!("{samples} samples of all flows in the measurement window."))
            }
        };
        let is_worth_it = values.first() < values.last();
        is_worth_it.then(|| draw("rtt-cdf", "Distribution of round-trip times", &RTT_SAMPLES, values, &note))
    }
}

impl Draw for FlowTimesCdf {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let times = flow_times(source.recording);
        let note = format!(
            "{} of {} flows completed.",
            whole(times.len() as i64),
            whole(source.recording.info.flows.len() as i64)
        );
        let every = times.len().div_ceil(MOST_STEPS).max(1);
        let kept = times.iter().copied().step_by(every).chain(times.last().copied()).collect();
        let is_worth_it = times.len() >= FEWEST_FLOWS;
        is_worth_it
            .then(|| draw("flow-times", "Distribution of flow completion times", &FLOW_TIMES, kept, &note))
    }
}

fn draw(
    id: &str,
    title: &str,
    of: &crate::distribution::Distributed,
    values: Vec<f64>,
    note: &str,
) -> Figure {
    let x = NumberAxis::new(
        Values { what: of.what, unit: "ns", values: values.clone() },
        Spread::From(LOG_FROM),
        From::Least,
    );
    let points = steps(values.into_iter().map(|value| x.at(value)).collect());
    let y = Axis { title: format!("Share of {}", of.share_of), kind: AxisKind::Linear, range: (0.0, 1.0) };
    let layers = vec![Layer::line("", Ink::Total, Dash::Solid, points).unnamed()];
    Figure { x: x.axis, y, layers, ..Figure::statement(id, title, note) }
}
