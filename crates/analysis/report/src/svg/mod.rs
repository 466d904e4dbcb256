//! Figures as static SVG, from the same model as the page. On a screen, they are dark where the reader prefers that.

pub(crate) mod drawing;
mod escape;
mod marks;
mod scale;

use crate::figure::{Axis, AxisKind, Figure, Layer, Shape};
use crate::palette::{Palette, colours};
use crate::shorten::shorten;
pub use escape::escape;
use scale::{Mapping, Tick};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Place that a picture is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A browser: light or dark, as the reader prefers.
    Screen,
    /// Paper, and programs that know no more of CSS than programs for paper need: light, with sharp corners.
    Paper,
}

/// Surroundings of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub palette: &'a Palette,
    pub medium: Medium,
    /// Line below the note; may be empty.
    pub conditions: &'a str,
}

/// Sizes of a picture.
#[derive(Debug, Clone, Copy)]
struct Size {
    width: f64,
    /// Height of the plot, if the y axis holds numbers.
    plot_height: f64,
}

const WIDE: Size = Size { width: 920.0, plot_height: 250.0 };
/// The plot is as high as wide.
const SQUARE: Size = Size { width: 560.0, plot_height: 560.0 - LEFT - RIGHT };
/// Height of a row where the y axis holds names.
const ROW_HEIGHT: f64 = 30.0;
const RIGHT: f64 = 26.0;
const BOTTOM: f64 = 48.0;
const LEFT: f64 = 70.0;
/// Size that notes are wrapped for: a little above their own, for faces that run wide.
const NOTE: f64 = 13.4;
const LINE_OF_LEGEND: f64 = 20.0;

/// The plot's rectangle in the picture.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// `figure` as an SVG document.
pub(crate) fn render(figure: &Figure, setting: Setting) -> String {
    render_in(WIDE, figure, setting)
}

/// `figure`, whose axes hold numbers, as an SVG document with a square plot.
pub(crate) fn render_square(figure: &Figure, palette: &Palette) -> String {
    render_in(SQUARE, figure, Setting { palette, medium: Medium::Screen, conditions: "" })
}

fn render_in(size: Size, figure: &Figure, setting: Setting) -> String {
    let palette = setting.palette;
    if let Some(drawing) = &figure.drawing {
        return drawing::render(figure, drawing, setting);
    }
    let (left, height) = match &figure.y.kind {
        AxisKind::Names(names) => {
            let longest = names.iter().map(|name| text_width(&short(name), 12.5)).fold(0.0, f64::max);
            (longest + 30.0, names.len().max(2) as f64 * ROW_HEIGHT)
        }
        _ => (LEFT, size.plot_height),
    };
    let legend = Legend::lay_out(figure, palette, size.width - RIGHT - left);
    let notes = notes(figure, setting, size.width - RIGHT - 24.0);
    let header = 34.0 + notes.len() as f64 * 18.0 + 8.0;
    let top = header + legend.lines as f64 * LINE_OF_LEGEND + 8.0;
    let frame = Frame { left, top, right: size.width - RIGHT, bottom: top + height };
    let total = frame.bottom + BOTTOM;

    let mut out = opened(figure, setting, &notes, (size.width, total));
    legend.draw(&mut out, frame.left, header + 10.0);

    let x = Mapping::new(&figure.x, (frame.left, frame.right));
    let down = matches!(figure.y.kind, AxisKind::Names(_));
    let y = Mapping::new(&figure.y, if down { (frame.top, frame.bottom) } else { (frame.bottom, frame.top) });
    axes(&mut out, figure, frame, &x, &y);
    let _ = writeln!(
        out,
        "<clipPath id=\"plot\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>\n<g clip-path=\"url(#plot)\">",
        frame.left,
        frame.top - 1.0,
        frame.right - frame.left + 1.0,
        frame.bottom - frame.top + 2.0
    );
    marks::draw(&mut out, figure, palette, &x, &y);
    out.push_str("</g>\n");
    marks::labels(&mut out, figure, palette, &x, &y);
    for level in &figure.levels {
        let at = y.at(level.at);
        let _ = writeln!(
            out,
            "<line class=\"level\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>",
            frame.left, frame.right
        );
        text(&mut out, frame.right - 4.0, at - 5.0, "end label halo", &level.label);
    }
    out.push_str("</svg>\n");
    out
}

