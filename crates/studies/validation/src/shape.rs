//! The shape of a run: how its flows are arranged, which queue they fill, and what bounds their windows. Each takes several
//! settings together.

use super::column::senders;
use std::collections::BTreeSet;
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Flow, FlowKind, Host, Link, Queue};
use wirespeed_units::{Bytes, Span};

/// Largest socket buffers of Linux by default (`tcp_rmem`, `tcp_wmem`; tcp(7)).
const LINUX_RECEIVE: Bytes = Bytes::mib(6);
const LINUX_SEND: Bytes = Bytes::mib(4);

/// A fixed window is of one bandwidth-delay product if it is off by no more than this share of it.
const ROUNDING: f64 = 1e-3;

/// How flows are arranged: `alone` if all are alike on one link, else all that sets them apart.
pub fn arrangement(run: &Run) -> String {
    let is = |condition: bool, name: &'static str| condition.then_some(name);
    let is_chain = run.links.len() > 1;
    let parts: Vec<&str> = [
        is(is_chain, "parking-lot"),
        is(rtts(run).len() > 1 && !is_chain, "unequal-rtt"),
        is(run.sends_both_ways(), "two-way"),
        is(run.algorithms().len() > 1, "against"),
        is(run.flows.iter().any(|flow| !flow.is_tcp()), "udp"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "alone".into() } else { parts.join(" and ") }
}

/// The base round-trip times of its flows.
pub fn rtts(run: &Run) -> BTreeSet<Span> {
    run.flows.iter().map(|flow| run.base_rtt(flow)).collect()
}

/// The queue that a flow fills: the discipline of a sender's interface if that is as slow as the path, else that before the link.
pub fn queue(run: &Run) -> String {
    let slow = |host: &&Host| run.links.iter().any(|link| host.nic_rate == Some(link.forward.rate));
    let names: BTreeSet<&str> = match senders(run).find(slow) {
        Some(_) => senders(run).map(|host| host.qdisc.name()).collect(),
        None => run.links.iter().map(link_queue).collect(),
    };
    names.into_iter().collect::<Vec<_>>().join(" and ")
}

fn link_queue(link: &Link) -> &'static str {
    match &link.forward.queue {
        Queue::DropTail { mark_above: Some(_) } => "marking",
        other => other.name(),
    }
}

/// The bound of windows: `fixed` at a bandwidth-delay product, `linux` for the buffers of a kernel as it comes, `ample` for larger
/// ones, or `other`.
pub fn sockets(run: &Run) -> &'static str {
    let windows: Vec<(&Flow, Bytes)> =
        run.flows.iter().filter_map(|flow| Some((flow, window(flow)?))).collect();
    if !windows.is_empty() {
        let are_all = windows.len() == run.flows.iter().filter(|flow| flow.is_tcp()).count();
        let are_products = windows.iter().all(|(flow, window)| is_product(run, flow, *window));
        return if are_all && are_products { "fixed" } else { "other" };
    }
    let hosts = |is: fn(&Host) -> bool| run.hosts.iter().all(is);
    if hosts(|host| host.tcp.rmem[2] == LINUX_RECEIVE && host.tcp.wmem[2] == LINUX_SEND) {
        "linux"
    } else if hosts(|host| host.tcp.rmem[2] > LINUX_RECEIVE && host.tcp.wmem[2] > LINUX_SEND) {
        "ample"
    } else {
        "other"
    }
}

/// The fixed window of a flow, if it has one.
fn window(flow: &Flow) -> Option<Bytes> {
    match flow.kind {
        FlowKind::Tcp { window, .. } => window,
        FlowKind::Udp { .. } => None,
    }
}

/// Whether a window is the bandwidth-delay product of its flow.
fn is_product(run: &Run, flow: &Flow, window: Bytes) -> bool {
    let slowest = run.links.iter().map(|link| link.forward.rate).min();
    let product = slowest.map_or(0.0, |rate| rate.volume(run.base_rtt(flow)).get() as f64);
    (window.get() as f64 - product).abs() <= product * ROUNDING
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Run {
        let path = "[path]\nrate = \"100 Gbit/s\"\nrtt = \"1 ms\"";
        let path = if text.contains("[path]") { "" } else { path };
        let text = format!(
            "schema = 1\nname = \"a\"\nabout = \"?\"\n{path}\n{text}\n[run]\nduration = \"1 s\"\nseed = 1\n"
        );
        wirespeed_scenario::parse(&text, "a.toml", &[], None).unwrap().runs.remove(0)
    }

    const CUBIC: &str = "[[flow]]\ncongestion = \"cubic\"\n";

    #[test]
    fn an_arrangement_is_all_that_sets_flows_apart() {
        let far = "[host.far]\nrouter = 0\naccess_delay = \"1 ms\"\n[[flow]]\nfrom = \"far\"\ncongestion = \"cubic\"";
        let back = "[[flow]]\nfrom = \"receiver\"\nto = \"sender\"\ncongestion = \"cubic\"";
        let (reno, udp) =
            ("[[flow]]\ncongestion = \"reno\"", "[[flow]]\nkind = \"udp\"\nrate = \"1 Gbit/s\"");
        let chain = "[topology]\nkind = \"parking-lot\"\nhops = 2\n";
        for (flows, wanted) in [
            (format!("{CUBIC}{CUBIC}"), "alone"),
            (format!("{CUBIC}{far}"), "unequal-rtt"),
            (format!("{CUBIC}{back}"), "two-way"),
            (format!("{CUBIC}{reno}"), "against"),
            (format!("{CUBIC}{udp}"), "udp"),
            (format!("{chain}{CUBIC}"), "parking-lot"),
            (format!("{CUBIC}{far}\n{reno}\n{udp}"), "unequal-rtt and against and udp"),
        ] {
            assert_eq!(arrangement(&run(&flows)), wanted);
        }
    }

    #[test]
    fn a_sender_whose_interface_is_as_slow_as_the_path_has_the_queue() {
        let marks = "[path]\nrate = \"100 Gbit/s\"\nrtt = \"1 ms\"\nqueue = { kind = \"drop-tail\", mark_above = \"1 MB\" }\n";
        let nic = |rate: &str| {
            format!("[host.sender]\nnic_rate = \"{rate} Gbit/s\"\nqdisc = \"fq_codel\"\n{CUBIC}")
        };
        for (text, wanted) in [
            (CUBIC.to_owned(), "drop-tail"),
            (format!("{marks}{CUBIC}"), "marking"),
            (nic("100"), "fq_codel"),
            (nic("200"), "drop-tail"),
        ] {
            assert_eq!(queue(&run(&text)), wanted, "{text}");
        }
    }

    #[test]
    fn windows_are_bounded_by_buffers_or_fixed() {
        let hosts = |preset: &str| {
            format!("[host.sender]\npreset = \"{preset}\"\n[host.receiver]\npreset = \"{preset}\"\n{CUBIC}")
        };
        for (text, wanted) in [
            (CUBIC.to_owned(), "ample"),
            (hosts("linux-6.12"), "linux"),
            (format!("{CUBIC}window = \"1 bdp\""), "fixed"),
            (format!("{CUBIC}window = \"2 bdp\""), "other"),
            (format!("{CUBIC}window = \"1 bdp\"\n{CUBIC}"), "other"),
            (format!("[host.sender]\npreset = \"linux-6.12\"\n{CUBIC}"), "other"),
        ] {
            assert_eq!(sockets(&run(&text)), wanted, "{text}");
        }
    }
}
