//! `wirespeed trace`: an explanation of TCP from a packet capture.

use super::folder::create;
use super::trace_figures;
use crate::failure::Failure;
use crate::{print, print_plain};
use clap::Args;
use serde::Serialize;
use std::error::Error;
use std::path::{Path, PathBuf};
use wirespeed_capture::{CaptureError, CaptureFacts, Input, Settings};
use wirespeed_record::replace_file;
use wirespeed_trace::{ConnectionTrace, Options, Trace, text};

/// Arguments of `wirespeed trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed trace sender.pcap                       # the finding, a table of connections, and the largest in detail
  wirespeed trace dtn1.pcapng.gz --connection 3     # one connection in detail
  wirespeed trace dtn1.pcap --all                   # every connection in the table
  wirespeed trace dtn1.pcap --json > trace.json     # all of it, for programs
  wirespeed trace dtn1.pcap --out traced            # the text, trace.json, and time-sequence.html in a folder
  ssh dtn1 tcpdump -i eth0 -s 128 -w - tcp | wirespeed trace -

The format is recognised from the content: pcap or pcapng, as it is or compressed with gzip or zstd. Headers are enough \
(`tcpdump -s 128`). Capture at the sender if you can: only there do bytes in flight and retransmissions show as TCP sees them.")]
pub struct Arguments {
    /// Capture of tcpdump, Wireshark or another program; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one connection in detail, by its number in the table.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    connection: Option<u64>,
    /// Print every connection in the table, up to 100,000.
    #[arg(long, conflicts_with = "connection")]
    all: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Write the result to a folder as well: trace.txt, trace.json, and the connection in detail as time-sequence.html and, for xplot, *.xpl.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// So many connections are kept with --all: each takes some kilobytes.
const ALL: usize = 100_000;

/// The result for programs.
#[derive(Serialize)]
struct Document<'a> {
    /// Version of this form.
    schema: u32,
    /// The finding in words.
    finding: String,
    #[serde(flatten)]
    trace: &'a Trace,
    capture: Capture,
}

/// Defects of the capture.
#[derive(Serialize)]
struct Capture {
    frames: u64,
    tcp_frames: u64,
    frames_skipped: u64,
    frames_cut: u64,
    options_cut: u64,
    super_packets: u64,
    times_out_of_order: u64,
    reported_drops: Option<u64>,
    damaged_tail: Option<String>,
}

impl Capture {
    fn of(facts: &CaptureFacts) -> Capture {
        Capture {
            frames: facts.all.packets,
            tcp_frames: facts.tcp.packets,
            frames_skipped: facts.skipped.values().map(|packets| packets.packets).sum(),
            frames_cut: facts.cut,
            options_cut: facts.cut_options,
            super_packets: facts.super_packets,
            times_out_of_order: facts.times_out_of_order,
            reported_drops: facts.reported_drops(),
            damaged_tail: facts.damaged_tail.as_ref().map(ToString::to_string),
        }
    }
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let keep = if arguments.all { ALL } else { Options::default().keep };
    let options = Options { keep, only: arguments.connection, points: arguments.out.is_some() };
    let (trace, facts) = wirespeed_trace::read(Input::named(&arguments.file), &Settings::default(), options)
        .map_err(|error| refused(&arguments.file, &error))?;
    if let Some(number) = arguments.connection.filter(|&number| number > trace.total_connections) {
        return Err(Failure::Usage {
            message: format!(
                "{} has {} TCP connections, and no connection {number}",
                arguments.file.display(),
                trace.total_connections
            ),
            remedy: format!("`wirespeed trace {} --all` lists them", arguments.file.display()),
        });
    }
    let shown = shown(&trace, &facts, arguments);
    let json = || {
        let finding = text::finding(&trace);
        let document = Document { schema: 1, finding, trace: &trace, capture: Capture::of(&facts) };
        serde_json::to_string_pretty(&document).expect("a trace is plain data")
    };
    if let Some(folder) = &arguments.out {
        create(folder)?;
        write(&folder.join("trace.txt"), &shown)?;
        write(&folder.join("trace.json"), &json())?;
        let remark = trace_figures::write(folder, &trace, detailed(&trace, arguments), &arguments.file)?;
        remark.iter().for_each(|remark| crate::tell(remark));
    }
    match arguments.json {
        true => print(&format!("{}\n", json())),
        false => print_plain(&shown),
    }
}

/// The summary, and a connection in detail.
fn shown(trace: &Trace, facts: &CaptureFacts, arguments: &Arguments) -> String {
    let rows = if arguments.all { usize::MAX } else { text::USUAL_ROWS };
    let mut shown = text::summary(trace, facts, rows);
    if let Some(connection) = detailed(trace, arguments) {
        shown += &format!("\n{}", text::connection(connection));
    }
    shown
}

/// The connection that was asked for, or the one with most data.
fn detailed<'a>(trace: &'a Trace, arguments: &Arguments) -> Option<&'a ConnectionTrace> {
    match arguments.connection {
        Some(number) => trace.connections.iter().find(|connection| connection.number == number),
        None => text::largest(trace),
    }
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    replace_file(file, text.as_bytes())
        .map_err(|source| Failure::Output { what: file.display().to_string(), source })
}

fn refused(file: &Path, error: &CaptureError) -> Failure {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    let message = match error {
        // It names the file itself.
        CaptureError::Open { .. } => format!("{error}{cause}"),
        _ => format!("{}: {error}{cause}", file.display()),
    };
    Failure::Usage {
        message,
        remedy: "`tcpdump -i eth0 -s 128 -w FILE tcp` writes what can be read; `wirespeed trace --help` has examples".into(),
    }
}
