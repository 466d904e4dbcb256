//! `study.toml`: what a study built, which scenario stands for which figure, and what its words mean in scenarios.

use super::conclusion::ConclusionRow;
use crate::claims::read::{expect, only, optional_text, optional_texts, required_text};
use crate::claims::{Expect, Factor};
use std::collections::BTreeMap;
use wirespeed_report::claims::kinds;
use wirespeed_scenario::document::{Complaint, Entry, Node, Source, Value, parse_document};

const KEYS: &[&str] = &[
    "schema",
    "name",
    "title",
    "reference",
    "built",
    "assumptions",
    "conclusion",
    "metrics",
    "names",
    "values",
    "quick",
    "scenario",
    "figure",
    "claim",
];
const SCENARIO_KEYS: &[&str] = &["given", "names", "quick"];
const FIGURE_KEYS: &[&str] =
    &["id", "scenario", "title", "text", "draw", "metric", "spread", "x", "by", "where"];
const CLAIM_KEYS: &[&str] =
    &["scenario", "calibration", "explanation", "together", "over", "shape", "any_host"];

/// A study's settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Short name; that of its folder.
    pub name: String,
    /// The study's title.
    pub title: String,
    /// Authors, place and year.
    pub reference: String,
    /// What was built, in a few sentences.
    pub built: String,
    /// What the study does not say and had to be assumed, with the reason.
    pub assumptions: Vec<String>,
    /// Its conclusions.
    pub conclusions: Vec<ConclusionRow>,
    /// What stands for a claim's metric, by its name.
    pub metrics: BTreeMap<String, String>,
    /// Scenario paths by the claims' names of factors.
    pub names: BTreeMap<String, String>,
    /// Values by the claims' words for them, by the claims' name of the factor.
    pub values: BTreeMap<String, BTreeMap<String, Node>>,
    /// Settings of `--quick`.
    pub quick: Vec<(String, Node)>,
    /// The scenarios, in the order of the file.
    pub scenarios: Vec<ScenarioRow>,
    /// The figures, in the order of the file.
    pub figures: Vec<FigureRow>,
    /// What is known about claims.
    pub claims: BTreeMap<String, ClaimRow>,
}

/// What is said of a scenario file.
#[derive(Debug, Clone, Default)]
pub struct ScenarioRow {
    /// Its file.
    pub file: String,
    /// Factors of claims that it already has, by their name.
    pub given: BTreeMap<String, String>,
    /// Scenario paths by the claims' names of factors, over those of the study.
    pub names: BTreeMap<String, String>,
    /// Settings of `--quick`, over those of the study.
    pub quick: Vec<(String, Node)>,
}

/// A figure or table of the study.
#[derive(Debug, Clone, Default)]
pub struct FigureRow {
    /// As the study calls it.
    pub id: String,
    /// The file whose runs it shows.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// What the study's text says of it.
    pub text: String,
    /// How it is drawn; nothing if claims alone speak of it.
    pub draw: Option<DrawRow>,
}

/// How a figure is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawRow {
    /// What it looks like.
    pub form: Form,
    /// The metric; of boxes: least, quartiles and largest; over time: names of [`kinds`].
    pub metrics: Vec<String>,
    /// A second metric, as dots beside bars.
    pub spread: Option<String>,
    /// The factor along the axis.
    pub x: String,
    /// The factor that tells lines or bars apart.
    pub by: String,
    /// Only runs with these factors.
    pub filter: BTreeMap<String, String>,
}

/// What a figure looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line for each level of `by` over `x`.
    Lines,
    /// A box for each level of `by`.
    Boxes,
    /// A bar for each level of `x` and `by`.
    Bars,
    /// The first run of each setting over time; what of it is in the place of metrics.
    OverTime,
}

