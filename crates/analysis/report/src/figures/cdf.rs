//! Cumulative distributions: of a metric over runs, of sampled round-trip times, of flow completion times.

use super::{Draw, refused};
use crate::digest::RunDigest;
use crate::distribution::{FLOW_TIMES, RTT_SAMPLES, steps};
use crate::estimate::values;
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Ink, Layer};
use crate::number_axis::{NumberAxis, Spread, Values};
use crate::plan::{Measure, Plan, Refusal, observed, panel_id, slug};
use wirespeed_scenario::{DistributionOf, FigureKind, FigureRequest};

pub(crate) struct Cdf;

/// From this ratio of the largest to the least value on, the axis is logarithmic.
const LOG_FROM: f64 = 30.0;

impl Draw for Cdf {
    fn kind(&self) -> Option<FigureKind> {
        Some(FigureKind::Cdf)
    }

    fn of_request(&self, runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
        draw(runs, request)
            .unwrap_or_else(|refusal| vec![refused("cdf", "Cumulative distribution", &refusal)])
    }
}

/// The values of a distribution, in words.
struct Subject {
    what: String,
    unit: String,
    /// The things of which the vertical axis has shares.
    share_of: &'static str,
    stem: String,
}

fn draw(runs: &[RunDigest], request: &FigureRequest) -> Result<Vec<Figure>, Refusal> {
    let of = request.of.unwrap_or_default();
    let (subject, metric) = match of {
        DistributionOf::Runs => {
            let measure = Measure::wanted(runs, request.metric.as_deref())?;
            let subject = Subject {
                what: measure.what.clone(),
                unit: measure.unit.clone(),
                share_of: "runs",
                stem: slug(&format!("cdf-{}", measure.words())),
            };
            (subject, measure.name)
        }
        DistributionOf::RttSamples => (fixed(&RTT_SAMPLES, "cdf-rtt-samples"), String::new()),
        DistributionOf::FlowTimes => (fixed(&FLOW_TIMES, "cdf-flow-times"), String::new()),
    };
    let of_runs = |runs: &[&RunDigest]| -> Vec<f64> {
        match of {
            DistributionOf::Runs => values(runs, &metric),
            DistributionOf::RttSamples => {
                runs.iter().flat_map(|run| run.rtt_quantiles.iter().copied()).collect()
            }
            DistributionOf::FlowTimes => runs.iter().flat_map(|run| run.flow_times.iter().copied()).collect(),
        }
    };
    let plan = Plan::new(request, runs)?;
    let panels: Vec<Vec<(usize, Ink, Vec<f64>)>> = plan
        .panels
        .iter()
        .map(|panel| {
            let parts = plan.parts(panel).into_iter();
            let parts = parts.map(|(part, runs)| (part, plan.ink(part, &runs), of_runs(&runs)));
            parts.filter(|(_, _, values)| !values.is_empty()).collect()
        })
        .collect();
    let all: Vec<f64> = panels.iter().flatten().flat_map(|(_, _, values)| values.iter().copied()).collect();
    if all.is_empty() {
        let what = if of == DistributionOf::FlowTimes { FLOW_TIMES.missing } else { RTT_SAMPLES.missing };
        return Err(Refusal::NoSamples(what));
    }
    let x = NumberAxis::new(
        Values { what: &subject.what, unit: &subject.unit, values: all },
        Spread::new(request.log_x, LOG_FROM),
        From::Least,
    );
    let y =
        Axis { title: format!("Share of {}", subject.share_of), kind: AxisKind::Linear, range: (0.0, 1.0) };
    let counted = match of {
        // A run has so many quantiles, however many samples it took.
        DistributionOf::RttSamples => "Every run has the same weight.".to_string(),
        _ => {
            format!("Of {}, {}.", subject.share_of, observed(panels.iter().flatten().map(|(.., v)| v.len())))
        }
    };
    let averaged = if plan.averaged.is_empty() {
        String::new()
    } else {
        format!(" All values of {} together.", plan.averaged.join(" and "))
    };
    let title = format!("Cumulative distribution of {}", subject.what.to_lowercase().replace("rtt", "RTT"));
    let figures = plan.panels.iter().zip(&panels).filter(|(_, parts)| !parts.is_empty());
    let figures = figures.map(|(panel, parts)| {
        let layer = |(part, ink, values): &(usize, Ink, Vec<f64>)| {
            let placed = values.iter().map(|value| x.at(*value)).collect();
            let name = plan.part_name(*part);
            let is_named = !name.is_empty();
            let dash = [Dash::Solid, Dash::Dashed, Dash::Dotted][part / 8 % 3];
            Layer { legend: is_named, ..Layer::line(name, ink.clone(), dash, steps(placed)) }
        };
        let layers = parts.iter().map(layer).collect();
        let note = format!("{counted}{averaged}");
        let empty = Figure::statement(&panel_id(&subject.stem, panel), &plan.title(&title, panel), &note);
        Figure { x: x.axis.clone(), y: y.clone(), layers, ..empty }
    });
    Ok(figures.collect())
}

fn fixed(of: &crate::distribution::Distributed, stem: &str) -> Subject {
    Subject { what: of.what.into(), unit: "ns".into(), share_of: of.share_of, stem: stem.into() }
}
