//! A scenario file, read: its runs and its bounds.

use crate::address::Address;
use crate::error::{Complaint, ScenarioError};
use crate::expect::{self, Expectation};
use crate::figure::{self, FigureRequest, MetricName};
use crate::metric_of::Labels;
use crate::resolve::{Resolved, resolve};
use crate::run::{Factor, Run};
use crate::sweep::{self, Axis, Combination};
use crate::tree::{Node, Place, Source, Value, parse_document, parse_value};
use crate::variant::Variants;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of the file format that this crate reads.
pub const SCHEMA: i64 = 1;

/// A scenario with everything resolved: what to run and what to expect of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// The scenario's name; runs are stored under it.
    pub name: String,
    /// The question it asks.
    pub about: String,
    /// Every combination of the sweep, each repeated; the last factor varies fastest but for the repetition.
    pub runs: Vec<Run>,
    /// Bounds that decide the exit code.
    pub expect: Vec<Expectation>,
    /// The figures that the report shall have besides its own choice: `[[figure]]`.
    pub figures: Vec<FigureRequest>,
    /// The file's text, to be kept with the results.
    pub source: String,
    /// Where the file is, as it was given.
    pub path: PathBuf,
    /// What is allowed but probably not meant, once each.
    pub warnings: Vec<String>,
    /// C files of the user's own congestion controls (`[congestion.NAME]`), found from the scenario's folder.
    pub own_controls: Vec<PathBuf>,
    /// Presets, schedules and lists that the scenario names, found from its folder.
    pub data_files: Vec<PathBuf>,
    /// The metrics that figures name.
    metrics_of_figures: Vec<MetricName>,
}

impl Study {
    /// Fails at the first bound in `[expect]` and the first `[[figure]]` whose metric is not among `known` (name and unit of
    /// each), or is of a flow or a group of flows that no run has.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] at the metric's line, with the nearest name and all others.
    pub fn check_metrics(&self, known: &[(&str, &str)]) -> Result<(), ScenarioError> {
        let flows = self.runs.iter().flat_map(|run| &run.flows);
        let flows: BTreeSet<&str> = flows.map(|flow| flow.label.as_str()).collect();
        let groups: BTreeSet<String> = self.runs.iter().flat_map(|run| run.flow_groups()).collect();
        let labels =
            Labels { flows: Vec::from_iter(flows), groups: groups.iter().map(String::as_str).collect() };
        expect::check_metrics(&self.expect, known, &labels)?;
        Ok(figure::check(&self.metrics_of_figures, known, Some(&labels))?)
    }
}

/// Reads a scenario file. `overrides` are `--set key=value` pairs, the later ones over the earlier; `seed` is
/// `--seed`, over `run.seed`.
///
/// A key that is swept is given a single value, or another list: the runs that remain keep their names and seeds.
///
/// # Errors
/// If the file cannot be read or says something that cannot be meant; see [`ScenarioError`].
pub fn load(path: &Path, overrides: &[(String, String)], seed: Option<u64>) -> Result<Study, ScenarioError> {
    let text = read(path).map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
    parse(&text, &path.to_string_lossy(), overrides, seed)
}

/// The text of a file, which may be a pipe but not without end.
fn read(path: &Path) -> std::io::Result<String> {
    const MOST: u64 = 16 << 20;
    let mut text = String::new();
    File::open(path)?.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST {
        let what = format!("it has more than {} MiB", MOST >> 20);
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, what));
    }
    Ok(text)
}

/// Reads a scenario from its text; `file_name` is for messages. Otherwise as [`load`].
///
/// # Errors
/// If the text says something that cannot be meant; see [`ScenarioError`].
pub fn parse(
    text: &str,
    file_name: &str,
    overrides: &[(String, String)],
    seed: Option<u64>,
) -> Result<Study, ScenarioError> {
    let source = Arc::new(Source { name: file_name.to_owned(), text: text.to_owned() });
    Ok(study(parse_document(&source)?, &source, overrides, seed)?)
}

