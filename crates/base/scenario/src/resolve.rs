//! From one combination's tree to a [`Run`]: presets laid under, defaults filled in, everything checked.

mod application;
mod below;
mod bus;
mod drawn;
mod flows;
mod hardware;
mod hosts;
mod links;
mod named_file;
mod only;
mod routes;
mod splitters;

use crate::decode::decode;
use crate::error::Complaint;
use crate::factor_name::factor_called;
use crate::file::{CaptureTable, File, RunTable, SeriesChoice};
use crate::run::{Capture, Direction, EcnField, Factor, Flow, Host, ONLY_KEY, Queue, Run, Series};
use crate::run::{crossed, into_legs};
use crate::suggest;
use crate::sweep;
use crate::tree::{Node, Place};
use flows::Flows;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use wirespeed_units::{Bytes, Rate, Span};

/// Ethernet header bytes that a frame has in front of its IP packet, as queues and links count it.
pub(crate) const ETHERNET_HEADER: u64 = 14;

const DEFAULT_SEED: u64 = 1;
const DEFAULT_SAMPLE: Span = Span::ms(10);
const DEFAULT_SERIES_EVERY: Span = Span::secs(1);
pub(crate) const FINEST_SAMPLE: Span = Span::ms(1);
/// Bounds that keep every sum and product of a run within its type.
pub(crate) const LONGEST_RUN: Span = Span::secs(30 * 24 * 3600);
const LONGEST_DELAY: Span = Span::secs(3600);
const FASTEST: Rate = Rate::gbit(100_000);
const MOST_REPEATS: u32 = 10_000;

const DEFAULT_SNAPLEN: Bytes = Bytes::new(128);
const SNAPLEN: RangeInclusive<u64> = 64..=262_144;

/// What a combination resolves to: its runs but for what the repetition decides, and that.
pub(crate) struct Resolved {
    pub run: Run,
    pub repeat: u32,
    pub seed: u64,
    /// The factors whose levels share the seed.
    same_seed: Vec<String>,
    /// Whether `run.only` lets each flow run, if it names a group.
    kept: Option<Vec<bool>>,
    /// The flows, as far as they are the same in every repetition, and what the seed decides of them.
    flows: Flows,
    pub warnings: Vec<String>,
    /// C files of the user's own congestion controls, as written.
    pub own_controls: Vec<PathBuf>,
    /// Presets and other files that the scenario names besides, as written.
    pub data_files: Vec<PathBuf>,
}

impl Resolved {
    /// The repetitions as runs of their own.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let mut distinct = self.run.factors.clone();
        // A group alone is compared with the same group beside others.
        distinct.retain(|factor, _| factor != ONLY_KEY && !self.same_seed.contains(factor));
        (0..self.repeat).map(move |repeat| {
            let mut run = Run {
                id: sweep::identifier(&self.run.factors, repeat),
                repeat,
                seed: sweep::seed(self.seed, &distinct, repeat),
                ..self.run.clone()
            };
            run.flows = self.flows_of(run.seed);
            run.data_sets = self.flows.data_sets.iter().map(|set| set.of_run(run.seed)).collect();
            run
        })
    }
}

impl Resolved {
    /// The flows of the run with that seed.
    fn flows_of(&self, seed: u64) -> Vec<Flow> {
        let Flows { labelled, drawn, start_jitters, .. } = &self.flows;
        let mut labelled = labelled.clone();
        for (index, jitter) in start_jitters {
            let later = sweep::start_later(seed, *index, *jitter);
            let flow = &mut labelled.flows[*index];
            flow.start += later;
            flow.stop = (flow.stop + later).min(self.run.duration);
        }
        let kept = |index: usize| self.kept.as_ref().is_none_or(|kept| kept[index]);
        into_legs(drawn::of_run(&labelled, drawn, kept, seed, self.run.duration), &self.run.hosts)
    }
}

