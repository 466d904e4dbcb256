//! The drawing as a picture that needs nothing else: light and dark, text escaped.

use super::plan::{Core, Mark, Nic, Part, Plan, Socket, plan};
use super::words::cpus;
use crate::{CpuSet, Inventory};
use std::fmt::Write;

/// Measures in CSS pixels.
const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 12.0;
const LINE: f64 = 20.0;
const CORE_WIDTH: f64 = 74.0;
const GAP: f64 = 6.0;

/// Colours of interfaces by letter, from A on; readable on light and dark (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9"];

const STYLE: &str = "\
text{white-space:pre;font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}\
.h{font-weight:bold;font-size:15px}.s{font-size:11px}.q{fill:var(--quiet)}\
.socket{fill:var(--socket)}.node{fill:var(--node)}.core{fill:var(--core)}.nic{fill:var(--nic)}\
.box{stroke:var(--edge);stroke-width:1}.app{fill:none;stroke:var(--ink);stroke-dasharray:3 2;stroke-width:1.5}\
svg{--ink:#1b1f24;--quiet:#57606a;--edge:#8c959f;--page:#fff;--socket:#f2f4f7;--node:#e6ebf1;--core:#fff;--nic:#fdf8e3}\
@media(prefers-color-scheme:dark){svg{--ink:#e6edf3;--quiet:#9da7b3;--edge:#6e7681;--page:#0d1117;--socket:#161b22;\
--node:#21262d;--core:#0d1117;--nic:#2d2a16}}";

/// Draws a host as an SVG picture. `applications` are labels with the CPUs that each may use.
pub fn svg(inventory: &Inventory, applications: &[(String, CpuSet)]) -> String {
    let Plan { title, sockets, distant, elsewhere, applications } = plan(inventory, applications);
    let mut canvas = Canvas::default();
    let mut y = MARGIN;
    for (at, line) in title.iter().enumerate() {
        y += LINE;
        canvas.text(MARGIN, y - 5.0, if at == 0 { "h" } else { "q" }, line, WIDTH - 2.0 * MARGIN);
    }
    y += GAP;
    for socket in &sockets {
        y = draw_socket(&mut canvas, socket, y) + MARGIN;
    }
    for line in &distant {
        canvas.text(MARGIN, y + LINE - 5.0, "", line, WIDTH - 2.0 * MARGIN);
        y += LINE;
    }
    if !elsewhere.is_empty() {
        canvas.text(MARGIN, y + LINE - 5.0, "h", "Interfaces without a NUMA node", WIDTH - 2.0 * MARGIN);
        y = draw_nics(&mut canvas, &elsewhere, MARGIN, y + LINE, WIDTH - 2.0 * MARGIN);
    }
    let mut legend = vec![
        "Bar: share of the interface's interrupts that fired on the core. Ring: allowed, none so far."
            .to_owned(),
    ];
    if !applications.is_empty() {
        legend.push(format!("Dashed: applications {}", applications.join("; ")));
    }
    for line in &legend {
        canvas.text(MARGIN, y + LINE - 5.0, "s q", line, WIDTH - 2.0 * MARGIN);
        y += LINE;
    }
    let height = y + MARGIN;
    let name = escaped(title.first().map_or("host", String::as_str));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{name}\"><title>{name}</title><style>{STYLE}</style>\
         <rect width=\"100%\" height=\"100%\" style=\"fill:var(--page)\"/>\n{}</svg>\n",
        canvas.0
    )
}

/// Elements, one a line.
#[derive(Default)]
struct Canvas(String);

impl Canvas {
    fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" class=\"{class}\"/>"
        );
    }

    /// Text that is cut to `width`.
    fn text(&mut self, x: f64, y: f64, class: &str, text: &str, width: f64) {
        // Advance of a monospaced glyph: 0.602 of the font size.
        let size = if class.contains('h') {
            15.0
        } else if class.contains('s') {
            11.0
        } else {
            13.0
        };
        let most = (width / (0.61 * size)) as usize;
        let shown: String = match text.chars().count() > most {
            true => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
            false => text.to_owned(),
        };
        let _ =
            writeln!(self.0, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escaped(&shown));
    }
}

/// Text of others between tags or in an attribute. Characters that XML does not have become a replacement character.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

fn draw_socket(canvas: &mut Canvas, socket: &Socket, y: f64) -> f64 {
    let (x, width) = (MARGIN, WIDTH - 2.0 * MARGIN);
    let height =
        2.0 * GAP + LINE + socket.parts.iter().map(|part| part_height(part, width) + GAP).sum::<f64>();
    canvas.rect(x, y, width, height, "socket box");
    canvas.text(x + GAP, y + LINE - 3.0, "h", &socket.label, width);
    let mut inside = y + LINE + GAP;
    for part in &socket.parts {
        draw_part(canvas, part, x + GAP, inside, width - 2.0 * GAP);
        inside += part_height(part, width) + GAP;
    }
    y + height
}

fn columns(width: f64) -> usize {
    (((width - 4.0 * GAP) / (CORE_WIDTH + GAP)) as usize).max(1)
}

