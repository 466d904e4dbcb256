//! The study's figures in this house's figure model.

use super::{Panel, Series, StudyFigure, Style};
use crate::digest::{factor_number, last_part, metric_words};
use crate::figure::{Axis, AxisKind, Dash, Figure, From, Ink, Layer, Shape, titled};
use crate::number::Quantity;
use crate::palette::Palette;
use serde_json::Value;

/// The colours of all series: congestion controls keep theirs.
pub(super) fn palette(figures: &[StudyFigure]) -> Palette {
    let series = figures.iter().flat_map(|figure| &figure.panels).flat_map(|panel| &panel.series);
    let series = series.map(|series| (Some(series.name.as_str()), series.name.as_str()));
    let flows = figures.iter().flat_map(|figure| &figure.runs).flat_map(|run| &run.flows);
    Palette::new(series.chain(flows.map(|(control, label)| (control.as_deref(), label.as_str()))))
}

/// A figure for each panel, and for each run.
pub(super) fn draw(figure: &StudyFigure) -> Vec<Figure> {
    let panels = figure
        .panels
        .iter()
        .filter_map(|panel| Some(named(figure, &panel.substrate, &panel.substrate, draw_panel(panel)?)));
    let runs = figure.runs.iter().map(|over_time| {
        let own = over_time.figure.clone();
        named(figure, &format!("{} {}", over_time.run, own.id), &over_time.run, own)
    });
    panels.chain(runs).collect()
}

fn draw_panel(panel: &Panel) -> Option<Figure> {
    match panel.style {
        Style::Lines => lines(panel),
        Style::Boxes => boxes(panel),
        Style::Bars => bars(panel),
    }
}

/// What is drawn under the study's name for it, with what the study says of it; `id` tells its figures apart.
fn named(figure: &StudyFigure, id: &str, of: &str, drawn: Figure) -> Figure {
    let id: String = format!("figure-{}-{id}", figure.id)
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let title = format!("Figure {}: {} ({of})", figure.id, figure.title);
    let text = if figure.text.is_empty() { String::new() } else { format!("The study: {} ", figure.text) };
    let note = format!("{text}{}", drawn.note);
    Figure { id, title, note, ..drawn }
}

fn ink(series: &Series) -> Ink {
    Ink::Flow { congestion: Some(series.name.clone()), label: series.name.clone(), twin: 0 }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A level of a factor as a number, as a scenario writes it.
fn number(level: &str) -> Option<f64> {
    match level.parse::<f64>() {
        Ok(number) => Some(number),
        Err(_) => factor_number(&Value::String(level.into())).map(|(number, _)| number),
    }
}

fn capital(metric: &str) -> String {
    let words = metric_words(metric);
    format!("{}{}", words[..1].to_uppercase(), &words[1..])
}

/// The x axis of lines is one of names, evenly spaced: drop rates have a 0, which no logarithm shows.
fn lines(panel: &Panel) -> Option<Figure> {
    let (quantity, to_base) = Quantity::of_unit(&panel.unit);
    let mut levels: Vec<&str> =
        panel.series.iter().flat_map(|s| s.points.iter().map(|(x, _)| x.as_str())).collect();
    levels.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)).then(a.cmp(b)));
    levels.dedup();
    let place = |x: &str| levels.iter().position(|level| *level == x).map_or(f64::NAN, |i| i as f64);
    let mut layers = Vec::new();
    for series in &panel.series {
        let mut means: Vec<(f64, f64)> = Vec::new();
        let mut single = Vec::new();
        for (x, values) in series.points.iter().filter(|(_, values)| !values.is_empty()) {
            means.push((place(x), mean(values) * to_base));
            single.extend(values.iter().map(|value| (place(x), value * to_base)));
        }
        means.sort_by(|a, b| a.0.total_cmp(&b.0));
        layers.push(Layer::line(series.name.clone(), ink(series), Dash::Solid, means));
        layers.push(Layer::shaped("single runs", ink(series), Shape::Dots, single).unnamed());
    }
    let names: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
    let x = Axis {
        title: last_part(&panel.x).replace('_', " "),
        range: (-0.3, names.len() as f64 - 0.7),
        kind: AxisKind::Names(names),
    };
    let words = capital(&panel.metric);
    let figure = Figure::of_values("", "", x, &words, &quantity, From::Zero, layers, vec![])?;
    Some(figure.with_note("Here: lines are means over repetitions, dots single runs."))
}

