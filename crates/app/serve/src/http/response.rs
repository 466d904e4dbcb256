//! A response and its bytes.

use super::policy::Policy;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    NoContent,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    Conflict,
    BodyTooLarge,
    MisdirectedRequest,
    HeadTooLarge,
    InternalError,
    Unavailable,
}

impl Status {
    /// Its code and phrase (RFC 9110, RFC 6585).
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::NoContent => "204 No Content",
            Status::BadRequest => "400 Bad Request",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::RequestTimeout => "408 Request Timeout",
            Status::Conflict => "409 Conflict",
            Status::BodyTooLarge => "413 Content Too Large",
            Status::MisdirectedRequest => "421 Misdirected Request",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::InternalError => "500 Internal Server Error",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

/// The media type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Text,
    Html,
    Json,
    Style,
    Script,
    Svg,
}

impl Content {
    fn kind(self) -> &'static str {
        match self {
            Content::Text => "text/plain; charset=utf-8",
            Content::Html => "text/html; charset=utf-8",
            Content::Json => "application/json",
            Content::Style => "text/css; charset=utf-8",
            Content::Script => "text/javascript; charset=utf-8",
            Content::Svg => "image/svg+xml",
        }
    }
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub status: Status,
    pub content: Content,
    pub policy: Policy,
    pub body: Arc<str>,
}

impl Response {
    /// With the strictest policy.
    pub fn new(status: Status, content: Content, body: impl Into<Arc<str>>) -> Response {
        Response { status, content, policy: Policy::Nothing, body: body.into() }
    }

    /// A sentence.
    pub fn text(status: Status, text: impl Into<String>) -> Response {
        Response::new(status, Content::Text, text.into() + "\n")
    }

    /// A page that may load what `policy` allows.
    pub fn page(status: Status, policy: Policy, html: impl Into<Arc<str>>) -> Response {
        Response { policy, ..Response::new(status, Content::Html, html) }
    }

    /// Plain data.
    pub fn json(value: &impl serde::Serialize) -> Response {
        match serde_json::to_string(value) {
            Ok(text) => Response::new(Status::Ok, Content::Json, text),
            Err(error) => Response::text(Status::InternalError, error.to_string()),
        }
    }

    /// Writes it; of `is_head` only the head.
    ///
    /// # Errors
    /// If the client does not accept it.
    pub fn write(&self, out: &mut impl Write, is_head: bool) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status.line());
        let _ = write!(head, "Content-Type: {}\r\n", self.content.kind());
        if self.status != Status::NoContent {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        if self.status == Status::MethodNotAllowed {
            head.push_str("Allow: GET, HEAD\r\n");
        }
        if self.status == Status::Unavailable {
            head.push_str("Retry-After: 1\r\n");
        }
        let _ = write!(head, "Content-Security-Policy: {}\r\n", self.policy.text());
        head.push_str(concat!(
            "X-Content-Type-Options: nosniff\r\n",
            "X-Frame-Options: DENY\r\n",
            "Referrer-Policy: no-referrer\r\n",
            "Cross-Origin-Resource-Policy: same-origin\r\n",
            "Cross-Origin-Opener-Policy: same-origin\r\n",
            "Cache-Control: no-store\r\n",
            "Connection: close\r\n\r\n",
        ));
        out.write_all(head.as_bytes())?;
        if !is_head && self.status != Status::NoContent {
            out.write_all(self.body.as_bytes())?;
        }
        out.flush()
    }
}
