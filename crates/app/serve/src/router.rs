//! From an address to its page.

use crate::folder::Folder;
use crate::http::{Content, Policy, Request, Response, Status, check};
use crate::playground::Playground;
use crate::site::Site;
use crate::{api, pages};

/// Styles and scripts of the server's own pages.
const SCRIPTS: [(&str, &str); 4] = [
    ("theme.js", include_str!("../assets/theme.js")),
    ("runs.js", include_str!("../assets/runs.js")),
    ("progress.js", include_str!("../assets/progress.js")),
    ("wait.js", include_str!("../assets/wait.js")),
];
const STYLE: &str = include_str!("../assets/serve.css");

/// The content that a server shows.
#[derive(Debug)]
pub(crate) struct Shown {
    pub site: Site,
    pub playground: Option<Playground>,
}

/// The response to a request to the server on `port`.
pub(crate) fn answer(shown: &Shown, port: u16, request: &Request) -> Response {
    if let Err(refused) = check(request, port) {
        return refused;
    }
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let playground = shown.playground.as_ref();
    match (&shown.site, path.as_slice()) {
        (_, ["favicon.ico"]) => Response::text(Status::NoContent, ""),
        (_, ["assets", name]) => asset(name),
        (_, ["playground"]) => pages::playground(playground),
        (Site::Single(folder), path) => of_folder(shown, folder, path, request),
        (Site::Several { name, folders }, []) => pages::folders(name, folders, playground.is_some()),
        (Site::Several { folders, .. }, ["folder", name, path @ ..]) => {
            match folders.iter().find(|folder| folder.name == *name) {
                Some(folder) => of_folder(shown, folder, path, request),
                None => missing(),
            }
        }
        _ => missing(),
    }
}

fn of_folder(shown: &Shown, folder: &Folder, path: &[&str], request: &Request) -> Response {
    folder.want();
    let place = pages::Place {
        folder,
        is_one_of_several: matches!(shown.site, Site::Several { .. }),
        has_playground: shown.playground.is_some(),
    };
    match path {
        [] => pages::runs(&place),
        ["run", id] => pages::run(&place, id),
        ["report"] => pages::report(&place, request),
        ["figure"] => pages::figure(&place, request),
        ["compare"] => pages::compare(&place, request),
        ["progress"] => pages::progress(&place),
        ["plan"] => pages::plan(&place),
        ["api", "runs"] => api::runs(folder, request),
        ["api", "progress"] => api::progress(folder),
        ["api", "report"] => api::report(folder, request),
        _ => missing(),
    }
}

fn asset(name: &str) -> Response {
    if name == "style.css" {
        let style = wirespeed_report::page_style() + STYLE;
        return Response::new(Status::Ok, Content::Style, style);
    }
    match SCRIPTS.iter().find(|(known, _)| *known == name) {
        Some((_, script)) => Response::new(Status::Ok, Content::Script, *script),
        None => missing(),
    }
}

fn missing() -> Response {
    pages::message(Status::NotFound, Policy::Own, "There is no such page", "Open / for the list of runs.")
}
