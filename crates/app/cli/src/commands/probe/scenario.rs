//! The scenario of a probe.

use super::options::Arguments;
use std::fmt::Write;
use wirespeed_scenario::run::Family;
use wirespeed_units::Span;

/// The path between two machines as it was found.
pub struct Path {
    /// The shortest answer.
    pub rtt_ns: i64,
    /// The lower rate of the two interfaces.
    pub rate_bps: u64,
    /// The version of IP of their addresses.
    pub family: Family,
}

/// The text of the scenario: the same again with `wirespeed run`.
pub fn text(arguments: &Arguments, usual: &str, path: &Path) -> String {
    let (from, to) = arguments.ends();
    let mut text =
        String::from("# Written by wirespeed probe; run it again with `wirespeed run FILE --on hosts`.\n");
    let _ = writeln!(text, "schema = 1\nname = \"probe\"");
    let about = format!("What do {} and {} do over the path between them?", from.ssh, to.ssh);
    let _ = writeln!(text, "about = {}\n", toml_string(&about));
    let _ = writeln!(text, "# The lower rate of the two interfaces, and the shortest answer seen.");
    let _ = writeln!(text, "[path]\nrate = \"{} bit/s\"\nrtt = \"{} ns\"\n", path.rate_bps, path.rtt_ns);
    for (name, reach) in [("sender", &from), ("receiver", &to)] {
        let _ = writeln!(text, "[host.{name}]\nssh = {}", toml_string(&reach.ssh));
        if let Some(address) = reach.address {
            let _ = writeln!(text, "address = \"{address}\"");
        } else if let Some(family) = reach.family.or((path.family == Family::Ipv6).then_some(Family::Ipv6)) {
            let _ = writeln!(text, "family = \"{}\"", family.to_string().to_lowercase());
        }
        if arguments.port != wirespeed_scenario::run::FIRST_PORT {
            let _ = writeln!(text, "port = {}", arguments.port);
        }
        text.push('\n');
    }
    flow(&mut text, arguments, usual, path.family);
    if arguments.bidir {
        text.push_str("# The same the other way.\n");
        flow(&mut text, arguments, usual, path.family);
        text.truncate(text.trim_end().len());
        text.push_str("\nfrom = \"receiver\"\nto = \"sender\"\n\n");
    }
    let time = |span: Span| format!("{} ns", span.nanoseconds());
    let _ = writeln!(
        text,
        "[run]\nduration = \"{}\"\nomit = \"{}\"\nsample = \"{}\"",
        time(arguments.time + arguments.omit),
        time(arguments.omit),
        time(arguments.sample)
    );
    if arguments.sweeps() {
        text.push_str("\n[sweep]\n");
    }
    if arguments.flows.len() > 1 {
        let _ = writeln!(text, "\"flow.count\" = {:?}", arguments.flows);
    }
    if arguments.pacing().len() > 1 {
        let rates: Vec<String> = arguments.pacing().iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "\"flow.max_rate\" = {rates:?}");
    }
    text
}

fn flow(text: &mut String, arguments: &Arguments, usual: &str, family: Family) {
    text.push_str("[[flow]]\n");
    if let [count] = arguments.flows[..] {
        let _ = writeln!(text, "count = {count}");
    }
    if let Some(dscp) = arguments.dscp {
        let _ = writeln!(text, "dscp = {}", dscp.number());
    }
    match arguments.udp_rate() {
        None => {
            let congestion = arguments.congestion.as_deref().unwrap_or(usual);
            let _ = writeln!(text, "congestion = {}", toml_string(congestion));
            if let [rate] = *arguments.pacing() {
                let _ = writeln!(text, "max_rate = \"{} bit/s\"", rate.get());
            }
            if arguments.zero_copy {
                text.push_str("zero_copy = true\n");
            }
        }
        Some(rate) => {
            let (rate, datagram) = (rate.get(), arguments.datagram_on(family));
            let _ = writeln!(text, "kind = \"udp\"\nrate = \"{rate} bit/s\"\ndatagram = \"{datagram} B\"");
        }
    }
    text.push('\n');
}

/// A basic string of TOML.
fn toml_string(text: &str) -> String {
    serde_json::to_string(text).expect("a string is plain data")
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::arguments;
    use super::*;

    #[test]
    fn written_file_is_a_valid_scenario() {
        for (words, runs, flows) in [
            (&["a", "user@b=10.0.0.2"][..], 1, 1),
            (&["a", "iperf3://b:80=10.0.0.2"], 1, 1),
            (&["iperf3://b:80=10.0.0.2", "a"], 1, 1),
            (&["a", "b", "--udp", "2 Gbit/s", "--flows", "3"], 1, 3),
            (&["a", "b", "--bidir", "--flows", "2", "--port", "6001", "--omit", "2 s"], 1, 4),
            (&["a", "b", "--dscp", "ef"], 1, 1),
            (&["a", "b", "--flows", "1,4", "--max-rate", "1 Gbit/s, 9 Gbit/s"], 4, 1),
        ] {
            let path = Path { rtt_ns: 123_456, rate_bps: 10_000_000_000, family: Family::Ipv4 };
            let text = text(&arguments(words).unwrap(), "cubic", &path);
            let study = wirespeed_scenario::parse(&text, "probe.toml", &[], None);
            let study = study.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
            assert_eq!((study.runs.len(), study.runs[0].flows.len()), (runs, flows), "{text}");
            assert!(study.runs[0].hosts.iter().all(|host| host.reach.is_some()));
        }
    }

    #[test]
    fn version_of_ip_that_was_found_is_that_of_the_scenario() {
        let path = Path { rtt_ns: 1_000_000, rate_bps: 1_000_000_000, family: Family::Ipv6 };
        let words = ["a=fd00::1", "b", "--udp", "1 Mbit/s"];
        let text = text(&arguments(&words).unwrap(), "cubic", &path);
        assert!(text.contains("address = \"fd00::1\"") && text.contains("datagram = \"1452 B\""), "{text}");
        let study = wirespeed_scenario::parse(&text, "probe.toml", &[], None).unwrap();
        let families = study.runs[0].hosts.iter().map(|host| host.reach.as_ref().unwrap().asked_family());
        assert_eq!(families.collect::<Vec<_>>(), [Some(Family::Ipv6); 2]);
    }

    #[test]
    fn reverse_probe_is_one_from_the_second_machine() {
        let path = Path { rtt_ns: 1, rate_bps: 1, family: Family::Ipv4 };
        let of = |words: &[&str]| text(&arguments(words).unwrap(), "cubic", &path);
        assert_eq!(of(&["a", "b", "--reverse"]), of(&["b", "a"]));
    }
}
