//! The report of one run, and that of all runs.

use super::frame::Place;
use crate::http::{Policy, Request, Response, Status};
use crate::row::{RunRow, RunStatus};
use crate::study::Answer;
use std::sync::Arc;
use std::time::Duration;
use wirespeed_campaign::{StudyReport, judge_run};
use wirespeed_record::StoreError;
use wirespeed_report::StudyInfo;

/// The report of a small study is finished after this time, so that no page in between is needed.
pub(super) const PATIENCE: Duration = Duration::from_millis(1500);

/// The page of a run.
pub(crate) fn run(place: &Place, id: &str) -> Response {
    let Some((path, row)) = place.folder.index.run(id) else {
        let remedy = format!("{} has no run {id}. Choose one from the list.", place.folder.name);
        return place.message(Status::NotFound, "run", "There is no such run", &remedy);
    };
    if row.status != RunStatus::Complete {
        return not_complete(place, id, &row);
    }
    match page(place, id, &path) {
        Ok(html) => Response::page(Status::Ok, Policy::Report, html),
        Err(error) => {
            place.folder.index.note(id, &error);
            not_complete(place, id, &RunRow::unreadable(&error))
        }
    }
}

fn page(place: &Place, id: &str, path: &std::path::Path) -> Result<String, StoreError> {
    let judged = judge_run(path)?;
    let info = &judged.recording.info;
    let about = StudyInfo {
        name: id.into(),
        about: info.about.clone(),
        command: info.command.clone(),
        generated_by: place.folder.study.generated_by().into(),
        ..StudyInfo::default()
    };
    let mut study = StudyReport::new(about);
    study.add(judged)?;
    Ok(study.finish().0.html_below(&place.links("run")))
}

fn not_complete(place: &Place, id: &str, row: &RunRow) -> Response {
    let reason = row.reason.as_deref().unwrap_or("it states no reason");
    let remedy = match row.status {
        RunStatus::Incomplete => "The command that wrote it, run again, completes it.",
        RunStatus::Damaged => "Delete the run directory, and run the command that wrote it again.",
        RunStatus::Newer => "Use the wirespeed that wrote it.",
        RunStatus::Foreign => "The directory is not one of a run.",
        RunStatus::Complete => "",
    };
    let what = format!("{id} is {}", row.status.word());
    place.message(Status::Conflict, "run", &what, &format!("Reason: {reason}\n{remedy}"))
}

/// The report of all runs.
pub(crate) fn report(place: &Place, request: &Request) -> Response {
    let at = request.value("at").and_then(|text| text.parse().ok());
    match place.folder.study.get(at, PATIENCE) {
        Answer::Finished(finished) => {
            let make = || Arc::from(finished.report.html_below(&place.links("report")));
            Response::page(Status::Ok, Policy::Report, finished.page.get_or_init(make).clone())
        }
        begun => place.waiting("report", &begun, &format!("{}/report", place.folder.base)),
    }
}
