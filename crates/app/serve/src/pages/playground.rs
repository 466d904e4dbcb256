//! The page of the playground.

use crate::http::{Policy, Response, Status};
use crate::playground::Playground;

/// The playground, or how to get one.
pub(crate) fn playground(playground: Option<&Playground>) -> Response {
    match playground {
        Some(page) => Response::page(Status::Ok, Policy::playground(page.scripts()), page.html()),
        None => super::message(
            Status::NotFound,
            Policy::Own,
            "This server has no playground",
            "`make playground` writes its page. `wirespeed serve DIR --playground FILE` offers it here.",
        ),
    }
}
