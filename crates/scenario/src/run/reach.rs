//! Where a host of a run is, for substrate `hosts`.

use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

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
    pub address: Option<Ipv4Addr>,
    /// Port of the run's first flow to this host; each further flow has the next. `None`: [`FIRST_PORT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
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
        Reach { ssh: ssh.into(), address: None, port: None }
    }

    /// Host and port of the iperf3 server that it is; `None` if it is a machine with an agent.
    pub fn iperf3(&self) -> Option<(&str, u16)> {
        server(&self.ssh)
    }
}

fn server(text: &str) -> Option<(&str, u16)> {
    let place = text.strip_prefix(IPERF3)?;
    let (host, port) = match place.split_once(':') {
        None => (place, IPERF3_PORT),
        Some((host, port)) => (host, port.parse().ok().filter(|port| *port > 0)?),
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
        assert_eq!(of("dtn1").iperf3(), None);
        for strange in [
            "iperf3://",
            "iperf3://:5201",
            "iperf3://a:0",
            "iperf3://a:x",
            "iperf3://[::1]:9",
            "iperf3://a/b",
        ] {
            assert!(!Reach::is_name(strange), "{strange}");
        }
        assert!(Reach::is_name("iperf3://dtn1:5202") && Reach::is_name("tcp://a:1"));
    }
}
