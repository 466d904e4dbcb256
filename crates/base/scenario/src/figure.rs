//! Figures over the runs of a sweep that a scenario (`[[figure]]`) or a command line (`--figure`) asks for.

use crate::decode::decode;
use crate::error::{Complaint, ScenarioError};
use crate::factor_name::factor_called;
use crate::metric_of::{Labels, metric_of};
use crate::suggest;
use crate::tree::{Entry, Node, Place, Source, Value, parse_value};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The kind of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// Means with their 95 % intervals over a numeric factor.
    Line,
    /// The mean of each combination of two factors, as a colour and a number.
    HeatMap,
    /// Median, quartiles and single runs of each setting.
    Box,
    /// Cumulative distribution.
    Cdf,
    /// One metric against another, with a mark for each setting.
    Scatter,
}

impl FigureKind {
    /// The word in files and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            FigureKind::Line => "line",
            FigureKind::HeatMap => "heat-map",
            FigureKind::Box => "box",
            FigureKind::Cdf => "cdf",
            FigureKind::Scatter => "scatter",
        }
    }

    /// The keys that such a figure has, besides `kind` and `metric`.
    fn keys(self) -> &'static [&'static str] {
        match self {
            FigureKind::Line => &["x", "by", "facet", "average", "log_x", "log_y"],
            FigureKind::HeatMap => &["x", "y", "by", "facet", "average", "log_y"],
            FigureKind::Box => &["x", "by", "facet", "average", "log_x"],
            FigureKind::Cdf => &["of", "by", "facet", "average", "log_x"],
            FigureKind::Scatter => &["against", "by", "facet", "average", "log_x", "log_y"],
        }
    }
}

/// The values of a cumulative distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DistributionOf {
    /// The metric's values of runs.
    #[default]
    Runs,
    /// The smoothed round-trip times that the runs sampled.
    RttSamples,
    /// The completion times of flows.
    FlowTimes,
}

/// A figure over the runs of a sweep.
///
/// Factors are named as `[sweep]` names them, or by the last part of such a name if no other factor ends the same. A factor
/// that a request neither names nor averages over makes a figure for each of its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureRequest {
    /// `line`: means with 95 % intervals over a numeric factor. `heat-map`: means over two factors. `box`: quartiles and
    /// single runs of each setting. `cdf`: cumulative distribution. `scatter`: one metric against another.
    pub kind: FigureKind,
    /// The metric; `wirespeed list metrics` names all. `flow.LABEL.METRIC` is that of one flow, and `group.LABEL.METRIC` that of
    /// a group of flows. Default: `goodput_bps`, or the nearest to it that was measured.
    pub metric: Option<String>,
    /// Scatter: the metric on the horizontal axis. Default: `rtt_q95_ns`.
    pub against: Option<String>,
    /// CDF: the counted values. `runs` (default): the metric's values. `rtt-samples`: sampled round-trip times. `flow-times`:
    /// completion times of flows.
    pub of: Option<DistributionOf>,
    /// Line, heat map, box: the factor on the horizontal axis, of boxes the factor from top to bottom. Default: the numeric
    /// factor with the most values.
    pub x: Option<String>,
    /// Heat map: the factor on the vertical axis. Default: the numeric factor with the most values but `x`.
    pub y: Option<String>,
    /// The factor that has a colour for each value; of heat maps, a map for each value.
    pub by: Option<String>,
    /// The factor that has a figure for each value, all with the same axes.
    pub facet: Option<String>,
    /// Factors over which means are taken. All runs of a setting count the same.
    #[serde(default)]
    pub average: Vec<String>,
    /// Logarithmic horizontal axis. Default: if its values span more than a factor of 15.
    pub log_x: Option<bool>,
    /// Logarithmic axis of the metric; of heat maps, logarithmic scale of colours. Default: if its means span more than a
    /// factor of 30.
    pub log_y: Option<bool>,
}

impl FigureRequest {
    /// A figure of this kind in which everything is left to its default.
    pub fn new(kind: FigureKind) -> Self {
        FigureRequest {
            kind,
            metric: None,
            against: None,
            of: None,
            x: None,
            y: None,
            by: None,
            facet: None,
            average: Vec::new(),
            log_x: None,
            log_y: None,
        }
    }

    /// Reads a request from a command line, such as `heat-map metric=goodput_bps x=rtt y=loss by=congestion`. `factors` are
    /// the factors of the runs, and `metrics` the known metrics (name, unit).
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] at the wrong word, with what there is.
    pub fn parse(text: &str, factors: &[&str], metrics: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let node = words(text)?;
        let (request, names) = read(&node, factors)?;
        check(&names, metrics, None)?;
        Ok(request)
    }
}