/// Resolves a tree in which the sweep's values already stand.
pub(crate) fn resolve(root: &Node, factors: BTreeMap<String, Factor>) -> Result<Resolved, Complaint> {
    if root.get("run").is_none() {
        return Err(Complaint::at(&root.at, "[run] is missing: no duration is given")
            .label("in this file")
            .help("add a line [run] and, below it, for example duration = \"60 s\""));
    }
    let file: File = decode(root, "")?;
    check_name(&file.name, root)?;
    let run = &file.run;
    positive(run.duration, "run.duration", root.place_of(&["run", "duration"]), LONGEST_RUN)?;
    let sample = run.sample.unwrap_or(DEFAULT_SAMPLE);
    if sample < FINEST_SAMPLE || sample > run.duration {
        let (message, help) = if sample < FINEST_SAMPLE {
            (format!("run.sample: {sample} is finer than 1 ms"), "write \"1 ms\" or more")
        } else {
            (format!("run.sample: {sample} is longer than the run"), "sample more often, or run longer")
        };
        return Err(Complaint::at(&root.place_of(&["run", "sample"]), message)
            .label("sampling grid")
            .help(help));
    }
    let omit = run.omit.unwrap_or(Span::ZERO);
    if omit >= run.duration {
        let message = format!("run.omit: {omit} leaves nothing of a run of {}", run.duration);
        return Err(Complaint::at(&root.place_of(&["run", "omit"]), message).help("omit less, or run longer"));
    }
    let series = series(run, sample, root)?;
    let repeat = run.repeat.unwrap_or(1);
    within(u64::from(repeat), 1..=u64::from(MOST_REPEATS), "run.repeat", &root.place_of(&["run", "repeat"]))?;
    let same_seed = same_seed(run.same_seed.as_deref().unwrap_or_default(), &factors, root)?;

    let layout = hosts::layout(&file.topology, root)?;
    let hosts = hosts::hosts(&file, &layout, root)?;
    let links = links::links(&file.link, &layout, &hosts, file.run.duration, root)?;
    let flows = flows::flows(&file, &layout, &hosts, &links, root)?;
    let captures = captures(&file.capture, &hosts, root)?;
    let own_controls = file.congestion.into_values().map(|own| own.source).collect();
    let run = Run {
        study: file.name,
        about: file.about,
        id: String::new(),
        factors,
        repeat: 0,
        seed: 0,
        duration: file.run.duration,
        omit,
        sample,
        series,
        trains: file.run.trains.unwrap_or(true),
        kernel: file.run.kernel,
        topology: layout.kind,
        hosts,
        links,
        flows: flows.labelled.flows.clone(),
        data_sets: Vec::new(),
        captures,
    };
    let mut warnings = warnings(&run);
    warnings.extend(links::too_late(root, run.duration));
    let kept = only::kept(file.run.only.as_deref(), &run, root)?;
    Ok(Resolved {
        run,
        repeat,
        seed: file.run.seed.unwrap_or(DEFAULT_SEED),
        same_seed,
        kept,
        flows,
        warnings,
        own_controls,
        data_files: [links::schedule_files(root), application::lists(root), below::files(root)].concat(),
    })
}

/// How much of the series is kept.
fn series(run: &RunTable, sample: Span, root: &Node) -> Result<Series, Complaint> {
    let place = || root.place_of(&["run", "series_every"]);
    // Beside `none`, it may be left from a file whose `series` is overridden.
    let has_no_use = run.series.is_none() && run.series_every.is_some();
    if has_no_use {
        return Err(Complaint::at(&place(), "run.series_every: all series are kept")
            .label("has no effect")
            .help("write series = \"thin\" as well, or leave it out"));
    }
    let every = run.series_every.unwrap_or(DEFAULT_SERIES_EVERY.max(sample));
    if every < sample {
        let message = format!("run.series_every: {every} is shorter than the sampling grid of {sample}");
        return Err(Complaint::at(&place(), message)
            .label("has no effect")
            .help("write a longer time, or leave it out"));
    }
    positive(every, "run.series_every", place(), LONGEST_RUN)?;
    Ok(match run.series.unwrap_or(SeriesChoice::All) {
        SeriesChoice::All => Series::All,
        SeriesChoice::Thin => Series::Thin { every },
        SeriesChoice::None => Series::None,
    })
}