/// The beginning of a picture of this width and height: its ground, title and note.
fn opened(figure: &Figure, setting: Setting, notes: &[String], (width, height): (f64, f64)) -> String {
    let style = style(figure, setting);
    let corner = match setting.medium {
        Medium::Screen => " rx=\"8\"",
        Medium::Paper => "",
    };
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n<style>{style}</style>\n",
        escape(&figure.title),
    );
    let _ = writeln!(out, "<rect class=\"ground\" width=\"{width}\" height=\"{height}\"{corner}/>");
    text(&mut out, 24.0, 30.0, "title", &figure.title);
    for (index, line) in notes.iter().enumerate() {
        text(&mut out, 24.0, 50.0 + index as f64 * 18.0, "note", line);
    }
    out
}

fn axes(out: &mut String, figure: &Figure, frame: Frame, x: &Mapping, y: &Mapping) {
    let Frame { left, top, right, bottom } = frame;
    for Tick { at, label } in y.ticks(5) {
        let row = y.at(at);
        if !matches!(figure.y.kind, AxisKind::Names(_)) {
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{row:.1}\" y2=\"{row:.1}\"/>"
            );
        }
        text(out, left - 10.0, row + 4.0, "end tick", &short(&label));
    }
    let is_log = |axis: &Axis| matches!(axis.kind, AxisKind::Log { .. });
    let upright = matches!(figure.y.kind, AxisKind::Names(_)) || is_log(&figure.x) && is_log(&figure.y);
    for Tick { at, label } in x.ticks(8) {
        let column = x.at(at);
        let (class, from) = if upright { ("grid", top) } else { ("axis", bottom) };
        let _ = writeln!(
            out,
            "<line class=\"{class}\" x1=\"{column:.1}\" x2=\"{column:.1}\" y1=\"{from:.1}\" y2=\"{:.1}\"/>",
            bottom + 5.0
        );
        text(out, column, bottom + 19.0, "middle tick", &label);
    }
    let _ = writeln!(
        out,
        "<line class=\"axis\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>"
    );
    text(out, (left + right) / 2.0, bottom + 39.0, "middle label", &figure.x.title);
    if !figure.y.title.is_empty() {
        let middle = (top + bottom) / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"middle label\" transform=\"translate(20 {middle:.1}) rotate(-90)\">{}</text>",
            escape(&figure.y.title)
        );
    }
}

fn text(out: &mut String, x: f64, y: f64, class: &str, content: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(content));
}

/// Where the entries of the legend go, in lines of the width given.
struct Legend {
    lines: usize,
    entries: Vec<(f64, usize, String, String)>,
}

impl Legend {
    fn lay_out(figure: &Figure, palette: &Palette, room: f64) -> Legend {
        const SAMPLE: f64 = 30.0;
        const GAP: f64 = 22.0;
        let named: Vec<&Layer> = figure.layers.iter().filter(|l| l.legend).collect();
        let (mut x, mut line) = (0.0, 0);
        let mut entries = Vec::new();
        // One line needs no key, unless it says something the title does not.
        for layer in named {
            let width = SAMPLE + text_width(&short(&layer.name), 12.5) + GAP;
            if x > 0.0 && x + width > room {
                (x, line) = (0.0, line + 1);
            }
            entries.push((x, line, sample(layer, palette), short(&layer.name)));
            x += width;
        }
        Legend { lines: if entries.is_empty() { 0 } else { line + 1 }, entries }
    }

    fn draw(&self, out: &mut String, left: f64, top: f64) {
        for (x, line, sample, name) in &self.entries {
            let (x, y) = (left + x, top + *line as f64 * LINE_OF_LEGEND);
            let _ = writeln!(out, "<g transform=\"translate({x:.1} {y:.1})\">{sample}</g>");
            text(out, x + 28.0, y + 4.0, "key", name);
        }
    }
}