/// The same for all cores of a part: numbers, a bar for each interface with a mark, and applications.
fn core_height(part: &Part) -> f64 {
    let marks = part.cores.iter().map(|core| core.marks.len()).max().unwrap_or(0);
    let has_applications = part.cores.iter().any(|core| !core.applications.is_empty());
    22.0 + 15.0 * marks as f64 + if has_applications { 15.0 } else { 0.0 }
}

fn part_height(part: &Part, width: f64) -> f64 {
    let rows = part.cores.len().div_ceil(columns(width)) as f64;
    let lines = if part.label.is_empty() && part.caches.is_empty() { 0.0 } else { LINE };
    lines + rows * (core_height(part) + GAP) + nics_height(&part.nics) + 2.0 * GAP
}

fn draw_part(canvas: &mut Canvas, part: &Part, x: f64, y: f64, width: f64) {
    let whole = width + 2.0 * GAP;
    canvas.rect(x, y, width, part_height(part, whole), "node box");
    let mut inside = y + GAP;
    let heads = std::iter::once(&part.label).chain(&part.caches).filter(|text| !text.is_empty());
    let head = heads.cloned().collect::<Vec<_>>().join("   ");
    if !head.is_empty() {
        canvas.text(x + GAP, inside + LINE - 7.0, "", &head, width - 2.0 * GAP);
        inside += LINE;
    }
    let (columns, height) = (columns(whole), core_height(part));
    for (at, core) in part.cores.iter().enumerate() {
        let left = x + GAP + (at % columns) as f64 * (CORE_WIDTH + GAP);
        draw_core(canvas, core, left, inside + (at / columns) as f64 * (height + GAP), height);
    }
    inside += part.cores.len().div_ceil(columns) as f64 * (height + GAP);
    draw_nics(canvas, &part.nics, x + GAP, inside, width - 2.0 * GAP);
}

fn draw_core(canvas: &mut Canvas, core: &Core, x: f64, y: f64, height: f64) {
    canvas.rect(x, y, CORE_WIDTH, height, "core box");
    let numbers: Vec<String> = core.cpus.iter().map(cpus).collect();
    canvas.text(x + 5.0, y + 15.0, "", &numbers.join(" "), CORE_WIDTH - 8.0);
    let mut line = y + 22.0;
    for mark in &core.marks {
        draw_mark(canvas, mark, x + 5.0, line);
        line += 15.0;
    }
    if !core.applications.is_empty() {
        canvas.rect(x + 2.0, y + 2.0, CORE_WIDTH - 4.0, height - 4.0, "app");
        let labels: Vec<String> = core.applications.iter().map(|number| format!("#{number}")).collect();
        canvas.text(x + 5.0, line + 9.0, "s", &labels.join(" "), CORE_WIDTH - 8.0);
    }
}

fn colour(letter: char) -> &'static str {
    let at = u32::from(letter.to_ascii_uppercase()).saturating_sub(u32::from('A')) as usize;
    COLOURS[at % COLOURS.len()]
}

/// A bar whose length is the share, with its number; a ring if interrupts are only allowed.
fn draw_mark(canvas: &mut Canvas, mark: &Mark, x: f64, y: f64) {
    const BAR: f64 = 22.0;
    let colour = colour(mark.letter);
    let element = match mark.percent > 0.0 {
        true => {
            let width = (BAR * mark.percent / 100.0).max(2.0);
            format!("<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"10\" fill=\"{colour}\"/>")
        }
        false => format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            x + 5.0,
            y + 5.0
        ),
    };
    let _ = writeln!(canvas.0, "{element}");
    canvas.text(x + BAR + 4.0, y + 9.0, "s", &mark.text(), CORE_WIDTH - BAR - 8.0);
}

fn nics_height(nics: &[Nic]) -> f64 {
    nics.iter().map(|nic| nic_height(nic) + GAP).sum()
}

fn nic_height(nic: &Nic) -> f64 {
    if nic.interrupts.is_empty() { LINE + 6.0 } else { 2.0 * LINE + 2.0 }
}

fn draw_nics(canvas: &mut Canvas, nics: &[Nic], x: f64, y: f64, width: f64) -> f64 {
    let mut y = y;
    for nic in nics {
        let height = nic_height(nic);
        canvas.rect(x, y, width, height, "nic box");
        if let Some(letter) = nic.letter {
            let colour = colour(letter);
            let _ = writeln!(
                canvas.0,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>",
                x + 8.0,
                y + 7.0
            );
            canvas.text(x + 25.0, y + 18.0, "", &letter.to_string(), 20.0);
        }
        canvas.text(x + 42.0, y + 18.0, "", &nic.about, width - 48.0);
        canvas.text(x + 42.0, y + 35.0, "s q", &nic.interrupts, width - 48.0);
        y += height + GAP;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_escaped() {
        assert_eq!(escaped("<a href='x'>&\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&amp;\u{fffd}");
        let host = Inventory { host: "<script>alert(1)</script>".into(), ..Inventory::default() };
        let picture = svg(&host, &[("\"]]>".to_owned(), CpuSet::default())]);
        assert!(!picture.contains("<script") && picture.contains("&lt;script&gt;"), "{picture}");
    }
}