/// A metric's name in a request, and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricName {
    name: String,
    key: &'static str,
    at: Place,
}

/// Reads `[[figure]]`. `factors` are those of the sweep.
pub(crate) fn figures(
    list: &Node,
    factors: &[&str],
) -> Result<(Vec<FigureRequest>, Vec<MetricName>), Complaint> {
    let Value::Array(tables) = &list.value else {
        return Err(Complaint::at(&list.at, format!("figure: expected a list, found {}", list.kind()))
            .label("not a list of tables")
            .help("write [[figure]] and below it lines such as kind = \"heat-map\""));
    };
    let mut requests = Vec::new();
    let mut metrics = Vec::new();
    for table in tables {
        let (request, mut names) = read(table, factors)?;
        requests.push(request);
        metrics.append(&mut names);
    }
    Ok((requests, metrics))
}

/// Fails at the first name that is not among `known` (name, unit), or is of a flow or group that is not among `labels`, if
/// these are known.
pub(crate) fn check(
    names: &[MetricName],
    known: &[(&str, &str)],
    labels: Option<&Labels>,
) -> Result<(), Complaint> {
    let metrics: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    for MetricName { name, key, at } in names {
        let metric = match labels {
            Some(labels) => labels.check(name, at)?,
            None => metric_of(name).1,
        };
        if !metrics.contains(&metric) {
            return Err(Complaint::at(at, format!("figure.{key}: there is no metric `{metric}`"))
                .label("no such metric")
                .help(suggest::choices(metric, "metrics", &metrics)));
        }
    }
    Ok(())
}

/// A request with the full names of its factors, and the metrics that it names.
fn read(node: &Node, factors: &[&str]) -> Result<(FigureRequest, Vec<MetricName>), Complaint> {
    let mut request: FigureRequest = decode(node, "figure")?;
    let kind = request.kind;
    if let Some(stranger) = node.entries().iter().find(|entry| {
        !["kind", "metric"].contains(&entry.key.as_str()) && !kind.keys().contains(&entry.key.as_str())
    }) {
        let message =
            format!("figure: `{}` does not belong to a figure of kind {}", stranger.key, kind.word());
        return Err(Complaint::at(&stranger.at, message).label("not a key of this kind").help(format!(
            "keys of {}: metric, {}",
            kind.word(),
            kind.keys().join(", ")
        )));
    }
    let mut used: Vec<String> = Vec::new();
    let slots = [
        ("x", &mut request.x),
        ("y", &mut request.y),
        ("by", &mut request.by),
        ("facet", &mut request.facet),
    ];
    for (key, slot) in slots {
        if let Some(name) = slot {
            let (place, key) = (node.place_of(&[key]), format!("figure.{key}"));
            *name = taken(factor_called(name, factors, &key, &place)?, &mut used, &key, &place)?;
        }
    }
    let places = node.get("average").map_or(&[][..], Node::elements);
    for (name, place) in request.average.iter_mut().zip(places) {
        let key = "figure.average";
        *name = taken(factor_called(name, factors, key, &place.at)?, &mut used, key, &place.at)?;
    }
    let named = [("metric", &request.metric), ("against", &request.against)];
    let metrics = named
        .into_iter()
        .filter_map(|(key, name)| Some(MetricName { name: name.clone()?, key, at: node.place_of(&[key]) }));
    let metrics = metrics.collect();
    Ok((request, metrics))
}

/// `factor`, unless the request uses it already.
fn taken(factor: String, used: &mut Vec<String>, key: &str, at: &Place) -> Result<String, Complaint> {
    if used.contains(&factor) {
        return Err(Complaint::at(at, format!("{key}: `{factor}` has another place in this figure"))
            .label("used twice")
            .help("give each factor one place: x, y, by, facet or average"));
    }
    used.push(factor.clone());
    Ok(factor)
}

/// The table that the words of a command line stand for.
fn words(text: &str) -> Result<Node, Complaint> {
    let source = Source::new("--figure", text);
    let mut entries: Vec<Entry> = Vec::new();
    for span in spans(text) {
        let word = &text[span.clone()];
        let (key, from) = match word.split_once('=') {
            Some((key, _)) => (key.replace('-', "_"), span.start + key.len() + 1),
            None => ("kind".to_owned(), span.start),
        };
        let key_at = Place::new(&source, span.start..span.start + key.len().min(span.len()));
        if entries.iter().any(|entry| entry.key == key) {
            return Err(Complaint::at(&key_at, format!("--figure: `{key}` is there twice")).label("again"));
        }
        let node = value(&key, &source, from..span.end);
        entries.push(Entry { key, at: key_at, node });
    }
    let whole = Place::new(&source, 0..text.len());
    if entries.is_empty() {
        return Err(Complaint::at(&whole, "--figure: nothing is asked for")
            .label("empty")
            .help("write for example --figure \"heat-map x=rtt y=loss by=congestion\""));
    }
    Ok(Node { at: whole, value: Value::Table(entries) })
}

