//! Read-only web pages over folders of results: list, filter, compare, figures, and the progress of a running campaign.
//!
//! The server listens on loopback only, answers `GET` and `HEAD`, and writes nothing into a folder. Pages of runs, studies and
//! comparisons are those of crate `report`, made when they are asked for.

mod api;
mod folder;
mod http;
mod index;
mod pages;
mod playground;
mod router;
mod row;
mod server;
mod site;
mod study;
mod summary;

pub use playground::{Playground, PlaygroundError};
pub use server::{ServeError, Server};
