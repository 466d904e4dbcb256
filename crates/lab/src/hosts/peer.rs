//! An iperf3 server in the place of a host: what it says of a run, and what nobody can say because nothing of ours runs
//! there.

use super::believed::MOST;
use super::merge::Total;
use crate::agent::iperf3::acknowledged;
use crate::agent::message::Received;
use crate::iperf3::Server;
use crate::substrate::LabError;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use wirespeed_record::{FlowSample, HostInfo};
use wirespeed_scenario::run::{FlowKind, Reach, Run};

/// The server's address: the one it was given, or the first that its name has.
///
/// # Errors
/// If the name has none.
pub fn address(host: &str, reach: &Reach) -> Result<Ipv4Addr, LabError> {
    if let Some(address) = reach.address {
        return Ok(address);
    }
    let (name, port) = reach.iperf3().expect("it is asked for iperf3 servers only");
    let fail = |what: String| {
        let remedy =
            format!("give an address: host.{host}.address=ADDRESS, or NAME=ADDRESS with wirespeed probe");
        LabError::Environment(format!("host {host}: iperf3 server {name}: {what}; {remedy}"))
    };
    let found = (name, port).to_socket_addrs().map_err(|error| fail(error.to_string()))?;
    let first = found.into_iter().find_map(|address| match address {
        SocketAddr::V4(address) => Some(*address.ip()),
        SocketAddr::V6(_) => None,
    });
    first.ok_or_else(|| fail("it has no IPv4 address".into()))
}

/// What the server said in the end.
#[derive(Debug, Default)]
pub struct Word {
    flows: BTreeMap<u32, Received>,
    cpu_percent: f64,
}

impl Word {
    pub fn new(flows: Vec<Received>, cpu_percent: f64) -> Word {
        let believed = |received: Received| Received { bytes: received.bytes.min(MOST), ..received };
        let flows = flows.into_iter().map(|received| (received.flow, believed(received))).collect();
        Word { flows, cpu_percent }
    }

    fn bytes(&self) -> u64 {
        self.flows.values().fold(0, |sum, received| sum.saturating_add(received.bytes))
    }

    /// Puts into the last row of each flow, and into its total, what the server counted of datagrams.
    pub fn fill(
        &self,
        run: &Run,
        rows: &mut BTreeMap<(i64, u32), FlowSample>,
        totals: &mut BTreeMap<u32, Total>,
    ) {
        for (number, received) in &self.flows {
            let kind = run.flows.get(*number as usize).map(|flow| &flow.kind);
            let Some(FlowKind::Udp { datagram, .. }) = kind else { continue };
            let last = rows.values_mut().rev().find(|row| row.flow == *number);
            let total = totals.get_mut(number).map(|total| &mut total.row);
            for row in last.into_iter().chain(total) {
                row.delivered_bytes = Some(received.bytes);
                row.read_bytes = Some(received.bytes);
                row.data_packets_in = Some(received.bytes / datagram.get().max(1));
            }
        }
    }

    /// What stands beside the server's host: its own words.
    pub fn describe(&self, server: &Server, host: &mut HostInfo) {
        let mut set = |name: &str, value: String| drop(host.settings.insert(format!("iperf3.{name}"), value));
        set("server", format!("{}:{}", server.name, server.port));
        set(if server.sends() { "sent" } else { "received" }, format!("{} bytes", self.bytes()));
        if let Some(again) = self.again() {
            set("again", format!("{again} packets"));
        }
        set("cpu", format!("{:.1} %", self.cpu_percent));
        if server.takes_datagrams() {
            set("lost", format!("{} datagrams", self.missing()));
            set("jitter", format!("{:.3} ms", self.jitter_ns() as f64 / 1e6));
        }
    }

    /// Packets that its TCP sent again; `None` if it did not send, or does not know.
    fn again(&self) -> Option<u64> {
        self.flows
            .values()
            .map(|received| received.again)
            .try_fold(0u64, |sum, again| sum.checked_add(again?))
    }

