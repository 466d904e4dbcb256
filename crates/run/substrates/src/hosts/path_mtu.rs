//! How large packets can be between the hosts of a run, found before it: an MTU that differs between two ends, or a router
//! that drops large packets and reports nothing, stops TCP without a trace in any counter.

use crate::substrate::SubstrateError;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use wirespeed_agent::message::Interface;
use wirespeed_agent::{PathMtu, first_port};
use wirespeed_record::{Event, EventKind, Recording};
use wirespeed_scenario::run::{Family, FlowKind, Run};
use wirespeed_transport::session::Session;

/// What was found from one host to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    from: String,
    to: String,
    /// The sender's interface, and the receiver's MTU.
    device: String,
    other_mtu: Option<u32>,
    mtu: PathMtu,
}

/// Tries both directions between the hosts of each flow; of many pairs the first ones.
pub fn probe(
    run: &Run,
    sessions: &mut [Session],
    interfaces: &[Interface],
    cancel: &AtomicBool,
) -> Result<Vec<Found>, SubstrateError> {
    const MOST_PAIRS: usize = 8;
    let pairs: BTreeSet<(&str, &str)> =
        run.flows.iter().map(|flow| (flow.from.as_str(), flow.to.as_str())).collect();
    let place = |sessions: &[Session], name: &str| sessions.iter().position(|session| session.host == name);
    let mut found = Vec::new();
    for (from, to) in pairs.into_iter().take(MOST_PAIRS) {
        let (Some(from), Some(to)) = (place(sessions, from), place(sessions, to)) else { continue };
        for (from, to) in [(from, to), (to, from)] {
            let [ours, theirs] = [&interfaces[from], &interfaces[to]];
            let Some(most) = ours.mtu else { continue };
            let answers = SocketAddr::new(theirs.address, first_port(run, &sessions[to].host));
            sessions[to].answer(answers, ours.address, cancel)?;
            let mtu = sessions[from].path_mtu(ours.address, answers, most, cancel)?;
            let [from, to] = [from, to].map(|index| sessions[index].host.clone());
            found.push(Found { from, to, device: ours.device.clone(), other_mtu: theirs.mtu, mtu });
        }
    }
    Ok(found)
}

/// Warnings of datagrams over IPv6 that are larger than the MTU of the sender's interface: the kernel sends each in fragments.
/// `interfaces` are those of the hosts named. Over IPv4 the scenario was checked for it.
pub fn fragmented<'a>(run: &Run, interfaces: impl Iterator<Item = (&'a str, &'a Interface)>) -> Vec<String> {
    let overhead = Family::Ipv6.datagram_overhead();
    let mut warnings = Vec::new();
    for (host, interface) in interfaces.filter(|(_, interface)| interface.address.is_ipv6()) {
        let Some(mtu) = interface.mtu.map(u64::from) else { continue };
        for flow in run.flows.iter().filter(|flow| flow.from == host) {
            let FlowKind::Udp { datagram, .. } = &flow.kind else { continue };
            let (bytes, packet) = (datagram.get(), datagram.get() + overhead);
            if packet > mtu {
                warnings.push(format!(
                    "flow {}: datagrams of {bytes} bytes make IPv6 packets of {packet}, and the MTU of {} is {mtu}: each \
                     leaves {host} in fragments, and all are lost with one of them; send datagrams of {} bytes at most",
                    flow.label,
                    interface.device,
                    mtu.saturating_sub(overhead)
                ));
            }
        }
    }
    warnings
}

/// Says in a recording what was found.
pub fn describe(recording: &mut Recording, all: &[Found]) {
    for found in all {
        if let (Some(host), Some(passed)) =
            (recording.info.hosts.iter_mut().find(|host| host.name == found.from), found.mtu.passed)
        {
            host.settings.insert(format!("path_mtu.{}", found.to), passed.to_string());
        }
        let Some(words) = found.words() else { continue };
        recording.events.insert(
            0,
            Event {
                t_ns: 0,
                kind: EventKind::MtuBlackHole,
                flow: None,
                host: Some(found.from.clone()),
                detail: format!("packets of more than {} bytes are lost", found.mtu.passed.unwrap_or(0)),
                burst_packet: None,
            },
        );
        recording.info.warnings.push(words);
    }
}

impl Found {
    /// What is wrong, and what to do; `None` if nothing is.
    fn words(&self) -> Option<String> {
        let Found { from, to, device, other_mtu, mtu } = self;
        let passed = mtu.passed.filter(|passed| *passed < mtu.tried && !mtu.is_reported)?;
        // An interface takes a VLAN tag more than its MTU.
        const TAG: u32 = 4;
        let other_mtu = other_mtu.filter(|other| (*other..=other + TAG).contains(&passed));
        let passed = other_mtu.unwrap_or(passed);
        let remedy = format!(
            "Set one MTU along the path: `ip link set {device} mtu {passed}` at {from}, or a larger one where it is less"
        );
        Some(match other_mtu {
            Some(other) => format!(
                "MTU mismatch: the interface of {from} ({device}) has an MTU of {}, that of {to} {other}. Packets of \
                 more than {passed} bytes from {from} are lost, and nothing reports it. {remedy}",
                mtu.tried
            ),
            None => format!(
                "MTU black hole: packets of {} bytes, the MTU of {device}, do not pass from {from} to {to}, and no router \
                 reports it. The largest that pass have {passed} bytes. {remedy}; or let ICMP `fragmentation needed` \
                 pass, or set net.ipv4.tcp_mtu_probing=1 at {from}",
                mtu.tried
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tried: u32, passed: Option<u32>, is_reported: bool) -> Found {
        let mtu = PathMtu { tried, passed, is_reported };
        Found { from: "a".into(), to: "b".into(), device: "eth0".into(), other_mtu: Some(1500), mtu }
    }

    #[test]
    fn datagrams_that_ipv6_would_fragment_are_reported() {
        let run = wirespeed_scenario::testing::run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let told = |address: &str, mtu| {
            let address = address.parse().unwrap();
            let interface = Interface { device: "eth0".into(), address, rate_bps: None, mtu: Some(mtu) };
            fragmented(&run, [("a", &interface)].into_iter())
        };
        let [told_of] = &told("fd00::1", 1500)[..] else { panic!("datagrams of 1472 bytes") };
        assert!(told_of.contains("packets of 1520") && told_of.ends_with("1452 bytes at most"), "{told_of}");
        assert!(told("fd00::1", 1520).is_empty() && told("10.0.0.1", 1500).is_empty());
    }

    #[test]
    fn mtu_black_hole_is_named() {
        assert!(found(9000, Some(1504), false).words().unwrap().starts_with("MTU mismatch"));
        assert!(found(9000, Some(1400), false).words().unwrap().starts_with("MTU black hole"));
        // TCP learns of it; or all passes; or nothing is known.
        for fine in [found(9000, Some(1500), true), found(1500, Some(1500), false), found(1500, None, false)]
        {
            assert_eq!(fine.words(), None);
        }
    }
}