fn sample(layer: &Layer, palette: &Palette) -> String {
    let swatch = palette.swatch(&layer.ink);
    let colour = swatch.name();
    match layer.shape {
        Shape::Line(dash) => {
            format!(
                "<path d=\"M0 0h22\" fill=\"none\" class=\"s-{colour}\" stroke-width=\"2\"{}/>",
                marks::dashes(dash)
            )
        }
        Shape::Dots => format!("<circle cx=\"11\" r=\"3.5\" class=\"f-{colour}\"/>"),
        _ => format!("<rect x=\"4\" y=\"-6\" width=\"14\" height=\"12\" rx=\"2\" class=\"f-{colour}\"/>"),
    }
}

/// Colours as classes and not as variables: programs other than browsers know only those.
fn style(figure: &Figure, setting: Setting) -> String {
    let Setting { palette, medium, .. } = setting;
    let drawn = figure.drawing.iter().flat_map(|drawing| drawing.inks());
    let inks = figure.layers.iter().map(|layer| &layer.ink).chain(drawn);
    let used: BTreeSet<String> = inks.map(|ink| palette.swatch(ink).name().to_string()).collect();
    // Weights between hundreds are for browsers only.
    let (strong, dark) = match medium {
        Medium::Screen => (640, format!("@media (prefers-color-scheme:dark){{{}}}", paints(true, &used))),
        Medium::Paper => (600, String::new()),
    };
    format!(
        "text{{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif;font-size:12.5px}}\
         .title{{font-size:17px;font-weight:600}}.tick{{font-variant-numeric:tabular-nums}}\
         .end{{text-anchor:end}}.middle{{text-anchor:middle}}\
         .halo{{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}}.level{{stroke-dasharray:2 4}}\
         .on-dark{{fill:#fff}}.on-light{{fill:#000}}.strong{{font-weight:{strong}}}.tint{{fill-opacity:.32}}.panel{{fill-opacity:.4}}.way,.outline{{fill:none}}.outline{{pointer-events:all}}.way{{stroke-width:1.4}}\
         {}{dark}",
        paints(false, &used),
    )
}

fn paints(dark: bool, used: &BTreeSet<String>) -> String {
    let mut out = String::new();
    for (name, colour) in colours(dark) {
        let rules = match name.as_str() {
            "page" => format!(".ground,.frame{{fill:{colour}}}.halo,.dot,.shade{{stroke:{colour}}}"),
            "text" => format!("text{{fill:{colour}}}"),
            "muted" => format!(
                "text.note,text.tick,text.label,text.quiet{{fill:{colour}}}.level,.way{{stroke:{colour}}}"
            ),
            "grid" => format!(".grid{{stroke:{colour}}}.panel{{fill:{colour}}}"),
            "axis" => format!(".axis,.frame,.outline{{stroke:{colour}}}"),
            _ => String::new(),
        };
        out.push_str(&rules);
        if used.contains(&name) {
            let _ = write!(out, ".f-{name}{{fill:{colour}}}.s-{name}{{stroke:{colour}}}");
        }
    }
    out
}

/// Width of `text` in a common sans-serif face: an estimate that is rather too wide than too narrow.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let units: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | '|' | '\'' | ' ' | 't' | 'f' | 'r' => 0.34,
            'm' | 'w' | 'M' | 'W' => 0.88,
            'A'..='Z' => 0.68,
            _ => 0.57,
        })
        .sum();
    units * size
}

/// Names longer than this push the plot aside.
fn short(name: &str) -> String {
    shorten(name, 44)
}

/// The lines between title and plot: note, then conditions.
fn notes(figure: &Figure, setting: Setting, width: f64) -> Vec<String> {
    let mut lines = wrap(&figure.note, width, NOTE);
    lines.extend(wrap(setting.conditions, width, NOTE));
    lines
}

fn wrap(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size * 0.34 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

impl Mapping {
    fn new(axis: &Axis, pixels: (f64, f64)) -> Mapping {
        match &axis.kind {
            AxisKind::Log { zero } => Mapping::log(axis.range, *zero, pixels),
            AxisKind::Names(names) => Mapping::names(names.clone(), axis.range, pixels),
            AxisKind::Time | AxisKind::Linear => Mapping::linear(axis.range, pixels),
        }
    }
}
