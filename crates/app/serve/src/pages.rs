//! The pages. Those of runs, studies and comparisons are pages of crate `report` below the links of the server.

mod compare;
mod figure;
mod frame;
mod plan;
mod playground;
mod study;

pub(crate) use compare::compare;
pub(crate) use figure::figure;
pub(crate) use frame::{Place, message};
pub(crate) use plan::plan;
pub(crate) use playground::playground;
pub(crate) use study::{report, run};

use crate::folder::Folder;
use crate::http::{Policy, Response, Status};
use crate::row::RunStatus;
use frame::{PLAYGROUND, document};
use maud::html;

/// The list of runs. Its script reads `/api/runs`, and makes only the rows that are visible.
pub(crate) fn runs(place: &Place) -> Response {
    let base = &place.folder.base;
    let body = html! {
        header {
            h1 { (place.folder.name) }
            p.facts #facts role="status" aria-live="polite" { "Reading the runs …" }
        }
        main data-base=(base) {
            form.ask #filters role="search" {
                label { "Search" input #search type="search" placeholder="id, level, limit, reason" autocomplete="off"; }
                label {
                    "Status"
                    select #status {
                        option value="" { "all" }
                        @for status in RunStatus::ALL { option { (status.word()) } }
                    }
                }
                span #factors {}
                label { "Add a metric" select #more { option value="" { "…" } } }
                button #compare type="button" disabled { "Compare the two ticked runs" }
            }
            p.hint #count {}
            div.scroll.list #list tabindex="0" role="region" aria-label="Runs" {
                table #runs { thead { tr {} } tbody {} }
            }
            noscript { p.noscript { "The list needs JavaScript. The report of the study does not need it for its tables." } }
        }
    };
    let html = document(&place.folder.name, &place.links("runs"), &body, &["runs.js"]);
    Response::page(Status::Ok, Policy::Own, html)
}

/// The progress of a campaign. Its script reads `/api/progress` once a second.
pub(crate) fn progress(place: &Place) -> Response {
    let body = html! {
        header {
            h1 { "Progress of " (place.folder.name) }
            p.facts #facts role="status" aria-live="polite" { "Reading the states of the workers …" }
        }
        main data-base=(place.folder.base) {
            p { progress #bar max="1" value="0" aria-label="Finished runs" {} }
            div.scroll {
                table #workers hidden {
                    thead {
                        tr {
                            @for head in ["Worker", "Host", "State", "Running"] { th scope="col" { (head) } }
                            @for head in ["Done", "Kept", "Failed", "Of", "Time left", "Last state"] {
                                th.number scope="col" { (head) }
                            }
                        }
                    }
                    tbody {}
                }
            }
            section #failures hidden { h2 { "Failures" } ul {} }
            noscript { p.noscript { "This page needs JavaScript. `wirespeed campaign status` prints the same." } }
        }
    };
    let html = document("Progress", &place.links("progress"), &body, &["progress.js"]);
    Response::page(Status::Ok, Policy::Own, html)
}

/// The folders of results in a folder.
pub(crate) fn folders(name: &str, folders: &[Folder], has_playground: bool) -> Response {
    folders.iter().for_each(Folder::want);
    let body = html! {
        header {
            h1 { (name) }
            p.facts { (folders.len()) " folders of results" }
        }
        main {
            div.scroll {
                table {
                    thead {
                        tr {
                            th scope="col" { "Folder" }
                            th.number scope="col" { "Runs" }
                            th.number scope="col" { "Complete" }
                            th scope="col" { "Study" }
                        }
                    }
                    tbody { @for folder in folders { (folder_row(folder)) } }
                }
            }
        }
    };
    let links = html! {
        @if has_playground { nav.site aria-label="Pages" { a href=(PLAYGROUND) { "Playground" } } }
    };
    Response::page(Status::Ok, Policy::Own, document(name, &links, &body, &[]))
}

fn folder_row(folder: &Folder) -> maud::Markup {
    let rows = folder.index.rows();
    let complete = rows.iter().filter(|(_, row)| row.status == RunStatus::Complete).count();
    let study = rows.iter().map(|(_, row)| row.study.as_str()).find(|study| !study.is_empty());
    html! {
        tr {
            td { a href={ (folder.base) "/" } { (folder.name) } }
            td.number { (rows.len()) @if folder.index.reading().is_some() { " …" } }
            td.number { (complete) }
            td { (study.unwrap_or("–")) }
        }
    }
}