fn boxes(panel: &Panel) -> Option<Figure> {
    let (quantity, to_base) = Quantity::of_unit(&panel.unit);
    let values = || panel.series.iter().flat_map(|s| s.points.iter().flat_map(|(_, values)| values));
    let largest = values().fold(0.0_f64, |a, b| a.max(*b)) * to_base;
    values().next()?;
    let scale = quantity.scale(largest);
    let mut names = Vec::new();
    let mut layers = Vec::new();
    for series in &panel.series {
        let place = names.len() as f64;
        let points = series.points.iter().flat_map(|(_, values)| values);
        let points = points.map(|value| (value * to_base / scale.divisor, place)).collect();
        names.push(series.name.clone());
        layers.push(Layer::shaped(series.name.clone(), ink(series), Shape::Box, points).unnamed());
    }
    let rows = names.len() as f64;
    Some(Figure {
        id: String::new(),
        title: String::new(),
        note: "Here: boxes over least, quartiles and largest of the 1 s samples, each the mean over repetitions."
            .into(),
        x: Axis {
            title: titled(&capital(metric_stem(&panel.metric)), &scale),
            kind: AxisKind::Linear,
            range: (0.0, largest / scale.divisor * 1.05),
        },
        y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, rows - 0.5) },
        layers,
        levels: vec![],
        drawing: None,
    })
}

/// `goodput` of `goodput_min_1s_bps`.
fn metric_stem(metric: &str) -> &str {
    metric.split("_min").next().unwrap_or(metric)
}

fn bars(panel: &Panel) -> Option<Figure> {
    let (quantity, to_base) = Quantity::of_unit(&panel.unit);
    let mut levels: Vec<&str> = Vec::new();
    for (x, _) in panel.series.iter().flat_map(|series| &series.points) {
        if !levels.contains(&x.as_str()) {
            levels.push(x);
        }
    }
    let all = || panel.series.iter().flat_map(|s| s.points.iter().flat_map(|(_, values)| values));
    let largest = all().fold(0.0_f64, |a, b| a.max(*b)) * to_base;
    all().next()?;
    let scale = quantity.scale(largest);
    // Dots of another unit share the axis only if they are brought to its length.
    let spread_largest =
        panel.series.iter().flat_map(|s| &s.spread).map(|(_, value)| *value).fold(0.0_f64, f64::max);
    let (bars, dots, spreads, names) =
        bar_rows(panel, &levels, to_base / scale.divisor, largest / scale.divisor / spread_largest);
    let mut layers = Vec::new();
    for (series, points) in panel.series.iter().zip(bars) {
        layers.push(Layer::shaped(series.name.clone(), ink(series), Shape::HorizontalBars, points).unnamed());
    }
    layers.push(Layer::shaped("single runs", Ink::Muted, Shape::Dots, dots));
    let mut note = "Here: bars are means over repetitions, grey dots single runs.".to_owned();
    if let Some((name, unit)) = panel.spread.as_ref().filter(|_| spread_largest > 0.0) {
        layers.push(Layer::shaped(metric_words(name), Ink::Total, Shape::Dots, spreads));
        note.push_str(&format!(
            " Black dots: {}, on an axis of its own whose end is {}.",
            metric_words(name),
            crate::number::with_unit(spread_largest, unit)
        ));
    }
    let rows = names.len() as f64;
    Some(Figure {
        id: String::new(),
        title: String::new(),
        note,
        x: Axis {
            title: titled(&capital(&panel.metric), &scale),
            kind: AxisKind::Linear,
            range: (0.0, largest / scale.divisor * 1.08),
        },
        y: Axis { title: String::new(), kind: AxisKind::Names(names), range: (-0.5, rows - 0.5) },
        layers,
        levels: vec![],
        drawing: None,
    })
}

type Points = Vec<(f64, f64)>;

/// For each series its bars, then all single runs, the second metric, and the names of the rows.
fn bar_rows(
    panel: &Panel,
    levels: &[&str],
    to_axis: f64,
    to_spread: f64,
) -> (Vec<Points>, Points, Points, Vec<String>) {
    let mut bars = vec![Points::new(); panel.series.len()];
    let (mut dots, mut spreads, mut names) = (Points::new(), Points::new(), Vec::new());
    for level in levels {
        for (series, bars) in panel.series.iter().zip(&mut bars) {
            let Some((_, values)) = series.points.iter().find(|(x, values)| x == level && !values.is_empty())
            else {
                continue;
            };
            let place = names.len() as f64;
            bars.push((mean(values) * to_axis, place));
            if values.len() > 1 {
                dots.extend(values.iter().map(|value| (value * to_axis, place)));
            }
            let spread = series.spread.iter().find(|(x, _)| x == level);
            spreads.extend(spread.map(|(_, value)| (value * to_spread, place)));
            names.push(format!("{level} · {}", series.name));
        }
    }
    (bars, dots, spreads, names)
}
