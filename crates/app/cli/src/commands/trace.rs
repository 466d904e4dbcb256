//! `wirespeed trace`: an explanation of TCP and UDP from a packet capture.

mod figures;
#[cfg(feature = "linux")]
mod live;
mod pair;
mod results;

use self::results::Read;
use super::run::quoted;
use crate::failure::Failure;
use crate::{print, print_plain};
use clap::Args;
use serde::Serialize;
use std::error::Error;
use std::path::{Path, PathBuf};
use wirespeed_capture::{CaptureError, CaptureFacts, Input};
use wirespeed_reconstruction::of_one;
use wirespeed_trace::{ConnectionTrace, Options, Trace, UdpStream, text};

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
  sudo wirespeed trace --interface eth0 --for \"10 s\" --filter \"tcp port 5001\"  # live
  wirespeed trace calls.pcap --rtp                  # losses and jitter of RTP streams

The format is recognised from the content: pcap or pcapng, as it is or compressed with gzip or zstd. Headers are enough \
(`tcpdump -s 128`). Capture at the sender if you can: only there do bytes in flight and retransmissions show as TCP sees them.")]
pub struct Arguments {
    /// Capture of tcpdump, Wireshark or another program; `-` reads standard input.
    #[arg(value_name = "FILE")]
    #[cfg_attr(feature = "linux", arg(required_unless_present = "interface"))]
    #[cfg_attr(not(feature = "linux"), arg(required = true))]
    file: Option<PathBuf>,
    /// Capture of the same connections at the receiver, or at another point of the path. It shows which packets were lost between both.
    #[arg(value_name = "SECOND")]
    second: Option<PathBuf>,
    /// The clocks of both captures agree, as where PTP keeps them together: one-way delays are exact.
    #[arg(long, requires = "second")]
    clocks_agree: bool,
    /// Print one connection in detail, by its number in the table.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    connection: Option<u64>,
    /// Print one UDP stream in detail, by its number in the table.
    #[arg(long, value_name = "NUMBER", conflicts_with = "connection", value_parser = clap::value_parser!(u64).range(1..))]
    stream: Option<u64>,
    /// Print every connection and UDP stream in the tables, up to 100,000 each.
    #[arg(long, conflicts_with_all = ["connection", "stream"])]
    all: bool,
    /// Read UDP payload as RTP. A clock rate is that of dynamic payload types.
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = "90000",
          value_parser = clap::value_parser!(u32).range(1..))]
    rtp: Option<u32>,
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
    #[cfg(feature = "linux")]
    #[command(flatten)]
    live: live::LiveOptions,
}

#[cfg(feature = "linux")]
type Live = live::Live;
/// Only Linux has live captures: there is none here.
#[cfg(not(feature = "linux"))]
#[derive(Serialize)]
enum Live {}

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
    /// Of a live capture.
    live: Option<&'a Live>,
}

/// Defects of the capture.
#[derive(Serialize)]
struct Capture {
    frames: u64,
    tcp_frames: u64,
    udp_frames: u64,
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
            udp_frames: facts.udp.packets,
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
    if let (Some(first), Some(second)) = (&arguments.file, &arguments.second) {
        return pair::run(&pair::Question {
            files: [first, second],
            options: wirespeed_pair::Options {
                trace: Options { keep, ..Options::default() },
                clocks_agree: arguments.clocks_agree,
            },
            connection: arguments.connection,
            all: arguments.all,
            json: arguments.json,
            out: arguments.out.as_ref(),
        });
    }
    if let Some(folder) = &arguments.out {
        results::check(folder)?;
    }
    let options = Options {
        keep,
        only: arguments.connection,
        only_stream: arguments.stream,
        rtp_hz: arguments.rtp,
        points: arguments.out.is_some(),
    };
    let (Read { trace, facts, sampler }, live) = read(arguments, options)?;
    check_numbers(arguments, &trace)?;
    let mut shown = shown(&trace, &facts, arguments);
    shown += &words(live.as_ref());
    let json = || {
        let finding = text::finding(&trace);
        let (capture, live) = (Capture::of(&facts), live.as_ref());
        let document = Document { schema: 1, finding, trace: &trace, capture, live };
        serde_json::to_string_pretty(&document).expect("a trace is plain data")
    };
    if let Some(folder) = &arguments.out {
        let source = arguments.name();
        let recording = of_one(&results::name_of(source), &trace, &sampler);
        results::write(folder, &shown, &json(), recording, &arguments.source())?;
        let (connection, _) = detailed(&trace, arguments);
        let remark = figures::write(folder, &trace, connection, source, arguments.xplot)?;
        remark.iter().for_each(|remark| crate::tell(remark));
    }
    match arguments.json {
        true => print(&format!("{}\n", json())),
        false => print_plain(&shown),
    }
}

