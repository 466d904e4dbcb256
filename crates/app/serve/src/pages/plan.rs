//! The page of a plan, as `wirespeed plan` wrote it.

use super::Place;
use crate::http::{Policy, Response, Status};
use std::fs::File;
use std::io::Read;

/// A page is not larger: the drawing library takes most of its 5 MB.
const LARGEST: u64 = 64 << 20;

/// The page of the folder's plan.
pub(crate) fn plan(place: &Place) -> Response {
    let read = |path| {
        let mut html = String::new();
        File::open(path)?.take(LARGEST).read_to_string(&mut html).map(|_| html)
    };
    match place.folder.plan().map(read) {
        Some(Ok(html)) => Response::page(Status::Ok, Policy::Report, html),
        Some(Err(error)) => place.message(
            Status::NotFound,
            "plan",
            &format!("The plan cannot be read: {error}"),
            "Run `wirespeed plan` again.",
        ),
        None => place.message(
            Status::NotFound,
            "plan",
            "This folder has no plan",
            "`wirespeed plan --out DIR` makes one.",
        ),
    }
}
