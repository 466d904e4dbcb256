//! Goodput against delay: a mark for each setting, with the ellipse of one standard deviation of its repeats.

use super::{Draw, refused};
use crate::digest::{Group, RunDigest, leading_metric};
use crate::figure::{Dash, Figure, From, Ink, Layer, Note, Shape};
use crate::number::with_unit;
use crate::number_axis::{NumberAxis, Spread, Values};
use crate::plan::{Measure, Plan, Refusal, observed, panel_id, slug};
use crate::thin::Point;
use std::f64::consts::TAU;
use wirespeed_scenario::{FigureKind, FigureRequest};
use wirespeed_statistics::mean;

pub(crate) struct ThroughputDelay;

/// The metric on the horizontal axis, unless the request names one.
const DELAY: &str = "rtt_q95_ns";
/// From this ratio of the largest to the least value on, an axis is logarithmic.
const LOG_FROM: f64 = 15.0;
/// Of more settings, ellipses hide each other.
const MOST_ELLIPSES: usize = 40;
/// An ellipse of fewer observations means nothing.
const FEWEST_OBSERVATIONS: usize = 3;
const CORNERS: u32 = 36;

impl Draw for ThroughputDelay {
    fn kind(&self) -> Option<FigureKind> {
        Some(FigureKind::Scatter)
    }

    fn automatic(&self, runs: &[RunDigest]) -> Vec<FigureRequest> {
        let Some(metric) = leading_metric(runs) else { return Vec::new() };
        let has_both = |group: &Group| {
            group.runs.iter().any(|run| run.metric(metric).is_some() && run.metric(DELAY).is_some())
        };
        let settings = Group::all(runs).iter().filter(|group| has_both(group)).count();
        if settings >= 2 { vec![FigureRequest::new(FigureKind::Scatter)] } else { Vec::new() }
    }

    fn of_request(&self, runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
        draw(runs, request).unwrap_or_else(|refusal| vec![refused("scatter", "Scatter", &refusal)])
    }
}

/// The observations of a setting on both axes.
struct Setting {
    part: usize,
    ink: Ink,
    name: String,
    points: Vec<Point>,
}

fn draw(runs: &[RunDigest], request: &FigureRequest) -> Result<Vec<Figure>, Refusal> {
    let measure = Measure::wanted(runs, request.metric.as_deref())?;
    let against = Measure::wanted(runs, Some(request.against.as_deref().unwrap_or(DELAY)))?;
    let plan = Plan::new(request, runs)?;
    let settings = |panel| -> Vec<Setting> {
        let parts = plan.parts(panel).into_iter();
        parts.flat_map(|(part, runs)| settings(&plan, part, &runs, &measure, &against)).collect()
    };
    let panels: Vec<Vec<Setting>> = plan.panels.iter().map(settings).collect();
    let axis = |measure: &Measure, of: fn(&Point) -> f64, asked| {
        let values = panels.iter().flatten().flat_map(|setting| setting.points.iter().map(of)).collect();
        let values = Values { what: &measure.what, unit: &measure.unit, values };
        NumberAxis::new(values, Spread::new(asked, LOG_FROM), From::Zero)
    };
    let (x, y) = (axis(&against, |p| p.0, request.log_x), axis(&measure, |p| p.1, request.log_y));
    let count = panels.iter().flatten().count();
    let has_ellipses = count <= MOST_ELLIPSES
        && panels.iter().flatten().any(|setting| setting.points.len() >= FEWEST_OBSERVATIONS);
    let is_usual = request.metric.is_none() && request.against.is_none();
    let note = format!(
        "A mark for the mean of each setting, {}.{}{}{}",
        observed(panels.iter().flatten().map(|setting| setting.points.len())),
        if has_ellipses { " Ellipse: one standard deviation of the repeats." } else { "" },
        if is_usual { " Better is up and left." } else { "" },
        plan.averaged_note(),
    );
    let (title, stem) = (
        format!("{} against {}", measure.what, against.words()),
        if is_usual {
            "throughput-delay".into()
        } else {
            slug(&format!("scatter-{}-{}", measure.name, against.name))
        },
    );
    let figures = plan.panels.iter().zip(&panels).filter(|(_, settings)| !settings.is_empty());
    let figures = figures.map(|(panel, settings)| {
        let mut layers = Vec::new();
        for setting in settings.iter().filter(|_| has_ellipses) {
            if setting.points.len() >= FEWEST_OBSERVATIONS {
                let outline = ellipse(&placed(setting, &x, &y));
                let line = Layer::line(&setting.name, setting.ink.clone(), Dash::Solid, outline);
                layers.push(Layer { shape: Shape::Band, ..line.unnamed() });
            }
        }
        for of_part in settings.chunk_by(|a, b| a.part == b.part) {
            layers.push(marks(&plan, of_part, &measure, &against, &x, &y));
        }
        let empty = Figure::statement(&panel_id(&stem, panel), &plan.title(&title, panel), &note);
        Figure { x: x.axis.clone(), y: y.axis.clone(), layers, ..empty }
    });
    Ok(figures.collect())
}

