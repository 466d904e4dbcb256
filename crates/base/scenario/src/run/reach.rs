//! Where a host of a run is, for substrate `hosts`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// In front of an iperf3 server's name, where others have a name for ssh.
const IPERF3: &str = "iperf3://";
/// The port of an iperf3 server that was told none.
const IPERF3_PORT: u16 = 5201;

/// How a real machine is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// Its name for `ssh(1)`, as in the user's own configuration; `tcp://HOST:PORT` of an agent that listens, or
    /// `iperf3://HOST[:PORT]` of an iperf3 server, on whose host there is no agent.
    pub ssh: String,
    /// Address of the interface that carries the test; `None`: the only one it has, or the first of a server's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The version of IP that carries the test; `None`: that of the addresses given, else IPv4 where all hosts have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// Port of the run's first flow to this host; each further flow has the next. `None`: [`FIRST_PORT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// The version of an address.
    pub fn of(address: IpAddr) -> Family {
        if address.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
    }

    /// Bytes of the headers of IP and UDP before a datagram's payload (RFC 791, RFC 8200, RFC 768).
    pub fn datagram_overhead(self) -> u64 {
        match self {
            Family::Ipv4 => 20 + 8,
            Family::Ipv6 => 40 + 8,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Family::Ipv4 => "IPv4",
            Family::Ipv6 => "IPv6",
        })
    }
}

/// Port of the first flow to a host that has no other.
pub const FIRST_PORT: u16 = 5001;

impl Reach {
    /// Whether ssh would take a word for the name of a machine: one that begins with `-` is an option to it, and some of
    /// those run commands. An iperf3 server has to have a host, and a port if there is a colon.
    pub fn is_name(ssh: &str) -> bool {
        let breaks = |c: char| c.is_whitespace() || c.is_control();
        let whole = !ssh.starts_with(IPERF3) || server(ssh).is_some();
        !ssh.is_empty() && !ssh.starts_with('-') && !ssh.contains(breaks) && whole
    }

    /// A machine by its name for ssh, whose address and port are left to it.
    pub fn by_name(ssh: impl Into<String>) -> Reach {
        Reach { ssh: ssh.into(), address: None, family: None, port: None }
    }

    /// The version of IP that is asked for, by its address or by itself.
    pub fn asked_family(&self) -> Option<Family> {
        self.address.map(Family::of).or(self.family)
    }

    /// Whether a test can use an address, and reads it. One that is mapped from IPv4 is that of IPv4.
    ///
    /// # Errors
    /// Why it cannot, and what to write.
    pub fn read_address(text: &str) -> Result<IpAddr, String> {
        let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let (number, zone) =
            plain.split_once('%').map_or((plain, None), |(number, zone)| (number, Some(zone)));
        let address: IpAddr =
            number.parse().map_err(|_| format!("`{text}` is not a valid IPv4 or IPv6 address"))?;
        Reach::check_address(address)?;
        match zone {
            None => Ok(address.to_canonical()),
            Some(zone) => {
                Err(format!("`{text}`: only link-local addresses have a zone; write it without %{zone}"))
            }
        }
    }

    /// Refuses addresses that name no single host for both machines.
    ///
    /// # Errors
    /// Why, and what to write.
    pub fn check_address(address: IpAddr) -> Result<(), String> {
        let what = match address {
            IpAddr::V6(address) if address.is_unicast_link_local() => {
                "is a link-local IPv6 address, which names a different host on each interface; give both machines a global \
                 address or a unique local one (fd00::/8), for example `ip addr add fd00::1/64 dev eth0`"
            }
            address if address.is_unspecified() || address.is_multicast() => {
                "is the address of no single machine; give that of the interface that carries the test"
            }
            _ => return Ok(()),
        };
        Err(format!("{address} {what}"))
    }

    /// Host and port of the iperf3 server that it is; `None` if it is a machine with an agent.
    pub fn iperf3(&self) -> Option<(&str, u16)> {
        server(&self.ssh)
    }
}

fn server(text: &str) -> Option<(&str, u16)> {
    let place = text.strip_prefix(IPERF3)?;
    // An IPv6 address has colons itself, hence brackets around it (RFC 3986, 3.2.2).
    let (host, rest) = match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']').filter(|(host, _)| host.parse::<Ipv6Addr>().is_ok())?,
        None => place.find(':').map_or((place, ""), |colon| place.split_at(colon)),
    };
    let port = match rest {
        "" => IPERF3_PORT,
        rest => rest.strip_prefix(':')?.parse().ok().filter(|port| *port > 0)?,
    };
    (!host.is_empty() && !host.contains('/')).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iperf3_server_has_a_host_and_a_port() {
        let of = |text: &str| Reach::by_name(text);
        assert_eq!(of("iperf3://dtn1").iperf3(), Some(("dtn1", 5201)));
        assert_eq!(of("iperf3://10.0.0.2:80").iperf3(), Some(("10.0.0.2", 80)));
        assert_eq!(of("iperf3://[fd00::2]").iperf3(), Some(("fd00::2", 5201)));
        assert_eq!(of("iperf3://[fd00::2]:80").iperf3(), Some(("fd00::2", 80)));
        assert_eq!(of("dtn1").iperf3(), None);
        for strange in [
            "iperf3://",
            "iperf3://:5201",
            "iperf3://a:0",
            "iperf3://a:x",
            "iperf3://::1",
            "iperf3://[::1",
            "iperf3://[::1]9",
            "iperf3://[a]:9",
            "iperf3://a/b",
        ] {
            assert!(!Reach::is_name(strange), "{strange}");
        }
        assert!(Reach::is_name("iperf3://dtn1:5202") && Reach::is_name("tcp://a:1"));
    }

    #[test]
    fn addresses_that_name_no_single_host_are_refused() {
        for (text, words) in [
            ("fe80::1", "link-local"),
            ("fe80::1%eth0", "link-local"),
            ("fd00::1%eth0", "without %eth0"),
            ("::", "no single machine"),
            ("ff02::1", "no single machine"),
            ("10.0.0", "not a valid"),
            ("[fd00::1", "not a valid"),
        ] {
            let told = Reach::read_address(text).unwrap_err();
            assert!(told.contains(words), "{text}: {told}");
        }
        for (text, plain) in
            [("10.0.0.1", "10.0.0.1"), ("[fd00::1]", "fd00::1"), ("::ffff:10.0.0.1", "10.0.0.1")]
        {
            assert_eq!(Reach::read_address(text).unwrap().to_string(), plain);
        }
    }
}
