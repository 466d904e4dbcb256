//! A recording made of what one side of a test printed, or both. What iperf3 does not say is null.

mod flow;
mod info;
mod ledger;
mod rows;

use crate::import::{Report, Side};
use flow::{Flow, pair};
use thiserror::Error;
use wirespeed_record::{Event, EventKind, Recording};

/// A report and where it came from.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name of the file, for whoever reads the recording.
    pub name: String,
    /// What stood in it.
    pub report: Report,
}

/// Why several reports are not one recording.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MergeError {
    /// None, or more than two.
    #[error("{0} reports: give that of one side, or those of the client and the server of one test")]
    Number(usize),
    /// Two of the same side.
    #[error("{} and {} are both of a {side}: give the client's and the server's", files[0], files[1])]
    SameSide {
        /// The files.
        files: [String; 2],
        /// `client` or `server`.
        side: &'static str,
    },
    /// Of two tests.
    #[error(
        "{} and {} are of different tests (start.cookie {} and {}): import each by itself, and hold them against each \
         other with `wirespeed compare`",
        files[0], files[1], cookies[0], cookies[1]
    )]
    DifferentTests {
        /// The files.
        files: [String; 2],
        /// What each test is called.
        cookies: [String; 2],
    },
    /// The cookie agrees and the streams do not.
    #[error("{} and {} do not have the same streams ({reason}): was one of them edited?", files[0], files[1])]
    DifferentStreams {
        /// The files.
        files: [String; 2],
        /// Where they differ.
        reason: String,
    },
}

/// The two sides of a test, as far as they are there.
pub(crate) struct Sides {
    client: Option<Source>,
    server: Option<Source>,
}

impl Sides {
    /// Sorts reports by their side. A client that asked for the server's report has both.
    fn sort(sources: Vec<Source>) -> Result<Sides, MergeError> {
        let number = sources.len();
        let mut sources = sources;
        if let [only] = &mut sources[..]
            && let Some(server) = only.report.server.take()
        {
            let name = format!("{} (server_output_json)", only.name);
            sources.push(Source { name, report: *server });
        }
        let is_client = |source: &Source| matches!(source.report.side, Side::Client { .. });
        let files = |a: &Source, b: &Source| [a.name.clone(), b.name.clone()];
        match &sources[..] {
            [_] => {}
            [a, b] if is_client(a) == is_client(b) => {
                let side = if is_client(a) { "client" } else { "server" };
                return Err(MergeError::SameSide { files: files(a, b), side });
            }
            [a, b] if a.report.cookie != b.report.cookie => {
                let cookie = |s: &Source| s.report.cookie.clone().unwrap_or_else(|| "none".into());
                return Err(MergeError::DifferentTests {
                    files: files(a, b),
                    cookies: [cookie(a), cookie(b)],
                });
            }
            [_, _] => {}
            _ => return Err(MergeError::Number(number)),
        }
        let mut sides = Sides { client: None, server: None };
        for source in sources {
            let place = if is_client(&source) { &mut sides.client } else { &mut sides.server };
            *place = Some(source);
        }
        Ok(sides)
    }

    /// The side that says most: the client, who has heard of the server's results.
    fn leading(&self) -> &Source {
        self.client.as_ref().or(self.server.as_ref()).expect("there is one side at least")
    }

    fn all(&self) -> impl Iterator<Item = &Source> {
        self.client.iter().chain(&self.server)
    }
}

/// Makes one recording of the report of one side, or of both. Tool, command and name of the run are the caller's to
/// fill in.
///
/// # Errors
/// If the reports are not of one test.
pub fn recording(sources: Vec<Source>) -> Result<Recording, MergeError> {
    let sides = Sides::sort(sources)?;
    let flows = pair(&sides)?;
    let step_ns = rows::step(&flows);
    let mut recording = Recording::default();
    for flow in &flows {
        recording.flows.extend(rows::of(flow, step_ns));
    }
    recording.flows.sort_by_key(|row| (row.t_ns, row.flow));
    recording.info = info::of(&sides, &flows, step_ns, &recording.flows);
    recording.ledger = ledger::of(&flows);
    recording.events = sides.all().filter_map(|source| ended_early(source, &flows)).collect();
    Ok(recording)
}

fn ended_early(source: &Source, flows: &[Flow]) -> Option<Event> {
    let detail = source.report.error.clone()?;
    let host = Some(info::host_name(&source.report).to_owned());
    let t_ns = flows.iter().map(Flow::end_ns).max().unwrap_or(0);
    Some(Event { t_ns, kind: EventKind::Iperf3Error, flow: None, host, detail, burst_packet: None })
}
