//! Packet captures at hosts' interfaces.

use super::World;
use super::path::Way;
use crate::net::{Addressing, Tap, Train};
use std::net::Ipv4Addr;
use wirespeed_scenario::run::{Flow, Run};

/// Where the receivers' ports begin; the substrates on Linux use the same (crates/lab/src/agent).
const FIRST_PORT: u16 = 5001;
/// Where the senders' ports begin, the first ephemeral one of Linux.
const FIRST_SENDER_PORT: u16 = 32_768;

/// A capture that is going on.
#[derive(Debug)]
pub(super) struct Capture {
    host: usize,
    tap: Tap,
}

impl Capture {
    pub(super) fn of(run: &Run) -> Vec<Capture> {
        let begin = |wanted: &wirespeed_scenario::run::Capture| {
            let host = run.hosts.iter().position(|host| host.name == wanted.at)?;
            Some(Capture { host, tap: Tap::new(wanted.snaplen, 0) })
        };
        run.captures.iter().filter_map(begin).collect()
    }
}

/// The hosts of a flow, and how its packets are addressed, forward and back.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    hosts: [usize; 2],
    addressing: [Addressing; 2],
}

impl Ends {
    /// The sending and the receiving host.
    pub(super) fn hosts(&self) -> [usize; 2] {
        self.hosts
    }

    pub(super) fn of(
        run: &Run,
        flow: &Flow,
        index: usize,
        mss: u32,
        timestamps: bool,
        scales: [u8; 2],
    ) -> Ends {
        let host = |name: &str| {
            run.hosts.iter().position(|host| host.name == name).expect("a run names only its own hosts")
        };
        let hosts = [host(&flow.from), host(&flow.to)];
        // A host's address is that of its access wire, as on Linux (crates/lab/src/layout.rs).
        let address =
            |host: usize| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + host as u32 * 4 + 1);
        let source = (address(hosts[0]), FIRST_SENDER_PORT.wrapping_add(index as u16));
        let destination = (address(hosts[1]), FIRST_PORT.wrapping_add(index as u16));
        let forward = Addressing { source, destination, mss, timestamps, window_scale: scales[0] };
        let back =
            Addressing { source: destination, destination: source, mss, timestamps, window_scale: scales[1] };
        Ends { hosts, addressing: [forward, back] }
    }
}

impl World {
    /// A train leaves a host or arrives there.
    pub(super) fn show(captures: &mut [Capture], ends: &Ends, train: &Train, arriving: bool) {
        let side = usize::from(Way::of(&train.body) == Way::Back);
        let host = ends.hosts[if arriving { 1 - side } else { side }];
        for capture in captures.iter_mut().filter(|capture| capture.host == host) {
            capture.tap.see(train, &ends.addressing[side]);
        }
    }

    /// The captures as files (pcap), by host.
    pub fn take_captures(&mut self, run: &Run) -> Vec<(String, Vec<u8>)> {
        let file = |capture: Capture| (run.hosts[capture.host].name.clone(), capture.tap.finish());
        std::mem::take(&mut self.captures).into_iter().map(file).collect()
    }
}
