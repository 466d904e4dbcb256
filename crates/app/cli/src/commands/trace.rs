//! `wirespeed trace`: an explanation of TCP from a packet capture.

use super::{trace_figures, trace_pair, trace_results};
use crate::failure::Failure;
use crate::{print, print_plain};
use clap::Args;
use serde::Serialize;
use std::error::Error;
use std::path::{Path, PathBuf};
use wirespeed_capture::{CaptureError, CaptureFacts};
use wirespeed_reconstruction::of_one;
use wirespeed_trace::{ConnectionTrace, Options, Trace, text};

/// Arguments of `wirespeed trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed trace sender.pcap                       # the finding, a table of connections, and the largest in detail
  wirespeed trace dtn1.pcapng.gz --connection 3     # one connection in detail
  wirespeed trace dtn1.pcap --all                   # every connection in the table
  wirespeed trace dtn1.pcap --json > trace.json     # all of it, for programs
  wirespeed trace dtn1.pcap --out traced            # a folder of results, as of a run: `wirespeed report traced`
  wirespeed trace sender.pcap receiver.pcap         # losses, delays and changes between two capture points
  ssh dtn1 tcpdump -i eth0 -s 128 -w - tcp | wirespeed trace -

The format is recognised from the content: pcap or pcapng, as it is or compressed with gzip or zstd. Headers are enough \
(`tcpdump -s 128`). Capture at the sender if you can: only there do bytes in flight and retransmissions show as TCP sees them.")]
pub struct Arguments {
    /// Capture of tcpdump, Wireshark or another program; `-` reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Capture of the same connections at the receiver, or at another point of the path. It shows which packets were lost between both.
    #[arg(value_name = "SECOND")]
    second: Option<PathBuf>,
    /// The clocks of both captures agree, as where PTP keeps them together: one-way delays are exact.
    #[arg(long, requires = "second")]
    clocks_agree: bool,
    /// Print one connection in detail, by its number in the table.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    connection: Option<u64>,
    /// Print every connection in the table, up to 100,000.
    #[arg(long, conflicts_with = "connection")]
    all: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Write the result to a folder of results as well: trace.txt, trace.json, the connection in detail as time-sequence.html, report.html, and
    /// a run that `report`, `compare` and `serve` read.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write files for the program xplot into that folder as well (*.xpl). They take some 350 bytes a packet.
    #[arg(long, requires = "out", conflicts_with = "second")]
    xplot: bool,
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
pub(super) struct Capture {
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
    pub(super) fn of(facts: &CaptureFacts) -> Capture {
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
    if let Some(second) = &arguments.second {
        return trace_pair::run(&trace_pair::Question {
            files: [&arguments.file, second],
            options: wirespeed_pair::Options {
                trace: Options { keep, only: None, points: false },
                clocks_agree: arguments.clocks_agree,
            },
            connection: arguments.connection,
            all: arguments.all,
            json: arguments.json,
            out: arguments.out.as_ref(),
        });
    }
    if let Some(folder) = &arguments.out {
        trace_results::check(folder)?;
    }
    let (trace, facts, sampler) =
        trace_results::read(&arguments.file, options).map_err(|error| refused(&arguments.file, &error))?;
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
        let recording = of_one(&trace_results::name_of(&arguments.file), &trace, &sampler);
        trace_results::write(folder, &shown, &json(), recording, &[&arguments.file])?;
        let drawn = detailed(&trace, arguments);
        let remark = trace_figures::write(folder, &trace, drawn, &arguments.file, arguments.xplot)?;
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

pub(super) fn refused(file: &Path, error: &CaptureError) -> Failure {
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
