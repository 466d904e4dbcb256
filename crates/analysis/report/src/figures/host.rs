//! The inside of the hosts: the interface with its receive rings, and the cores by NUMA node.

use super::Draw;
use super::ladder::LOSS;
use crate::core_time::{INKS, busiest, percent};
use crate::drawing::{Anchor, Drawing, Face, Paint, SHEET};
use crate::figure::Figure;
use crate::number::{count, whole};
use crate::ranges::ranges;
use crate::rings::Ring;
use crate::shorten::shorten;
use crate::source::Source;
use crate::svg::text_width;
use std::collections::BTreeMap;
use wirespeed_metrics::core_time::{CoreTime, KINDS, core_times};
use wirespeed_record::{Applications, HostModel, Interrupts};

pub(crate) struct Host;

/// Rings and cores that are drawn each; the others are counted.
const MOST_RINGS: usize = 12;
const MOST_CORES: usize = 16;
/// More hosts than this make the page long and say no more.
const MOST_HOSTS: usize = 8;

const INTERFACE: f64 = 256.0;
const LINE: f64 = 18.0;
const PAD: f64 = 14.0;
const TILE: [f64; 2] = [130.0, 62.0];
const TILES_A_ROW: usize = 4;
const GAP: f64 = 9.0;

impl Draw for Host {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let info = &source.recording.info;
        let (cores, rings) = (core_times(source.recording), &source.rings);
        let mut names: Vec<&str> = info.hosts.iter().map(|host| host.name.as_str()).collect();
        // A host that only the samples name comes after those that are listed.
        let seen = cores.iter().map(|core| core.host).chain(rings.iter().map(|ring| ring.host.as_str()));
        for name in seen.clone() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.retain(|name| seen.clone().any(|host| host == *name));
        if names.is_empty() {
            return None;
        }
        let mut drawing = Drawing::new();
        legend(&mut drawing, &cores);
        for name in names.iter().take(MOST_HOSTS) {
            let inside = Inside {
                name,
                model: info
                    .hosts
                    .iter()
                    .find(|host| host.name == *name)
                    .and_then(|host| host.host_model.as_ref()),
                cores: cores.iter().filter(|core| core.host == *name).cloned().collect(),
                rings: rings.iter().filter(|ring| ring.host == *name).collect(),
            };
            inside.draw(&mut drawing);
        }
        let mut note =
            "Each core is filled by the part of the measurement window that it worked.".to_string();
        if !rings.is_empty() {
            note.push_str(" Rings: packets taken and dropped in the whole run, as in the ledger.");
        }
        if names.len() > MOST_HOSTS {
            note.push_str(&format!(" {} more hosts are not drawn.", names.len() - MOST_HOSTS));
        }
        Some(Figure::drawn("host", "Inside the hosts", drawing).with_note(note))
    }
}

/// Names the colours of the kinds of work that any core did.
fn legend(drawing: &mut Drawing, cores: &[CoreTime]) {
    let mut x = 0.0;
    for (kind, (name, ink)) in KINDS.iter().zip(INKS).enumerate() {
        if cores.iter().any(|core| core.parts[kind] > 0.0) {
            drawing.place([x, 4.0, 14.0, 12.0], Paint::Full(ink.clone()));
            drawing.write(x + 20.0, 14.5, Anchor::Start, Face::Plain, *name);
            x += 20.0 + text_width(name, 12.5) + 22.0;
        }
    }
    drawing.height = if x > 0.0 { 26.0 } else { 0.0 };
}

/// What is known of one host.
struct Inside<'a> {
    name: &'a str,
    model: Option<&'a HostModel>,
    cores: Vec<CoreTime<'a>>,
    rings: Vec<&'a Ring>,
}