/// A truth value, the list of a key that takes one, or the text as it is.
fn value(key: &str, source: &Arc<Source>, span: std::ops::Range<usize>) -> Node {
    let text = |span: std::ops::Range<usize>| Node {
        at: Place::new(source, span.clone()),
        value: Value::Text(source.text[span].to_owned()),
    };
    let at = Place::new(source, span.clone());
    match key {
        "log_x" | "log_y" => {
            let bare = Source::new("--figure", &source.text[span.clone()]);
            match parse_value(&bare, 0) {
                Ok(Node { value: value @ Value::Bool(_), .. }) => Node { at, value },
                _ => text(span),
            }
        }
        "average" => {
            let mut names = Vec::new();
            let mut start = span.start;
            for name in source.text[span].split(',') {
                names.push(text(start..start + name.len()));
                start += name.len() + 1;
            }
            Node { at, value: Value::Array(names) }
        }
        _ => text(span),
    }
}

/// The places of the words of a text.
fn spans(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices() {
        match (letter.is_whitespace(), start) {
            (true, Some(from)) => {
                spans.push(from..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    spans.extend(start.map(|from| from..text.len()));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTORS: &[&str] = &["flow.congestion", "link.a.loss", "link.b.loss", "path.rtt"];
    const METRICS: &[(&str, &str)] = &[("goodput_bps", "bit/s"), ("rtt_q95_ns", "ns")];

    fn parse(text: &str) -> Result<FigureRequest, String> {
        FigureRequest::parse(text, FACTORS, METRICS)
            .map_err(|error| format!("{:#}", error.mistake().unwrap()))
    }

    #[test]
    fn a_line_of_words_names_factors_by_their_last_part() {
        let request =
            parse("heat-map metric=goodput_bps x=rtt  y=link.a.loss by=congestion log-y=true").unwrap();
        let expected = FigureRequest {
            metric: Some("goodput_bps".into()),
            x: Some("path.rtt".into()),
            y: Some("link.a.loss".into()),
            by: Some("flow.congestion".into()),
            log_y: Some(true),
            ..FigureRequest::new(FigureKind::HeatMap)
        };
        assert_eq!(request, expected);
        assert_eq!(parse("line average=rtt,link.b.loss").unwrap().average, ["path.rtt", "link.b.loss"]);
        let of_flow = parse("line metric=flow.a.b.goodput_bps x=rtt").unwrap().metric;
        assert_eq!(of_flow.as_deref(), Some("flow.a.b.goodput_bps"));
        let of_group = parse("line metric=group.a.goodput_bps x=rtt").unwrap().metric;
        assert_eq!(of_group.as_deref(), Some("group.a.goodput_bps"));
        assert_eq!(parse("cdf of=rtt-samples").unwrap().of, Some(DistributionOf::RttSamples));
    }

    #[test]
    fn wrong_words_are_reported_at_their_place_with_what_there_is() {
        let message = |text: &str| parse(text).unwrap_err();
        assert_eq!(
            message("line x=rttt"),
            "--figure:1:8: figure.x: `rttt` is not swept (did you mean `rtt`? factors: flow.congestion, \
             link.a.loss, link.b.loss, path.rtt)"
        );
        assert_eq!(
            message("line x=loss"),
            "--figure:1:8: figure.x: 2 factors are called `loss` (write the whole name: link.a.loss, link.b.loss)"
        );
        assert_eq!(
            message("line metric=goodput"),
            "--figure:1:13: figure.metric: there is no metric `goodput` (did you mean `goodput_bps`? metrics: \
             goodput_bps, rtt_q95_ns)"
        );
        assert!(message("lines").contains("did you mean `line`?"), "{}", message("lines"));
        assert!(message("line y=rtt").contains("`y` does not belong to a figure of kind line"));
        assert!(message("line x=rtt by=rtt").contains("has another place in this figure"));
        assert!(message("line log_x=maybe").contains("log_x"), "{}", message("line log_x=maybe"));
        assert!(message(" ").contains("nothing is asked for"));
        assert!(message("x=rtt").contains("kind"), "{}", message("x=rtt"));
        assert!(message("line x=rtt x=rtt").contains("twice"));
    }
}
