//! `wirespeed probe`: what two real machines can do, where packets are lost between them, and what limits them.

mod baseline;
mod family;
mod options;
mod prometheus;
mod scenario;
mod verdict;

pub(super) use family::Choice;
pub use options::Arguments;
pub(super) use options::{machine, payload, share};

use super::folder::{create, create_locked};
use super::linux::own_program;
use super::measurement::{LATEST, create_stamped, point_latest};
use super::run::{self, On};
use crate::failure::Failure;
use crate::{interrupt, print_plain, tell};
use baseline::Baseline;
use scenario::Path as MeasuredPath;
use std::path::{Path, PathBuf};
use verdict::Verdict;
use wirespeed_agent::port::Reached;
use wirespeed_record::replace_file;
use wirespeed_scenario::run::{Family, Reach};
use wirespeed_substrates::{Hosts, Ports, SubstrateError, Surveyed};
use wirespeed_transport::remote::Program;
use wirespeed_units::{Rate, Span};

/// What utilisation is a part of where no interface says its rate.
const UNKNOWN_RATE: u64 = 400_000_000_000;

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let result = probe(arguments);
    // Whoever watches has to see that there was no measurement.
    if let (Some(file), Err(failure)) = (&arguments.prometheus, &result)
        && !matches!(failure, Failure::Threshold(_))
    {
        let _ = write(file, &prometheus::of_failure(arguments));
    }
    result
}

fn probe(arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    let pair = Path::new("wirespeed-out").join(pair_name(arguments));
    // Before there is another that is the latest.
    let baseline = arguments.baseline.as_ref().map(|wanted| match wanted.as_os_str() == LATEST {
        true => Baseline::read(&pair.join(LATEST)),
        false => Baseline::read(wanted),
    });
    let baseline = baseline.transpose()?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => create_stamped(&pair)?,
    };
    let lock = create_locked(&out)?;
    let hosts = Hosts::new(Program::new(own_program()?), crate::VERSION);
    let found = survey(arguments, &hosts, &out.join("survey"));
    let _ = std::fs::remove_dir_all(out.join("survey"));
    // The run locks it again.
    drop(lock);
    let (path, usual) = found.inspect_err(|_| {
        if arguments.out.is_none() {
            discard(&out);
        }
    })?;
    eprintln!("round trip: {}", Span::ns(path.rtt_ns));
    arguments.dscp.iter().for_each(|dscp| eprintln!("DSCP: {dscp}"));
    let file = out.join("probe.toml");
    let study = scenario::scenario(arguments, &usual, &path).study(&file.to_string_lossy(), &[], None)?;
    write(&file, &study.source)?;
    let mut order = run::Arguments::of_file(file, On::Hosts, out.clone(), arguments.json);
    order.interval = arguments.interval;
    let mut verdicts = Vec::new();
    let result = run::carry_out(&order, &study, &mut |judged| {
        verdicts.push(Verdict::of(judged));
        Ok(())
    });
    if arguments.out.is_none() && !verdicts.is_empty() {
        point_latest(&out)?;
    }
    conclude(arguments, &out, &verdicts, baseline.as_ref(), result)
}

/// Conclusions from a measurement.
fn conclude(
    arguments: &Arguments,
    out: &Path,
    verdicts: &[Verdict],
    baseline: Option<&Baseline>,
    result: Result<(), Failure>,
) -> Result<(), Failure> {
    let result = match result {
        Err(Failure::Interrupted) => Err(Failure::InterruptedProbe),
        other => other,
    };
    if let (Some(file), Some(verdict)) = (&arguments.prometheus, verdicts.last()) {
        write(file, &prometheus::of(arguments, verdict))?;
    }
    let (mut text, mut worse) = (String::new(), None);
    if let (Some(baseline), [verdict]) = (baseline, verdicts) {
        let (words, regression) = baseline.compare(verdict, arguments.max_drop);
        (text, worse) = (words, regression);
    }
    if arguments.summary {
        verdicts.iter().for_each(|verdict| text += &format!("\n{}\n", verdict.summary(arguments, out)));
    }
    // JSON is for programs, which read nothing else.
    match arguments.json {
        true => text.lines().filter(|line| !line.is_empty()).for_each(tell),
        false => print_plain(&text)?,
    }
    result?;
    for verdict in verdicts {
        verdict.check(arguments)?;
    }
    worse.map_or(Ok(()), |what| Err(Failure::Threshold(what)))
}

/// Removes a folder in which nothing was measured.
fn discard(out: &Path) {
    let _ = std::fs::remove_dir_all(out);
    // The pair's, unless there is another measurement in it.
    let _ = out.parent().map(std::fs::remove_dir);
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create(folder)?;
    }
    replace_file(file, text.as_bytes())
        .map_err(|source| Failure::Output { what: file.display().to_string(), source })
}

