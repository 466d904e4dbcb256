//! What a controller asks of the agent on a real host. An agent reads no file and runs no command for it, and ends
//! by itself soon after the run's time: what it can be made to do is bounded by [`Plan::check`].

use super::datagrams::{HEADER, MOST_BYTES};
use super::{MOST_FLOWS, first_port};
use crate::iperf3_server::server;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use wirespeed_scenario::run::{Flow, FlowKind, Run};
use wirespeed_units::Span;

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// What time is it there?
    Clock,
    /// Does another host answer on a port, and how long does it take? Some SYNs or datagrams are sent there.
    Reach {
        /// Address and port.
        to: SocketAddr,
        /// How many, at most `MOST_TRIALS`. An iperf3 server takes each for a client that fails.
        trials: u32,
        /// Datagrams instead of SYNs.
        datagrams: bool,
    },
    /// Hold a port of this host until the plan comes: take connections and send datagrams back.
    Listen {
        /// Address and port.
        local: SocketAddr,
        /// UDP instead of TCP.
        datagrams: bool,
    },
    /// Answer the other host's datagrams of [`Request::MtuProbe`] until the next request that has no answer of its own.
    MtuAnswer {
        /// The host's address for the test, and a port of it.
        local: SocketAddr,
        /// The other host's address.
        peer: IpAddr,
    },
    /// How large can packets be that reach another host, which answers?
    MtuProbe {
        /// The host's address for the test.
        local: IpAddr,
        /// Where the other host answers.
        to: SocketAddr,
        /// The MTU of the interface.
        most: u32,
    },
    /// Prepare this host's part of a run.
    Plan(Plan),
    /// The run's time is zero when CLOCK_MONOTONIC of this host says so.
    Start {
        /// Nanoseconds.
        origin_ns: i64,
    },
    /// End the run earlier than planned.
    Stop {
        /// Time of the run.
        at_ns: i64,
    },
    /// Nothing is under way any more, anywhere: the last account.
    Account,
}

impl Request {
    /// What it is, without what is in it.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Clock => "the question for the time",
            Request::Reach { .. } => "the question for a way",
            Request::Listen { .. } => "the order to listen",
            Request::Stop { .. } => "the order to stop",
            Request::MtuAnswer { .. } => "the order to answer datagrams",
            Request::MtuProbe { .. } => "the question for the path's MTU",
            Request::Plan(_) => "a plan",
            Request::Start { .. } => "the order to start",
            Request::Account => "the question for the account",
        }
    }
}

/// A host's part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The resolved run as JSON, as it stands in `run.json` later.
    pub run: String,
    /// Which of its hosts this is.
    pub host: u32,
    /// The hosts' addresses for the test.
    pub addresses: Vec<IpAddr>,
}

/// The longest run an agent takes part in.
const LONGEST_S: f64 = 24.0 * 3600.0;
/// The most datagrams of a run: both ends keep a record of each.
const MOST_DATAGRAMS: f64 = 2e8;

impl Plan {
    /// The run, if an agent may carry it out.
    ///
    /// # Errors
    /// What it asks for that no agent does.
    pub fn check(&self) -> Result<Run, String> {
        let run: Run =
            serde_json::from_str(&self.run).map_err(|e| format!("the plan cannot be read: {e}"))?;
        if self.addresses.len() != run.hosts.len() || self.host as usize >= run.hosts.len() {
            return Err(format!("{} addresses for {} hosts", self.addresses.len(), run.hosts.len()));
        }
        check_run(&run)?;
        Ok(run)
    }
}

