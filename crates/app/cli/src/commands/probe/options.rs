//! The options of `wirespeed probe`, and what they may be.

use super::family::Choice;
use super::scenario::{self, Path};
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use wirespeed_scenario::run::{Dscp, FIRST_PORT, Family, Reach};
use wirespeed_units::{Bytes, Rate, Span};

/// Arguments of `wirespeed probe`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed probe dtn1 dtn2                                # 10 s of TCP, one flow
  wirespeed probe dtn1 dtn2 --flows 8 --time \"60 s\"        # also: -P 8 -t \"60 s\"
  wirespeed probe dtn1=10.9.0.1 dtn2=10.9.0.2              # choose the interfaces of the test
  wirespeed probe dtn1 dtn2 --udp \"2 Gbit/s\"               # also: -u -b \"2 Gbit/s\"
  wirespeed probe dtn1 iperf3://dtn2.example.org           # to any iperf3 server
  wirespeed probe dtn1 dtn2 --fail-below \"9 Gbit/s\"        # exit code 1 if it is slower, for cron

The letters are those of iperf3. Quantities have units: \"10 s\", \"2 Gbit/s\".")]
#[allow(rustdoc::broken_intra_doc_links, reason = "brackets in the help are parts that may be left out")]
pub struct Arguments {
    /// Host that sends: its ssh name, with =ADDRESS if it has several addresses; or iperf3://HOST[:PORT].
    #[arg(value_name = "FROM[=ADDRESS]", value_parser = machine)]
    pub from: Reach,
    /// Host that receives: its ssh name, with =ADDRESS if it has several; or iperf3://HOST[:PORT], any iperf3 server.
    #[arg(value_name = "TO[=ADDRESS]", value_parser = machine)]
    pub to: Reach,
    #[command(flatten)]
    pub family: Choice,
    /// Port of the first flow at the receiver; each further flow has the next.
    #[arg(short, long, value_name = "PORT", default_value_t = FIRST_PORT, help_heading = PATH,
          value_parser = clap::value_parser!(u16).range(1024..))]
    pub port: u16,
    /// Differentiated services code point of the test's packets in both directions: 0 to 63, or a name such as ef, af11, cs1.
    #[arg(long, value_name = "DSCP", allow_hyphen_values = true, help_heading = PATH,
          value_parser = <Dscp as std::str::FromStr>::from_str)]
    pub dscp: Option<Dscp>,

    /// Length of the test, without the part that --omit leaves out.
    #[arg(short, long, value_name = "TIME", default_value = "10 s", help_heading = TRAFFIC)]
    pub time: Span,
    /// Leave this long out of the results at the beginning, for example the slow start.
    #[arg(short = 'O', long, value_name = "TIME", default_value = "0 s", help_heading = TRAFFIC)]
    pub omit: Span,
    /// Number of flows; several numbers are tested one after the other.
    #[arg(short = 'P', long, alias = "parallel", value_name = "N,...", default_value = "1", value_delimiter = ',',
          help_heading = TRAFFIC, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub flows: Vec<u32>,
    /// Reverse the direction: TO sends and FROM receives.
    #[arg(short = 'R', long, help_heading = TRAFFIC)]
    pub reverse: bool,
    /// Send in both directions at the same time.
    #[arg(long, conflicts_with = "reverse", help_heading = TRAFFIC)]
    pub bidir: bool,
    /// Congestion control, by its name in the sender's kernel [default: the one that kernel uses].
    #[arg(short = 'C', long, value_name = "NAME", conflicts_with = "with_udp", help_heading = TRAFFIC)]
    pub congestion: Option<String>,
    /// Pace each TCP flow to this rate; several rates are tested one after the other. With -u: the rate of each UDP flow.
    #[arg(short = 'b', long, alias = "bitrate", value_name = "RATE,...", value_delimiter = ',', value_parser = rate,
          conflicts_with = "udp", help_heading = TRAFFIC)]
    pub max_rate: Vec<Rate>,
    /// Send TCP by sendfile, without a copy into the socket: saves CPU time where the NIC reads the pages itself.
    #[arg(short = 'Z', long, alias = "zerocopy", conflicts_with = "with_udp", help_heading = TRAFFIC)]
    pub zero_copy: bool,
    /// Send UDP at this rate in each flow, instead of TCP.
    #[arg(long, value_name = "RATE", group = "with_udp", help_heading = TRAFFIC)]
    pub udp: Option<Rate>,
    /// Send UDP at the rate of -b, as iperf3 does.
    #[arg(short = 'u', id = "u", group = "with_udp", requires = "max_rate", help_heading = TRAFFIC)]
    pub udp_at_max_rate: bool,
    /// Payload of a datagram, for example "1400 B" [default: 1472 B, over IPv6 1452 B: packets of 1500 bytes].
    #[arg(short = 'l', long, alias = "length", value_name = "SIZE", value_parser = payload, requires = "with_udp",
          help_heading = TRAFFIC)]
    pub datagram: Option<u32>,

    /// End with exit code 1 if the goodput is lower.
    #[arg(long, value_name = "RATE", help_heading = THRESHOLDS)]
    pub fail_below: Option<Rate>,
    /// End with exit code 1 if a larger share of the packets is lost, for example 1e-4.
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = THRESHOLDS)]
    pub fail_loss: Option<f64>,
    /// Compare with an earlier measurement, by its folder or `latest`; end with exit code 1 if the goodput has dropped.
    #[arg(long, value_name = "DIR", help_heading = THRESHOLDS)]
    pub baseline: Option<PathBuf>,
    /// Share of the goodput of --baseline by which it may drop.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share, requires = "baseline",
          help_heading = THRESHOLDS)]
    pub max_drop: f64,

    /// Read all counters this often.
    #[arg(long, value_name = "TIME", default_value = "10 ms", help_heading = OUTPUT)]
    pub sample: Span,
    /// Print the rate this often while the test runs.
    #[arg(short, long, value_name = "TIME", num_args = 0..=1, default_missing_value = "1 s", help_heading = OUTPUT)]
    pub interval: Option<Span>,
    /// Print a paragraph for a ticket.
    #[arg(long, help_heading = OUTPUT)]
    pub summary: bool,
    /// Write the last measurement to this file for Prometheus (textfile collector of its node exporter).
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub prometheus: Option<PathBuf>,
    /// Folder for the results [default: wirespeed-out/probe-FROM-TO/TIME; the link `latest` leads to the last one].
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Print the results as JSON instead of the tables.
    #[arg(short = 'J', long, help_heading = OUTPUT)]
    pub json: bool,
}

