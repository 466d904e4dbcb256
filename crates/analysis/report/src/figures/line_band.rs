//! A metric over a numeric factor: means with their 95 % intervals, one line for each value of another factor.

use super::{Draw, refused};
use crate::digest::{RunDigest, leading_metric};
use crate::estimate::Estimate;
use crate::factors::FactorAxis;
use crate::figure::{Dash, Figure, From, Ink, Layer, Shape};
use crate::number_axis::{NumberAxis, Spread, Values};
use crate::plan::{Measure, Plan, Refusal, observed, panel_id};
use crate::thin::Point;
use wirespeed_scenario::{FigureKind, FigureRequest};

pub(crate) struct LineBand;

/// From this ratio of the largest to the least value on, the axis of the factor is logarithmic.
const LOG_X_FROM: f64 = 15.0;
/// From this ratio of means on, the axis of the metric is logarithmic.
const LOG_Y_FROM: f64 = 30.0;
/// A sweep of more settings than this gets heat maps instead, if it can.
const FEW_SETTINGS: usize = 60;
/// More figures than this are not chosen without a request.
const MOST_AUTOMATIC: usize = 6;

impl Draw for LineBand {
    fn kind(&self) -> Option<FigureKind> {
        Some(FigureKind::Line)
    }

    fn automatic(&self, runs: &[RunDigest]) -> Vec<FigureRequest> {
        let varied = FactorAxis::varied(runs);
        let has_numbers = varied.iter().any(FactorAxis::is_numeric);
        let settings: usize = varied.iter().map(|axis| axis.levels.len()).product();
        let has_heat_maps = varied.iter().filter(|axis| axis.is_numeric()).count() >= 2;
        if leading_metric(runs).is_none() || !has_numbers || settings > FEW_SETTINGS && has_heat_maps {
            return Vec::new();
        }
        let request = FigureRequest::new(FigureKind::Line);
        let panels = Plan::new(&request, runs).map(|plan| plan.panels.len());
        if panels.is_ok_and(|panels| panels <= MOST_AUTOMATIC) {
            vec![request]
        } else if let Some(x) = varied.iter().filter(|axis| axis.is_numeric()).max_by_key(|a| a.levels.len())
        {
            let by = varied.iter().find(|axis| axis.is_congestion() && axis.key != x.key);
            let others =
                varied.iter().filter(|axis| axis.key != x.key && by.is_none_or(|b| b.key != axis.key));
            let average = others.map(|axis| axis.key.clone()).collect();
            let by = by.map(|axis| axis.key.clone());
            vec![FigureRequest { x: Some(x.key.clone()), by, average, ..request }]
        } else {
            Vec::new()
        }
    }

    fn of_request(&self, runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
        draw(runs, request).unwrap_or_else(|refusal| vec![refused("line", "Line", &refusal)])
    }
}

/// Means of one line, over the numbers of the factor.
struct Line {
    part: usize,
    ink: Ink,
    means: Vec<(f64, Estimate)>,
}