impl Inside<'_> {
    fn draw(&self, drawing: &mut Drawing) {
        let top = drawing.height + if drawing.height > 0.0 { 6.0 } else { 0.0 };
        let ground = drawing.marks.len();
        let name = shorten(self.name, 40);
        drawing.write(PAD, top + 22.0, Anchor::Start, Face::Strong, name);
        drawing.write(SHEET - PAD, top + 22.0, Anchor::End, Face::Quiet, shorten(&self.facts(), 92));
        let inner = top + 36.0;
        let (mut bottom, mut left) = (inner, PAD);
        if !self.rings.is_empty() {
            bottom = self.interface(drawing, left, inner);
            left += INTERFACE + PAD;
        }
        if !self.cores.is_empty() {
            bottom = bottom.max(self.nodes(drawing, left, inner));
        }
        let height = bottom + PAD - top;
        // Behind all that stands on it.
        drawing.place([0.0, top, SHEET, height], Paint::Panel);
        drawing.marks[ground..].rotate_right(1);
        drawing.height = top + height;
    }

    /// Its cores and applications, as far as its host model states them.
    fn facts(&self) -> String {
        let Some(model) = self.model else { return String::new() };
        let mut facts = Vec::new();
        if let (Some(nodes), Some(cores)) = (model.nodes, model.cores_per_node) {
            let threads = if model.has_hyperthreads { ", 2 threads each" } else { "" };
            let plural = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            facts.push(format!("{} of {}{threads}", plural(nodes, "node"), plural(cores, "core")));
        }
        facts.extend(model.applications.as_ref().map(|applications| match applications {
            Applications::Pinned(cores) => format!("applications pinned to {}", ranges(cores)),
            Applications::Free(cores) => format!("applications free on {}", ranges(cores)),
        }));
        facts.join(" · ")
    }

    /// The interface with its rings; returns where it ends.
    fn interface(&self, drawing: &mut Drawing, left: f64, top: f64) -> f64 {
        let interrupts = self.model.and_then(|model| model.interrupts.as_ref());
        let core_of = |ring: u32| match interrupts {
            Some(Interrupts::Cores(cores)) => cores.get(ring as usize % cores.len().max(1)),
            _ => None,
        };
        let mut used: Vec<&&Ring> = self.rings.iter().filter(|r| r.packets + r.dropped > 0).collect();
        let idle = self.rings.len() - used.len();
        used.sort_by_key(|ring| std::cmp::Reverse(ring.packets + ring.dropped));
        let rest = used.split_off(used.len().min(MOST_RINGS));
        used.sort_by_key(|ring| ring.number);

        let mut notes = Vec::new();
        if !rest.is_empty() {
            let sum = |of: fn(&Ring) -> u64| packets(rest.iter().map(|ring| of(ring)).sum());
            let (taken, dropped) = (sum(|ring| ring.packets), sum(|ring| ring.dropped));
            notes.push(format!("{} more rings: {taken} taken, {dropped} dropped", rest.len()));
        }
        if idle > 0 {
            let rings = if idle == 1 { "ring" } else { "rings" };
            notes.push(format!("{idle} {rings} without a packet"));
        }
        if let Some(size) = self.model.and_then(|model| model.rx_ring) {
            notes.push(format!("{} descriptors each", whole(i64::from(size))));
        }
        if let Some(Interrupts::MovedEvery(every)) = interrupts {
            notes.push(shorten(&format!("interrupts moved every {every}"), 36));
        }

        let rows = used.len() as f64;
        let head = if used.is_empty() { 24.0 } else { 42.0 };
        let height = head + (rows + notes.len() as f64) * LINE + 14.0;
        drawing.place([left, top, INTERFACE, height], Paint::Frame);
        drawing.write(left + 12.0, top + 21.0, Anchor::Start, Face::Strong, "Interface");
        if let Some(node) = self.model.and_then(|model| model.interface_node) {
            let text = format!("on node {node}");
            drawing.write(left + INTERFACE - 12.0, top + 21.0, Anchor::End, Face::Quiet, text);
        }
        let columns = [left + 12.0, left + 60.0, left + 182.0, left + INTERFACE - 12.0];
        let mut base = top + head;
        if !used.is_empty() {
            drawing.write(columns[0], base, Anchor::Start, Face::Quiet, "ring");
            if matches!(interrupts, Some(Interrupts::Cores(_))) {
                drawing.write(columns[1], base, Anchor::Start, Face::Quiet, "core");
            }
            drawing.write(columns[2], base, Anchor::End, Face::Quiet, "packets");
            drawing.write(columns[3], base, Anchor::End, Face::Quiet, "dropped");
        }
        for ring in used {
            base += LINE;
            drawing.write(columns[0], base, Anchor::Start, Face::Plain, format!("rx{}", ring.number));
            if let Some(core) = core_of(ring.number) {
                drawing.write(columns[1], base, Anchor::Start, Face::Plain, core.to_string());
            }
            drawing.write(columns[2], base, Anchor::End, Face::Plain, packets(ring.packets));
            let face = if ring.dropped > 0 { Face::Coloured(LOSS) } else { Face::Quiet };
            drawing.write(columns[3], base, Anchor::End, face, packets(ring.dropped));
        }
        for note in notes {
            base += LINE;
            drawing.write(columns[0], base, Anchor::Start, Face::Quiet, note);
        }
        top + height
    }

    /// The nodes with their cores; returns where they end.
    fn nodes(&self, drawing: &mut Drawing, left: f64, top: f64) -> f64 {
        let mut nodes: BTreeMap<u32, Vec<CoreTime>> = BTreeMap::new();
        // A node of the host model may well have had nothing to do.
        for node in 0..self.model.and_then(|model| model.nodes).unwrap_or(0).min(16) {
            nodes.entry(node).or_default();
        }
        for core in &self.cores {
            nodes.entry(core.node).or_default().push(core.clone());
        }
        let idle: Vec<u32> =
            nodes.iter().filter(|(_, cores)| cores.is_empty()).map(|(node, _)| *node).collect();
        nodes.retain(|_, cores| !cores.is_empty());
        let of = self.model.and_then(|model| {
            Some(u64::from(model.cores_per_node?) * if model.has_hyperthreads { 2 } else { 1 })
        });
        let width = SHEET - PAD - left;
        let mut top = top;
        for (node, cores) in nodes {
            let worked = cores.len();
            let (cores, left_out) = busiest(cores, MOST_CORES);
            let rows = cores.len().div_ceil(TILES_A_ROW) as f64;
            let height = 38.0 + rows * (TILE[1] + GAP);
            drawing.place([left, top, width, height], Paint::Outline);
            drawing.write(left + 12.0, top + 21.0, Anchor::Start, Face::Strong, format!("Node {node}"));
            let mut text = match (of, worked) {
                (Some(of), _) => format!("{worked} of {of} cores worked"),
                (None, 1) => "1 core worked".into(),
                (None, _) => format!("{worked} cores worked"),
            };
            if left_out > 0 {
                text.push_str(&format!(", {left_out} of them not drawn"));
            }
            drawing.write(left + width - 12.0, top + 21.0, Anchor::End, Face::Quiet, text);
            for (index, core) in cores.iter().enumerate() {
                let (row, column) = (index / TILES_A_ROW, index % TILES_A_ROW);
                let x = left + 12.0 + column as f64 * (TILE[0] + GAP);
                tile(drawing, x, top + 34.0 + row as f64 * (TILE[1] + GAP), core);
            }
            top += height + GAP;
        }
        if !idle.is_empty() {
            drawing.place([left, top, width, 34.0], Paint::Outline);
            let name = if idle.len() == 1 { "Node" } else { "Nodes" };
            let name = shorten(&format!("{name} {}", ranges(&idle)), 40);
            drawing.write(left + 12.0, top + 21.0, Anchor::Start, Face::Quiet, name);
            drawing.write(left + width - 12.0, top + 21.0, Anchor::End, Face::Quiet, "no core worked");
            top += 34.0 + GAP;
        }
        top - GAP
    }
}