/// What is known about a claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimRow {
    /// The file it is run on, where that does not follow from its figure.
    pub scenario: Option<String>,
    /// Constants of the model were fitted to it.
    pub calibration: bool,
    /// Why it differs: the mechanism.
    pub explanation: String,
    /// Factors whose lists go together, value by value, instead of every combination.
    pub together: Vec<String>,
    /// The factor of its order or ratio, where the claim does not name it.
    pub over: Option<String>,
    /// Of a shape: what its words say in numbers.
    pub shape: Option<Expect>,
    /// What it speaks of does not happen in hosts, so that a substrate without their inside can judge it.
    pub any_host: bool,
}

impl Settings {
    /// Reads `study.toml`.
    pub fn read(text: &str, name: &str) -> Result<Self, Complaint> {
        let root = parse_document(&Source::new(name, text))?;
        only(&root, KEYS, "study.toml", "see docs/how-to/reproduce-a-study.md")?;
        if root.get("schema").map(|node| &node.value) != Some(&Value::Integer(1)) {
            return Err(Complaint::at(&root.at, "the first line has to be schema = 1").label("in this file"));
        }
        let mut settings = Settings {
            name: required_text(&root, "name", "study.toml")?,
            title: required_text(&root, "title", "study.toml")?,
            reference: optional_text(&root, "reference", "study.toml")?,
            built: optional_text(&root, "built", "study.toml")?,
            assumptions: optional_texts(&root, "assumptions", "study.toml")?,
            metrics: words(&root, "metrics")?,
            names: words(&root, "names")?,
            quick: nodes(&root, "quick"),
            ..Settings::default()
        };
        for entry in children(&root, "values") {
            let levels = entry.node.entries().iter().map(|e| (e.key.clone(), e.node.clone())).collect();
            settings.values.insert(entry.key.clone(), levels);
        }
        for entry in children(&root, "scenario") {
            only(
                &entry.node,
                SCENARIO_KEYS,
                &format!("scenario.\"{}\"", entry.key),
                "give given, names or quick",
            )?;
            settings.scenarios.push(ScenarioRow {
                file: entry.key.clone(),
                given: words(&entry.node, "given")?,
                names: words(&entry.node, "names")?,
                quick: nodes(&entry.node, "quick"),
            });
        }
        for node in root.get("conclusion").map(Node::elements).unwrap_or_default() {
            settings.conclusions.push(ConclusionRow::read(node)?);
        }
        for node in root.get("figure").map(Node::elements).unwrap_or_default() {
            settings.figures.push(figure(node)?);
        }
        for entry in children(&root, "claim") {
            settings.claims.insert(entry.key.clone(), claim(entry)?);
        }
        Ok(settings)
    }

    /// What is said of a scenario file; nothing if it is not named.
    pub fn scenario(&self, file: &str) -> ScenarioRow {
        let found = self.scenarios.iter().find(|row| row.file == file);
        found.cloned().unwrap_or_else(|| ScenarioRow { file: file.into(), ..ScenarioRow::default() })
    }

    /// The file of a claim's figure; figures of several parts (`8b/10`, `6,7`) are found by any of them.
    pub fn file_of(&self, figure: &str) -> Option<&str> {
        let whole = self.figures.iter().find(|row| row.id == figure);
        let part = || {
            let mut parts = figure.split(['/', ',']).map(str::trim);
            parts.find_map(|part| self.figures.iter().find(|row| row.id == part))
        };
        whole.or_else(part).map(|row| row.scenario.as_str())
    }

    /// A factor's path in the scenario.
    pub fn path<'a>(&'a self, scenario: &'a ScenarioRow, factor: &'a str) -> &'a str {
        scenario.names.get(factor).or_else(|| self.names.get(factor)).map_or(factor, String::as_str)
    }

    /// The value that a claim's word stands for.
    pub fn value(&self, factor: &Factor, value: &Node) -> Node {
        let levels = self.values.get(&factor.name);
        levels.and_then(|levels| levels.get(&plain(value))).unwrap_or(value).clone()
    }
}

/// A scalar as factors of runs are written.
pub(super) fn plain(node: &Node) -> String {
    match &node.value {
        Value::Bool(v) => v.to_string(),
        Value::Integer(v) => v.to_string(),
        Value::Float(v) => wirespeed_scenario::Factor::Float(*v).to_string(),
        Value::Text(v) => v.clone(),
        Value::Array(_) | Value::Table(_) => String::new(),
    }
}