/// The whole keys of the factors that `run.same_seed` names.
fn same_seed(
    names: &[String],
    factors: &BTreeMap<String, Factor>,
    root: &Node,
) -> Result<Vec<String>, Complaint> {
    let keys: Vec<&str> = factors.keys().map(String::as_str).collect();
    let place = root.place_of(&["run", "same_seed"]);
    names.iter().map(|name| factor_called(name, &keys, "run.same_seed", &place)).collect()
}

fn captures(tables: &[CaptureTable], hosts: &[Host], root: &Node) -> Result<Vec<Capture>, Complaint> {
    let nodes = root.get("capture").map_or(&[][..], Node::elements);
    let resolve = |(table, node): (&CaptureTable, &Node)| {
        host_named(&table.at, hosts, "capture.at", &node.place_of(&["at"]))?;
        let snaplen = table.snaplen.unwrap_or(DEFAULT_SNAPLEN);
        within_bytes(snaplen, SNAPLEN, "capture.snaplen", &node.place_of(&["snaplen"]))?;
        Ok(Capture { at: table.at.clone(), snaplen: snaplen.get() as u32 })
    };
    tables.iter().zip(nodes).map(resolve).collect()
}

fn check_name(name: &str, root: &Node) -> Result<(), Complaint> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(good) && name.len() <= 100 {
        return Ok(());
    }
    Err(Complaint::at(&root.place_of(&["name"]), format!("name: `{name}` cannot name a folder"))
        .label("the study's name")
        .help("use up to 100 letters, digits, `-`, `_` and `.`, beginning with a letter or digit"))
}

/// What is allowed but probably not meant.
fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    let lossy = run.links.iter().any(|l| l.forward.loss > 0.0 || l.reverse.loss > 0.0);
    if lossy && let Some(host) = run.hosts.iter().find(|h| h.offloads.tso || h.offloads.gso) {
        warnings.push(format!(
            "host `{}` has offloads on and a link loses at random: one loss takes up to 64 KiB; set tso and gso to false",
            host.name
        ));
    }
    for flow in &run.flows {
        let (from, to) = (run.host(&flow.from).mtu, run.host(&flow.to).mtu);
        if from != to && flow.is_tcp() {
            warnings
                .push(format!("flow `{}`: MTU {from} at `{}`, {to} at `{}`", flow.label, flow.from, flow.to));
        }
    }
    let directions = || run.links.iter().flat_map(|l| [(l, &l.forward), (l, &l.reverse)]);
    if !run.flows.iter().any(|flow| run.ecn_field(flow) != EcnField::NotEct)
        && let Some((link, _)) = directions().find(|(_, direction)| marks(&direction.queue))
    {
        warnings.push(format!(
            "link `{}` marks packets, but no flow negotiates ECN, so none will be marked: set ecn = 1 at the sender",
            link.name
        ));
    }
    let idle = |direction: &Direction| direction.port_limit.is_some_and(|limit| limit.rate >= direction.rate);
    if let Some((link, direction)) = directions().find(|(_, direction)| idle(direction)) {
        warnings.push(format!(
            "link `{}`: port_limit is not below the link's rate of {}, so it never drops",
            link.name, direction.rate
        ));
    }
    warnings
}

/// Whether the queue was asked to mark. FQ-CoDel and DualPI2 mark by default, and that is not asking.
fn marks(queue: &Queue) -> bool {
    match queue {
        Queue::DropTail { mark_above } | Queue::DropTailPackets { mark_above, .. } => mark_above.is_some(),
        Queue::Red { ecn, .. } | Queue::CoDel { ecn, .. } => *ecn,
        Queue::FqCodel { .. } | Queue::DualPi2(_) => false,
    }
}

