//! What an iperf3 server, on whose host there is no agent, can be the other end of: one test, in which it receives, or
//! sends.

use std::time::Duration;
use wirespeed_iperf3::peer::{MOST_STREAMS, Test};
use wirespeed_scenario::run::{Dscp, Flow, FlowKind, HOST_DEFAULT, Host, Run};
use wirespeed_units::{Rate, Span};

/// The server of a run, and what is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Server<'a> {
    /// Its host's name in the run.
    pub host: &'a str,
    /// The host at the other end of all flows, which has an agent.
    pub agent: &'a str,
    /// Name or address of its machine.
    pub name: &'a str,
    /// Its port.
    pub port: u16,
    /// All flows of the run, in their order.
    pub test: Test,
}

impl Server<'_> {
    /// Its name and port as in an address of the web: an IPv6 address has brackets.
    pub fn place(&self) -> String {
        let Server { name, port, .. } = self;
        if name.contains(':') { format!("[{name}]:{port}") } else { format!("{name}:{port}") }
    }

    /// Whether its test is one of UDP.
    pub fn is_of_datagrams(&self) -> bool {
        self.test.protocol == wirespeed_iperf3::Protocol::Udp
    }

    /// Whether it sends.
    pub fn sends(&self) -> bool {
        self.test.reverse
    }
}

/// Host and port of an iperf3 server, if a host is one.
pub fn place(host: &Host) -> Option<(&str, u16)> {
    host.reach.as_ref().and_then(|reach| reach.iperf3())
}

/// The iperf3 server that a run's flows go to or come from, if they do.
///
/// # Errors
/// What of the run no such server can do.
pub fn server(run: &Run) -> Result<Option<Server<'_>>, String> {
    let find =
        |name: &str| run.hosts.iter().find(|host| host.name == name).filter(|host| place(host).is_some());
    let Some((first, [from, to])) = run.flows.iter().find_map(|flow| {
        let ends = [find(&flow.from), find(&flow.to)];
        ends.iter().any(Option::is_some).then_some((flow, ends))
    }) else {
        return Ok(None);
    };
    let (host, sends) = match (from, to) {
        (Some(_), Some(_)) => {
            return Err(format!(
                "flow {}: both its ends are iperf3 servers, which only wait for somebody: one end has to be an agent",
                first.label
            ));
        }
        (Some(host), None) => (host, true),
        (None, to) => (to.expect("one of them is a server"), false),
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
            () if flow.application.is_some() => {
                return Err(format!(
                    "flow {}: files and requests are not available with an iperf3 server; leave `files` and `requests` out, or use ssh to {}",
                    flow.label, host.name
                ));
            }
            () if flow.to != first.to => return other("receiver", flow),
            () if flow.from != first.from => return other("sender", flow),
            () if asked(flow) != asked(first) => {
                return other("protocol, size of datagrams and window", flow);
            }
            () if flow.dscp != first.dscp => return other("DSCP", flow),
            () if sends && told_to_send(flow) != told_to_send(first) => {
                return other("congestion control, rate and start", flow);
            }
            () => {}
        }
    }
    if sends {
        can_send(run)?;
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
        FlowKind::Tcp { window: size, congestion, max_rate, .. } => Test {
            window_bytes: window(size.map(|size| size.get())),
            reverse: sends,
            congestion: (sends && congestion.name != HOST_DEFAULT).then(|| congestion.name.clone()),
            rate_bps: max_rate.filter(|_| sends).map(|rate| rate.get()),
            ..Test::tcp(streams, time)
        },
        FlowKind::Udp { datagram, rcvbuf, .. } => {
            let rates = run.flows.iter().filter_map(|flow| match &flow.kind {
                FlowKind::Udp { rate, .. } => Some(rate.get()),
                FlowKind::Tcp { .. } => None,
            });
            let size = u32::try_from(datagram.get()).unwrap_or(u32::MAX);
            let test = Test::udp(streams, time, size, rates.max().unwrap_or(0));
            // Of a server that sends, the buffer is not its own.
            let buffer = rcvbuf.filter(|_| !sends).map(|size| size.get());
            Test { window_bytes: window(buffer), reverse: sends, ..test }
        }
    };
    let test = Test { tos: first.dscp.map_or(0, Dscp::byte), ..test };
    let agent = if sends { &first.to } else { &first.from };
    Ok(Some(Server { host: &host.name, agent, name, port, test }))
}