fn draw(runs: &[RunDigest], request: &FigureRequest) -> Result<Vec<Figure>, Refusal> {
    let measure = Measure::wanted(runs, request.metric.as_deref())?;
    let plan = Plan::new(request, runs)?;
    let Some(x) = &plan.x else { return Err(Refusal::TooFewFactors { needed: 1 }) };
    let panels: Vec<Vec<Line>> =
        plan.panels.iter().map(|panel| lines(&plan, x, plan.parts(panel), &measure)).collect();
    let means = panels.iter().flatten().flat_map(|line| &line.means);
    let estimates: Vec<Estimate> = means.map(|(_, estimate)| *estimate).collect();
    let numbers = x.levels.iter().filter_map(|level| level.number).collect();
    let x_axis = NumberAxis::new(
        Values { what: &x.head, unit: x.unit, values: numbers },
        Spread::new(request.log_x, LOG_X_FROM),
        From::Least,
    );
    // The spread of the means decides; the intervals have to fit in.
    let of_means = Values {
        what: &measure.what,
        unit: &measure.unit,
        values: estimates.iter().map(|estimate| estimate.mean).collect(),
    };
    let is_log = NumberAxis::new(of_means, Spread::new(request.log_y, LOG_Y_FROM), From::Zero).is_log();
    let ends = estimates.iter().flat_map(|e| {
        let upper = e.mean + e.half_width.unwrap_or(0.0);
        let lower = e.mean - e.half_width.unwrap_or(0.0);
        // An interval that reaches 0 has no lower end on a logarithmic axis.
        [e.mean, upper, if is_log || e.mean >= 0.0 && lower < 0.0 { e.mean } else { lower }]
    });
    let y_axis = NumberAxis::new(
        Values { what: &measure.what, unit: &measure.unit, values: ends.collect() },
        Spread::Asked(is_log),
        From::Zero,
    );
    let has_intervals = estimates.iter().any(|estimate| estimate.half_width.is_some());
    let reaches_zero = estimates.iter().any(|e| e.half_width.is_some_and(|width| width >= e.mean));
    let note = format!(
        "Means, {}.{}{}{}",
        observed(estimates.iter().map(|estimate| estimate.n)),
        if has_intervals { " Band: 95 % interval of the mean (Student's t)." } else { "" },
        if is_log && reaches_zero { " A band down to the axis reaches 0." } else { "" },
        plan.averaged_note()
    );
    let title = format!("{} over {}", measure.what, x.head);
    let is_usual = request.metric.is_none() && request.x.is_none();
    let stem =
        if is_usual { "goodput-by-factor".to_string() } else { format!("line-{}-{}", measure.name, x.head) };
    let figures = plan.panels.iter().zip(panels).filter(|(_, lines)| !lines.is_empty());
    let figures = figures.map(|(panel, lines)| {
        let layers =
            lines.into_iter().flat_map(|line| layers(&plan, line, &measure, &x_axis, &y_axis)).collect();
        let empty =
            Figure::statement(&panel_id(&crate::plan::slug(&stem), panel), &plan.title(&title, panel), &note);
        Figure { x: x_axis.axis.clone(), y: y_axis.axis.clone(), layers, ..empty }
    });
    Ok(figures.collect())
}

fn lines(plan: &Plan, x: &FactorAxis, parts: Vec<(usize, Vec<&RunDigest>)>, measure: &Measure) -> Vec<Line> {
    let line = |(part, runs): (usize, Vec<&RunDigest>)| {
        let ink = plan.ink(part, &runs);
        let levels = x.levels.iter().zip(x.split(&runs));
        let means =
            levels.filter_map(|(level, runs)| Some((level.number?, Estimate::of(&runs, &measure.name)?)));
        Line { part, ink, means: means.collect() }
    };
    parts.into_iter().map(line).filter(|line| !line.means.is_empty()).collect()
}

fn layers(plan: &Plan, line: Line, measure: &Measure, x: &NumberAxis, y: &NumberAxis) -> Vec<Layer> {
    let Line { part, ink, means } = line;
    let name = plan.part_name(part);
    let name = if name.is_empty() { measure.words() } else { name };
    let dash = [Dash::Solid, Dash::Dashed, Dash::Dotted][part / 8 % 3];
    band(&name, ink, dash, &means, x, y)
}

/// Means as a line with dots, and a band of their intervals behind it.
pub(super) fn band(
    name: &str,
    ink: Ink,
    dash: Dash,
    means: &[(f64, Estimate)],
    x: &NumberAxis,
    y: &NumberAxis,
) -> Vec<Layer> {
    let mut layers = Vec::new();
    // A band has no gaps: where a mean has no interval, another band begins.
    for stretch in means.chunk_by(|a, b| a.1.half_width.is_some() == b.1.half_width.is_some()) {
        if stretch[0].1.half_width.is_none() {
            continue;
        }
        let side = |sign: f64| {
            let end = move |(at, e): &(f64, Estimate)| {
                (x.at(*at), y.at(e.mean + sign * e.half_width.unwrap_or(0.0)).max(y.axis.range.0))
            };
            stretch.iter().map(end)
        };
        let outline: Vec<Point> = side(1.0).chain(side(-1.0).rev()).collect();
        layers.push(Layer::shaped(name, ink.clone(), Shape::Band, outline).unnamed());
    }
    let points: Vec<Point> = means.iter().map(|(at, e)| (x.at(*at), y.at(e.mean))).collect();
    layers.push(Layer::line(name, ink.clone(), dash, points.clone()));
    layers.push(Layer::shaped(name, ink, Shape::Dots, points).unnamed());
    layers
}
