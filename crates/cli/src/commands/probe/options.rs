//! The options of `wirespeed probe`, and what they may be.

use super::family::Choice;
use super::scenario::{self, Path};
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use wirespeed_scenario::run::{Dscp, FIRST_PORT, Family, Reach};
use wirespeed_units::{Rate, Span};

/// Arguments of `wirespeed probe`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The machine that sends: its name for ssh, and =ADDRESS if it has several; or iperf3://HOST:PORT.
    #[arg(value_name = "FROM[=ADDRESS]", value_parser = machine)]
    pub from: Reach,
    /// The machine that receives; or iperf3://HOST:PORT, an iperf3 server, where nothing of wirespeed has to be.
    #[arg(value_name = "TO[=ADDRESS]", value_parser = machine)]
    pub to: Reach,
    #[command(flatten)]
    pub family: Choice,
    /// How long, without the time that --omit leaves out.
    #[arg(long, value_name = "TIME", default_value = "10 s")]
    pub time: Span,
    /// Leave out so much at the beginning, for example the slow start.
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub omit: Span,
    /// How many flows; several numbers with commas are measured one after the other.
    #[arg(long, value_name = "N,...", default_value = "1", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub flows: Vec<u32>,
    /// Let TO send and FROM receive.
    #[arg(long)]
    pub reverse: bool,
    /// Let both send and receive at the same time.
    #[arg(long, conflicts_with = "reverse")]
    pub bidir: bool,
    /// Congestion control, by its name in the sender's kernel [default: what that kernel uses].
    #[arg(long, value_name = "NAME", conflicts_with = "udp")]
    pub congestion: Option<String>,
    /// Pace each TCP flow to this rate; several with commas are measured one after the other.
    #[arg(long, value_name = "RATE,...", value_delimiter = ',', value_parser = rate, conflicts_with = "udp")]
    pub max_rate: Vec<Rate>,

    /// Do not copy what TCP sends into its sockets (sendfile): saves the sender's core where a NIC takes the pages.
    #[arg(long, conflicts_with = "udp")]
    pub zero_copy: bool,
    /// UDP at this rate instead of TCP, each flow.
    #[arg(long, value_name = "RATE")]
    pub udp: Option<Rate>,
    /// Payload of a datagram in bytes [default: 1472, over IPv6 1452: packets of 1500 bytes].
    #[arg(long, value_name = "BYTES", requires = "udp")]
    pub datagram: Option<u32>,
    /// Differentiated services code point of the test's packets, both ways: 0 to 63, or a name such as ef, af11, cs1.
    #[arg(long, value_name = "DSCP", allow_hyphen_values = true, value_parser = <Dscp as std::str::FromStr>::from_str)]
    pub dscp: Option<Dscp>,
    /// Port of the first flow at the receiver; each further flow has the next.
    #[arg(long, value_name = "PORT", default_value_t = FIRST_PORT,
          value_parser = clap::value_parser!(u16).range(1024..))]
    pub port: u16,
    /// How often everything is read.
    #[arg(long, value_name = "TIME", default_value = "10 ms")]
    pub sample: Span,
    /// Print the rate so often while the test runs.
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "1 s")]
    pub interval: Option<Span>,
    /// End with exit code 1 if the goodput is lower.
    #[arg(long, value_name = "RATE")]
    pub fail_below: Option<Rate>,
    /// End with exit code 1 if a larger share of the packets is lost, e.g. 1e-4.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_loss: Option<f64>,
    /// Compare with an earlier measurement, by its folder or `latest`; end with exit code 1 if the goodput has dropped.
    #[arg(long, value_name = "DIR")]
    pub baseline: Option<PathBuf>,
    /// The share of the goodput of --baseline that may be missing.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share, requires = "baseline")]
    pub max_drop: f64,
    /// Print a paragraph for a ticket.
    #[arg(long)]
    pub summary: bool,
    /// Write the last measurement to this file for Prometheus (textfile collector of its node exporter).
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// Folder for the results [default: wirespeed-out/probe-FROM-TO/TIME, to which `latest` leads].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the results as JSON instead of the tables.
    #[arg(long)]
    pub json: bool,
}

/// A machine of the command line: its name for ssh, perhaps with the address that is to carry the test.
pub fn machine(text: &str) -> Result<Reach, String> {
    let (ssh, address) = match text.split_once('=') {
        None => (text, None),
        Some((name, address)) => (name, Some(Reach::read_address(address)?)),
    };
    if !Reach::is_name(ssh) {
        return Err("write NAME or NAME=ADDRESS, the name as for ssh, or iperf3://HOST[:PORT]; an IPv6 address as HOST has \
                    brackets: iperf3://[fd00::2]"
            .into());
    }
    Ok(Reach { address, ..Reach::by_name(ssh) })
}

fn rate(text: &str) -> Result<Rate, String> {
    text.trim().parse().map_err(|error: <Rate as std::str::FromStr>::Err| error.to_string())
}

/// A share of a whole.
pub fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a share from 0 to 1, for example 1e-4".into())
}

