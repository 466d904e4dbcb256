//! The log as outputs of ss with their times.

use super::socket::{Socket, is_socket_line};
use crate::clock::Moment;
use crate::import::ImportError;

/// Lines that are looked at to find out whether a text is a log of ss.
const FIRST_LINES: usize = 50;
/// The most sockets of a log, all outputs together: a file of the largest size with full details has a quarter of it.
const MOST_SOCKETS: usize = 500_000;

/// A log.
#[derive(Default)]
pub struct Log {
    /// In the order of the file.
    pub outputs: Vec<Reading>,
    /// Lines that are neither a time nor ss's.
    pub skipped: usize,
    /// The first of them, from 1.
    pub first_skipped: usize,
}

/// The output of ss at one time.
pub struct Reading {
    /// The time before it, if there is one.
    pub time: Option<Moment>,
    /// The line where it starts, from 1.
    pub line: usize,
    pub sockets: Vec<Socket>,
}

/// Whether a text has a line of a socket, or ss's header, near its beginning.
pub fn is_log(text: &str) -> bool {
    text.lines().take(FIRST_LINES).any(|line| is_header(line) || is_socket_line(line))
}

/// Reads a log. Lines that ss does not write are counted.
///
/// # Errors
/// If a value of a socket is not as ss writes it.
pub fn read(text: &str) -> Result<Log, ImportError> {
    let mut log = Log::default();
    let mut time = None;
    // The socket whose second line may follow.
    let mut is_open = false;
    let mut sockets = 0;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        if line.trim().is_empty() {
            is_open = false;
        } else if let Some(found) = time_of(line) {
            time = Some(found);
            log.outputs.push(Reading { time, line: number, sockets: Vec::new() });
            is_open = false;
        } else if is_header(line) {
            // Without times the header is where an output starts.
            if time.is_none() {
                log.outputs.push(Reading { time, line: number, sockets: Vec::new() });
            }
            is_open = false;
        } else if is_socket_line(line) {
            if log.outputs.is_empty() {
                log.outputs.push(Reading { time, line: number, sockets: Vec::new() });
            }
            let socket = Socket::parse(line).map_err(|reason| ImportError::Line { line: number, reason })?;
            if sockets == MOST_SOCKETS {
                let reason = format!("it is more than the {MOST_SOCKETS} sockets that can be imported");
                return Err(ImportError::Line { line: number, reason });
            }
            sockets += usize::from(socket.is_some());
            if let (Some(output), Some(socket)) = (log.outputs.last_mut(), socket) {
                output.sockets.push(socket);
                is_open = true;
            } else {
                is_open = false;
            }
        } else if line.starts_with([' ', '\t']) {
            let socket = log.outputs.last_mut().and_then(|output| output.sockets.last_mut());
            if let Some(socket) = socket.filter(|_| is_open) {
                socket.fill(line).map_err(|reason| ImportError::Line { line: number, reason })?;
            }
            is_open = false;
        } else {
            log.skipped += 1;
            if log.first_skipped == 0 {
                log.first_skipped = number;
            }
            is_open = false;
        }
    }
    // A time without an output after it, as at the end of a log that was stopped.
    log.outputs.retain(|output| output.time.is_some() || !output.sockets.is_empty());
    Ok(log)
}

fn is_header(line: &str) -> bool {
    line.contains("Recv-Q") && line.contains("Send-Q")
}

/// The time of a line: seconds since 1970 (`date +%s.%N`) or RFC 3339 in UTC, alone or after `#` or `Time:`.
fn time_of(line: &str) -> Option<Moment> {
    let text = line.trim();
    let text = text.strip_prefix('#').or_else(|| text.strip_prefix("Time:")).unwrap_or(text).trim();
    if text.contains('T') {
        return Moment::parse(text);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_time = (9..=10).contains(&whole.len()) && fraction.len() <= 9;
    if !is_time || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ns: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let unix_ns = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns.parse().ok()?)?;
    Some(Moment { unix_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_date_and_as_esnet_write_them() {
        let ns = |unix_ns| Some(Moment { unix_ns });
        assert_eq!(time_of("1795739820.374227800"), ns(1_795_739_820_374_227_800));
        assert_eq!(time_of("# 1795739820.5"), ns(1_795_739_820_500_000_000));
        assert_eq!(time_of("Time: 1795739820.25"), ns(1_795_739_820_250_000_000));
        assert_eq!(time_of("# 2026-11-27T00:37:00Z"), ns(1_795_739_820_000_000_000));
        assert_eq!(time_of("1795739820"), ns(1_795_739_820_000_000_000));
        for text in ["# a comment", "12", "1795739820.3742278001", "-179573982.5", "ESTAB 0 0"] {
            assert_eq!(time_of(text), None, "{text}");
        }
    }
}
