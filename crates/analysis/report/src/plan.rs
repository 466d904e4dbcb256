//! From a request to the axes and the runs of its figures.

use crate::digest::{RunDigest, leading_metric, metric_words};
use crate::factors::{FactorAxis, Panel, panels};
use wirespeed_scenario::{FigureKind, FigureRequest, Subject, metric_of};

/// More figures than this for one request are not read.
const MOST_PANELS: usize = 12;
/// A reader does not distinguish more colours.
const MOST_COLOURS: usize = 14;

/// A metric as figures show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    /// Its name.
    pub name: String,
    /// Its unit in recordings.
    pub unit: String,
    /// Its name in words, with a capital.
    pub what: String,
}

impl Measure {
    /// The metric of this name, if any run has it.
    pub fn of(runs: &[RunDigest], name: &str) -> Option<Measure> {
        let run = runs.iter().find(|run| run.metric(name).is_some())?;
        let words = words(name);
        let mut letters = words.chars();
        let what = letters.next().map(|first| first.to_uppercase().chain(letters).collect());
        Some(Measure { name: name.into(), unit: run.unit(name).into(), what: what.unwrap_or_default() })
    }

    /// As [`Measure::of`], of a request.
    pub fn wanted(runs: &[RunDigest], name: Option<&str>) -> Result<Measure, Refusal> {
        let name = name.or_else(|| leading_metric(runs)).unwrap_or("goodput_bps");
        Measure::of(runs, name).ok_or_else(|| Refusal::NotMeasured(name.into()))
    }

    /// Its name in words within a sentence.
    pub fn words(&self) -> String {
        words(&self.name)
    }
}

/// The name of a metric in words, and the flow or the group that it is of.
fn words(name: &str) -> String {
    if let (Subject::Flow(label) | Subject::Group(label), metric) = metric_of(name) {
        return format!("{} of {label}", words(metric));
    }
    let words = metric_words(name);
    words.split(' ').map(|word| if word == "rtt" { "RTT" } else { word }).collect::<Vec<_>>().join(" ")
}

/// Why a request has no figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refusal {
    /// No run has this metric.
    NotMeasured(String),
    /// The runs do not vary this factor.
    NotVaried(String),
    /// The values of this factor are not numbers of one unit.
    NotNumeric(String),
    /// Fewer factors vary than the figure has axes.
    TooFewFactors { needed: usize },
    /// So many figures would be needed, one for each combination of these factors.
    TooManyPanels { panels: usize, heads: Vec<String> },
    /// The runs lack what the distribution is of.
    NoSamples(&'static str),
}

impl Refusal {
    /// In a sentence, with the remedy.
    pub fn words(&self) -> String {
        match self {
            Refusal::NotMeasured(metric) => format!("No run has the metric {metric}."),
            Refusal::NotVaried(key) => format!("The runs do not vary {key}."),
            Refusal::NotNumeric(key) => {
                format!("The values of {key} are not numbers of one unit. Use `by`, or a figure of kind box.")
            }
            Refusal::TooFewFactors { needed: 1 } => "The runs vary no factor of numbers.".into(),
            Refusal::TooFewFactors { needed } => {
                format!("The figure needs {needed} factors, and the runs vary fewer.")
            }
            Refusal::TooManyPanels { panels, heads } => format!(
                "{} have {panels} combinations, and a request makes at most {MOST_PANELS} figures. Average over some: \
                 average={}.",
                heads.join(" and "),
                heads.last().map_or("", String::as_str),
            ),
            Refusal::NoSamples(what) => format!("No run has {what}."),
        }
    }
}

/// The factors of a request, each in its place.
pub(crate) struct Plan<'a> {
    pub x: Option<FactorAxis>,
    pub y: Option<FactorAxis>,
    /// The factor with a colour for each value.
    pub by: Option<FactorAxis>,
    /// The factors that have no place and are not averaged over.
    pub free: Vec<FactorAxis>,
    /// Names of the factors that are averaged over.
    pub averaged: Vec<String>,
    pub panels: Vec<Panel<'a>>,
}

