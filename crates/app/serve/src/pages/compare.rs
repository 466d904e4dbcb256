//! Two runs or two settings beside each other.

use super::frame::Place;
use crate::http::{Policy, Request, Response, Status};
use crate::row::{RunStatus, setting};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use wirespeed_campaign::{Judged, judge_run};
use wirespeed_record::StoreError;
use wirespeed_report::{Comparer, Comparison};

/// Runs of a setting that are compared. Each is read again for the page.
const MOST_RUNS: usize = 100;
/// Names that the form suggests.
const MOST_NAMES: usize = 2000;

/// One of the two: its name and its complete runs.
struct Side {
    name: String,
    runs: Vec<(String, PathBuf)>,
}

/// The comparison of the runs or settings `a` and `b`.
pub(crate) fn compare(place: &Place, request: &Request) -> Response {
    let complete = place.folder.index.complete();
    let form = form(place, request, &complete);
    let (Some(a), Some(b)) = (request.value("a"), request.value("b")) else { return choice(place, &form) };
    let sides = match (side(place, a, &complete), side(place, b, &complete)) {
        (Ok(a), Ok(b)) if a.runs == b.runs => {
            let remedy = format!("{} is on both sides. Choose two different ones.", a.name);
            return place.message(Status::BadRequest, "compare", "There is nothing to compare", &remedy);
        }
        (Ok(a), Ok(b)) => [a, b],
        (Err(response), _) | (_, Err(response)) => return response,
    };
    match compared(place, &sides) {
        Err((id, error)) => {
            place.folder.index.note(&id, &error);
            place.message(Status::Conflict, "compare", &format!("{id} cannot be read"), &error.to_string())
        }
        Ok(comparison) => match comparison.mismatch() {
            Some(reason) => place.message(Status::Conflict, "compare", "The two cannot be compared", &reason),
            None => {
                let above = html! { (place.links("compare")) (form) };
                Response::page(Status::Ok, Policy::Report, comparison.html_below(&above))
            }
        },
    }
}

/// The form alone.
fn choice(place: &Place, form: &Markup) -> Response {
    let body = html! {
        header {
            h1 { "Compare two runs or settings" }
            p.about { "A setting has all its repetitions. The first one is what the other is compared with." }
        }
        (form)
        main {}
    };
    let html = super::frame::document("Compare", &place.links("compare"), &body, &[]);
    Response::page(Status::Ok, Policy::Own, html)
}

fn form(place: &Place, request: &Request, complete: &[(String, PathBuf)]) -> Markup {
    let settings: BTreeSet<&str> = complete.iter().map(|(id, _)| setting(id)).collect();
    let runs = complete.iter().map(|(id, _)| id.as_str());
    let names = settings.into_iter().chain(runs).take(MOST_NAMES);
    html! {
        form.ask action={ (place.folder.base) "/compare" } method="get" {
            @for (name, label) in [("a", "First"), ("b", "Other")] {
                label {
                    (label)
                    input name=(name) list="names" required value=(request.value(name).unwrap_or_default()) autocomplete="off";
                }
            }
            datalist #names { @for name in names { option value=(name) {} } }
            button type="submit" { "Compare" }
        }
    }
}

/// The run with this name, or all complete runs of the setting with this name.
fn side(place: &Place, name: &str, complete: &[(String, PathBuf)]) -> Result<Side, Response> {
    let is_run = |(id, _): &&(String, PathBuf)| id == name;
    let runs: Vec<(String, PathBuf)> = match complete.iter().find(is_run) {
        Some(run) => vec![run.clone()],
        None => complete.iter().filter(|(id, _)| setting(id) == name).take(MOST_RUNS).cloned().collect(),
    };
    if !runs.is_empty() {
        return Ok(Side { name: name.into(), runs });
    }
    let (status, remedy) = match place.folder.index.run(name) {
        Some((_, row)) if row.status != RunStatus::Complete => {
            (Status::Conflict, format!("The run is {}.", row.status.word()))
        }
        _ => (Status::NotFound, "Choose a run or a setting of the list.".into()),
    };
    Err(place.message(status, "compare", &format!("{name} cannot be compared"), &remedy))
}

/// The report's comparison of folders, with the two in the place of folders. Runs match there if their factors are the same, so
/// only those are kept that all runs of both have in common.
fn compared(place: &Place, sides: &[Side; 2]) -> Result<Comparison, (String, StoreError)> {
    let mut read: Vec<Vec<(Judged, String)>> = Vec::new();
    for side in sides {
        let mut runs = Vec::new();
        for (id, path) in &side.runs {
            let judged = judge_run(path);
            runs.push((judged.map_err(|error| (id.clone(), error))?, path.display().to_string()));
        }
        read.push(runs);
    }
    let mut common: BTreeMap<String, serde_json::Value> =
        read[0].first().map(|(judged, _)| judged.recording.info.factors.clone()).unwrap_or_default();
    for (judged, _) in read.iter().flatten() {
        common.retain(|key, value| judged.recording.info.factors.get(key) == Some(value));
    }
    let mut comparer = Comparer::new(place.folder.study.generated_by(), "");
    for (side, runs) in sides.iter().zip(read) {
        comparer.folder(side.name.clone());
        let is_single = runs.len() == 1;
        for (id, (mut judged, directory)) in side.runs.iter().map(|(id, _)| id).zip(runs) {
            judged.recording.info.factors.clone_from(&common);
            if is_single {
                // Another repetition is not another setting.
                judged.recording.info.repeat = 0;
            }
            judged.add_to(&mut comparer, directory).map_err(|error| (id.clone(), error))?;
        }
    }
    Ok(comparer.finish(&[]))
}