fn settings(
    plan: &Plan,
    part: usize,
    runs: &[&RunDigest],
    measure: &Measure,
    against: &Measure,
) -> Vec<Setting> {
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|group| group.is_of(run)) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { runs: vec![run] }),
        }
    }
    let setting = |group: Group| {
        let both = |run: &&RunDigest| Some((run.metric(&against.name)?, run.metric(&measure.name)?));
        let points: Vec<Point> = group.observations().iter().filter_map(both).collect();
        let ink = plan.ink(part, &group.runs);
        (!points.is_empty()).then(|| Setting { part, ink, name: group.name(&[]), points })
    };
    groups.into_iter().filter_map(setting).collect()
}

/// The marks of one colour, at the means.
fn marks(
    plan: &Plan,
    settings: &[Setting],
    measure: &Measure,
    against: &Measure,
    x: &NumberAxis,
    y: &NumberAxis,
) -> Layer {
    let (mut points, mut notes) = (Vec::new(), Vec::new());
    for setting in settings {
        let (of_x, of_y) = center(&setting.points);
        points.push((x.at(of_x), y.at(of_y)));
        let hint = format!(
            "{}: {}, {} {}, n = {}",
            setting.name,
            with_unit(of_y, &measure.unit),
            against.words(),
            with_unit(of_x, &against.unit),
            setting.points.len()
        );
        notes.push(Note { hint, label: None });
    }
    let name = plan.part_name(settings[0].part);
    let layer = Layer::shaped(&name, settings[0].ink.clone(), Shape::Dots, points);
    Layer { notes, legend: !name.is_empty(), ..layer }
}

/// On the axes: logarithms on a logarithmic one, so that an ellipse is one in the picture.
fn placed(setting: &Setting, x: &NumberAxis, y: &NumberAxis) -> Placed {
    let on = |axis: &NumberAxis, value: f64| {
        if axis.is_log() { axis.at(value).ln() } else { axis.at(value) }
    };
    Placed {
        points: setting.points.iter().map(|(px, py)| (on(x, *px), on(y, *py))).collect(),
        is_log: (x.is_log(), y.is_log()),
    }
}

struct Placed {
    points: Vec<Point>,
    is_log: (bool, bool),
}

fn center(points: &[Point]) -> Point {
    let of = |part: fn(&Point) -> f64| mean(&points.iter().map(part).collect::<Vec<_>>()).unwrap_or(f64::NAN);
    (of(|p| p.0), of(|p| p.1))
}

/// The outline of all points at a Mahalanobis distance of 1 from the mean.
fn ellipse(Placed { points, is_log }: &Placed) -> Vec<Point> {
    let (mx, my) = center(points);
    let freedom = (points.len() - 1) as f64;
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / freedom;
    let (xx, yy) = (sum(&|p| (p.0 - mx).powi(2)), sum(&|p| (p.1 - my).powi(2)));
    let xy = sum(&|p| (p.0 - mx) * (p.1 - my));
    // The lower triangle of the Cholesky factor of the covariance.
    let a = xx.sqrt();
    let b = if a > 0.0 { xy / a } else { 0.0 };
    let c = (yy - b * b).max(0.0).sqrt();
    let back = |value: f64, is_log: bool| if is_log { value.exp() } else { value };
    (0..CORNERS)
        .map(|corner| {
            let (sin, cos) = (f64::from(corner) / f64::from(CORNERS) * TAU).sin_cos();
            (back(mx + a * cos, is_log.0), back(my + b * cos + c * sin, is_log.1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(points: Vec<Point>) -> (f64, f64) {
        let outline = ellipse(&Placed { points, is_log: (false, false) });
        let most = |of: fn(&Point) -> f64| outline.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        (most(|p| p.0), most(|p| p.1))
    }

    #[test]
    fn an_ellipse_reaches_one_standard_deviation_to_each_side() {
        // Both have mean 2; the standard deviation of 1, 2, 3 is 1.
        let (x, y) = reach(vec![(1.0, 2.0), (2.0, 3.0), (3.0, 1.0), (2.0, 2.0)]);
        let deviation = (2.0f64 / 3.0).sqrt();
        assert!((x - 2.0 - deviation).abs() < 0.01 && (y - 2.0 - deviation).abs() < 0.01, "{x} {y}");
    }

    #[test]
    fn repeats_that_are_equal_on_one_axis_make_a_line() {
        let (x, y) = reach(vec![(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]);
        assert_eq!(x, 1.0);
        assert!((y - 3.0).abs() < 0.01, "{y}");
    }
}
