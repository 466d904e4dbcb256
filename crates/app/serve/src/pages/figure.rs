//! Figures across the runs, chosen by a form.

use super::frame::Place;
use super::study::PATIENCE;
use crate::api::{FactorColumn, factor_columns, metric_places};
use crate::http::{Content, Policy, Request, Response, Status, encoded};
use crate::study::Answer;
use maud::{Markup, html};
use wirespeed_report::{DistributionOf, FigureKind, FigureRequest, metric_words};

const KINDS: [FigureKind; 5] =
    [FigureKind::Line, FigureKind::HeatMap, FigureKind::Box, FigureKind::Cdf, FigureKind::Scatter];
const DISTRIBUTIONS: [(&str, DistributionOf); 3] = [
    ("runs", DistributionOf::Runs),
    ("rtt-samples", DistributionOf::RttSamples),
    ("flow-times", DistributionOf::FlowTimes),
];
/// Places of factors in a figure, with the kinds that have them.
const PLACES: [(&str, &str, &[FigureKind]); 5] = [
    ("x", "x (factor)", &[FigureKind::Line, FigureKind::HeatMap, FigureKind::Box]),
    ("y", "y (factor)", &[FigureKind::HeatMap]),
    ("by", "Colour by", &KINDS),
    ("facet", "A figure for each", &KINDS),
    ("average", "Average over", &KINDS),
];

/// The figures of a form.
pub(crate) fn figure(place: &Place, request: &Request) -> Response {
    let rows = place.folder.index.rows();
    let factors = factor_columns(rows.iter().map(|(_, row)| &**row));
    let metrics: Vec<&str> = metric_places(rows.iter().map(|(_, row)| &**row))
        .into_iter()
        .map(|at| wirespeed_metrics::all()[at].name)
        .collect();
    let wanted = match wanted(request, &factors) {
        Ok(wanted) => wanted,
        Err(reason) => {
            return place.message(Status::BadRequest, "figure", "This figure cannot be drawn", &reason);
        }
    };
    let at = request.value("at").and_then(|text| text.parse().ok());
    let finished = match place.folder.study.get(at, PATIENCE) {
        Answer::Finished(finished) => finished,
        begun => return place.waiting("figure", &begun, &address(place, request, &[])),
    };
    match request.value("format") {
        None => {
            let above = html! { (place.links("figure")) (form(place, request, &factors, &metrics)) };
            Response::page(Status::Ok, Policy::Report, finished.report.figure_page(&wanted, &above))
        }
        Some("svg") => {
            let panel = request.value("panel").map_or(Some(1), |text| text.parse::<usize>().ok());
            let drawings = finished.report.figure_svgs(&wanted);
            match panel.and_then(|panel| drawings.into_iter().nth(panel.checked_sub(1)?)) {
                Some(svg) => Response { policy: Policy::Picture, ..Response::new(Status::Ok, Content::Svg, svg) },
                None => place.message(
                    Status::NotFound,
                    "figure",
                    "There is no such drawing",
                    "The runs have no data for it, or it has fewer panels. The page of the figure without `format` has the reason.",
                ),
            }
        }
        Some(other) => {
            let reason = format!("The format {other} is unknown: use svg, or leave `format` out.");
            place.message(Status::BadRequest, "figure", "This figure cannot be drawn", &reason)
        }
    }
}

/// The request of a form.
fn wanted(request: &Request, factors: &[FactorColumn]) -> Result<FigureRequest, String> {
    let kind = match request.value("kind") {
        None => default_kind(factors),
        Some(word) => KINDS.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
            format!("There is no kind {word}. The kinds are {}.", KINDS.map(FigureKind::word).join(", "))
        })?,
    };
    let metric = |name: &str| match request.value(name) {
        Some(text) if wirespeed_metrics::find(text).is_none() => Err(format!("There is no metric {text}.")),
        text => Ok(text.map(String::from)),
    };
    let mut used: Vec<&str> = Vec::new();
    let mut factor = |name: &str| {
        let has_place = PLACES.iter().any(|(place, _, kinds)| *place == name && kinds.contains(&kind));
        let Some(key) = request.value(name).filter(|_| has_place) else { return Ok(None) };
        let Some(column) = factors.iter().find(|column| column.key == key) else {
            return Err(format!("The runs have no factor {key}."));
        };
        if used.contains(&column.key.as_str()) {
            return Err(format!("The factor {key} has two places in this figure. Give it one."));
        }
        used.push(&column.key);
        Ok(Some(column.key.clone()))
    };
    let (x, y, by, facet, average) =
        (factor("x")?, factor("y")?, factor("by")?, factor("facet")?, factor("average")?);
    let of = match request.value("of").filter(|_| kind == FigureKind::Cdf) {
        None => None,
        Some(word) => {
            let of = DISTRIBUTIONS.iter().find(|(name, _)| *name == word);
            Some(of.ok_or_else(|| format!("There is no distribution of {word}."))?.1)
        }
    };
    let against = if kind == FigureKind::Scatter { metric("against")? } else { None };
    Ok(FigureRequest {
        metric: metric("metric")?,
        against,
        of,
        x,
        y,
        by,
        facet,
        average: average.into_iter().collect(),
        ..FigureRequest::new(kind)
    })
}