impl Arguments {
    /// The machine that sends and the one that receives.
    pub fn ends(&self) -> (Reach, Reach) {
        let [from, to] = [&self.from, &self.to].map(|machine| self.family.of(machine));
        if self.reverse { (to, from) } else { (from, to) }
    }

    /// Payload of a datagram in bytes, on a path of this version of IP.
    pub fn datagram_on(&self, family: Family) -> u64 {
        /// Bytes of an IP packet on most paths.
        const USUAL_MTU: u64 = 1500;
        self.datagram.map_or(USUAL_MTU - family.datagram_overhead(), u64::from)
    }

    /// Whether more than one measurement is asked for.
    pub fn sweeps(&self) -> bool {
        self.flows.len() > 1 || self.max_rate.len() > 1
    }

    /// Refuses what no machine does, before any is asked.
    ///
    /// # Errors
    /// The option, and what it may be.
    pub fn check(&self) -> Result<(), Failure> {
        let refuse = |message: String, remedy: &str| Err(Failure::Usage { message, remedy: remedy.into() });
        self.family.check([&self.from, &self.to].into_iter())?;
        let servers = [&self.from, &self.to].map(|machine| machine.iperf3().is_some());
        if servers == [true, true] {
            return refuse(
                "both machines are iperf3 servers, which only wait for somebody".into(),
                "one of them has to be a machine with an agent: NAME for ssh, or tcp://HOST:PORT",
            );
        }
        if self.bidir && servers.contains(&true) {
            return refuse(
                "--bidir: an iperf3 server sends or receives, not both".into(),
                "leave --bidir out, or probe once more with --reverse",
            );
        }
        let several = [("--bidir", self.bidir), ("--baseline", self.baseline.is_some())];
        if let Some((option, _)) = several.iter().find(|(_, given)| self.sweeps() && *given) {
            return refuse(
                format!("{option} is for one measurement, and several are asked for"),
                "give one number to --flows and one rate to --max-rate",
            );
        }
        let (least, longest) = (Span::ms(1), Span::secs(24 * 3600));
        let times = [
            ("--time", Some(self.time), least, longest, "10 s"),
            ("--omit", Some(self.omit), Span::ZERO, longest - self.time.min(longest), "5 s"),
            ("--sample", Some(self.sample), least, self.time.max(least), "10 ms"),
            ("--interval", self.interval, Span::ms(100), longest, "1 s"),
        ];
        for (option, given, least, most, example) in times {
            if let Some(time) = given.filter(|time| !(least..=most).contains(time)) {
                let words = format!("write {least} to {most}, for example {option} \"{example}\"");
                return refuse(format!("{option}: {time} is out of range"), &words);
            }
        }
        const DATAGRAM: std::ops::RangeInclusive<u32> = 16..=65_507;
        if let Some(datagram) = self.datagram.filter(|bytes| !DATAGRAM.contains(bytes)) {
            let words =
                format!("write {} to {}, for example --datagram 1452", DATAGRAM.start(), DATAGRAM.end());
            return refuse(format!("--datagram: {datagram} bytes are out of range"), &words);
        }
        let last = self.flows.iter().max().map_or(0, |flows| u32::from(self.port) + flows - 1);
        if last > u16::MAX.into() {
            return refuse(format!("--port: the last flow would have port {last}"), "choose a lower port");
        }
        // The scenario's own checks.
        let (from, to) = self.ends();
        let family = from.asked_family().or(to.asked_family()).unwrap_or(Family::Ipv4);
        let path = Path { rtt_ns: 1_000_000, rate_bps: 10_000_000_000, family };
        let text = scenario::text(self, "cubic", &path);
        let study = wirespeed_scenario::parse(&text, "probe.toml", &[], None);
        let refused = |error: wirespeed_scenario::ScenarioError| {
            let (message, remedy) = match error.mistake() {
                Some(mistake) => (mistake.message.clone(), mistake.help.clone()),
                None => (error.to_string(), None),
            };
            let message = format!("{}: {message}", option_of(&message));
            Failure::Usage {
                message,
                remedy: remedy.unwrap_or_else(|| "see `wirespeed probe --help`".into()),
            }
        };
        let study = study.map_err(refused)?;
        for run in &study.runs {
            wirespeed_lab::check_real_run(run).map_err(|error| Failure::Usage {
                message: error.to_string(),
                remedy: "lower --time, --flows or --udp, or raise --datagram".into(),
            })?;
        }
        Ok(())
    }
}