fn children<'a>(root: &'a Node, key: &str) -> &'a [Entry] {
    root.get(key).map(Node::entries).unwrap_or_default()
}

/// A table of scalars, as text.
fn words(root: &Node, key: &str) -> Result<BTreeMap<String, String>, Complaint> {
    let entry = |entry: &Entry| match &entry.node.value {
        Value::Array(_) | Value::Table(_) => {
            Err(Complaint::at(&entry.at, format!("{key}.{}: expected a word or a number", entry.key))
                .label("not a value")
                .help("write the whole path in quotes, for example flows = \"flow.count\""))
        }
        _ => Ok((entry.key.clone(), plain(&entry.node))),
    };
    children(root, key).iter().map(entry).collect()
}

fn nodes(root: &Node, key: &str) -> Vec<(String, Node)> {
    children(root, key).iter().map(|entry| (entry.key.clone(), entry.node.clone())).collect()
}

fn figure(node: &Node) -> Result<FigureRow, Complaint> {
    only(node, FIGURE_KEYS, "a figure", "give id, scenario, title, text and how it is drawn")?;
    let id = required_text(node, "id", "a figure")?;
    let what = format!("figure {id}");
    let form = match node.get("draw").map(|draw| (draw, draw.text().unwrap_or_default())) {
        None => None,
        Some((_, "lines")) => Some(Form::Lines),
        Some((_, "boxes")) => Some(Form::Boxes),
        Some((_, "bars")) => Some(Form::Bars),
        Some((_, "over-time")) => Some(Form::OverTime),
        Some((draw, other)) => {
            return Err(Complaint::at(&draw.at, format!("{what}: no figure is drawn as `{other}`"))
                .label("not a form")
                .help("forms: lines, boxes, bars, over-time"));
        }
    };
    let draw = match form {
        None => None,
        Some(form) => Some(DrawRow {
            form,
            metrics: match node.get("metric") {
                Some(list @ Node { value: Value::Array(_), .. }) => {
                    list.elements().iter().map(plain).collect()
                }
                _ => vec![required_text(node, "metric", &what)?],
            },
            spread: node.get("spread").and_then(Node::text).map(str::to_owned),
            x: optional_text(node, "x", &what)?,
            by: optional_text(node, "by", &what)?,
            filter: words(node, "where")?,
        }),
    };
    if let Some(DrawRow { form: Form::OverTime, metrics, .. }) = &draw
        && let Some(unknown) = metrics.iter().find(|name| !kinds().any(|kind| kind == name.as_str()))
    {
        let at = node.get("metric").map_or(&node.at, |metric| &metric.at);
        return Err(Complaint::at(at, format!("{what}: `{unknown}` is not shown over time"))
            .label("not a figure of a run")
            .help(format!("of a run: {}", kinds().collect::<Vec<_>>().join(", "))));
    }
    Ok(FigureRow {
        scenario: required_text(node, "scenario", &what)?,
        title: required_text(node, "title", &what)?,
        text: optional_text(node, "text", &what)?,
        draw,
        id,
    })
}

fn claim(entry: &Entry) -> Result<ClaimRow, Complaint> {
    let what = format!("claim.{}", entry.key);
    let hint = "give scenario, calibration, explanation, together, over, shape or any_host";
    only(&entry.node, CLAIM_KEYS, &what, hint)?;
    let is = |key: &str| entry.node.get(key).is_some_and(|node| node.value == Value::Bool(true));
    let word = |key: &str| entry.node.get(key).and_then(Node::text).map(str::to_owned);
    Ok(ClaimRow {
        scenario: word("scenario"),
        calibration: is("calibration"),
        explanation: optional_text(&entry.node, "explanation", &what)?,
        together: optional_texts(&entry.node, "together", &what)?,
        over: word("over"),
        shape: entry.node.get("shape").map(|shape| expect(shape, "", &what)).transpose()?,
        any_host: is("any_host"),
    })
}