/// A kind that the runs have data for.
fn default_kind(factors: &[FactorColumn]) -> FigureKind {
    let is_numeric = |column: &FactorColumn| {
        column.levels.iter().all(|level| level.starts_with(|c: char| c.is_ascii_digit()))
    };
    let varied = |column: &&FactorColumn| column.levels.len() > 1;
    if factors.iter().filter(varied).any(is_numeric) { FigureKind::Line } else { FigureKind::Box }
}

/// The address of the figure of `request`, with `more` in its query.
fn address(place: &Place, request: &Request, more: &[(&str, &str)]) -> String {
    let kept = request.query.iter().filter(|(name, value)| name != "at" && !value.is_empty());
    let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
    let pairs: Vec<String> = kept
        .chain(more.iter().copied())
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
        .collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    format!("{}/figure{mark}{}", place.folder.base, pairs.join("&"))
}

fn form(place: &Place, request: &Request, factors: &[FactorColumn], metrics: &[&str]) -> Markup {
    let chosen = request.value("kind").unwrap_or(default_kind(factors).word());
    let option = |name: &str, value: &str, text: &str| {
        html! { option value=(value) selected[request.value(name) == Some(value)] { (text) } }
    };
    let metric_select = |name: &str, label: &str, default: &str| {
        html! {
            label {
                (label)
                select name=(name) {
                    option value="" { (default) }
                    @for metric in metrics { (option(name, metric, &metric_words(metric))) }
                }
            }
        }
    };
    let has = |kind: FigureKind| chosen == kind.word();
    html! {
        form.ask action={ (place.folder.base) "/figure" } method="get" {
            label {
                "Kind"
                select name="kind" {
                    @for kind in KINDS { option value=(kind.word()) selected[has(kind)] { (kind.word()) } }
                }
            }
            (metric_select("metric", "Metric", "leading metric"))
            @if has(FigureKind::Scatter) { (metric_select("against", "Against", "rtt q95")) }
            @if has(FigureKind::Cdf) {
                label {
                    "Distribution of"
                    select name="of" { @for (word, _) in DISTRIBUTIONS { (option("of", word, word)) } }
                }
            }
            @for (name, label, _) in PLACES.iter().filter(|(_, _, kinds)| kinds.iter().any(|kind| has(*kind))) {
                label {
                    (label)
                    select name=(name) {
                        option value="" { "automatic" }
                        @for factor in factors { (option(name, &factor.key, &factor.head)) }
                    }
                }
            }
            button type="submit" { "Draw" }
            a href=(address(place, request, &[("format", "svg")])) { "As SVG" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::parse;

    fn columns() -> Vec<FactorColumn> {
        let column = |key: &str, levels: &[&str]| FactorColumn {
            key: key.into(),
            head: key.into(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        };
        vec![column("flow.congestion", &["bic", "cubic"]), column("path.rtt", &["10 ms", "20 ms"])]
    }

    fn of(query: &str) -> Result<FigureRequest, String> {
        let head = format!("GET /figure?{query} HTTP/1.1\r\nHost: a\r\n\r\n");
        wanted(&parse(head.as_bytes()).unwrap().unwrap(), &columns())
    }

    #[test]
    fn form_becomes_a_request() {
        let request = of("kind=line&metric=goodput_bps&x=path.rtt&by=flow.congestion&y=").unwrap();
        let expected = FigureRequest {
            metric: Some("goodput_bps".into()),
            x: Some("path.rtt".into()),
            by: Some("flow.congestion".into()),
            ..FigureRequest::new(FigureKind::Line)
        };
        assert_eq!(request, expected);
        // A place that the kind does not have is left from another choice in the form.
        assert_eq!(of("kind=cdf&x=path.rtt").unwrap(), FigureRequest::new(FigureKind::Cdf));
    }

    #[test]
    fn unknown_words_are_rejected_with_a_reason() {
        assert!(of("kind=pie").unwrap_err().contains("The kinds are line, heat-map"));
        assert!(of("metric=speed").unwrap_err().contains("no metric speed"));
        assert!(of("kind=line&x=loss").unwrap_err().contains("no factor loss"));
        assert!(of("kind=line&x=path.rtt&by=path.rtt").unwrap_err().contains("two places"));
        assert!(of("kind=cdf&of=cats").unwrap_err().contains("no distribution of cats"));
    }
}
