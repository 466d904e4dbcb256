//! Spread of a metric across repeats: a box for every setting.

use super::{Draw, refused};
use crate::digest::{Group, RunDigest, leading_metric};
use crate::estimate::values;
use crate::figure::{Axis, AxisKind, Figure, From, Layer, Shape};
use crate::number_axis::{NumberAxis, Spread, Values};
use crate::observations::observations;
use crate::plan::{Measure, Plan, Refusal, panel_id, slug};
use wirespeed_scenario::{FigureKind, FigureRequest};

pub(crate) struct CellBoxes;

/// More boxes than this are not read.
const MOST_BOXES: usize = 48;

impl Draw for CellBoxes {
    fn kind(&self) -> Option<FigureKind> {
        Some(FigureKind::Box)
    }

    fn automatic(&self, runs: &[RunDigest]) -> Vec<FigureRequest> {
        let Some(metric) = leading_metric(runs) else { return Vec::new() };
        let groups = Group::all(runs).iter().map(|group| group.values(metric).len()).collect::<Vec<_>>();
        let boxes = groups.iter().filter(|values| **values > 0).count();
        let is_worth_it = boxes <= MOST_BOXES && groups.iter().any(|values| *values > 1);
        if is_worth_it { vec![FigureRequest::new(FigureKind::Box)] } else { Vec::new() }
    }

    fn of_request(&self, runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
        draw(runs, request).unwrap_or_else(|refusal| vec![refused("box", "Box plot", &refusal)])
    }
}

/// The runs of one box.
struct Cell<'a> {
    name: String,
    ink: crate::figure::Ink,
    runs: Vec<&'a RunDigest>,
}

fn draw(runs: &[RunDigest], request: &FigureRequest) -> Result<Vec<Figure>, Refusal> {
    let measure = Measure::wanted(runs, request.metric.as_deref())?;
    let plan = Plan::new(request, runs)?;
    let panels: Vec<Vec<Cell>> = plan
        .panels
        .iter()
        .map(|panel| {
            let cells = if request.x.is_none() && request.by.is_none() && request.average.is_empty() {
                settings(&panel.runs)
            } else {
                cells(&plan, panel.runs.clone())
            };
            cells.into_iter().filter(|cell| !values(&cell.runs, &measure.name).is_empty()).collect()
        })
        .collect();
    let all = panels.iter().flatten().flat_map(|cell| values(&cell.runs, &measure.name)).collect();
    let x = NumberAxis::new(
        Values { what: &measure.what, unit: &measure.unit, values: all },
        Spread::Asked(request.log_x == Some(true)),
        From::Least,
    );
    let stem = if request.metric.is_none() && request.x.is_none() && request.by.is_none() {
        "repeats".to_string()
    } else {
        slug(&format!("box-{}", measure.words()))
    };
    let title = format!("Spread of {} across repeats", measure.words());
    let figures = plan.panels.iter().zip(&panels).filter(|(_, cells)| !cells.is_empty());
    let figures = figures.map(|(panel, cells)| {
        let mut names = Vec::new();
        let mut layers = Vec::new();
        for (place, cell) in cells.iter().take(MOST_BOXES).enumerate() {
            let of_run = |value| (x.at(value), place as f64);
            let points = values(&cell.runs, &measure.name).into_iter().map(of_run).collect();
            names.push(cell.name.clone());
            layers.push(Layer::shaped(&cell.name, cell.ink.clone(), Shape::Box, points).unnamed());
        }
        let range = (-0.5, names.len() as f64 - 0.5);
        let y = Axis { title: String::new(), kind: AxisKind::Names(names), range };
        let empty =
            Figure::statement(&panel_id(&stem, panel), &plan.title(&title, panel), &note(cells, &measure));
        Figure { x: x.axis.clone(), y, layers, ..empty }
    });
    Ok(figures.collect())
}

/// A cell for each setting.
fn settings<'a>(runs: &[&'a RunDigest]) -> Vec<Cell<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|group| group.is_of(run)) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { runs: vec![run] }),
        }
    }
    let cell = |group: Group<'a>| Cell { name: group.name(&[]), ink: group.runs[0].ink(0), runs: group.runs };
    groups.into_iter().map(cell).collect()
}

/// A cell for each combination of the factors that the request names or leaves free.
fn cells<'a>(plan: &Plan<'a>, runs: Vec<&'a RunDigest>) -> Vec<Cell<'a>> {
    let mut cells = vec![(String::new(), None, runs)];
    for (axis, is_coloured) in plan
        .x
        .iter()
        .chain(&plan.free)
        .map(|axis| (axis, false))
        .chain(plan.by.iter().map(|axis| (axis, true)))
    {
        let divided = cells.iter().flat_map(|(name, ink, runs)| {
            let parts = axis.split(runs).into_iter().enumerate().filter(|(_, runs)| !runs.is_empty());
            parts.map(move |(index, runs)| {
                let phrase = axis.phrase(index);
                let name = if name.is_empty() { phrase } else { format!("{name} · {phrase}") };
                (name, if is_coloured { Some(axis.ink(index)) } else { ink.clone() }, runs)
            })
        });
        cells = divided.collect();
    }
    let cell = |(name, ink, runs): (String, Option<crate::figure::Ink>, Vec<&'a RunDigest>)| Cell {
        ink: ink.unwrap_or_else(|| runs[0].ink(0)),
        name,
        runs,
    };
    cells.into_iter().filter(|(_, _, runs)| !runs.is_empty()).map(cell).collect()
}

fn note(cells: &[Cell], measure: &Measure) -> String {
    let most = cells.iter().map(|cell| values(&cell.runs, &measure.name).len()).max().unwrap_or(0);
    let has_copies = cells.iter().any(|cell| {
        cell.runs
            .chunk_by(|a, b| a.info.factors == b.info.factors)
            .any(|setting| observations(setting.iter().copied()).len() < setting.len())
    });
    let mut note = format!(
        "Up to {most} repeats: quartiles, whiskers to the farthest run within 1.5 interquartile ranges, and every run."
    );
    if has_copies {
        note.push_str(" Repeats that cannot differ count as one.");
    }
    if cells.len() > MOST_BOXES {
        note.push_str(&format!(" The first {MOST_BOXES} of {} settings.", cells.len()));
    }
    note + " The axis need not start at 0."
}
