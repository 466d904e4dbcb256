//! Counters of IP, TCP, UDP and ICMP (/proc/net/snmp, netstat and snmp6; the kernel offers no netlink for them).

use super::protocol_rows::ROWS;
use crate::collector::Collector;
use crate::reading::{Place, Row};
use crate::root::Root;
use crate::source::Source;

/// The source `protocols`.
pub struct Protocols;

const NAME: &str = "protocols";

impl Source for Protocols {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "counters of IP, TCP, UDP and ICMP of a network namespace (/proc/net/snmp, netstat, snmp6)"
    }

    fn needs(&self) -> &'static str {
        "nothing"
    }

    fn documented(&self) -> &'static str {
        "Documentation/networking/snmp_counter.rst, net/ipv4/proc.c, net/ipv4/tcp_input.c, net/ipv4/udp.c"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        for (file, parse) in FILES {
            match root.text(file) {
                Ok(text) => {
                    for (name, value) in parse(&text) {
                        let row = root.meaning(ROWS, &name).map(|(row, _)| row);
                        into.push_row(NAME, Place::Host, name, value, row);
                    }
                }
                // A kernel without IPv6 has no such file.
                Err(_) if *file == "proc/net/snmp6" => {}
                Err(error) => into.unavailable(NAME, *file, &error, "mount /proc"),
            }
        }
    }
}

type Parse = fn(&str) -> Vec<(String, u64)>;

const FILES: &[(&str, Parse)] =
    &[("proc/net/snmp", parse), ("proc/net/netstat", parse), ("proc/net/snmp6", parse_v6)];

/// Parses snmp and netstat: pairs of lines, names then values, each with the group in front; the group becomes a
/// part of the name, as in `TcpExtTCPBacklogDrop`.
pub fn parse(text: &str) -> Vec<(String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for pair in lines.chunks_exact(2) {
        let (Some((group, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            // TcpMaxConn is -1 where there is no limit; it is no counter.
            if let Ok(value) = value.parse() {
                found.push((format!("{group}{name}"), value));
            }
        }
    }
    found
}

/// Parses snmp6: a name and a value a line.
pub fn parse_v6(text: &str) -> Vec<(String, u64)> {
    let pair = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_their_group() {
        let text = "Tcp: RtoMin MaxConn InSegs\nTcp: 200 -1 42\nTcpExt: TCPBacklogDrop\nTcpExt: 7\n";
        let expected = [("TcpRtoMin", 200), ("TcpInSegs", 42), ("TcpExtTCPBacklogDrop", 7)];
        assert_eq!(parse(text), expected.map(|(name, value)| (name.to_string(), value)));
        assert_eq!(parse_v6("Ip6InReceives    \t 12\nnonsense\n"), [("Ip6InReceives".to_owned(), 12)]);
    }
}