/// One core: its load as the part that is filled, and the two kinds of work that it did most.
fn tile(drawing: &mut Drawing, x: f64, y: f64, core: &CoreTime) {
    let [width, height] = TILE;
    let kinds = core.kinds();
    let words = |(name, part): &(&str, f64)| format!("{name} {}", percent(*part));
    let mut hint = format!("core {}: ", core.core);
    hint.push_str(&kinds.iter().map(words).collect::<Vec<_>>().join(", "));
    if core.squeezed > 0 {
        hint.push_str(&format!("; budget of softirq used up {} times", packets(core.squeezed)));
    }
    drawing.place([x, y, width, height], Paint::Frame);
    // Rounding and a last piece of work may make a core a little more than full.
    let scale = width / core.busy().max(1.0);
    let mut from = x;
    for (ink, part) in INKS.into_iter().zip(core.parts).filter(|(_, part)| *part > 0.0) {
        drawing.place([from, y, part * scale, height], Paint::Tint(ink));
        from += part * scale;
    }
    drawing.write(x + 8.0, y + 19.0, Anchor::Start, Face::Strong, format!("core {}", core.core));
    drawing.write(x + width - 8.0, y + 19.0, Anchor::End, Face::Strong, percent(core.busy() * 100.0));
    for (index, kind) in kinds.iter().take(2).enumerate() {
        drawing.write(x + 8.0, y + 37.0 + index as f64 * 16.0, Anchor::Start, Face::Plain, words(kind));
    }
    // On top, so that a pointer meets it; its border is that of the tile.
    drawing.place_with_hint([x, y, width, height], Paint::Outline, hint);
}

fn packets(number: u64) -> String {
    count(number.min(i64::MAX as u64) as i64)
}
