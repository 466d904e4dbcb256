//! The drawing as boxes of Unicode characters.

use super::plan::{Core, Nic, Part, Plan, Socket, plan};
use super::words::cpus;
use crate::{CpuSet, Inventory};

/// Columns of the drawing at most.
const WIDTH: usize = 100;
/// Equal neighbours from this number on become one box.
const COLLAPSED_FROM: usize = 3;

/// Draws a host with boxes, at most 100 columns wide. `applications` are labels with the CPUs that each may use.
pub fn terminal(inventory: &Inventory, applications: &[(String, CpuSet)]) -> String {
    let Plan { title, sockets, distant, elsewhere, applications } = plan(inventory, applications);
    let mut lines = title;
    for socket in &sockets {
        lines.extend(draw_socket(socket));
    }
    lines.extend(distant);
    if !elsewhere.is_empty() {
        let inside = elsewhere.iter().flat_map(nic).collect::<Vec<_>>();
        lines.extend(boxed("Interfaces without a NUMA node", &inside, WIDTH));
    }
    let marks = sockets.iter().flat_map(|socket| &socket.parts).flat_map(|part| &part.cores);
    if marks.clone().any(|core| !core.marks.is_empty()) {
        lines.push("A52%: share of the interrupts of interface A; a: allowed for A, none so far".to_owned());
    }
    if !applications.is_empty() {
        lines.push(format!("Applications {}", applications.join("; ")));
    }
    let lines: Vec<String> = lines.iter().map(|line| cut(line, WIDTH).trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

fn draw_socket(socket: &Socket) -> Vec<String> {
    match &socket.parts[..] {
        [only] => {
            let labels: Vec<&str> =
                [socket.label.as_str(), &only.label].into_iter().filter(|label| !label.is_empty()).collect();
            boxed(&labels.join(", "), &draw_part(only, WIDTH - 4), WIDTH)
        }
        parts => {
            let inside =
                parts.iter().flat_map(|part| boxed(&part.label, &draw_part(part, WIDTH - 8), WIDTH - 4));
            boxed(&socket.label, &inside.collect::<Vec<_>>(), WIDTH)
        }
    }
}

fn draw_part(part: &Part, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if !part.caches.is_empty() {
        lines.push(part.caches.join("   "));
    }
    lines.extend(cells(&collapse(&part.cores), width));
    lines.extend(part.nics.iter().flat_map(nic));
    lines
}

/// An interface on a line, its interrupts on the next.
fn nic(nic: &Nic) -> Vec<String> {
    let letter = nic.letter.unwrap_or(' ');
    let interrupts = Some(format!("    {}", nic.interrupts)).filter(|_| !nic.interrupts.is_empty());
    std::iter::once(format!("{letter}  {}", nic.about)).chain(interrupts).collect()
}

/// Replaces runs of neighbours with equal marks by one range.
fn collapse(cores: &[Core]) -> Vec<Core> {
    let key = |core: &Core| (marks(core), core.applications.clone(), core.cpus.len());
    let mut found: Vec<Core> = Vec::new();
    for run in cores.chunk_by(|a, b| key(a) == key(b)) {
        if run.len() < COLLAPSED_FROM {
            found.extend_from_slice(run);
            continue;
        }
        let nth = |at: usize| run.iter().fold(CpuSet::default(), |all, core| all.union(&core.cpus[at]));
        found.extend(run.first().map(|first| Core {
            cpus: (0..first.cpus.len()).map(nth).collect(),
            count: run.len(),
            ..first.clone()
        }));
    }
    found
}

fn marks(core: &Core) -> String {
    core.marks.iter().map(super::plan::Mark::text).collect::<Vec<_>>().join(" ")
}

/// CPUs, marks and applications of a core, a line each.
fn cell(core: &Core) -> [String; 3] {
    let sets: Vec<String> = core.cpus.iter().map(cpus).collect();
    let numbers = match core.count {
        1 => sets.join(" "),
        count => format!("{} ({count} cores)", sets.join(" ")),
    };
    let has_share = core.count > 1 && core.marks.iter().any(|mark| mark.percent > 0.0);
    let each = if has_share { " each" } else { "" };
    let applications: Vec<String> = core.applications.iter().map(|number| format!("#{number}")).collect();
    [numbers, marks(core) + each, applications.join(" ")]
}

/// Cells side by side, as many as fit. A line of marks or applications that is empty in a whole row is left out.
fn cells(cores: &[Core], width: usize) -> Vec<String> {
    let texts: Vec<[String; 3]> = cores.iter().map(cell).collect();
    let length = |text: &[String; 3]| text.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut rows: Vec<Vec<&[String; 3]>> = Vec::new();
    let mut used = 0;
    for text in &texts {
        let needed = length(text).min(width - 2) + 2;
        match rows.last_mut().filter(|_| used + needed <= width) {
            Some(row) => row.push(text),
            None => {
                rows.push(vec![text]);
                used = 0;
            }
        }
        used += needed;
    }
    let mut lines = Vec::new();
    for row in rows {
        let inner = |text: &[String; 3]| length(text).min(width - 2);
        let edge = |left: char, right: char| -> String {
            row.iter().map(|text| format!("{left}{}{right}", "─".repeat(inner(text)))).collect()
        };
        lines.push(edge('┌', '┐'));
        for at in (0..3).filter(|at| *at == 0 || row.iter().any(|text| !text[*at].is_empty())) {
            lines.push(row.iter().map(|text| format!("│{}│", padded(&text[at], inner(text)))).collect());
        }
        lines.push(edge('└', '┘'));
    }
    lines
}

/// A box of `width` columns with a title in its upper edge.
fn boxed(title: &str, inside: &[String], width: usize) -> Vec<String> {
    let title = cut(title, width - 6);
    let rest = "─".repeat(width - 5 - title.chars().count());
    let middle = inside.iter().map(|line| format!("│ {} │", padded(line, width - 4)));
    let bottom = format!("└{}┘", "─".repeat(width - 2));
    std::iter::once(format!("┌─ {title} {rest}┐")).chain(middle).chain([bottom]).collect()
}

fn padded(text: &str, width: usize) -> String {
    format!("{:width$}", cut(text, width))
}

/// The text, or its beginning with an ellipsis.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