/// Looks at the machines and prints what they are. Returns the path between them, and the sender's usual congestion control.
fn survey(arguments: &Arguments, hosts: &Hosts, raw: &Path) -> Result<(MeasuredPath, String), Failure> {
    let (from, to) = arguments.ends();
    let failed = |error| match error {
        SubstrateError::Interrupted => Failure::InterruptedProbe,
        error => Failure::Environment(error.to_string()),
    };
    let path = |found: &[Surveyed], answers: &[Option<i64>]| MeasuredPath {
        rtt_ns: answers.iter().flatten().copied().min().unwrap_or(0).max(1),
        family: found.first().map_or(Family::Ipv4, |found| Family::of(found.interface.address)),
        rate_bps: found.iter().filter_map(|found| found.interface.rate_bps).min().unwrap_or(UNKNOWN_RATE),
    };
    let with_server = match () {
        () if to.iperf3().is_some() => Some(("sender", &from, &to)),
        () if from.iperf3().is_some() => Some(("receiver", &to, &from)),
        () => None,
    };
    if let Some((name, machine, server)) = with_server {
        let (found, place) =
            hosts.survey_to_iperf3(name, machine, server, raw, interrupt::flag()).map_err(failed)?;
        let ours = told(machine, &found);
        let its = format!("iperf3 server at {place}; nothing of wirespeed runs there");
        let [first, second] = if name == "sender" { [ours, its] } else { [its, ours] };
        tell(&format!("from: {first}"));
        tell(&format!("to: {second}"));
        let answer = found.answer.as_ref().and_then(Reached::answer_ns);
        if answer.is_none() {
            return Err(Failure::Environment(format!(
                "{place} does not answer {}: is `iperf3 -s` running there, and does a firewall let its port through?",
                found.interface.address
            )));
        }
        // A server that sends is left the one that its kernel uses.
        let usual = match name {
            "sender" => found.congestion.clone(),
            _ => wirespeed_scenario::run::HOST_DEFAULT.to_owned(),
        };
        return Ok((path(&[found], &[answer]), usual));
    }
    let datagrams = arguments.udp_rate().is_some();
    let ports = Ports { first: arguments.port, datagrams, both_ways: arguments.bidir };
    let pair = [from.clone(), to.clone()];
    let found = hosts.survey(&pair, ports, raw, interrupt::flag()).map_err(failed)?;
    for (word, reach, surveyed) in [("from", &from, &found[0]), ("to", &to, &found[1])] {
        tell(&format!("{word}: {}", told(reach, surveyed)));
    }
    for (here, there) in [(0, 1), (1, 0)] {
        let answer = found[here].answer.as_ref();
        if let Some(what) = answer.and_then(|answer| closed(answer, &found[here], &found[there], ports)) {
            return Err(Failure::Environment(what));
        }
    }
    let answers = found.each_ref().map(|found| found.answer.as_ref().and_then(Reached::answer_ns));
    Ok((path(&found, &answers), found[0].congestion.clone()))
}

/// Why packets of a test do not come through to a port that is held there; `None` if they do.
fn closed(answer: &Reached, here: &Surveyed, there: &Surveyed, ports: Ports) -> Option<String> {
    let [here, there] = [here, there].map(|surveyed| surveyed.interface.address);
    let protocol = if ports.datagrams { "UDP" } else { "TCP" };
    let port = ports.first;
    let remedy =
        format!("open {protocol} port {port} (one more for each further flow), or choose others with --port");
    match answer {
        Reached::Accepted(_) => None,
        Reached::Refused(_) => Some(format!(
            "{there} refuses {protocol} port {port} to {here}, though an agent listens there: a firewall rejects it; {remedy}"
        )),
        Reached::Silent => Some(format!(
            "{there} does not answer {here} on {protocol} port {port}, though both can be reached by ssh: a firewall drops \
             it, or one address is not for the other's network; {remedy}"
        )),
        Reached::Unsendable(why) => {
            Some(format!("{here} cannot send to {there} on {protocol} port {port}: {why}; {remedy}"))
        }
    }
}

/// A folder's name for the results of two machines.
fn pair_name(arguments: &Arguments) -> PathBuf {
    let plain = |name: &str| -> String {
        name.chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' })
            .collect()
    };
    let (from, to) = arguments.ends();
    format!("probe-{}-{}", plain(&from.ssh), plain(&to.ssh)).into()
}

fn told(reach: &Reach, surveyed: &Surveyed) -> String {
    let interface = &surveyed.interface;
    let rate = interface.rate_bps.map_or("rate unknown".to_owned(), |rate| Rate::bps(rate).to_string());
    let mtu = interface.mtu.map_or(String::new(), |mtu| format!(", MTU {mtu}"));
    format!(
        "{} by {} ({}, {rate}{mtu}), Linux {}",
        reach.ssh, interface.address, interface.device, surveyed.release
    )
}
