//! Packet captures at hosts' interfaces.

use super::World;
use super::flow::{Endpoint, Flow};
use super::path::Way;
use crate::net::{Addressing, Tap, Train};
use std::net::Ipv4Addr;
use wirespeed_scenario::run::Run;

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

/// How the packets of flow number `index` between `hosts` are addressed, forward and back.
pub(super) fn addressing(hosts: [usize; 2], index: usize, endpoint: &Endpoint) -> [Addressing; 2] {
    let (mss, timestamps, window_scale) = match endpoint {
        Endpoint::Tcp(tcp) => {
            let state = tcp.sender.state();
            (state.mss(), state.uses_timestamps(), tcp.receiver.window_scale())
        }
        Endpoint::Udp(udp) => (udp.payload, false, 0),
    };
    // A host's address is that of its access wire, as on Linux (crates/lab/src/layout.rs).
    let address = |host: usize| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + host as u32 * 4 + 1);
    let source = (address(hosts[0]), FIRST_SENDER_PORT.wrapping_add(index as u16));
    let destination = (address(hosts[1]), FIRST_PORT.wrapping_add(index as u16));
    let forward = Addressing { source, destination, mss, timestamps, window_scale };
    let back = Addressing { source: destination, destination: source, ..forward };
    [forward, back]
}

impl World {
    /// A train leaves a host or arrives there.
    #[inline]
    pub(super) fn show(captures: &mut [Capture], flow: &Flow, train: &Train, arriving: bool) {
        let Some(addressing) = &flow.addressing else { return };
        let side = usize::from(Way::of(&train.body) == Way::Back);
        let host = flow.path.hosts[if arriving { 1 - side } else { side }];
        for capture in captures.iter_mut().filter(|capture| capture.host == host) {
            capture.tap.see(train, &addressing[side]);
        }
    }

    /// The captures as files (pcap), by host.
    pub fn take_captures(&mut self, run: &Run) -> Vec<(String, Vec<u8>)> {
        let file = |capture: Capture| (run.hosts[capture.host].name.clone(), capture.tap.finish());
        std::mem::take(&mut self.captures).into_iter().map(file).collect()
    }
}