/// What a server that sends is told besides, once for all streams: congestion control, rate and when to begin.
fn told_to_send(flow: &Flow) -> (Option<&str>, Option<Rate>, Span) {
    match &flow.kind {
        FlowKind::Tcp { congestion, max_rate, .. } => (Some(&congestion.name), *max_rate, flow.start),
        FlowKind::Udp { rate, .. } => (None, Some(*rate), flow.start),
    }
}

/// Whether a server can send what a run's flows ask for.
fn can_send(run: &Run) -> Result<(), String> {
    for flow in &run.flows {
        if flow.bytes.is_some() || flow.stop < run.duration {
            return Err(format!(
                "flow {}: {} is an iperf3 server that sends: it goes on to the end of the run; leave `bytes` and `stop` out",
                flow.label, flow.from
            ));
        }
    }
    Ok(())
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
    use wirespeed_scenario::run::{Congestion, Reach};
    use wirespeed_scenario::testing::run;

    fn with_server(flows: &[(&str, &str)]) -> Run {
        let mut run = run(1, &[("a", 0), ("b", 1), ("c", 1)], flows);
        for (host, ssh) in run.hosts.iter_mut().zip(["a", "iperf3://far:99", "c"]) {
            host.reach = Some(Reach::by_name(ssh));
        }
        run
    }

    #[test]
    fn all_flows_are_one_test() {
        let run = with_server(&[("a", "b"), ("a", "b")]);
        let server = server(&run).unwrap().unwrap();
        assert_eq!((server.host, server.agent, server.name, server.port), ("b", "a", "far", 99));
        assert_eq!((server.test.streams, server.sends()), (2, false));
        assert_eq!(super::server(&with_server(&[("a", "c")])), Ok(None));
    }

    #[test]
    fn a_server_that_sends_is_told_what() {
        let mut run = with_server(&[("b", "a"), ("b", "a")]);
        let congestion = Congestion { name: "reno".into(), parameters: Default::default(), own: false };
        for flow in &mut run.flows {
            let (congestion, max_rate) = (congestion.clone(), Some(Rate::mbit(30)));
            flow.kind = FlowKind::Tcp { congestion, window: None, max_rate, zero_copy: false };
        }
        let server = super::server(&run).unwrap().unwrap();
        assert_eq!((server.host, server.agent, server.sends()), ("b", "a", true));
        assert_eq!(
            (server.test.congestion.as_deref(), server.test.rate_bps),
            (Some("reno"), Some(30_000_000))
        );
        let refused = |change: fn(&mut Flow), words: &str| {
            let mut run = run.clone();
            change(&mut run.flows[1]);
            let message = super::server(&run).unwrap_err();
            assert!(message.contains(words), "{message}");
        };
        refused(|flow| flow.start += Span::ms(1), "start");
        refused(|flow| flow.stop = flow.start, "end of the run");
        refused(|flow| flow.bytes = Some(wirespeed_units::Bytes::new(5)), "end of the run");
    }

    #[test]
    fn a_server_that_sends_datagrams_is_told_their_size_and_rate() {
        let mut run = with_server(&[("b", "a"), ("b", "a")]);
        let set = |flow: &mut Flow, to: Rate| {
            let FlowKind::Udp { rate, rcvbuf, .. } = &mut flow.kind else { panic!("a run of UDP") };
            (*rate, *rcvbuf) = (to, Some(wirespeed_units::Bytes::new(1 << 20)));
        };
        run.flows.iter_mut().for_each(|flow| set(flow, Rate::mbit(30)));
        let server = super::server(&run).unwrap().unwrap();
        assert!(server.sends() && server.is_of_datagrams());
        assert_eq!((server.test.rate_bps, server.test.window_bytes), (Some(30_000_000), None));
        set(&mut run.flows[1], Rate::mbit(31));
        assert!(super::server(&run).unwrap_err().contains("rate"));
    }

    #[test]
    fn unsupported_request_to_a_server_is_refused_by_name() {
        for (flows, words) in [
            (&[("b", "b")][..], "both its ends"),
            (&[("a", "b"), ("b", "a")], "receiver"),
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