/// The option that a complaint about the scenario is about.
fn option_of(message: &str) -> &'static str {
    let options = [
        ("congestion", "--congestion"),
        ("max_rate", "--max-rate"),
        ("flow.rate", "--udp"),
        ("datagram", "--datagram"),
        ("run.sample", "--sample"),
        ("run.omit", "--omit"),
        ("run.duration", "--time"),
    ];
    options.iter().find(|(word, _)| message.contains(word)).map_or("options", |(_, option)| option)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// Parses the words after `wirespeed probe`.
    pub fn arguments(words: &[&str]) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(["probe"].iter().chain(words)).map(|line| line.arguments)
    }

    #[test]
    fn a_machine_is_a_name_and_perhaps_an_address() {
        for refused in ["a=1.2.3", "a=fe80::1%eth0", "iperf3://::1"] {
            assert!(arguments(&[refused, "b"]).is_err(), "{refused}");
        }
        assert!(arguments(&["--", "-oProxyCommand=x", "b"]).is_err());
        assert!(arguments(&["a b", "c"]).is_err());
        assert!(arguments(&["a", "iperf3://b:no"]).is_err());
        let found = arguments(&["user@a=10.0.0.1", "b"]).unwrap();
        assert_eq!(found.from, Reach { address: Some([10, 0, 0, 1].into()), ..Reach::by_name("user@a") });
        let found = arguments(&["tcp://[fd00::1]:5050=fd00::1", "b", "-6"]).unwrap();
        let address = Some("fd00::1".parse().unwrap());
        assert_eq!(found.from, Reach { address, ..Reach::by_name("tcp://[fd00::1]:5050") });
        assert_eq!(found.ends().1.family, Some(Family::Ipv6));
    }

    #[test]
    fn versions_of_ip_that_contradict_each_other_are_refused_before_any_login() {
        assert!(arguments(&["a", "b", "-4", "-6"]).is_err());
        for (words, told) in [
            (&["a=10.0.0.1", "b=fd00::2"][..], "a=10.0.0.1 (IPv4) and b=fd00::2 (IPv6)"),
            (&["a=10.0.0.1", "b", "-6"], "-6: a=10.0.0.1 (IPv4) is not an IPv6 address"),
            (&["a", "b=fd00::2", "-4"], "-4: b=fd00::2 (IPv6) is not an IPv4 address"),
        ] {
            let found = arguments(words).unwrap().check();
            let Err(Failure::Usage { message, .. }) = found else { panic!("{words:?}: {found:?}") };
            assert!(message.contains(told), "{words:?}: {message}");
        }
        assert!(arguments(&["a=fd00::1", "b", "-6"]).unwrap().check().is_ok());
    }

    #[test]
    fn dscp_is_a_number_or_a_name_and_refused_with_the_range() {
        let of = |value: &str| arguments(&["a", "b", "--dscp", value]);
        assert_eq!(["ef", "46"].map(|value| of(value).unwrap().dscp.unwrap().number()), [46, 46]);
        for wrong in ["64", "af44", "-1"] {
            let told = of(wrong).unwrap_err().to_string();
            assert!(told.contains("--dscp") && told.contains("0 to 63"), "{told}");
        }
    }

    #[test]
    fn datagrams_fill_packets_of_either_version_of_ip() {
        let of = |words: &[&str]| arguments(&[&["a", "b", "--udp", "1 Mbit/s"], words].concat()).unwrap();
        let sizes = [Family::Ipv4, Family::Ipv6].map(|family| of(&[]).datagram_on(family));
        assert_eq!((sizes, of(&["--datagram", "64"]).datagram_on(Family::Ipv6)), ([1472, 1452], 64));
        let found = of(&["-6", "--datagram", "1472"]).check();
        let Err(Failure::Usage { message, remedy }) = found else { panic!("{found:?}") };
        assert!(
            message.contains("--datagram: ") && remedy.contains("1452 B (MTU 1500 less 48"),
            "{message}; {remedy}"
        );
    }

    #[test]
    fn option_out_of_range_is_refused_by_its_name_with_the_range() {
        for (words, told) in [
            (&["--time", "1000 h"][..], ["--time: ", "1 ms to 86400 s"]),
            (&["--omit", "24 h"], ["--omit: ", "0 s to "]),
            (&["--sample", "1 ns"], ["--sample: ", "1 ms to 10 s"]),
            (&["--interval", "1 ms"], ["--interval: ", "100 ms to 86400 s"]),
            (&["--udp", "1 Gbit/s", "--datagram", "70000"], ["--datagram: ", "16 to 65507"]),
            (&["--udp", "0 bit/s"], ["--udp: ", ""]),
            (
                &["--udp", "100 Gbit/s", "--datagram", "16", "--time", "1 h"],
                ["datagrams", "raise --datagram"],
            ),
            (&["--congestion", "no such thing"], ["--congestion: ", ""]),
            (&["--port", "65535", "--flows", "2"], ["--port: ", "lower"]),
            (&["--flows", "1,2", "--bidir"], ["--bidir", "one number"]),
        ] {
            let found = arguments(&[&["a", "b"], words].concat()).unwrap().check();
            let Err(Failure::Usage { message, remedy }) = found else { panic!("{words:?}: {found:?}") };
            assert!(message.contains(told[0]) && remedy.contains(told[1]), "{words:?}: {message}; {remedy}");
        }
        // The kernel is asked whether it has it.
        assert!(arguments(&["a", "b", "--congestion", "bbr2"]).unwrap().check().is_ok());
    }
}