impl<'a> Plan<'a> {
    /// The places of the factors of `runs`. The kind of figure decides the places that the request leaves open.
    pub fn new(request: &FigureRequest, runs: &'a [RunDigest]) -> Result<Plan<'a>, Refusal> {
        let mut free = FactorAxis::varied(runs);
        let take = |free: &mut Vec<FactorAxis>, key: &Option<String>| match key {
            None => Ok(None),
            Some(key) => match free.iter().position(|axis| axis.key == *key) {
                Some(at) => Ok(Some(free.remove(at))),
                None => FactorAxis::of(runs, key).map(Some).ok_or_else(|| Refusal::NotVaried(key.clone())),
            },
        };
        let mut averaged = Vec::new();
        for key in &request.average {
            averaged.extend(take(&mut free, &Some(key.clone()))?.map(|axis| axis.head));
        }
        let mut facets = Vec::from_iter(take(&mut free, &request.facet)?);
        let mut by = take(&mut free, &request.by)?;
        let mut y = take(&mut free, &request.y)?;
        let mut x = take(&mut free, &request.x)?;
        match request.kind {
            FigureKind::Line => {
                x = Some(
                    x.or_else(|| most_values(&mut free, true)).ok_or(Refusal::TooFewFactors { needed: 1 })?,
                );
                if let Some(axis) = x.as_ref().filter(|axis| !axis.is_numeric()) {
                    return Err(Refusal::NotNumeric(axis.key.clone()));
                }
                by = by.or_else(|| coloured(&mut free));
                facets.append(&mut free);
            }
            FigureKind::HeatMap => {
                let mut choose = || most_values(&mut free, true).or_else(|| most_values(&mut free, false));
                // The factor with the most values is the wider axis.
                x = x.or_else(&mut choose);
                y = y.or_else(&mut choose);
                if x.is_none() || y.is_none() {
                    return Err(Refusal::TooFewFactors { needed: 2 });
                }
                facets.extend(by.take());
                facets.append(&mut free);
            }
            FigureKind::Cdf => {
                by = by.or_else(|| coloured(&mut free));
                facets.append(&mut free);
            }
            FigureKind::Box | FigureKind::Scatter => by = by.or_else(|| coloured(&mut free)),
        }
        let panels = panels(runs, &facets);
        if panels.len() > MOST_PANELS {
            let heads = facets.into_iter().map(|facet| facet.head).collect();
            return Err(Refusal::TooManyPanels { panels: panels.len(), heads });
        }
        Ok(Plan { x, y, by, free, averaged, panels })
    }

    /// The factors that its means are over, as the end of a note; empty if over repeats only.
    pub fn averaged_note(&self) -> String {
        if self.averaged.is_empty() {
            String::new()
        } else {
            format!(" Averaged over {}: intervals contain its effect.", self.averaged.join(" and "))
        }
    }

    /// `title`, and what the runs of a panel have in common.
    pub fn title(&self, title: &str, panel: &Panel) -> String {
        if panel.name.is_empty() { title.into() } else { format!("{title}: {}", panel.name) }
    }

    /// The parts of a panel that have a colour each, with their place among the values of `by`.
    pub fn parts(&self, panel: &Panel<'a>) -> Vec<(usize, Vec<&'a RunDigest>)> {
        match &self.by {
            None => vec![(0, panel.runs.clone())],
            Some(by) => {
                let parts = by.split(&panel.runs).into_iter().enumerate();
                parts.filter(|(_, runs)| !runs.is_empty()).collect()
            }
        }
    }

    /// The name of a part in legends; empty without `by`.
    pub fn part_name(&self, index: usize) -> String {
        self.by.as_ref().map_or_else(String::new, |by| by.phrase(index))
    }

    /// The colour of a part.
    pub fn ink(&self, index: usize, runs: &[&RunDigest]) -> crate::figure::Ink {
        match &self.by {
            Some(by) => by.ink(index),
            None => runs[0].ink(0),
        }
    }
}

/// Takes the factor with the most values out of `free`.
fn most_values(free: &mut Vec<FactorAxis>, is_numeric: bool) -> Option<FactorAxis> {
    let fits = |axis: &&FactorAxis| !is_numeric || axis.is_numeric();
    let most = free.iter().filter(fits).map(|axis| axis.levels.len()).max()?;
    let at = free.iter().position(|axis| fits(&axis) && axis.levels.len() == most)?;
    Some(free.remove(at))
}

/// Takes the factor that suits colours best: congestion control algorithms, then names, then the fewest values.
fn coloured(free: &mut Vec<FactorAxis>) -> Option<FactorAxis> {
    let rank = |axis: &FactorAxis| (!axis.is_congestion(), axis.is_numeric(), axis.levels.len());
    let fits = |axis: &&FactorAxis| axis.levels.len() <= MOST_COLOURS;
    let best = free.iter().filter(fits).map(rank).min()?;
    let at = free.iter().position(|axis| rank(axis) == best)?;
    Some(free.remove(at))
}

/// A name for files and anchors: letters and digits in lower case, and hyphens.
pub(crate) fn slug(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('.', "-"))
        .collect();
    words.join("-").chars().take(60).collect()
}

/// The id of a figure: `stem`, and the name of its panel.
pub(crate) fn panel_id(stem: &str, panel: &Panel) -> String {
    if panel.name.is_empty() { stem.into() } else { format!("{stem}-{}", slug(&panel.name)) }
}

/// How many observations stand behind means, in words: `n = 3`, `n = 1 to 3`.
pub(crate) fn observed(counts: impl IntoIterator<Item = usize>) -> String {
    let (least, most) =
        counts.into_iter().fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    match (least, most) {
        (_, 0) => "n = 0".into(),
        (least, most) if least == most => format!("n = {most}"),
        (least, most) => format!("n = {least} to {most}"),
    }
}
