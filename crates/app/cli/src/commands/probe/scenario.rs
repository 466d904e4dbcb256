//! The scenario of a probe.

use super::options::Arguments;
use wirespeed_scenario::run::{FIRST_PORT, Family, Reach};
use wirespeed_scenario::{Scenario, Setting, Table};
use wirespeed_units::{Bytes, Rate, Span};

/// The path between two machines as it was found.
pub struct Path {
    /// The shortest answer.
    pub rtt_ns: i64,
    /// The lower rate of the two interfaces.
    pub rate_bps: u64,
    /// The version of IP of their addresses.
    pub family: Family,
}

/// The scenario: the file of the results has its text, for the same test with `wirespeed run`.
pub fn scenario(arguments: &Arguments, usual: &str, path: &Path) -> Scenario {
    let (from, to) = arguments.ends();
    let mut scenario = Scenario::new("probe")
        .comment("Written by wirespeed probe; run it again with `wirespeed run FILE --on hosts`.")
        .about(&format!("What do {} and {} do over the path between them?", from.ssh, to.ssh))
        .path(
            Table::new()
                .comment("The lower rate of the two interfaces, and the shortest answer seen.")
                .set("rate", Rate::bps(path.rate_bps))
                .set("rtt", Span::ns(path.rtt_ns)),
        )
        .host("sender", host(&from, arguments, path))
        .host("receiver", host(&to, arguments, path))
        .flow(flow(arguments, usual, path.family));
    if arguments.bidir {
        let reverse = flow(arguments, usual, path.family).comment("The same in the other direction.");
        scenario = scenario.flow(reverse.set("from", "receiver").set("to", "sender"));
    }
    let run = Table::new()
        .set("duration", arguments.time + arguments.omit)
        .set("omit", arguments.omit)
        .set("sample", arguments.sample);
    let several = |is_swept: bool, table: Table, key: &str, values: Setting| match is_swept {
        true => table.set(key, values),
        false => table,
    };
    let (flows, rates) = (&arguments.flows, arguments.pacing());
    let sweep = several(flows.len() > 1, Table::new(), "flow.count", flows.clone().into());
    let sweep = several(rates.len() > 1, sweep, "flow.max_rate", rates.to_vec().into());
    scenario.run(run).sweep(sweep)
}

fn host(reach: &Reach, arguments: &Arguments, path: &Path) -> Table {
    let found = (path.family == Family::Ipv6).then_some(Family::Ipv6);
    let family = reach.family.or(found).filter(|_| reach.address.is_none());
    let port = (arguments.port != FIRST_PORT).then_some(arguments.port);
    let host = Table::new().set("ssh", reach.ssh.as_str()).set_if("address", reach.address);
    host.set_if("family", family).set_if("port", port)
}

