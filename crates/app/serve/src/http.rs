//! The part of HTTP/1.1 that a browser needs to read pages: one `GET` or `HEAD` for each connection.

mod connection;
mod policy;
pub(crate) mod request;
mod response;

pub(crate) use connection::Pool;
pub(crate) use policy::{Policy, check};
pub(crate) use request::{Request, encoded};
pub(crate) use response::{Content, Response, Status};