/// Whether agents carry out a run; what machines it is on does not matter.
///
/// # Errors
/// What it asks for that no agent does.
pub fn check_run(run: &Run) -> Result<(), String> {
    let seconds = run.duration.as_secs_f64();
    if !(0.0..=LONGEST_S).contains(&seconds) {
        return Err(format!("a run of {seconds} s: an agent takes part for at most 24 hours"));
    }
    if run.flows.len() > MOST_FLOWS {
        return Err(format!("{} flows: an agent carries at most {MOST_FLOWS}", run.flows.len()));
    }
    if run.sample.nanoseconds() < 1_000_000 {
        return Err(format!("sampling every {}: an agent does so every millisecond at most", run.sample));
    }
    let last = |flow: &Flow| usize::from(first_port(run, &flow.to)) + run.flows.len() - 1;
    if let Some(flow) = run.flows.iter().find(|flow| last(flow) > usize::from(u16::MAX)) {
        let (to, last) = (&flow.to, last(flow));
        return Err(format!("host {to}: its last flow would have port {last}; choose a lower port"));
    }
    let hosts: BTreeSet<&str> = run.hosts.iter().map(|host| host.name.as_str()).collect();
    for flow in &run.flows {
        if !hosts.contains(flow.from.as_str()) || !hosts.contains(flow.to.as_str()) {
            return Err(format!("flow {} is between hosts that the run does not have", flow.label));
        }
        let checked = check_flow(flow, run.duration).and_then(|()| run.check_application(flow));
        checked.map_err(|what| format!("flow {}: {what}", flow.label))?;
    }
    server(run)?;
    let datagrams = datagrams(run);
    if datagrams > MOST_DATAGRAMS {
        return Err(format!(
            "{datagrams:.0} datagrams: an agent keeps account of at most {MOST_DATAGRAMS:.0}"
        ));
    }
    Ok(())
}

/// Datagrams of a run, if all its flows last as long.
pub fn datagrams(run: &Run) -> f64 {
    let seconds = run.duration.as_secs_f64();
    let of = |flow: &Flow| match &flow.kind {
        FlowKind::Udp { rate, datagram, .. } => {
            rate.get() as f64 * seconds / (datagram.get().max(1) as f64 * 8.0)
        }
        FlowKind::Tcp { .. } => 0.0,
    };
    run.flows.iter().map(of).sum()
}

/// What a scenario never says and memory or arithmetic would not bear.
fn check_flow(flow: &Flow, duration: Span) -> Result<(), String> {
    if flow.stop < flow.start || flow.stop > duration {
        return Err(format!("from {} to {} is not within the run", flow.start, flow.stop));
    }
    match &flow.kind {
        FlowKind::Udp { rate, .. } if rate.get() == 0 => Err("datagrams at no rate never come".into()),
        FlowKind::Udp { datagram, .. } if !(HEADER..=MOST_BYTES).contains(&(datagram.get() as usize)) => {
            Err(format!("datagrams of {datagram}: an agent sends {HEADER} to {MOST_BYTES} bytes"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::testing::run;
    use wirespeed_units::{Bytes, Rate};

    fn plan(change: impl FnOnce(&mut Run)) -> Plan {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        change(&mut run);
        let addresses = vec![IpAddr::from([127, 0, 0, 1]); 2];
        Plan { run: serde_json::to_string(&run).unwrap(), host: 1, addresses }
    }

    fn udp(rate: Rate, datagram: u64) -> Plan {
        let datagram = Bytes::new(datagram);
        plan(|run| run.flows[0].kind = FlowKind::Udp { rate, datagram, rcvbuf: None })
    }

    #[test]
    fn size_of_a_run_is_bounded_for_an_agent() {
        assert!(plan(|_| ()).check().is_ok());
        let refused = [
            (plan(|run| run.duration = Span::secs(100_000)), "24 hours"),
            (plan(|run| run.sample = Span::us(10)), "millisecond"),
            (plan(|run| run.flows[0].to = "c".into()), "does not have"),
            (plan(|run| run.flows = vec![run.flows[0].clone(); 10_001]), "flows"),
            (plan(|run| run.flows[0].stop = Span::secs(1000)), "within the run"),
            (plan(|run| run.flows[0].start = Span::ns(-1)), "negative"),
            (udp(Rate::bps(0), 1000), "no rate"),
            (udp(Rate::mbit(1), u64::MAX), "65507"),
            (udp(Rate::mbit(1), 15), "16"),
            (Plan { host: 2, ..plan(|_| ()) }, "addresses"),
            (Plan { addresses: Vec::new(), ..plan(|_| ()) }, "addresses"),
            (Plan { run: "{".into(), ..plan(|_| ()) }, "cannot be read"),
            (
                plan(|run| {
                    run.duration = Span::secs(80_000);
                    if let FlowKind::Udp { rate, .. } = &mut run.flows[0].kind {
                        *rate = Rate::gbit(400);
                    }
                }),
                "datagrams",
            ),
        ];
        for (plan, words) in refused {
            let message = plan.check().unwrap_err();
            assert!(message.contains(words), "{words}: {message}");
        }
    }
}