fn flow(arguments: &Arguments, usual: &str, family: Family) -> Table {
    let count = if let [count] = arguments.flows[..] { Some(count) } else { None };
    let flow = Table::new().set_if("count", count).set_if("dscp", arguments.dscp.map(|dscp| dscp.number()));
    match arguments.udp_rate() {
        None => {
            let max_rate = if let [rate] = *arguments.pacing() { Some(rate) } else { None };
            flow.set("congestion", arguments.congestion.as_deref().unwrap_or(usual))
                .set_if("max_rate", max_rate)
                .set_if("zero_copy", arguments.zero_copy.then_some(true))
        }
        Some(rate) => {
            let datagram = Bytes::new(arguments.datagram_on(family));
            flow.set("kind", "udp").set("rate", rate).set("datagram", datagram)
        }
    }
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
            let text = scenario(&arguments(words).unwrap(), "cubic", &path).text();
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
        let text = scenario(&arguments(&words).unwrap(), "cubic", &path).text();
        assert!(text.contains("address = \"fd00::1\"") && text.contains("datagram = \"1.452 kB\""), "{text}");
        let study = wirespeed_scenario::parse(&text, "probe.toml", &[], None).unwrap();
        let families = study.runs[0].hosts.iter().map(|host| host.reach.as_ref().unwrap().asked_family());
        assert_eq!(families.collect::<Vec<_>>(), [Some(Family::Ipv6); 2]);
    }

    #[test]
    fn reverse_probe_is_one_from_the_second_machine() {
        let path = Path { rtt_ns: 1, rate_bps: 1, family: Family::Ipv4 };
        let of = |words: &[&str]| scenario(&arguments(words).unwrap(), "cubic", &path).text();
        assert_eq!(of(&["a", "b", "--reverse"]), of(&["b", "a"]));
    }

    /// A probe of TCP, of UDP over IPv6 in both directions, and one that sweeps.
    #[test]
    fn study_equals_that_of_a_file() {
        let head = "schema = 1\nname = \"probe\"\n";
        let cases = [
            (
                &[
                    "a",
                    "user@b=10.0.0.2",
                    "--port",
                    "6001",
                    "--dscp",
                    "ef",
                    "--zero-copy",
                    "--max-rate",
                    "3 Gbit/s",
                ][..],
                Family::Ipv4,
                "about = \"What do a and user@b do over the path between them?\"\n\
                 [path]\nrate = \"10000000000 bit/s\"\nrtt = \"123456 ns\"\n\
                 [host.sender]\nssh = \"a\"\nport = 6001\n\
                 [host.receiver]\nssh = \"user@b\"\naddress = \"10.0.0.2\"\nport = 6001\n\
                 [[flow]]\ncount = 1\ndscp = 46\ncongestion = \"cubic\"\nmax_rate = \"3000000000 bit/s\"\nzero_copy = true\n\
                 [run]\nduration = \"10000000000 ns\"\nomit = \"0 ns\"\nsample = \"10000000 ns\"\n",
            ),
            (
                &[
                    "a", "b", "--udp", "2 Gbit/s", "--bidir", "--flows", "2", "--omit", "2 s", "--sample",
                    "50 ms",
                ],
                Family::Ipv6,
                "about = \"What do a and b do over the path between them?\"\n\
                 [path]\nrate = \"10000000000 bit/s\"\nrtt = \"123456 ns\"\n\
                 [host.sender]\nssh = \"a\"\nfamily = \"ipv6\"\n[host.receiver]\nssh = \"b\"\nfamily = \"ipv6\"\n\
                 [[flow]]\ncount = 2\nkind = \"udp\"\nrate = \"2000000000 bit/s\"\ndatagram = \"1452 B\"\n\
                 [[flow]]\ncount = 2\nkind = \"udp\"\nrate = \"2000000000 bit/s\"\ndatagram = \"1452 B\"\n\
                 from = \"receiver\"\nto = \"sender\"\n\
                 [run]\nduration = \"12000000000 ns\"\nomit = \"2000000000 ns\"\nsample = \"50000000 ns\"\n",
            ),
            (
                &["a", "b", "--flows", "1,4", "--max-rate", "1 Gbit/s, 9.5 Gbit/s", "--congestion", "bbr"],
                Family::Ipv4,
                "about = \"What do a and b do over the path between them?\"\n\
                 [path]\nrate = \"10000000000 bit/s\"\nrtt = \"123456 ns\"\n\
                 [host.sender]\nssh = \"a\"\n[host.receiver]\nssh = \"b\"\n[[flow]]\ncongestion = \"bbr\"\n\
                 [run]\nduration = \"10000000000 ns\"\nomit = \"0 ns\"\nsample = \"10000000 ns\"\n\
                 [sweep]\n\"flow.count\" = [1, 4]\n\"flow.max_rate\" = [\"1 Gbit/s\", \"9.5 Gbit/s\"]\n",
            ),
        ];
        for (words, family, text) in cases {
            let path = Path { rtt_ns: 123_456, rate_bps: 10_000_000_000, family };
            let built = scenario(&arguments(words).unwrap(), "cubic", &path);
            let built = built.study("probe.toml", &[], None).unwrap();
            let read = wirespeed_scenario::parse(&format!("{head}{text}"), "probe.toml", &[], None).unwrap();
            assert_eq!((built.runs, built.warnings), (read.runs, read.warnings), "{text}");
        }
    }
}
