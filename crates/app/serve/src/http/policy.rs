//! Checks of requests, and the policy for the content of a page.

use super::request::Request;
use super::response::{Response, Status};
use sha2::{Digest, Sha256};
use std::sync::{Arc, LazyLock};

/// The content that a browser may load for a response. Nothing may come from another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Nothing at all.
    Nothing,
    /// Scripts, styles and data of this server: its own pages.
    Own,
    /// The styles within an SVG.
    Picture,
    /// The scripts of reports, by their checksums: text of a recording cannot run, even if a page had it unescaped.
    Report,
    /// The scripts of the playground by these checksums, the compilation of its module, and its worker.
    Playground(Arc<str>),
}

impl Policy {
    /// For a playground with these scripts.
    pub fn playground<'a>(scripts: impl Iterator<Item = &'a str>) -> Policy {
        Policy::Playground(sums(scripts).into())
    }

    /// The value of `Content-Security-Policy`.
    pub fn text(&self) -> String {
        static SUMS: LazyLock<String> = LazyLock::new(|| sums(wirespeed_report::page_scripts().into_iter()));
        let own: Vec<String> = match self {
            Policy::Nothing => Vec::new(),
            Policy::Picture => vec!["style-src 'unsafe-inline'".into()],
            Policy::Own => ["script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src data:"]
                .map(String::from)
                .into(),
            Policy::Report => vec![
                format!("script-src {}", *SUMS),
                "style-src 'unsafe-inline'".into(),
                "img-src data: blob:".into(),
                "font-src data:".into(),
                "connect-src data: blob:".into(),
            ],
            // The worker is a blob of the page, and has the page's policy.
            Policy::Playground(sums) => vec![
                format!("script-src {sums} 'wasm-unsafe-eval'"),
                "worker-src blob:".into(),
                "style-src 'unsafe-inline'".into(),
                "img-src 'self'".into(),
            ],
        };
        let common =
            ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"];
        common.map(String::from).into_iter().chain(own).collect::<Vec<_>>().join("; ")
    }
}

/// The checksums of scripts.
fn sums<'a>(scripts: impl Iterator<Item = &'a str>) -> String {
    scripts.map(|script| format!("'{}'", sum(script))).collect::<Vec<_>>().join(" ")
}

/// A checksum as policies have it (CSP 3, section 2.3.1).
fn sum(script: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(script.as_bytes())))
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word =
            (0..3).fold(0_u32, |word, place| word << 8 | u32::from(three.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// Rejects a request that the page of another site may have caused.
///
/// The name in `Host` has to be one of loopback. A foreign name may lead to 127.0.0.1, and its page could read everything then (DNS
/// rebinding). Browsers mark requests of other sites. These are rejected, too, unless the user followed a link.
///
/// # Errors
/// The response to such a request.
pub(crate) fn check(request: &Request, port: u16) -> Result<(), Response> {
    let mut hosts = request.fields("host");
    let is_ours = match (hosts.next(), hosts.next()) {
        (Some(host), None) => is_loopback(host, port),
        _ => false,
    };
    if !is_ours {
        let reason = format!("This server answers for http://127.0.0.1:{port}/ only: open that address.");
        return Err(Response::text(Status::MisdirectedRequest, reason));
    }
    let is_strange = request.fields("sec-fetch-site").any(|site| site != "same-origin" && site != "none");
    let is_followed = request.fields("sec-fetch-mode").any(|mode| mode == "navigate");
    if is_strange && !is_followed {
        return Err(Response::text(Status::Forbidden, "The page of another site made this request."));
    }
    Ok(())
}

fn is_loopback(host: &str, port: u16) -> bool {
    let host = host.to_ascii_lowercase();
    // Port 80 is left out of addresses.
    let name = match host.strip_suffix(&format!(":{port}")) {
        Some(name) => name,
        None if port == 80 => host.as_str(),
        None => return false,
    };
    ["127.0.0.1", "localhost", "[::1]"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        let pairs = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in pairs {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn only_names_of_loopback_with_the_port_are_ours() {
        for host in ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000"] {
            assert!(is_loopback(host, 8000), "{host}");
        }
        for host in [
            "",
            "127.0.0.1",
            "127.0.0.1:8001",
            "evil.example:8000",
            "127.0.0.1.evil.example:8000",
            "::1:8000",
        ] {
            assert!(!is_loopback(host, 8000), "{host}");
        }
        assert!(is_loopback("localhost", 80));
    }

    #[test]
    fn report_may_run_its_own_two_scripts_only() {
        let text = Policy::Report.text();
        assert_eq!(text.matches("'sha256-").count(), 2);
        let scripts = text.split(';').find(|part| part.contains("script-src")).unwrap();
        assert!(!scripts.contains("unsafe"), "{scripts}");
    }
}