/// The study of a tree; `source` is its text.
pub(crate) fn study(
    mut root: Node,
    source: &Arc<Source>,
    overrides: &[(String, String)],
    seed: Option<u64>,
) -> Result<Study, Complaint> {
    check_schema(&root)?;
    let written = match root.remove("sweep") {
        Some(entry) => sweep::axes(&entry.node)?,
        None => Vec::new(),
    };
    let variants = match root.remove("variant") {
        Some(entry) => Variants::read(&entry.node)?,
        None => Variants::default(),
    };
    variants.check(&written)?;
    let mut axes = written.clone();
    let mut sets = Vec::new();
    for (key, value) in overrides {
        match override_of(key, value)? {
            (address, node) if address.segments[0] == "sweep" => set_axis(&address, &node, &mut axes)?,
            (address, node) => match axes.iter_mut().find(|a| a.address.same(&address)) {
                Some(axis) => axis.values = replaced(axis, &node)?,
                None => sets.push((address, node)),
            },
        }
    }
    if let Some(seed) = seed {
        let text = seed.to_string();
        let length = text.len();
        let place = Place::new(&Arc::new(Source { name: "--seed".into(), text }), 0..length);
        let Ok(number) = i64::try_from(seed) else {
            return Err(Complaint::at(&place, format!("a seed is at most {}", i64::MAX)).label("too large"));
        };
        sets.push((Address::parse("run.seed", &place)?, Node { at: place, value: Value::Integer(number) }));
    }
    variants.check(&axes)?;
    // Levels of variants first, so that single settings lie over them.
    let mut single = Vec::new();
    for (address, value) in sets {
        match variants.level(&address, &value)? {
            Some(level) => level.apply(&mut root)?,
            None => single.push((address, value)),
        }
    }
    let sets = single;
    for (address, value) in &sets {
        address.set(&mut root, value)?;
    }
    let expect = match root.get("expect") {
        Some(node) => {
            // Conditions may speak of values that --set has taken out of the sweep, or put in.
            let all: Vec<Axis> = written.iter().chain(&axes).fold(Vec::new(), join_axis);
            expect::expectations(node, &all)?
        }
        None => Vec::new(),
    };
    let (figures, metrics_of_figures) = match root.get("figure") {
        Some(node) => {
            let factors: Vec<&str> = axes.iter().map(|axis| axis.address.text.as_str()).collect();
            figure::figures(node, &factors)?
        }
        None => Default::default(),
    };
    let Resolutions { mut runs, warnings, own_controls, data_files } = runs(&root, &axes, &variants, &sets)?;
    let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    for run in &mut runs {
        run.kernel = run.kernel.take().map(|kernel| kernel.below(folder));
    }
    let Some(Run { study: name, about, .. }) = runs.first().cloned() else {
        unreachable!("a product of non-empty lists, each repeated at least once, is not empty")
    };
    Ok(Study {
        name,
        about,
        runs,
        expect,
        figures,
        source: source.text.clone(),
        path: PathBuf::from(&source.name),
        warnings: warnings.into_iter().collect(),
        own_controls: own_controls.into_iter().map(|file| folder.join(file)).collect(),
        data_files: data_files.into_iter().map(|file| folder.join(file)).collect(),
        metrics_of_figures,
    })
}

fn check_schema(root: &Node) -> Result<(), Complaint> {
    let help = format!("this wirespeed reads schema = {SCHEMA}");
    match root.get("schema") {
        Some(node) if node.value == Value::Integer(SCHEMA) => Ok(()),
        Some(node) => {
            Err(Complaint::at(&node.at, "the file is of another schema").label("not known").help(help))
        }
        None => Err(Complaint::at(&root.at, "`schema` is missing at the top level")
            .label("in this file")
            .help(format!("begin the file with a line schema = {SCHEMA}"))),
    }
}

/// A `--set` as address and value; what is not a TOML value is text, so that units need no quotes.
fn override_of(key: &str, value: &str) -> Result<(Address, Node), Complaint> {
    let text = format!("{key}={value}");
    let source = Arc::new(Source { name: "--set".into(), text });
    let address = Address::parse(key, &Place::new(&source, 0..key.len()))?;
    let offset = key.len() + 1;
    let bracketed = value.trim_start().starts_with(['[', '{', '"', '\'']);
    let node = match parse_value(&source, offset) {
        // A version is not a number: 6.10 comes after 6.9.
        Ok(Node { at, value: Value::Float(_) | Value::Integer(_) }) if is_version(&address) => {
            Node { at, value: Value::Text(value.trim().to_owned()) }
        }
        Ok(node) => node,
        Err(complaint) if bracketed => return Err(complaint),
        Err(_) => Node {
            at: Place::new(&source, offset..source.text.len()),
            value: Value::Text(value.trim().to_owned()),
        },
    };
    Ok((address, node))
}

/// Whether a key holds a version of Linux.
fn is_version(address: &Address) -> bool {
    address.segments.last().is_some_and(|key| key == "kernel")
}

/// `--set 'sweep."path.loss"=[0, 1e-5]'`: another axis, or another list for one there is.
fn set_axis(address: &Address, node: &Node, axes: &mut Vec<Axis>) -> Result<(), Complaint> {
    let Some(key) = address.segments.get(1) else {
        return Err(Complaint::at(&address.at, "`sweep` is a table")
            .help("set one factor: sweep.\"path.loss\"=[0, 1e-5]"));
    };
    let axis = sweep::axis(Address::parse(key, &address.at)?, node)?;
    match axes.iter_mut().find(|a| a.address.same(&axis.address)) {
        Some(old) => old.values = axis.values,
        None => axes.push(axis),
    }
    Ok(())
}

/// The values that `--set` leaves of an axis: its one value or its list.
fn replaced(axis: &Axis, node: &Node) -> Result<Vec<Node>, Complaint> {
    let list = match node.value {
        Value::Array(_) => node.clone(),
        _ => Node { at: node.at.clone(), value: Value::Array(vec![node.clone()]) },
    };
    Ok(sweep::axis(axis.address.clone(), &list)?.values)
}

