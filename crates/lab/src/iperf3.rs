//! What an iperf3 server, on whose host there is no agent, can be the other end of: one test, in which it receives.

use std::time::Duration;
use wirespeed_iperf3::peer::{MOST_STREAMS, Test};
use wirespeed_scenario::run::{Flow, FlowKind, Host, Run};

/// The server of a run, and what is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Server<'a> {
    /// Its host's name in the run.
    pub host: &'a str,
    /// The only host that sends.
    pub from: &'a str,
    /// Name or address of its machine.
    pub name: &'a str,
    /// Its port.
    pub port: u16,
    /// All flows of the run, in their order.
    pub test: Test,
}

impl Server<'_> {
    /// Whether its test is one of UDP.
    pub fn takes_datagrams(&self) -> bool {
        self.test.protocol == wirespeed_iperf3::Protocol::Udp
    }
}

/// Host and port of an iperf3 server, if a host is one.
pub fn place(host: &Host) -> Option<(&str, u16)> {
    host.reach.as_ref().and_then(|reach| reach.iperf3())
}

/// The iperf3 server that a run's flows go to, if they do.
///
/// # Errors
/// What of the run no such server can do.
pub fn server(run: &Run) -> Result<Option<Server<'_>>, String> {
    let find =
        |name: &str| run.hosts.iter().find(|host| host.name == name).filter(|host| place(host).is_some());
    if let Some(flow) = run.flows.iter().find(|flow| find(&flow.from).is_some()) {
        return Err(format!(
            "flow {}: {} is an iperf3 server, which wirespeed lets only receive (no test in reverse): let an agent send",
            flow.label, flow.from
        ));
    }
    let Some((first, host)) = run.flows.iter().find_map(|flow| Some((flow, find(&flow.to)?))) else {
        return Ok(None);
    };
    let other = |what: &str, flow: &Flow| {
        Err(format!(
            "flow {}: an iperf3 server takes part in one test at a time, so that all flows of a run with {} have the same \
             {what} as flow {}",
            flow.label, host.name, first.label
        ))
    };
    for flow in &run.flows {
        match () {
            () if flow.to != first.to => return other("receiver", flow),
            () if flow.from != first.from => return other("sender", flow),
            () if asked(flow) != asked(first) => {
                return other("protocol, size of datagrams and window", flow);
            }
            () => {}
        }
    }
    let streams = u32::try_from(run.flows.len()).ok().filter(|count| *count <= MOST_STREAMS);
    let Some(streams) = streams else {
        let count = run.flows.len();
        return Err(format!("{count} flows to {}: iperf3 carries at most {MOST_STREAMS}", host.name));
    };
    let (name, port) = place(host).expect("it was found by that");
    let time = Duration::from_secs_f64(run.duration.as_secs_f64());
    let window = |bytes: Option<u64>| bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let test = match &first.kind {
        FlowKind::Tcp { window: size, .. } => {
            Test { window_bytes: window(size.map(|size| size.get())), ..Test::tcp(streams, time) }
        }
        FlowKind::Udp { datagram, rcvbuf, .. } => {
            let rates = run.flows.iter().filter_map(|flow| match &flow.kind {
                FlowKind::Udp { rate, .. } => Some(rate.get()),
                FlowKind::Tcp { .. } => None,
            });
            let size = u32::try_from(datagram.get()).unwrap_or(u32::MAX);
            let test = Test::udp(streams, time, size, rates.max().unwrap_or(0));
            Test { window_bytes: window(rcvbuf.map(|size| size.get())), ..test }
        }
    };
    Ok(Some(Server { host: &host.name, from: &first.from, name, port, test }))
}

/// What iperf3 is told once for all streams: whether TCP, size of datagrams and window in bytes.
fn asked(flow: &Flow) -> (bool, u64, Option<u64>) {
    match &flow.kind {
        FlowKind::Tcp { window, .. } => (true, 0, window.map(|size| size.get())),
        FlowKind::Udp { datagram, rcvbuf, .. } => (false, datagram.get(), rcvbuf.map(|size| size.get())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::run;
    use wirespeed_scenario::run::Reach;

    fn with_server(flows: &[(&str, &str)]) -> Run {
        let mut run = run(1, &[("a", 0), ("b", 1), ("c", 1)], flows);
        for (host, ssh) in run.hosts.iter_mut().zip(["a", "iperf3://far:99", "c"]) {
            host.reach = Some(Reach { ssh: ssh.into(), address: None });
        }
        run
    }

    #[test]
    fn all_flows_are_one_test() {
        let run = with_server(&[("a", "b"), ("a", "b")]);
        let server = server(&run).unwrap().unwrap();
        assert_eq!((server.host, server.from, server.name, server.port), ("b", "a", "far", 99));
        assert_eq!(server.test.streams, 2);
        assert_eq!(super::server(&with_server(&[("a", "c")])), Ok(None));
    }

    #[test]
    fn what_no_server_does_is_refused_by_name() {
        for (flows, words) in [
            (&[("b", "a")][..], "reverse"),
            (&[("a", "b"), ("a", "c")], "receiver"),
            (&[("a", "b"), ("c", "b")], "sender"),
            (&[("a", "b"); 129], "at most 128"),
        ] {
            let message = server(&with_server(flows)).unwrap_err();
            assert!(message.contains(words), "{words}: {message}");
        }
        let mut run = with_server(&[("a", "b"), ("a", "b")]);
        if let FlowKind::Udp { datagram, .. } = &mut run.flows[1].kind {
            *datagram = wirespeed_units::Bytes::new(datagram.get() + 1);
        }
        assert!(server(&run).unwrap_err().contains("size of datagrams"));
    }
}
