//! A request, and its target in parts.

use super::response::{Response, Status};

/// Header fields that a request may have. Browsers send about 15.
const MOST_FIELDS: usize = 64;

/// A request that has been read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Whether only the head of the response is wanted.
    pub is_head: bool,
    /// The segments of the path, decoded. None of them is empty, `.` or `..`, or has a slash.
    pub path: Vec<String>,
    /// Names and values of the query, decoded, in their order.
    pub query: Vec<(String, String)>,
    fields: Vec<(String, String)>,
}

impl Request {
    /// The first value of a name of the query that is not empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// All values of a name of the query that are not empty.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.query
            .iter()
            .filter(move |(key, value)| key == name && !value.is_empty())
            .map(|(_, v)| v.as_str())
    }

    /// All values of a header field, whose name is in lower case.
    pub fn fields(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The request in `head`, or `None` until the end of its headers has arrived.
///
/// # Errors
/// The response to a request that is not answered: another method, a body, or a head that is not valid.
pub(crate) fn parse(head: &[u8]) -> Result<Option<Request>, Response> {
    let mut slots = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut slots);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            let reason = format!("The request has more than {MOST_FIELDS} header fields.");
            return Err(Response::text(Status::HeadTooLarge, reason));
        }
        Err(error) => return Err(bad(format!("The request is not valid HTTP: {error}."))),
    }
    let is_head = match parsed.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => {
            let reason = "The pages are read-only: use GET or HEAD.";
            return Err(Response::text(Status::MethodNotAllowed, reason));
        }
    };
    let mut fields = Vec::new();
    for field in parsed.headers.iter() {
        let value = std::str::from_utf8(field.value)
            .map_err(|_| bad(format!("The header field {} is not UTF-8.", field.name)))?;
        fields.push((field.name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let has_body = fields.iter().any(|(name, value)| {
        name == "transfer-encoding" || name == "content-length" && !value.trim_start_matches('0').is_empty()
    });
    if has_body {
        return Err(Response::text(Status::BodyTooLarge, "Requests have no body here."));
    }
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path_of(path).ok_or_else(|| bad("The path of the address is not valid."))?;
    let query = query_of(query).ok_or_else(|| bad("The query of the address is not valid."))?;
    Ok(Some(Request { is_head, path, query, fields }))
}

fn bad(reason: impl Into<String>) -> Response {
    Response::text(Status::BadRequest, reason)
}

/// The decoded segments of a path; empty ones are left out.
fn path_of(path: &str) -> Option<Vec<String>> {
    let segments = path.strip_prefix('/')?.split('/').filter(|segment| !segment.is_empty());
    let decoded = segments.map(|segment| {
        let segment = decoded(segment, false)?;
        let is_name =
            segment != "." && segment != ".." && !segment.contains(|c: char| c == '/' || c.is_control());
        is_name.then_some(segment)
    });
    decoded.collect()
}

fn query_of(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name, true)?, decoded(value, true)?))
    });
    pairs.collect()
}

/// The text that percent-encoding stands for. In a form, `+` is a space.
fn decoded(text: &str, is_form: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if is_form => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// `text` as a part of an address, percent-encoded.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str) -> Option<Request> {
        parse(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).ok().flatten()
    }

    #[test]
    fn path_and_query_are_decoded() {
        let request = of("/run/loss=1e-5%2Cr0?a=x+y&b=%26&b=2&c").unwrap();
        assert_eq!(request.path, ["run", "loss=1e-5,r0"]);
        assert_eq!(request.value("a"), Some("x y"));
        assert_eq!(request.values("b").collect::<Vec<_>>(), ["&", "2"]);
        assert_eq!(request.value("c"), None);
        assert_eq!(request.fields("host").collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn segments_that_leave_a_folder_are_rejected() {
        for path in [
            "/../etc",
            "/run/..",
            "/run/%2e%2e",
            "/run/a%2f..%2fb",
            "/run/%00",
            "/a/./b",
            "run",
            "/%zz",
            "/%f",
        ] {
            assert!(of(path).is_none(), "{path}");
        }
        assert_eq!(of("//run//a/").unwrap().path, ["run", "a"]);
    }

    #[test]
    fn encoded_text_is_decoded_again() {
        let text = "a b/ü&=+,%..";
        assert_eq!(decoded(&encoded(text), true).as_deref(), Some(text));
        assert_eq!(decoded(&encoded(text), false).as_deref(), Some(text));
    }

    #[test]
    fn part_of_a_head_is_no_request_yet() {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for length in 0..head.len() {
            assert_eq!(parse(&head[..length]).ok(), Some(None), "{length} bytes");
        }
    }

    #[test]
    fn other_methods_and_bodies_are_rejected() {
        let status = |text: &str| parse(text.as_bytes()).unwrap_err().status;
        assert_eq!(status("POST / HTTP/1.1\r\nHost: a\r\n\r\n"), Status::MethodNotAllowed);
        assert_eq!(status("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), Status::BodyTooLarge);
        assert_eq!(status("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Status::BodyTooLarge);
        assert_eq!(status("GET /\u{1} HTTP/1.1\r\n\r\n"), Status::BadRequest);
    }
}
