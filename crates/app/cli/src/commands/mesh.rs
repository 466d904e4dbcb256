//! `wirespeed mesh`: every pair of several machines, again and again.

use super::folder::create_locked;
use super::linux::own_program;
use super::probe::{Choice, machine};
use crate::failure::Failure;
use crate::{interrupt, print, print_plain, tell as tell_line};
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};
use wirespeed_mesh::{EDGES, History, HistoryError, Measured, Mesh, Summary, prometheus, summarise};
use wirespeed_record::{plain_line, replace_file};
use wirespeed_report::with_unit;
use wirespeed_scenario::run::{Family, Reach};
use wirespeed_substrates::Hosts;
use wirespeed_transport::remote::Program;
use wirespeed_units::{Bytes, Rate, Span};

/// Arguments of `wirespeed mesh`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed mesh dtn1 dtn2 dtn3                               # each pair once, for 60 s
  wirespeed mesh dtn1 dtn2 dtn3 --every \"1 h\" --time \"20 s\"   # a sweep every hour, until Ctrl-C
  wirespeed mesh dtn1 dtn2 --udp \"100 Mbit/s\" --fail-loss 1e-4
  wirespeed mesh                                              # the summary of what is stored")]
pub struct Arguments {
    /// Hosts: ssh names, with =ADDRESS where a host has several addresses; none prints the summary of what is stored.
    #[arg(value_name = "HOST[=ADDRESS]", value_parser = machine)]
    hosts: Vec<Reach>,
    #[command(flatten)]
    family: Choice,
    /// Start a sweep over all pairs this often [default: one sweep].
    #[arg(long, value_name = "TIME")]
    every: Option<Span>,
    /// Length of the test of each pair.
    #[arg(long, alias = "for", value_name = "TIME", default_value = "60 s")]
    time: Span,
    /// Rate of the datagrams' payload.
    #[arg(long, alias = "rate", value_name = "RATE", default_value = "10 Mbit/s")]
    udp: Rate,
    /// Payload of a datagram, for example "1400 B" [default: 1472 B, over IPv6 1452 B: packets of 1500 bytes].
    #[arg(long, value_name = "SIZE", value_parser = super::probe::payload)]
    datagram: Option<u32>,
    /// End after this many sweeps.
    #[arg(long, value_name = "N", requires = "every")]
    sweeps: Option<u64>,
    /// End with exit code 1 if a pair loses a larger share in the last sweep, for example 1e-4.
    #[arg(long, value_name = "SHARE", value_parser = super::probe::share)]
    fail_loss: Option<f64>,
    /// Folder for the measurements.
    #[arg(long, value_name = "DIR", default_value = "wirespeed-out/mesh")]
    out: PathBuf,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Bytes of an IP packet on most paths.
const USUAL_MTU: u64 = 1500;
/// What is stored, by line.
const HISTORY: &str = "mesh.jsonl";
/// The last measurements for Prometheus.
const PROMETHEUS: &str = "mesh.prom";

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Failure {
        Failure::Environment(error.to_string())
    }
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let history = arguments.out.join(HISTORY);
    if arguments.hosts.is_empty() {
        return tell(arguments, &History::read(&history)?);
    }
    if arguments.hosts.len() == 1 {
        return Err(Failure::Usage {
            message: "a mesh of one machine has no pair".into(),
            remedy: "name two machines or more".into(),
        });
    }
    if let Some(server) = arguments.hosts.iter().find(|host| host.iperf3().is_some()) {
        return Err(Failure::Usage {
            message: format!("{} is an iperf3 server; in a mesh everybody sends and receives", server.ssh),
            remedy: "name machines with ssh, or measure to it with `wirespeed probe`".into(),
        });
    }
    arguments.family.check(arguments.hosts.iter())?;
    let hosts: Vec<Reach> = arguments.hosts.iter().map(|host| arguments.family.of(host)).collect();
    let family = hosts.iter().find_map(Reach::asked_family).unwrap_or(Family::Ipv4);
    let datagram = arguments.datagram.map_or(USUAL_MTU - family.datagram_overhead(), u64::from);
    let _lock = create_locked(&arguments.out)?;
    let file = History::open(&history)?;
    let substrate = Hosts::new(Program::new(own_program()?), crate::VERSION);
    let mesh = Mesh { hosts, rate: arguments.udp, datagram: Bytes::new(datagram), length: arguments.time };
    let sweeps = match arguments.every {
        None => 1,
        Some(_) => arguments.sweeps.unwrap_or(u64::MAX),
    };
    for number in 1..=sweeps {
        let began = Instant::now();
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        sweep(&mesh, at, &substrate, &arguments.out.join("runs"), &file)?;
        let all = History::read(&history)?;
        let text = prometheus(&all);
        let path = arguments.out.join(PROMETHEUS);
        replace_file(&path, text.as_bytes())
            .map_err(|source| Failure::Output { what: path.display().to_string(), source })?;
        if interrupt::flag().load(Relaxed) {
            return Err(Failure::Interrupted);
        }
        tell(arguments, &all)?;
        if number < sweeps
            && let Some(every) = arguments.every
        {
            wait(began + Duration::from_secs_f64(every.as_secs_f64()), interrupt::flag())?;
        } else {
            return check(arguments, all.iter().filter(|row| row.at == at));
        }
    }
    Ok(())
}