    fn missing(&self) -> i64 {
        self.flows.values().fold(0, |sum, received| sum.saturating_add(received.missing))
    }

    /// The largest of all flows.
    fn jitter_ns(&self) -> i64 {
        self.flows.values().map(|received| received.jitter_ns).max().unwrap_or(0)
    }

    /// What the reader of the results has to know: whose word it is, and what nobody can say.
    pub fn warnings(&self, server: &Server, totals: &BTreeMap<u32, Total>) -> Vec<String> {
        let (host, place) = (server.host, format!("{}:{}", server.name, server.port));
        let bytes = self.bytes();
        if server.takes_datagrams() {
            return vec![format!(
                "{host} is an iperf3 server ({place}), on whose host nothing of wirespeed ran. By its word it received {bytes} \
                 bytes, missed {} datagrams below the last that came, and the jitter was {:.3} ms. Losses in the network and \
                 on its host cannot be told apart; what it received is known for the end of the run only",
                self.missing(),
                self.jitter_ns() as f64 / 1e6
            )];
        }
        if server.sends() {
            return self.warnings_of_sender(server, totals);
        }
        let acknowledged: u64 = totals.values().filter_map(|total| acknowledged(&total.row)).sum();
        let mut told = vec![format!(
            "{host} is an iperf3 server ({place}), on whose host nothing of wirespeed ran. By its word it received {bytes} \
             bytes; delivered_bytes are those that were acknowledged to {}. It counts no packets, so that the account of data \
             ends at {}, and there is none of ACKs",
            server.agent, server.agent
        )];
        if acknowledged != bytes {
            told.push(format!(
                "{host} says {bytes} bytes, and {acknowledged} were acknowledged: it had not read all when the test ended, \
                 or somebody between acknowledges in its name"
            ));
        }
        told
    }
}

impl Word {
    fn warnings_of_sender(&self, server: &Server, totals: &BTreeMap<u32, Total>) -> Vec<String> {
        let (host, place, bytes) = (server.host, format!("{}:{}", server.name, server.port), self.bytes());
        let again = self.again().map_or(String::new(), |again| format!(" and sent {again} packets again"));
        let mut told = vec![format!(
            "{host} is an iperf3 server ({place}), on whose host nothing of wirespeed ran. By its word it wrote {bytes} bytes\
             {again}. It counts no packets, so that the account of data begins at {}, and that of ACKs ends there",
            server.agent
        )];
        let read: u64 = totals.values().filter_map(|total| total.row.read_bytes).sum();
        if read != bytes {
            told.push(format!("{host} says {bytes} bytes, and {read} were read at {}", server.agent));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::run;

    #[test]
    fn what_arrived_of_datagrams_is_the_servers_word_in_the_last_row_only() {
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let FlowKind::Udp { datagram, .. } = &run.flows[0].kind else { panic!("a run of UDP") };
        let bytes = datagram.get() * 7;
        let word = Word::new(
            vec![Received { flow: 0, bytes, again: None, missing: 3, jitter_ns: 5, lasted_ns: 9 }],
            1.0,
        );
        let mut rows: BTreeMap<_, _> = [10, 20].map(|t| ((t, 0), FlowSample::empty(t, 0))).into();
        let total = Total { row: FlowSample::empty(20, 0), sender: [0; 2], receiver: [0; 2] };
        let mut totals = [(0, total)].into();
        word.fill(&run, &mut rows, &mut totals);
        let found: Vec<_> = rows.values().map(|row| (row.delivered_bytes, row.data_packets_in)).collect();
        assert_eq!(found, [(None, None), (Some(bytes), Some(7))]);
        assert_eq!(totals[&0].row.data_packets_in, Some(7));
    }

    #[test]
    fn an_address_that_was_given_is_not_looked_up() {
        let reach = |address| Reach { ssh: "iperf3://no.such.name.invalid".into(), address };
        let given = Ipv4Addr::new(10, 0, 0, 9);
        assert_eq!(address("b", &reach(Some(given))).unwrap(), given);
    }
}
