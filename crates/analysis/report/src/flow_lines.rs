//! Lines of flows: one for each while they can be told apart; of a crowd, how its flows are spread.

use crate::figure::{Dash, Ink, Layer};
use crate::number::{Quantity, whole};
use crate::source::Source;
use crate::thin::Point;
use std::collections::BTreeMap;
use wirespeed_record::FlowInfo;

/// More flows than this are a crowd: their lines hide each other, and their names the figure.
pub(crate) const CROWD: usize = 40;
/// More groups than this are no easier to tell apart than flows.
const MOST_GROUPS: usize = 8;
/// Stretches of time of a crowd, each with one value a flow.
const STRETCHES: usize = 240;

/// What a figure shows of every flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// In the legend, after the name of the flow; may be empty.
    pub what: &'static str,
    pub dash: Dash,
    /// Whether a crowd's spread of it is shown; otherwise a crowd leaves it out.
    pub is_main: bool,
}

/// Which flows of a crowd are alike.
pub(crate) struct Groups {
    /// By number of the flow.
    of: Vec<usize>,
    pub names: Vec<String>,
    pub inks: Vec<Ink>,
    /// How many flows each has.
    pub sizes: Vec<usize>,
}

impl Groups {
    /// By what their labels have in common and their congestion control, if those are few; else by control, else all.
    pub fn of(flows: &[FlowInfo]) -> Groups {
        let control =
            |flow: &FlowInfo| flow.congestion.clone().unwrap_or_else(|| flow.kind.word().to_owned());
        let alike = |flow: &FlowInfo| {
            let (stem, control) = (stem(&flow.label), control(flow));
            if stem.is_empty() || stem.contains(&control) { control } else { format!("{stem} ({control})") }
        };
        let ways: [&dyn Fn(&FlowInfo) -> String; 3] = [&alike, &control, &|_| "flows".into()];
        let found = ways.into_iter().map(|way| Groups::named(flows, way));
        found.into_iter().find(|groups| groups.names.len() <= MOST_GROUPS).expect("all are one group")
    }

    fn named(flows: &[FlowInfo], name: &dyn Fn(&FlowInfo) -> String) -> Groups {
        let mut groups = Groups { of: Vec::new(), names: Vec::new(), inks: Vec::new(), sizes: Vec::new() };
        let mut known = BTreeMap::new();
        let mut twins = BTreeMap::new();
        for flow in flows {
            let name = name(flow);
            let index = *known.entry(name.clone()).or_insert(groups.names.len());
            if index == groups.names.len() {
                let twin = twins.entry(flow.congestion.clone()).or_insert(0);
                let congestion = flow.congestion.clone();
                groups.inks.push(Ink::Flow { congestion, label: flow.label.clone(), twin: *twin });
                *twin += 1;
                groups.names.push(name);
                groups.sizes.push(0);
            }
            groups.sizes[index] += 1;
            groups.of.push(index);
        }
        groups
    }

    /// Group of a flow; flows that nothing is known of are with the first.
    pub fn index(&self, flow: u32) -> usize {
        self.of.get(flow as usize).copied().unwrap_or(0)
    }
}

/// A label without the number that tells the flows of one entry apart.
fn stem(label: &str) -> &str {
    label.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', ' ', '#'])
}

/// Whether the flows of a run are too many for a line each.
pub(crate) fn is_crowd(source: &Source) -> bool {
    source.view.flows.len() > CROWD
}

/// The layers of a figure that shows something of every flow.
pub(crate) struct FlowLines<'s, 'a> {
    source: &'s Source<'a>,
    kinds: &'static [Kind],
    layers: Vec<Layer>,
    crowd: Option<Crowd>,
}

struct Crowd {
    groups: Groups,
    /// By kind and group, for each stretch the values of its flows.
    values: BTreeMap<(usize, usize), Vec<Vec<f64>>>,
}

impl<'s, 'a> FlowLines<'s, 'a> {
    pub fn new(source: &'s Source<'a>, kinds: &'static [Kind]) -> Self {
        let crowd = is_crowd(source)
            .then(|| Crowd { groups: Groups::of(&source.recording.info.flows), values: BTreeMap::new() });
        FlowLines { source, kinds, layers: Vec::new(), crowd }
    }

    /// Adds what `points` gives of one of the kinds for a flow; it is not asked for what a crowd leaves out.
    pub fn add(&mut self, flow: u32, kind: usize, points: impl FnOnce() -> Vec<Point>) {
        let Kind { what, dash, is_main } = self.kinds[kind];
        match &mut self.crowd {
            None => {
                let name = format!("{} {what}", self.source.label(flow));
                self.layers.push(Layer::line(name.trim_end(), self.source.ink(flow), dash, points()));
            }
            Some(crowd) if is_main => {
                let group = crowd.groups.index(flow);
                let stretches =
                    crowd.values.entry((kind, group)).or_insert_with(|| vec![Vec::new(); STRETCHES]);
                for (stretch, mean) in means(&points(), self.source.time.end) {
                    stretches[stretch].push(mean);
                }
            }
            Some(_) => {}
        }
    }

