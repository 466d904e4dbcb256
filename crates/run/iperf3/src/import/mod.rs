//! What iperf3 prints with `-J` or `--json-stream`, as typed data.

mod error;
mod raw;
mod report;
mod typed;

pub use error::ImportError;
pub use report::{
    Congestion, Cpu, Endpoint, Interval, Length, Protocol, Received, Report, Side, State, Stream, Total,
};

use raw::{Event, Raw};
#[cfg(unix)]
pub(crate) use raw::{count, whole};
use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

/// The report in the JSON text of one test: a whole object (`-J`), or an event a line (`--json-stream`, since 3.17).
///
/// # Errors
/// What of it is not as iperf3 writes it, by the name of the field, and the remedy.
pub fn parse(text: &str) -> Result<Report, ImportError> {
    let mut whole: Option<Raw> = None;
    let mut streamed = Streamed::default();
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    while let Some(value) = values.next() {
        let value = value.map_err(|error| not_json(&error, text, streamed.events))?;
        // The table for people begins with `[  5]`, which is JSON as well.
        if !value.is_object() {
            let line = text[..values.byte_offset()].lines().count();
            return Err(ImportError::NotJson { line, reason: "no object".into() });
        }
        if value.get("event").is_some() {
            streamed.take(value)?;
            continue;
        }
        let raw = field_by_field("", value)?;
        if whole.replace(raw).is_some() {
            return Err(ImportError::SeveralTests);
        }
    }
    // With --json-stream-full-output the whole object follows the events.
    match whole.or(streamed.into_raw()?) {
        Some(raw) => typed::report(raw),
        None => Err(ImportError::Empty),
    }
}

/// A value of iperf3's, with the name of the field that is not as it writes them.
fn field_by_field<T: DeserializeOwned>(within: &str, value: Value) -> Result<T, ImportError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => within.to_owned(),
            path if within.is_empty() => path,
            path => format!("{within}.{path}"),
        };
        let field = if path.is_empty() { "the report".into() } else { path };
        ImportError::Field { field, reason: error.into_inner().to_string() }
    })
}

fn not_json(error: &serde_json::Error, text: &str, events: usize) -> ImportError {
    let cut_off = error.is_eof() || text.trim().is_empty();
    let (line, reason) = (error.line(), error.to_string());
    match (cut_off, events) {
        (true, 0) => ImportError::CutOff { line },
        _ => ImportError::NotJson { line, reason },
    }
}

/// The events of a stream, put together as the object that `-J` would have printed.
#[derive(Default)]
struct Streamed {
    events: usize,
    start: Option<Value>,
    intervals: Vec<Value>,
    end: Option<Value>,
    error: Option<Value>,
    server: Option<Value>,
}

impl Streamed {
    fn take(&mut self, value: Value) -> Result<(), ImportError> {
        self.events += 1;
        let Event { event, data } = field_by_field(&format!("event {}", self.events), value)?;
        match event.as_str() {
            "start" if self.start.is_some() => return Err(ImportError::SeveralTests),
            "start" => self.start = Some(data),
            "interval" => self.intervals.push(data),
            "end" => self.end = Some(data),
            "error" => self.error = Some(data),
            "server_output_json" => self.server = Some(data),
            // Text for people, and events of later versions.
            _ => {}
        }
        Ok(())
    }

    fn into_raw(self) -> Result<Option<Raw>, ImportError> {
        if self.events == 0 {
            return Ok(None);
        }
        let mut raw = Raw::default();
        if let Some(start) = self.start {
            raw.start = Some(field_by_field("start", start)?);
        }
        for (number, interval) in self.intervals.into_iter().enumerate() {
            raw.intervals.push(field_by_field(&format!("intervals[{number}]"), interval)?);
        }
        if let Some(end) = self.end {
            raw.end = Some(field_by_field("end", end)?);
        }
        if let Some(error) = self.error {
            raw.error = Some(field_by_field("error", error)?);
        }
        if let Some(server) = self.server {
            raw.server_output_json = Some(Box::new(field_by_field("server_output_json", server)?));
        }
        Ok(Some(raw))
    }
}

#[cfg(test)]
mod tests;
