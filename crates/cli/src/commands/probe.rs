//! `wirespeed probe`: what two real machines can do, where packets are lost between them, and what limits them.

use super::run::{self, On, create};
use crate::failure::Failure;
use crate::{interrupt, tell};
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use wirespeed_lab::{Hosts, LabError, Program, Surveyed};
use wirespeed_record::replace_file;
use wirespeed_scenario::run::Reach;
use wirespeed_units::{Rate, Span};

/// Arguments of `wirespeed probe`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The machine that sends: its name for ssh, and =ADDRESS if it has several; or iperf3://HOST:PORT.
    #[arg(value_name = "FROM[=ADDRESS]", value_parser = machine)]
    from: Reach,
    /// The machine that receives; or iperf3://HOST:PORT, an iperf3 server, where nothing of wirespeed has to be.
    #[arg(value_name = "TO[=ADDRESS]", value_parser = machine)]
    to: Reach,
    /// How long.
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    time: Span,
    /// How many flows.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    flows: u32,
    /// Congestion control [default: what the sender's kernel uses].
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,

    /// Do not copy what TCP sends into its sockets (sendfile): saves the sender's core where a NIC takes the pages.
    #[arg(long, conflicts_with = "udp")]
    zero_copy: bool,
    /// UDP at this rate instead of TCP, each flow.
    #[arg(long, value_name = "RATE")]
    udp: Option<Rate>,
    /// Payload of a datagram in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1472, requires = "udp")]
    datagram: u32,
    /// How often everything is read.
    #[arg(long, value_name = "TIME", default_value = "10 ms")]
    sample: Span,
    /// Folder for the results [default: wirespeed-out/probe-FROM-TO].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the results as JSON instead of the tables.
    #[arg(long)]
    json: bool,
}

/// A machine of the command line: its name for ssh, perhaps with the address that is to carry the test.
pub(super) fn machine(text: &str) -> Result<Reach, String> {
    let (ssh, address) = match text.split_once('=') {
        None => (text, None),
        Some((name, address)) => {
            let parsed = address.parse().map_err(|_| format!("`{address}` is no IPv4 address"))?;
            (name, Some(parsed))
        }
    };
    if !Reach::is_name(ssh) {
        return Err("write NAME or NAME=ADDRESS, the name as for ssh, or iperf3://HOST[:PORT]".into());
    }
    Ok(Reach { ssh: ssh.into(), address })
}

/// What utilisation is a part of where no interface says its rate.
const UNKNOWN_RATE: u64 = 400_000_000_000;

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let servers = [&arguments.from, &arguments.to].map(|machine| machine.iperf3().is_some());
    if servers == [true, true] {
        return Err(Failure::Usage {
            message: "both machines are iperf3 servers, which only wait for somebody".into(),
            remedy: "one of them has to be a machine with an agent: NAME for ssh, or tcp://HOST:PORT".into(),
        });
    }
    let out = arguments.out.clone().unwrap_or_else(|| default_folder(arguments));
    create(&out)?;
    let hosts = Hosts::new(Program::new(run::own_program()?), crate::VERSION);
    let found = survey(arguments, &hosts, &out.join("survey"))?;
    let _ = std::fs::remove_dir_all(out.join("survey"));
    let answers = found.iter().filter_map(|surveyed| surveyed.answer_ns);
    let rtt_ns = answers.min().expect("a survey without an answer is an error");
    eprintln!("round trip: {}", Span::ns(rtt_ns));
    let rate = found.iter().filter_map(|surveyed| surveyed.interface.rate_bps).min();
    // Which a server uses nobody knows: it is told one that every Linux has.
    let usual = if servers[0] { "cubic" } else { found[0].congestion.as_str() };
    let scenario = scenario(arguments, usual, rtt_ns, rate.unwrap_or(UNKNOWN_RATE));
    let file = out.join("probe.toml");
    replace_file(&file, scenario.as_bytes())
        .map_err(|source| Failure::Output { what: file.display().to_string(), source })?;
    let order = run::Arguments::of_file(file, On::Hosts, out.clone(), arguments.json);
    run::run(order)
}

