//! The common parts of all pages of the server.

use crate::folder::Folder;
use crate::http::{Policy, Response, Status};
use crate::study::Answer;
use maud::{DOCTYPE, Markup, html};

/// The address of the playground.
pub(super) const PLAYGROUND: &str = "/playground";

/// The folder that a page is about.
pub(crate) struct Place<'a> {
    pub folder: &'a Folder,
    /// Whether there are other folders, to which a link leads.
    pub is_one_of_several: bool,
    /// Whether the server has a playground, to which a link leads.
    pub has_playground: bool,
}

impl Place<'_> {
    /// The links of the folder; `here` is the page that they stand on.
    pub fn links(&self, here: &str) -> Markup {
        let base = &self.folder.base;
        let pages = [
            ("Runs", ""),
            ("Report", "report"),
            ("Figure", "figure"),
            ("Compare", "compare"),
            ("Progress", "progress"),
        ];
        // Only folders of `wirespeed plan` have one.
        let plan = self.folder.plan().is_some().then_some(("Plan", "plan"));
        html! {
            nav.site aria-label="Pages" {
                @if self.is_one_of_several { a href="/" { "All folders" } }
                @for (name, page) in plan.into_iter().chain(pages) {
                    @let is_here = here == page || here == "runs" && page.is_empty();
                    a href={ (base) "/" (page) } aria-current=[is_here.then_some("page")] { (name) }
                }
                @if self.has_playground { a href=(PLAYGROUND) { "Playground" } }
            }
        }
    }

    /// A message with the links of the folder.
    pub fn message(&self, status: Status, here: &str, what: &str, remedy: &str) -> Response {
        let body = message_body(what, remedy);
        Response::page(status, Policy::Own, document(what, &self.links(here), &body, &[]))
    }

    /// The page to look at until the report is finished. It leads to `target`, an address of the server with its query.
    pub fn waiting(&self, here: &str, answer: &Answer, target: &str) -> Response {
        let (generation, done, of) = match answer {
            Answer::Begun { generation, reading } => (*generation, reading.done, reading.of),
            Answer::Finished(finished) => (finished.generation, 1, 1),
        };
        let mark = if target.contains('?') { '&' } else { '?' };
        let next = format!("{target}{mark}at={generation}");
        let body = html! {
            header {
                h1 { "The report is being made" }
                p.facts #facts role="status" aria-live="polite" { (done) " of " (of) " runs have been read." }
            }
            main data-base=(self.folder.base) data-next=(next) data-at=(generation) {
                p { progress #bar max=(of.max(1)) value=(done) aria-label="Runs that have been read" {} }
                p { a href=(next) { "Look whether it is finished" } }
            }
        };
        let html = document("The report is being made", &self.links(here), &body, &["wait.js"]);
        Response::page(Status::Ok, Policy::Own, html)
    }
}

/// A page of the server.
pub(crate) fn document(title: &str, links: &Markup, body: &Markup, scripts: &[&str]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (title) " · wirespeed" }
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/theme.js" {}
                @for script in scripts { script src={ "/assets/" (script) } defer {} }
            }
            body {
                (links)
                div.top { div.bar { span.brand { "wirespeed" } button #theme type="button" aria-label="Switch between light and dark" { "Dark" } } }
                (body)
                footer { p { "Read-only, from this machine. The pages load nothing from elsewhere." } }
            }
        }
    };
    page.into_string()
}

fn message_body(what: &str, remedy: &str) -> Markup {
    html! {
        header { h1 { (what) } }
        main { p.about { (remedy) } }
    }
}

/// A message of the server.
pub(crate) fn message(status: Status, policy: Policy, what: &str, remedy: &str) -> Response {
    let home = html! { nav.site aria-label="Pages" { a href="/" { "First page" } } };
    Response::page(status, policy, document(what, &home, &message_body(what, remedy), &[]))
}
