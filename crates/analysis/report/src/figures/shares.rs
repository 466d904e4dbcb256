//! The shares of the goodput that groups of flows have, and the harm that they do to each other, over a numeric factor.

use super::Draw;
use super::line_band::band;
use crate::digest::RunDigest;
use crate::estimate::Estimate;
use crate::factors::{FactorAxis, Panel, panels};
use crate::figure::{Dash, Figure, From, Ink};
use crate::flow_groups::competing;
use crate::harm;
use crate::number_axis::{NumberAxis, Spread, Values};
use crate::plan::{observed, panel_id};
use wirespeed_scenario::run::ONLY_KEY;

pub(crate) struct Shares;

/// The drawn number of each group.
struct Quantity {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    metric: &'static str,
    note: &'static str,
}

const SHARE: Quantity = Quantity {
    id: "share",
    title: "Shares of the goodput",
    axis: "Share of the goodput of TCP",
    metric: "goodput_share",
    note: " The shares of all groups of TCP flows add up to 1.",
};
const HARM: Quantity = Quantity {
    id: "harm",
    title: "Harm by the other flows",
    axis: "Part of the goodput alone that is lost",
    metric: harm::GOODPUT,
    note: " 0: as much as alone; 1: nothing is left.",
};

/// From this ratio of the largest to the least value on, the axis of the factor is logarithmic.
const LOG_X_FROM: f64 = 15.0;
/// More figures than this are not read.
const MOST_PANELS: usize = 6;

impl Draw for Shares {
    fn all_of_study(&self, runs: &[RunDigest]) -> Vec<Figure> {
        if !runs.iter().any(|run| competing(run).len() > 1) {
            return Vec::new();
        }
        // Groups alone have no share, and the harm is in the runs that have all groups.
        let mut axes = FactorAxis::varied(runs);
        axes.retain(|axis| axis.key != ONLY_KEY);
        let numeric = axes.iter().enumerate().filter(|(_, axis)| axis.is_numeric());
        // Of several with as many values, the first.
        let Some((at, _)) = numeric.min_by_key(|(_, axis)| std::cmp::Reverse(axis.levels.len())) else {
            return Vec::new();
        };
        let x = &axes.remove(at);
        let panels = panels(runs, &axes);
        match panels.len() <= MOST_PANELS {
            true => {
                let each = |quantity| panels.iter().filter_map(move |panel| draw(quantity, x, panel));
                each(&SHARE).chain(each(&HARM)).collect()
            }
            false => Vec::new(),
        }
    }
}

fn draw(quantity: &Quantity, x: &FactorAxis, panel: &Panel) -> Option<Figure> {
    let mut labels: Vec<&str> = Vec::new();
    for label in panel.runs.iter().map(|run| competing(run)).filter(|found| found.len() > 1).flatten() {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let numbers = x.levels.iter().filter_map(|level| level.number).collect();
    let x_axis = NumberAxis::new(
        Values { what: &x.head, unit: x.unit, values: numbers },
        Spread::From(LOG_X_FROM),
        From::Least,
    );
    let y_axis = NumberAxis::new(
        Values { what: quantity.axis, unit: "", values: vec![0.0, 1.0] },
        Spread::Asked(false),
        From::Zero,
    );
    let of =
        |label: &str, runs: &[&RunDigest]| Estimate::of(runs, &format!("group.{label}.{}", quantity.metric));
    let (mut layers, mut all, mut inks): (Vec<_>, Vec<Estimate>, Vec<Ink>) = Default::default();
    for label in labels {
        let levels = x.levels.iter().zip(x.split(&panel.runs));
        let means: Vec<(f64, Estimate)> =
            levels.filter_map(|(level, runs)| Some((level.number?, of(label, &runs)?))).collect();
        all.extend(means.iter().map(|(_, mean)| *mean));
        let (ink, dash) = ink(panel, label, &inks);
        layers.extend(band(label, ink.clone(), dash, &means, &x_axis, &y_axis));
        inks.push(ink);
    }
    if layers.is_empty() {
        return None;
    }
    let has_intervals = all.iter().any(|mean| mean.half_width.is_some());
    let note = format!(
        "Means, {}.{}{}",
        observed(all.iter().map(|mean| mean.n)),
        quantity.note,
        if has_intervals { " Band: 95 % interval of the mean (Student's t)." } else { "" },
    );
    let title = format!("{} over {}", quantity.title, x.head);
    let title = if panel.name.is_empty() { title } else { format!("{title}: {}", panel.name) };
    let empty = Figure::statement(&panel_id(quantity.id, panel), &title, &note);
    Some(Figure { x: x_axis.axis, y: y_axis.axis, layers, ..empty })
}

/// The colour of a group: that of its congestion control, if all its flows have one. A later group of the same algorithm has
/// another line.
fn ink(panel: &Panel, label: &str, earlier: &[Ink]) -> (Ink, Dash) {
    let control = panel.runs.iter().find_map(|run| {
        let flows = run.group(label)?.group.flows.iter();
        let mut controls = flows.filter_map(|flow| run.info.flows.get(*flow as usize)?.congestion.clone());
        let first = controls.next()?;
        controls.all(|control| control == first).then_some(first)
    });
    let same = |ink: &&Ink| matches!(ink, Ink::Flow { congestion, .. } if *congestion == control);
    let twin = earlier.iter().filter(same).count();
    let dash = [Dash::Solid, Dash::Dashed, Dash::Dotted][twin % 3];
    (Ink::Flow { congestion: control, label: label.into(), twin }, dash)
}
