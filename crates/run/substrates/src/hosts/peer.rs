//! An iperf3 server in the place of a host: what it says of a run, and what nobody can say because nothing of ours runs
//! there.

use crate::substrate::SubstrateError;
use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs};
use wirespeed_agent::iperf3::acknowledged;
use wirespeed_agent::iperf3_server::{Server, place};
use wirespeed_agent::message::Received;
use wirespeed_agent::udp;
use wirespeed_ledger::hosts::Total;
use wirespeed_record::{Datagram, FlowSample, HostInfo};
use wirespeed_scenario::run::{FlowKind, Reach, Run};
use wirespeed_transport::limits::MOST;

/// The server's addresses: the one it was given, or the first of each version of IP that its name has.
///
/// # Errors
/// If the name has none.
pub fn addresses(host: &str, reach: &Reach) -> Result<Vec<IpAddr>, SubstrateError> {
    if let Some(address) = reach.address {
        return Ok(vec![address]);
    }
    let (name, port) = reach.iperf3().expect("it is asked for iperf3 servers only");
    let fail = |what: String| {
        let remedy =
            format!("give an address: host.{host}.address=ADDRESS, or NAME=ADDRESS with wirespeed probe");
        SubstrateError::Environment(format!("host {host}: iperf3 server {name}: {what}; {remedy}"))
    };
    let found = (name, port).to_socket_addrs().map_err(|error| fail(error.to_string()))?;
    let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    let first = |is_v4: bool| found.iter().find(|address| address.is_ipv4() == is_v4).copied();
    let firsts: Vec<IpAddr> = [first(true), first(false)].into_iter().flatten().collect();
    let usable = firsts.iter().find_map(|address| Reach::check_address(*address).err());
    match usable {
        Some(what) => Err(fail(what)),
        None if firsts.is_empty() => Err(fail("it has no address".into())),
        None => Ok(firsts),
    }
}

/// What the server said in the end.
#[derive(Debug, Default)]
pub struct Word {
    flows: BTreeMap<u32, Received>,
    cpu_percent: f64,
    /// Its congestion control, if it told.
    pub congestion: Option<String>,
}

impl Word {
    pub fn new(flows: Vec<Received>, cpu_percent: f64, congestion: Option<String>) -> Word {
        let limited = |received: Received| Received {
            bytes: received.bytes.min(MOST),
            packets: received.packets.min(MOST),
            ..received
        };
        let flows = flows.into_iter().map(|received| (received.flow, limited(received))).collect();
        Word { flows, cpu_percent, congestion }
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
        for (number, told) in &self.flows {
            let Some(flow) = run.flows.get(*number as usize) else { continue };
            let FlowKind::Udp { datagram, .. } = &flow.kind else { continue };
            let last = rows.values_mut().rev().find(|row| row.flow == *number);
            let total = totals.get_mut(number).map(|total| &mut total.row);
            for row in last.into_iter().chain(total) {
                if place(run.host(&flow.from)).is_some() {
                    row.sent_bytes = Some(told.bytes);
                    row.data_packets_out = Some(told.packets);
                } else {
                    row.delivered_bytes = Some(told.bytes);
                    row.read_bytes = Some(told.bytes);
                    row.data_packets_in = Some(told.bytes / datagram.get().max(1));
                }
            }
        }
    }

    /// The datagrams of a flow that the server sent, by its word and by those that came.
    pub fn sent(&self, run: &Run, flow: u32, arrived: &[Datagram]) -> Vec<Datagram> {
        let told = self.flows.get(&flow).map_or(0, |told| told.packets);
        let most = run.flows.get(flow as usize).map_or(0, udp::most);
        sent(flow, arrived, told.min(most))
    }