    /// The layers, and what the figure says of them: `plain` where each flow has its line.
    pub fn finish(self, plain: &str) -> (Vec<Layer>, String) {
        let FlowLines { source, kinds, mut layers, crowd } = self;
        let Some(crowd) = crowd else { return (layers, plain.into()) };
        let several = kinds.iter().filter(|kind| kind.is_main).count() > 1;
        for ((kind, group), stretches) in crowd.values {
            let what = kinds[kind].what;
            let name = format!("{} {what}", crowd.groups.names[group]);
            let ink = if several {
                Ink::Place(kind + group * kinds.len())
            } else {
                crowd.groups.inks[group].clone()
            };
            layers.extend(spread(
                name.trim_end(),
                crowd.groups.sizes[group],
                &ink,
                stretches,
                source.time.end,
            ));
        }
        let stretch = Quantity::Seconds.text(source.duration_ns() as f64 / 1e9 / STRETCHES as f64);
        let note = format!(
            "{} flows, each with its mean over stretches of {stretch}. Solid: their median. Dashed: 10 and 90 % of them are below. Dotted: the least and the largest.",
            whole(source.view.flows.len() as i64)
        );
        (layers, note)
    }
}

/// Mean in each stretch that has a value.
fn means(points: &[Point], end: f64) -> Vec<(usize, f64)> {
    let mut out: Vec<(usize, f64)> = Vec::new();
    let mut count = 0.0;
    for (x, y) in points.iter().filter(|p| p.1.is_finite()) {
        let stretch = ((x / end * STRETCHES as f64) as usize).min(STRETCHES - 1);
        match out.last_mut() {
            Some((last, mean)) if *last == stretch => {
                count += 1.0;
                *mean += (y - *mean) / count;
            }
            _ => {
                count = 1.0;
                out.push((stretch, *y));
            }
        }
    }
    out
}

/// Five lines: the median, and pairs around it with one entry in the legend each.
fn spread(name: &str, flows: usize, ink: &Ink, stretches: Vec<Vec<f64>>, end: f64) -> Vec<Layer> {
    const SHARES: [f64; 5] = [0.5, 0.1, 0.9, 0.0, 1.0];
    let mut lines: [Vec<Point>; 5] = Default::default();
    for (index, mut values) in stretches.into_iter().enumerate() {
        if values.is_empty() {
            continue;
        }
        values.sort_by(f64::total_cmp);
        let x = (index as f64 + 0.5) / STRETCHES as f64 * end;
        for (line, share) in lines.iter_mut().zip(SHARES) {
            line.push((x, values[(share * (values.len() - 1) as f64).round() as usize]));
        }
    }
    let [median, tenth, ninetieth, least, largest] = lines;
    let line = |what: &str, dash, points| Layer::line(format!("{name}: {what}"), ink.clone(), dash, points);
    vec![
        line(&format!("median of {}", whole(flows as i64)), Dash::Solid, median),
        line("10 and 90 %", Dash::Dashed, tenth),
        line("90 %", Dash::Dashed, ninetieth).unnamed(),
        line("least and largest", Dash::Dotted, least),
        line("largest", Dash::Dotted, largest).unnamed(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(label: &str, control: &str) -> FlowInfo {
        FlowInfo { label: label.into(), congestion: Some(control.into()), ..FlowInfo::default() }
    }

    #[test]
    fn flows_of_one_entry_are_a_group_and_too_many_groups_are_joined() {
        let flows: Vec<FlowInfo> = (0..60)
            .map(|i| flow(&format!("{}-{i}", ["mice", "elephants"][i % 2]), "cubic"))
            .chain((0..3).map(|i| flow(&format!("bbr-{i}"), "bbr")))
            .collect();
        let groups = Groups::of(&flows);
        assert_eq!(groups.names, ["mice (cubic)", "elephants (cubic)", "bbr"]);
        assert_eq!(groups.sizes, [30, 30, 3]);
        assert_eq!((groups.index(1), groups.index(61)), (1, 2));
        let pairs: Vec<FlowInfo> = (0..60).map(|i| flow(&format!("{i} to x"), "reno")).collect();
        assert_eq!(Groups::of(&pairs).names, ["reno"]);
    }

    #[test]
    fn a_stretch_has_the_mean_of_its_values_and_the_spread_its_ranks() {
        let points = [(0.0, 1.0), (0.1, 3.0), (0.2, f64::NAN), (239.5, 7.0), (240.0, 9.0)];
        assert_eq!(means(&points, 240.0), [(0, 2.0), (239, 8.0)]);
        let mut stretches = vec![Vec::new(); STRETCHES];
        stretches[1] = (0..=100).rev().map(f64::from).collect();
        let layers = spread("reno", 101, &Ink::Muted, stretches, 240.0);
        let values: Vec<f64> = layers.iter().map(|layer| layer.points[0].1).collect();
        assert_eq!(values, [50.0, 10.0, 90.0, 0.0, 100.0]);
        assert_eq!(layers[0].points, [(1.5, 50.0)]);
        assert_eq!(layers.iter().filter(|layer| layer.legend).count(), 3);
    }
}
