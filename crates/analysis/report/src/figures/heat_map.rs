//! The mean of a metric for each combination of two factors, as a colour and a number.

use super::{Draw, refused};
use crate::colour_scale::shade;
use crate::digest::{RunDigest, leading_metric};
use crate::drawing::{Anchor, Drawing, Face, Paint, SHEET};
use crate::estimate::Estimate;
use crate::factors::{FactorAxis, Panel};
use crate::figure::Figure;
use crate::number::Column;
use crate::plan::{Measure, Plan, Refusal, observed, panel_id, slug};
use crate::svg::text_width;
use wirespeed_scenario::{FigureKind, FigureRequest};

pub(crate) struct HeatMap;

/// From this ratio of the largest to the least mean on, the scale of colours is logarithmic.
const LOG_FROM: f64 = 30.0;
/// More maps than this are not chosen without a request.
const MOST_AUTOMATIC: usize = 6;
/// Sizes in the units of a sheet.
const TEXT: f64 = 12.5;
const ROW: f64 = 32.0;
const WIDEST_CELL: f64 = 104.0;
const TOP: f64 = 24.0;
const HALF_SHEET: f64 = 430.0;
const LEGEND: f64 = 220.0;

impl Draw for HeatMap {
    fn kind(&self) -> Option<FigureKind> {
        Some(FigureKind::HeatMap)
    }

    fn automatic(&self, runs: &[RunDigest]) -> Vec<FigureRequest> {
        let numeric = FactorAxis::varied(runs).into_iter().filter(FactorAxis::is_numeric);
        // For two values each, the summary is enough.
        let wide = numeric.filter(|axis| axis.levels.len() > 2).count();
        let request = FigureRequest::new(FigureKind::HeatMap);
        let fits = || Plan::new(&request, runs).is_ok_and(|plan| plan.panels.len() <= MOST_AUTOMATIC);
        if leading_metric(runs).is_some() && wide >= 2 && fits() { vec![request] } else { Vec::new() }
    }

    fn of_request(&self, runs: &[RunDigest], request: &FigureRequest) -> Vec<Figure> {
        draw(runs, request).unwrap_or_else(|refusal| vec![refused("heat-map", "Heat map", &refusal)])
    }
}

/// The means of a map: by row and column.
type Cells = Vec<Vec<Option<Estimate>>>;

/// From means to shades, the same for all maps of a request.
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    fn new(means: &[f64], asked: Option<bool>) -> Scale {
        let low = means.iter().copied().fold(f64::INFINITY, f64::min);
        let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_log = low > 0.0 && asked.unwrap_or(high / low >= LOG_FROM);
        Scale { low, high, is_log }
    }

    fn share(&self, value: f64) -> f64 {
        let (low, high, value) = if self.is_log {
            (self.low.ln(), self.high.ln(), value.ln())
        } else {
            (self.low, self.high, value)
        };
        if high > low { (value - low) / (high - low) } else { 0.5 }
    }

    fn value(&self, share: f64) -> f64 {
        if self.is_log {
            (self.low.ln() + (self.high.ln() - self.low.ln()) * share).exp()
        } else {
            self.low + (self.high - self.low) * share
        }
    }
}

fn draw(runs: &[RunDigest], request: &FigureRequest) -> Result<Vec<Figure>, Refusal> {
    let measure = Measure::wanted(runs, request.metric.as_deref())?;
    let plan = Plan::new(request, runs)?;
    let (Some(x), Some(y)) = (&plan.x, &plan.y) else { return Err(Refusal::TooFewFactors { needed: 2 }) };
    let cells = |panel: &Panel| -> Cells {
        let row = |runs: Vec<&RunDigest>| {
            x.split(&runs).iter().map(|runs| Estimate::of(runs, &measure.name)).collect()
        };
        y.split(&panel.runs).into_iter().map(row).collect()
    };
    let maps: Vec<Cells> = plan.panels.iter().map(cells).collect();
    let estimates: Vec<Estimate> = maps.iter().flatten().flatten().flatten().copied().collect();
    let means: Vec<f64> = estimates.iter().map(|estimate| estimate.mean).collect();
    let sheet = Sheet {
        x,
        y,
        measure: &measure,
        scale: Scale::new(&means, request.log_y),
        form: Column::new(&measure.unit, means.iter().copied()),
        has_one_n: estimates.windows(2).all(|pair| pair[0].n == pair[1].n),
        width: if plan.panels.len() > 1 { HALF_SHEET } else { SHEET },
    };
    let note = format!(
        "Means, {} in each cell.{}{}",
        observed(estimates.iter().map(|estimate| estimate.n)),
        if sheet.scale.is_log { " The colours are on a logarithmic scale." } else { "" },
        plan.averaged_note()
    );
    let title = format!("{} over {} and {}", measure.what, x.head, y.head);
    let stem = slug(&format!("heat-map-{}-{}-{}", measure.words(), x.head, y.head));
    let maps = plan.panels.iter().zip(maps).filter(|(_, cells)| cells.iter().flatten().any(Option::is_some));
    let figure = |(panel, cells): (&Panel, Cells)| {
        let title = plan.title(&title, panel);
        Figure::drawn(&panel_id(&stem, panel), &title, sheet.map(&cells)).with_note(note.clone())
    };
    Ok(maps.map(figure).collect())
}