    /// What stands beside the server's host: its own words.
    pub fn describe(&self, server: &Server, host: &mut HostInfo) {
        let mut set = |name: &str, value: String| drop(host.settings.insert(format!("iperf3.{name}"), value));
        set("server", server.place());
        let of = if server.sends() && server.is_of_datagrams() {
            format!(" in {} datagrams", self.packets())
        } else {
            String::new()
        };
        set(if server.sends() { "sent" } else { "received" }, format!("{} bytes{of}", self.bytes()));
        if let Some(again) = self.again() {
            set("again", format!("{again} packets"));
        }
        if let Some(congestion) = &self.congestion {
            set("congestion", congestion.clone());
        }
        set("cpu", format!("{:.1} %", self.cpu_percent));
        if server.is_of_datagrams() && !server.sends() {
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

    fn packets(&self) -> u64 {
        self.flows.values().fold(0, |sum, told| sum.saturating_add(told.packets))
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
        let (host, place) = (server.host, server.place());
        let bytes = self.bytes();
        if server.is_of_datagrams() && server.sends() {
            return vec![format!(
                "{host} is an iperf3 server ({place}), on whose host nothing of wirespeed ran. By its word it sent {} datagrams of \
                 {bytes} bytes in all. Which of them are missing, came twice or overtook others is known by their numbers; losses \
                 in the network and on its host cannot be told apart. When it sent each is told by its own clock, which is set \
                 here so that the fastest needed no time: how much longer others took is known, and not how long",
                self.packets()
            )];
        }
        if server.is_of_datagrams() {
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
        let (host, place, bytes) = (server.host, server.place(), self.bytes());
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

/// The datagrams of a flow that a server sent, at least so many, from those that came, with the times of its clock in them. How
/// that clock stands to ours nobody knows: the fastest is taken to have needed no time. Those that did not come were sent
/// between their neighbours.
fn sent(flow: u32, arrived: &[Datagram], told: u64) -> Vec<Datagram> {
    let highest = arrived.iter().map(|row| row.sequence + 1).max().unwrap_or(0);
    let took = |row: &Datagram| row.arrived_ns.map(|arrived_ns| arrived_ns - row.sent_ns);
    let shift_ns = arrived.iter().filter_map(took).min().unwrap_or(0);
    let row = |sequence: u64| Datagram {
        flow,
        sequence,
        sent_ns: 0,
        arrived_ns: None,
        reordered_by: 0,
        duplicate: false,
    };
    let mut rows: Vec<Datagram> = (0..told.max(highest)).map(row).collect();
    let mut known: Vec<(usize, i64)> =
        arrived.iter().map(|row| (row.sequence as usize, row.sent_ns + shift_ns)).collect();
    known.sort_unstable();
    known.dedup_by_key(|(sequence, _)| *sequence);
    let (Some((_, first_ns)), Some((_, last_ns))) = (known.first(), known.last()) else { return rows };
    let (first, last) = ((0, *first_ns), (rows.len(), *last_ns));
    let all: Vec<(usize, i64)> = [first].into_iter().chain(known).chain([last]).collect();
    for pair in all.windows(2) {
        let [(from, from_ns), (to, to_ns)] = [pair[0], pair[1]];
        for (place, row) in rows[from..to].iter_mut().enumerate() {
            row.sent_ns = from_ns + (to_ns - from_ns) * place as i64 / (to - from) as i64;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::testing::run;

    #[test]
    fn arrived_datagrams_are_reported_by_the_server_in_the_last_row_only() {
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let FlowKind::Udp { datagram, .. } = &run.flows[0].kind else { panic!("a run of UDP") };
        let bytes = datagram.get() * 7;
        let word = Word::new(
            vec![Received {
                flow: 0,
                bytes,
                again: None,
                packets: 0,
                missing: 3,
                jitter_ns: 5,
                lasted_ns: 9,
            }],
            1.0,
            None,
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
    fn datagrams_of_a_server_are_derived_from_arrivals_and_its_report() {
        let row = |sequence, sent_ns, arrived_ns: i64| Datagram {
            flow: 0,
            sequence,
            sent_ns,
            arrived_ns: Some(arrived_ns),
            reordered_by: 0,
            duplicate: false,
        };
        // Its clock is 1000 ahead; the first two are lost, the fourth overtakes the third, the last two are lost.
        let arrived = [row(3, 1030, 40), row(2, 1020, 45), row(5, 1050, 70)];
        let rows = sent(0, &arrived, 8);
        let times: Vec<i64> = rows.iter().map(|row| row.sent_ns).collect();
        assert_eq!(times, [30, 30, 30, 40, 50, 60, 60, 60]);
        let accounted = udp::account(rows, &arrived);
        let missing: Vec<u64> =
            accounted.iter().filter(|row| row.arrived_ns.is_none()).map(|row| row.sequence).collect();
        assert_eq!(missing, [0, 1, 4, 6, 7]);
        assert_eq!(accounted[2].reordered_by, 1);
        assert_eq!(sent(0, &[], 2).len(), 2);
    }

    #[test]
    fn an_address_that_was_given_is_not_looked_up() {
        let reach = |address| Reach { address, ..Reach::by_name("iperf3://no.such.name.invalid") };
        let given = IpAddr::from([10, 0, 0, 9]);
        assert_eq!(addresses("b", &reach(Some(given))).unwrap(), [given]);
    }
}