/// Looks at the machines and tells what they are; there is an answer of at least one.
fn survey(arguments: &Arguments, hosts: &Hosts, raw: &Path) -> Result<Vec<Surveyed>, Failure> {
    let (from, to) = (&arguments.from, &arguments.to);
    let failed = |error| match error {
        LabError::Interrupted => Failure::Interrupted,
        error => Failure::Environment(error.to_string()),
    };
    let with_server = match () {
        () if to.iperf3().is_some() => Some(("sender", from, to)),
        () if from.iperf3().is_some() => Some(("receiver", to, from)),
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
        if found.answer_ns.is_none() {
            return Err(Failure::Environment(format!(
                "{place} does not answer {}: is `iperf3 -s` running there, and does a firewall let its port through?",
                found.interface.address
            )));
        }
        return Ok(vec![found]);
    }
    let found = hosts.survey(&[from.clone(), to.clone()], raw, interrupt::flag()).map_err(failed)?;
    for (word, reach, surveyed) in [("from", from, &found[0]), ("to", to, &found[1])] {
        tell(&format!("{word}: {}", told(reach, surveyed)));
    }
    if found.iter().all(|surveyed| surveyed.answer_ns.is_none()) {
        let [from, to] = found.each_ref().map(|surveyed| surveyed.interface.address);
        return Err(Failure::Environment(format!(
            "{from} and {to} do not answer each other on port 5001, though both can be reached by ssh: is there a \
             firewall between them, or is one address not for the other's network?"
        )));
    }
    Ok(found.into())
}

fn default_folder(arguments: &Arguments) -> PathBuf {
    let plain = |name: &str| -> String {
        name.chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' })
            .collect()
    };
    Path::new("wirespeed-out").join(format!(
        "probe-{}-{}",
        plain(&arguments.from.ssh),
        plain(&arguments.to.ssh)
    ))
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

/// The scenario of the probe: the same again with `wirespeed run`.
fn scenario(arguments: &Arguments, usual: &str, rtt_ns: i64, rate_bps: u64) -> String {
    let mut text =
        String::from("# Written by wirespeed probe; run it again with `wirespeed run FILE --on hosts`.\n");
    let _ = writeln!(text, "schema = 1\nname = \"probe\"");
    let about =
        format!("What do {} and {} do over the path between them?", arguments.from.ssh, arguments.to.ssh);
    let _ = writeln!(text, "about = {}\n", toml_string(&about));
    let _ = writeln!(text, "# The lower rate of the two interfaces, and the shortest answer seen.");
    let _ = writeln!(text, "[path]\nrate = \"{} bit/s\"\nrtt = \"{} ns\"\n", rate_bps, rtt_ns);
    for (name, reach) in [("sender", &arguments.from), ("receiver", &arguments.to)] {
        let _ = writeln!(text, "[host.{name}]\nssh = {}", toml_string(&reach.ssh));
        if let Some(address) = reach.address {
            let _ = writeln!(text, "address = \"{address}\"");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "[[flow]]\ncount = {}", arguments.flows);
    match arguments.udp {
        None => {
            let congestion = arguments.congestion.as_deref().unwrap_or(usual);
            let _ = writeln!(text, "congestion = {}", toml_string(congestion));
            if arguments.zero_copy {
                text.push_str("zero_copy = true\n");
            }
            text.push('\n');
        }
        Some(rate) => {
            let _ = writeln!(
                text,
                "kind = \"udp\"\nrate = \"{} bit/s\"\ndatagram = \"{} B\"\n",
                rate.get(),
                arguments.datagram
            );
        }
    }
    let time = |span: Span| format!("{} ns", span.nanoseconds());
    let _ = writeln!(
        text,
        "[run]\nduration = \"{}\"\nsample = \"{}\"",
        time(arguments.time),
        time(arguments.sample)
    );
    text
}

/// A basic string of TOML.
fn toml_string(text: &str) -> String {
    serde_json::to_string(text).expect("a string is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn arguments(words: &[&str]) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(["probe"].iter().chain(words)).map(|line| line.arguments)
    }

    #[test]
    fn what_it_writes_is_a_scenario() {
        for words in [
            &["a", "user@b=10.0.0.2"][..],
            &["a", "iperf3://b:80=10.0.0.2"],
            &["iperf3://b:80=10.0.0.2", "a"],
            &["a", "b", "--udp", "2 Gbit/s", "--flows", "3"],
        ] {
            let text = scenario(&arguments(words).unwrap(), "cubic", 123_456, 10_000_000_000);
            let study = wirespeed_scenario::parse(&text, "probe.toml", &[], None);
            let study = study.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            assert_eq!(study.runs.len(), 1);
            assert!(study.runs[0].hosts.iter().all(|host| host.reach.is_some()));
        }
    }

    #[test]
    fn a_machine_is_a_name_and_perhaps_an_address() {
        assert!(arguments(&["a=1.2.3", "b"]).is_err());
        assert!(arguments(&["--", "-oProxyCommand=x", "b"]).is_err());
        assert!(arguments(&["a b", "c"]).is_err());
        assert!(arguments(&["a", "iperf3://b:no"]).is_err());
        let found = arguments(&["user@a=10.0.0.1", "b"]).unwrap();
        assert_eq!(found.from, Reach { ssh: "user@a".into(), address: Some([10, 0, 0, 1].into()) });
    }
}