/// The host that something names.
fn host_named<'a>(name: &str, hosts: &'a [Host], what: &str, at: &Place) -> Result<&'a Host, Complaint> {
    hosts.iter().find(|h| h.name == name).ok_or_else(|| {
        let names: Vec<&str> = hosts.iter().map(|h| h.name.as_str()).collect();
        Complaint::at(at, format!("{what}: there is no host `{name}`"))
            .label("names no host")
            .help(suggest::choices(name, "hosts", &names))
    })
}

/// A time that has to pass.
fn positive(span: Span, what: &str, at: Place, most: Span) -> Result<(), Complaint> {
    if span > Span::ZERO && span <= most {
        return Ok(());
    }
    let help = format!("write a time above zero, up to {most}");
    Err(Complaint::at(&at, format!("{what}: {span} is out of range")).label("out of range").help(help))
}

fn check_delay(span: Span, what: &str, at: Place) -> Result<(), Complaint> {
    if span <= LONGEST_DELAY {
        return Ok(());
    }
    Err(Complaint::at(&at, format!("{what}: {span} is longer than an hour")).label("out of range"))
}

/// A rate, or none: a line that stands still.
fn check_rate_or_none(rate: Rate, what: &str, at: Place) -> Result<(), Complaint> {
    if rate == Rate::bps(0) { Ok(()) } else { check_rate(rate, what, at) }
}

/// A rate at which something moves.
fn check_rate(rate: Rate, what: &str, at: Place) -> Result<(), Complaint> {
    if rate > Rate::bps(0) && rate <= FASTEST {
        return Ok(());
    }
    let (message, help) = if rate == Rate::bps(0) {
        (
            format!("{what}: a rate of zero carries nothing"),
            "write a rate above zero, for example \"10 Gbit/s\"",
        )
    } else {
        (format!("{what}: {rate} is more than 100 Tbit/s"), "write at most 100 Tbit/s")
    };
    Err(Complaint::at(&at, message).label("out of range").help(help))
}

fn within(value: u64, range: RangeInclusive<u64>, what: &str, at: &Place) -> Result<(), Complaint> {
    within_unit(value, range, "", what, at)
}

fn within_bytes(value: Bytes, range: RangeInclusive<u64>, what: &str, at: &Place) -> Result<(), Complaint> {
    within_unit(value.get(), range, " B", what, at)
}

fn within_unit(
    value: u64,
    range: RangeInclusive<u64>,
    unit: &str,
    what: &str,
    at: &Place,
) -> Result<(), Complaint> {
    if range.contains(&value) {
        return Ok(());
    }
    let help = format!("write {}{unit} to {}{unit}", range.start(), range.end());
    Err(Complaint::at(at, format!("{what}: {value}{unit} is out of range")).label("out of range").help(help))
}

/// Base round-trip time of a flow between two hosts, and the slowest rate of its way out.
fn span_of(
    from: &Host,
    to: &Host,
    links: &[crate::run::Link],
    (route, route_back): (&[String], &[String]),
) -> (Span, Option<Rate>) {
    let out = crossed(links, route, from.router, to.router);
    let way_back = if route_back.is_empty() { route } else { route_back };
    let back = crossed(links, way_back, to.router, from.router);
    let delay = Run::delay_over(links, &out) + Run::delay_over(links, &back);
    let rates =
        out.iter().map(|(i, right)| if *right { links[*i].forward.rate } else { links[*i].reverse.rate });
    let slowest = rates.chain(from.nic_rate).min();
    (delay + (from.access_delay + to.access_delay) * 2, slowest)
}

/// A flow's label for messages.
fn called(flow: &Flow) -> String {
    format!("flow `{}`", flow.label)
}