/// Whether every pair of a sweep was measured, and loses no more than the user allows.
fn check<'a>(arguments: &Arguments, sweep: impl Iterator<Item = &'a Measured>) -> Result<(), Failure> {
    let sweep: Vec<&Measured> = sweep.collect();
    let failed = sweep.iter().filter(|row| row.failure.is_some()).count();
    if failed > 0 {
        return Err(Failure::Environment(format!("{failed} of {} pairs could not be measured", sweep.len())));
    }
    let Some(most) = arguments.fail_loss else { return Ok(()) };
    let losing: Vec<String> = sweep
        .iter()
        .filter_map(|row| Some((row, row.loss().filter(|loss| *loss > most)?)))
        .map(|(row, loss)| format!("{} to {} ({loss:.2e})", row.from, row.to))
        .collect();
    match losing.is_empty() {
        true => Ok(()),
        false => Err(Failure::Threshold(format!("above --fail-loss {most:e}: {}", losing.join(", ")))),
    }
}

/// One sweep, of which each pair is stored as it comes.
fn sweep(mesh: &Mesh, at: u64, substrate: &Hosts, runs: &Path, file: &History) -> Result<(), Failure> {
    let unwritten: Mutex<Option<HistoryError>> = Mutex::new(None);
    mesh.sweep(at, substrate, runs, interrupt::flag(), &|measured: &Measured| {
        tell_line(&line(measured));
        if let Err(error) = file.add(measured) {
            unwritten.lock().expect("nobody panics holding it").get_or_insert(error);
        }
    });
    unwritten.into_inner().expect("nobody panics holding it").map_or(Ok(()), |error| Err(error.into()))
}

fn line(measured: &Measured) -> String {
    let Measured { from, to, sent, lost, failure, delay, .. } = measured;
    if let Some(failure) = failure {
        return format!("{from} to {to}: {failure}");
    }
    let time = |ns: i64| with_unit(ns as f64, "ns");
    let delay = delay.map_or(String::new(), |delay| {
        let [median, error, jitter] = [delay.median_ns, delay.error_ns, delay.jitter_ns].map(time);
        format!(", one-way delay {median} (within {error}), jitter {jitter}")
    });
    format!("{from} to {to}: {lost} of {sent} lost{delay}")
}

/// Waits for the next sweep, or for Ctrl-C.
fn wait(until: Instant, cancel: &AtomicBool) -> Result<(), Failure> {
    const LOOK: Duration = Duration::from_millis(100);
    while Instant::now() < until {
        if cancel.load(Relaxed) {
            return Err(Failure::Interrupted);
        }
        sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn tell(arguments: &Arguments, all: &[Measured]) -> Result<(), Failure> {
    let Some(summary) = summarise(all) else {
        return print("Nothing has been measured yet.\n");
    };
    match arguments.json {
        true => {
            let text = serde_json::to_string_pretty(&summary).expect("it is plain data");
            print(&format!("{text}\n"))
        }
        false => print_plain(&text(&summary)),
    }
}

/// The summary as text.
fn text(summary: &Summary) -> String {
    /// Pairs with the highest loss.
    const WORST: usize = 10;
    let mut text = String::from("\nLoss by pairs:\n");
    let most = summary.histogram.iter().copied().max().unwrap_or(0).max(1);
    for (class, pairs) in summary.histogram.iter().enumerate() {
        let name = match (class, EDGES.get(class)) {
            (0, _) => "none".to_owned(),
            (_, Some(edge)) => format!("up to {edge:e}"),
            (_, None) => "more".to_owned(),
        };
        let bar = "#".repeat((pairs * 40).div_ceil(most) as usize);
        let _ = writeln!(text, "  {name:>10}  {pairs:>5}  {bar}");
    }
    let losing = || summary.pairs.iter().filter(|pair| pair.loss > 0.0);
    if losing().next().is_some() {
        text.push_str("\nHighest loss:\n");
    }
    for pair in losing().take(WORST) {
        let stage = pair.stage.as_deref().map(plain_line);
        let stage = stage.map_or(String::new(), |stage| format!(", most at {stage}"));
        let _ = writeln!(text, "  {} to {}: {:.2e}{stage}", pair.from, pair.to, pair.loss);
    }
    for finding in &summary.findings {
        let _ = writeln!(text, "\n{finding}\n  {}", finding.remedy);
    }
    if !summary.changes.is_empty() {
        text.push_str("\nChanged since last week:\n");
    }
    for change in &summary.changes {
        let _ = writeln!(
            text,
            "  {} to {}: {:.2e}, was {:.2e}",
            change.from, change.to, change.now, change.before
        );
    }
    if !summary.failures.is_empty() {
        text.push_str("\nNot measured:\n");
    }
    for (from, to, why) in &summary.failures {
        let _ = writeln!(text, "  {from} to {to}: {why}");
    }
    text
}