fn join_axis(mut joined: Vec<Axis>, axis: &Axis) -> Vec<Axis> {
    match joined.iter_mut().find(|a| a.address.same(&axis.address)) {
        Some(old) => {
            let new = axis.values.iter().filter(|v| old.values.iter().all(|o| o.value != v.value));
            let new: Vec<Node> = new.cloned().collect();
            old.values.extend(new);
        }
        None => joined.push(axis.clone()),
    }
    joined
}

type Overrides = [(Address, Node)];

/// All combinations, resolved.
#[derive(Default)]
struct Resolutions {
    runs: Vec<Run>,
    /// Settings of any of them that are probably not meant.
    warnings: BTreeSet<String>,
    /// C files of the user's own congestion controls that any of them names.
    own_controls: BTreeSet<PathBuf>,
    /// Presets, schedules and lists that any of them names.
    data_files: BTreeSet<PathBuf>,
}

fn runs(root: &Node, axes: &[Axis], variants: &Variants, sets: &Overrides) -> Result<Resolutions, Complaint> {
    let combinations = sweep::combinations(axes).unwrap_or(usize::MAX);
    let mut all = Resolutions::default();
    for combination in sweep::product(axes) {
        let resolved = one(root, axes, variants, &combination, sets)
            .map_err(|complaint| with_combination(complaint, root, axes, variants, &combination, sets))?;
        // The repetitions cannot be swept, so the first combination tells how many runs there will be.
        if combinations.saturating_mul(resolved.repeat as usize) > sweep::MOST_RUNS {
            let place = axes.last().map_or(root.place_of(&["run", "repeat"]), |a| a.address.at.clone());
            let message = format!("more than {} runs in one study", sweep::MOST_RUNS);
            return Err(Complaint::at(&place, message)
                .label("multiplies the runs")
                .help("sweep fewer values, repeat less, or split the sweep over several files"));
        }
        all.runs.extend(resolved.runs());
        all.warnings.extend(resolved.warnings);
        all.own_controls.extend(resolved.own_controls);
        all.data_files.extend(resolved.data_files);
    }
    Ok(all)
}

/// Resolves one combination: the file, its factors over it, `--set` over both.
fn one(
    root: &Node,
    axes: &[Axis],
    variants: &Variants,
    combination: &Combination<'_>,
    sets: &Overrides,
) -> Result<Resolved, Complaint> {
    let mut tree = root.clone();
    let mut factors: BTreeMap<String, Factor> = BTreeMap::new();
    // Levels first: they may lay out the flows that single factors then speak of.
    for (axis, value) in axes.iter().zip(combination) {
        if let Some(level) = variants.level(&axis.address, value)? {
            level.apply(&mut tree)?;
        }
    }
    for (axis, value) in axes.iter().zip(combination) {
        if variants.level(&axis.address, value)?.is_none() {
            axis.address.set(&mut tree, value)?;
        }
        factors.insert(axis.address.text.clone(), sweep::factor(value, &axis.address.text)?);
    }
    for (address, value) in sets {
        address.set(&mut tree, value)?;
    }
    // A run must not be filed under a factor that something else has overwritten.
    for (axis, value) in axes.iter().zip(combination) {
        if let Some(level) = variants.level(&axis.address, value)? {
            if let Some(address) = level.overwritten(&mut tree)? {
                let (name, key) = (&axis.address.text, &address.text);
                let message = format!("`{key}` belongs to a level of `{name}`, but something overwrites it");
                return Err(Complaint::at(level.place(), message).label("would not be this level").help(
                    format!("add a level with the other value, or choose one level with --set {name}=LEVEL"),
                ));
            }
            continue;
        }
        if !axis.address.holds(&mut tree, &value.value)? {
            let key = &axis.address.text;
            return Err(Complaint::at(&axis.address.at, format!("`{key}` is swept, but something overwrites it"))
                .label("has no effect everywhere")
                .help("sweep or --set the same path once; name single flows as flow.0.KEY or flow.LABEL.KEY in both"));
        }
    }
    resolve(&tree, factors)
}

/// Says which combination is wrong, unless all are in the same way.
fn with_combination(
    complaint: Complaint,
    root: &Node,
    axes: &[Axis],
    variants: &Variants,
    combination: &Combination<'_>,
    sets: &Overrides,
) -> Complaint {
    let first_and_last = [
        axes.iter().map(|a| &a.values[0]).collect::<Combination<'_>>(),
        axes.iter().map(|a| &a.values[a.values.len() - 1]).collect(),
    ];
    let everywhere =
        first_and_last.iter().all(|c| one(root, axes, variants, c, sets).err().as_ref() == Some(&complaint));
    if axes.is_empty() || everywhere {
        return complaint;
    }
    let factors: Vec<String> = axes
        .iter()
        .zip(combination)
        .filter_map(|(axis, value)| {
            let factor = sweep::factor(value, &axis.address.text).ok()?;
            Some(format!("{} = {factor}", axis.address.text))
        })
        .collect();
    Complaint {
        message: format!("{} [in the combination {}]", complaint.message, factors.join(", ")),
        ..complaint
    }
}