const PATH: &str = "Path";
const TRAFFIC: &str = "Traffic";
const THRESHOLDS: &str = "Thresholds";
const OUTPUT: &str = "Output";

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

/// Bytes of a datagram, with their unit or, as iperf3 takes them, without.
pub fn payload(text: &str) -> Result<u32, String> {
    if let Ok(bytes) = text.parse() {
        return Ok(bytes);
    }
    let bytes: Bytes = text.parse().map_err(|error: <Bytes as std::str::FromStr>::Err| error.to_string())?;
    u32::try_from(bytes.get()).map_err(|_| "a datagram has at most 65507 B".into())
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

    /// Rate of each UDP flow; none for TCP.
    pub fn udp_rate(&self) -> Option<Rate> {
        self.udp.or_else(|| self.udp_at_max_rate.then(|| self.max_rate.first().copied()).flatten())
    }

    /// Rates to which TCP flows are paced, one for each measurement.
    pub fn pacing(&self) -> &[Rate] {
        if self.udp_at_max_rate { &[] } else { &self.max_rate }
    }

    /// Whether more than one measurement is asked for.
    pub fn sweeps(&self) -> bool {
        self.flows.len() > 1 || self.pacing().len() > 1
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
        if self.udp_at_max_rate && self.max_rate.len() > 1 {
            return refuse(
                "-u: UDP has one rate".into(),
                "give one rate to -b, for example -u -b \"2 Gbit/s\"",
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
        let study = scenario::scenario(self, "cubic", &path).study("probe.toml", &[], None);
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
            wirespeed_substrates::check_real_run(run).map_err(|error| Failure::Usage {
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
    fn letters_of_iperf3_mean_what_they_mean_there() {
        let of = |words: &[&str]| arguments(&[&["a", "b"], words].concat()).unwrap();
        let short = of(&[
            "-t", "5 s", "-O", "1 s", "-P", "4", "-C", "bbr", "-b", "1 Gbit/s", "-Z", "-R", "-J", "-i",
            "2 s", "-p", "6001",
        ]);
        let long = of(&[
            "--time",
            "5 s",
            "--omit",
            "1 s",
            "--parallel",
            "4",
            "--congestion",
            "bbr",
            "--bitrate",
            "1 Gbit/s",
            "--zerocopy",
            "--reverse",
            "--json",
            "--interval",
            "2 s",
            "--port",
            "6001",
        ]);
        assert_eq!(format!("{short:?}"), format!("{long:?}"));
        let datagrams = of(&["-u", "-b", "2 Gbit/s", "-l", "1400 B"]);
        assert_eq!((datagrams.udp_rate(), datagrams.pacing()), (Some(Rate::gbit(2)), &[][..]));
        let path = Path { rtt_ns: 1, rate_bps: 1, family: Family::Ipv4 };
        let text = |arguments: &Arguments| scenario::scenario(arguments, "cubic", &path).text();
        assert_eq!(text(&datagrams), text(&of(&["--udp", "2 Gbit/s", "--datagram", "1400"])));
        for words in [
            &["-u"][..],
            &["-u", "-b", "1 Gbit/s", "-C", "bbr"],
            &["-l", "1400"],
            &["-u", "-b", "1 Gbit/s", "-Z"],
        ] {
            assert!(arguments(&[&["a", "b"], words].concat()).is_err(), "{words:?}");
        }
        let several = of(&["-u", "-b", "1 Gbit/s,2 Gbit/s"]).check();
        let Err(Failure::Usage { message, .. }) = several else { panic!("{several:?}") };
        assert!(message.starts_with("-u: "), "{message}");
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