/// Reads the file, or captures.
fn read(arguments: &Arguments, options: Options) -> Result<(Read, Option<Live>), Failure> {
    #[cfg(feature = "linux")]
    arguments.live.check()?;
    #[cfg(feature = "linux")]
    if arguments.live.interface.is_some() {
        let (read, live) = live::capture(&arguments.live, options)?;
        return Ok((read, Some(live)));
    }
    let file = arguments.name();
    let read = results::read(Input::named(file), options).map_err(|error| refused(file, &error))?;
    Ok((read, None))
}

#[cfg(feature = "linux")]
fn words(live: Option<&Live>) -> String {
    live.map_or(String::new(), |live| format!("\n{}", live.text()))
}

#[cfg(not(feature = "linux"))]
fn words(_: Option<&Live>) -> String {
    String::new()
}

impl Arguments {
    /// The file, or the interface of a live capture, for messages.
    fn name(&self) -> &Path {
        #[cfg(feature = "linux")]
        if let Some(interface) = &self.live.interface {
            return Path::new(interface);
        }
        self.file.as_deref().unwrap_or(Path::new("-"))
    }

    /// The file or the interface, as on the command line.
    fn source(&self) -> String {
        let name = quoted(&self.name().display().to_string());
        if self.file.is_some() { name } else { format!("--interface {name}") }
    }
}

/// Whether the connection or stream that was asked for is there.
fn check_numbers(arguments: &Arguments, trace: &Trace) -> Result<(), Failure> {
    let wanted = [
        (arguments.connection, trace.total_connections, "TCP connection"),
        (arguments.stream, trace.total_streams, "UDP stream"),
    ];
    for (number, total, kind) in wanted {
        if let Some(number) = number.filter(|&number| number > total) {
            let name = arguments.name().display();
            let plural = if total == 1 { "" } else { "s" };
            return Err(Failure::Usage {
                message: format!("{name} has {total} {kind}{plural}, and no {kind} {number}"),
                remedy: format!("`wirespeed trace {name} --all` lists them"),
            });
        }
    }
    Ok(())
}

/// The summary, and the connection or stream that was asked for or has most data.
fn shown(trace: &Trace, facts: &CaptureFacts, arguments: &Arguments) -> String {
    let rows = if arguments.all { usize::MAX } else { text::USUAL_ROWS };
    let mut shown = text::summary(trace, facts, rows);
    let (connection, stream) = detailed(trace, arguments);
    if let Some(connection) = connection {
        shown += &format!("\n{}", text::connection(connection));
    }
    if let Some(stream) = stream {
        shown += &format!("\n{}", text::stream(stream));
    }
    shown
}

/// The connection or stream that was asked for, or the one with most data.
fn detailed<'a>(
    trace: &'a Trace,
    arguments: &Arguments,
) -> (Option<&'a ConnectionTrace>, Option<&'a UdpStream>) {
    match (arguments.connection, arguments.stream) {
        (Some(number), _) => (trace.connections.iter().find(|connection| connection.number == number), None),
        (_, Some(number)) => (None, trace.streams.iter().find(|stream| stream.number == number)),
        _ => text::largest(trace),
    }
}

/// Captures in a folder of results, at most `most`.
fn captures(folder: &Path, most: usize) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let runs = entries(&folder.join("runs")).into_iter().chain([folder.to_path_buf()]);
    let raw = runs.flat_map(|run| entries(&run.join("raw"))).chain(entries(folder));
    let is_capture = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "pcap" || kind == "pcapng");
    raw.filter(is_capture).take(most).collect()
}

fn refused(file: &Path, error: &CaptureError) -> Failure {
    if file.is_dir() {
        let message = format!("{} is a folder, not a capture", file.display());
        let remedy = match captures(file, 3).as_slice() {
            [] => "it has no captures; name a file that tcpdump wrote".into(),
            found => {
                let commands = found.iter().map(|capture| format!("`wirespeed trace {}`", capture.display()));
                format!("name a capture in it: {}", commands.collect::<Vec<_>>().join(", "))
            }
        };
        return Failure::Usage { message, remedy };
    }
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