/// The common part of the maps of a request.
struct Sheet<'a> {
    x: &'a FactorAxis,
    y: &'a FactorAxis,
    measure: &'a Measure,
    scale: Scale,
    form: Column,
    /// Whether all cells have as many observations.
    has_one_n: bool,
    width: f64,
}

impl Sheet<'_> {
    fn map(&self, cells: &Cells) -> Drawing {
        let widths = self.y.levels.iter().map(|level| text_width(&level.text, TEXT));
        let left = widths.fold(text_width(&self.y.head, TEXT), f64::max) + 12.0;
        let columns = self.x.levels.len();
        let cell = ((self.width - left) / columns as f64).min(WIDEST_CELL);
        let rows = self.y.levels.len();
        let mut drawing = Drawing { width: self.width, ..Drawing::new() };
        drawing.write(left - 10.0, 14.0, Anchor::End, Face::Quiet, format!("{} ↓", self.y.head));
        for (row, level) in self.y.levels.iter().enumerate() {
            let y = self.top_of(row);
            drawing.write(left - 10.0, y + ROW / 2.0 + 4.5, Anchor::End, Face::Plain, level.text.clone());
            for (column, estimate) in cells[row].iter().enumerate() {
                let place = [left + column as f64 * cell, y, cell, ROW];
                self.cell(&mut drawing, place, row, column, *estimate);
            }
        }
        let below = TOP + rows as f64 * ROW;
        // Of narrow columns, only so many names have room.
        let widest = self.x.levels.iter().map(|level| text_width(&level.text, TEXT)).fold(0.0, f64::max);
        let every = ((widest + 8.0) / cell).ceil().max(1.0) as usize;
        for (column, level) in self.x.levels.iter().enumerate().step_by(every) {
            let middle = left + (column as f64 + 0.5) * cell;
            drawing.write(middle, below + 17.0, Anchor::Middle, Face::Plain, level.text.clone());
        }
        let middle = left + columns as f64 * cell / 2.0;
        drawing.write(middle, below + 36.0, Anchor::Middle, Face::Quiet, self.x.head.clone());
        self.legend(&mut drawing, left, below + 54.0);
        drawing.height = below + 54.0 + 36.0;
        drawing
    }

    /// Numbers grow upwards, names are read downwards.
    fn top_of(&self, row: usize) -> f64 {
        let rows = self.y.levels.len();
        TOP + ROW * if self.y.is_numeric() { rows - 1 - row } else { row } as f64
    }

    fn cell(
        &self,
        drawing: &mut Drawing,
        place: [f64; 4],
        row: usize,
        column: usize,
        estimate: Option<Estimate>,
    ) {
        let [x, y, width, height] = place;
        let setting = format!("{}, {}", self.x.phrase(column), self.y.phrase(row));
        let Some(estimate) = estimate else {
            drawing.place_with_hint(place, Paint::Outline, format!("{setting}: not measured"));
            return;
        };
        let shade = shade(self.scale.share(estimate.mean));
        let value = self.form.cell(Some(estimate.mean));
        let interval = estimate
            .half_width
            .map_or_else(String::new, |width| format!(" ±{} (95 % interval)", self.form.cell(Some(width))));
        let unit = if self.form.unit.is_empty() { String::new() } else { format!(" {}", self.form.unit) };
        let hint = format!("{setting}: {value}{interval}{unit}, n = {}", estimate.n);
        drawing.place_with_hint(place, Paint::Shade(shade), hint);
        let middle = x + width / 2.0;
        if text_width(&value, TEXT) + 4.0 <= width {
            let raised = if self.has_one_n { 4.5 } else { -1.5 };
            drawing.write(middle, y + height / 2.0 + raised, Anchor::Middle, Face::OnShade(shade), value);
            if !self.has_one_n {
                let n = format!("n {}", estimate.n);
                drawing.write(middle, y + height / 2.0 + 12.0, Anchor::Middle, Face::OnShade(shade), n);
            }
        }
    }

    fn legend(&self, drawing: &mut Drawing, left: f64, top: f64) {
        let title = if self.form.unit.is_empty() {
            self.measure.what.clone()
        } else {
            format!("{} ({})", self.measure.what, self.form.unit)
        };
        let width = LEGEND.min(self.width - left);
        drawing.scale_of_colours(left, top, width);
        for (share, anchor) in [(0.0, Anchor::Start), (0.5, Anchor::Middle), (1.0, Anchor::End)] {
            let number = self.form.cell(Some(self.scale.value(share)));
            drawing.write(left + share * width, top + 26.0, anchor, Face::Quiet, number);
        }
        let beside = left + width + 14.0;
        if beside + text_width(&title, TEXT) <= self.width {
            drawing.write(beside, top + 9.5, Anchor::Start, Face::Quiet, title);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_logarithmic_if_means_span_much() {
        let scale = Scale::new(&[1.0, 10.0, 100.0], None);
        assert!(
            scale.is_log && (scale.share(10.0) - 0.5).abs() < 1e-9 && (scale.value(0.5) - 10.0).abs() < 1e-9
        );
        assert!(!Scale::new(&[1.0, 10.0, 100.0], Some(false)).is_log);
        assert!(!Scale::new(&[0.0, 100.0], Some(true)).is_log, "0 has no logarithm");
        assert_eq!(Scale::new(&[7.0], None).share(7.0), 0.5, "one value alone");
    }
}
