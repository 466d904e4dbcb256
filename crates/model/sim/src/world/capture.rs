//! Packet captures at hosts' interfaces.
//!
//! Linux shows a packet to a capture when it hands it to the interface (`xmit_one`, net/core/dev.c): behind the queueing
//! discipline, so that what that drops is not seen, and again if the interface had no descriptor free and gave it back.

use super::World;
use super::build::{egress_rate, keeps_order, largest_frame, ring};
use super::flow::{Endpoint, Flow};
use super::path::Way;
use crate::net::{Addressing, Tap, Train};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use wirespeed_scenario::run::{Host, Run};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// Where the receivers' ports begin; the substrates on Linux use the same (crates/run/agent/src).
const FIRST_PORT: u16 = 5001;
/// Where the senders' ports begin, the first ephemeral one of Linux.
const FIRST_SENDER_PORT: u16 = 32_768;

/// A capture that is going on.
#[derive(Debug)]
pub(super) struct Capture {
    host: usize,
    tap: Tap,
    /// What it leaves by, if that can make it wait.
    interface: Option<Interface>,
}

/// The way out of a host.
#[derive(Debug)]
struct Interface {
    rate: Rate,
    /// A packet is through when it begins to be sent ([`crate::net::LinkSettings::bucket`]).
    bucket: bool,
    ring: Option<Ring>,
}

/// A transmit ring behind a queue that keeps the order.
#[derive(Debug)]
struct Ring {
    descriptors: usize,
    /// What the queue has accepted and the interface has not sent.
    accepted: VecDeque<Accepted>,
    /// When the packets sent last began to be, as many as there are descriptors.
    begun: VecDeque<SimTime>,
    /// When the packet sent last was through.
    free_at: SimTime,
    /// When it entered the ring.
    entered: SimTime,
}

/// Packets as they came to the queue.
#[derive(Debug)]
struct Accepted {
    at: SimTime,
    gap: Span,
    packets: u32,
}

impl Capture {
    pub(super) fn of(run: &Run) -> Vec<Capture> {
        let begin = |wanted: &wirespeed_scenario::run::Capture| {
            let host = run.hosts.iter().position(|host| host.name == wanted.at)?;
            let interface = Interface::of(&run.hosts[host], largest_frame(run));
            Some(Capture { host, tap: Tap::new(wanted.snaplen, 0), interface })
        };
        run.captures.iter().filter_map(begin).collect()
    }
}

impl Interface {
    fn of(host: &Host, frame: u64) -> Option<Interface> {
        // Where the order changes, which packet is handed over when is not told here: it shows when it begins to be sent.
        let ring = ring(host, frame).filter(|_| keeps_order(host)).map(Ring::new);
        egress_rate(host).map(|rate| Interface { rate, bucket: host.hardware.is_none(), ring })
    }
}

impl Ring {
    fn new(descriptors: u32) -> Ring {
        Ring {
            descriptors: descriptors.max(1) as usize,
            accepted: VecDeque::new(),
            begun: VecDeque::new(),
            free_at: SimTime::START,
            entered: SimTime::START,
        }
    }

    /// The next packet was through at `end`. Returns when it was handed to the interface, and when in vain before that.
    fn hand_over(&mut self, end: SimTime) -> (Option<SimTime>, SimTime) {
        let at = self.next_accepted();
        // The descriptor it takes is that of the packet so many before it.
        let free = match self.begun.len() < self.descriptors {
            true => None,
            false => self.begun.pop_front(),
        };
        self.begun.push_back(at.max(self.free_at));
        self.free_at = end;
        // It was the first of the queue as soon as the packet before it had entered.
        let first = at.max(self.entered);
        self.entered = free.map_or(first, |free| free.max(first));
        ((self.entered > first).then_some(first), self.entered)
    }

    /// When the next packet came to the queue.
    fn next_accepted(&mut self) -> SimTime {
        let Some(next) = self.accepted.front_mut() else { return self.free_at };
        let at = next.at;
        next.at = at + next.gap;
        next.packets -= 1;
        if next.packets == 0 {
            self.accepted.pop_front();
        }
        at
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
    // A host's address is that of its access wire, as on Linux (crates/base/scenario/src/layout.rs).
    let address = |host: usize| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + host as u32 * 4 + 1);
    let source = (address(hosts[0]), FIRST_SENDER_PORT.wrapping_add(index as u16));
    let destination = (address(hosts[1]), FIRST_PORT.wrapping_add(index as u16));
    let forward = Addressing { source, destination, mss, timestamps, window_scale };
    let back = Addressing { source: destination, destination: source, ..forward };
    [forward, back]
}

/// The captures at the host that a train of `flow` comes from or arrives at, and how its packets are addressed.
#[inline]
fn concerned<'a>(
    captures: &'a mut [Capture],
    flow: &'a Flow,
    train: &'a Train,
    arriving: bool,
) -> impl Iterator<Item = (&'a mut Capture, &'a Addressing)> {
    // Nothing is worked out where nobody captures: every train comes here several times.
    captures.iter_mut().filter_map(move |capture| {
        let side = usize::from(Way::of(&train.body) == Way::Back);
        let host = flow.path.hosts[if arriving { 1 - side } else { side }];
        let addressing = flow.addressing.as_ref()?;
        (capture.host == host).then_some((capture, &addressing[side]))
    })
}

impl World {
    /// A train arrives at a host.
    #[inline(always)]
    pub(super) fn show_arriving(captures: &mut [Capture], flow: &Flow, train: &Train) {
        if !captures.is_empty() {
            Self::show(captures, flow, train, true);
        }
    }

    /// A train leaves a host by an interface that is never the limit.
    #[inline(always)]
    pub(super) fn show_leaving(captures: &mut [Capture], flow: &Flow, train: &Train) {
        if !captures.is_empty() {
            Self::show(captures, flow, train, false);
        }
    }

    #[inline(never)]
    fn show(captures: &mut [Capture], flow: &Flow, train: &Train, arrives: bool) {
        for (capture, addressing) in concerned(captures, flow, train, arrives) {
            if arrives || capture.interface.is_none() {
                capture.tap.see(train, addressing, |packet| flow.place(packet));
            }
        }
    }

    /// The queue of a host's interface has accepted the first `packets` of a train.
    #[inline]
    pub(super) fn note_accepted(&mut self, train: &Train, packets: u32) {
        for (capture, _) in concerned(&mut self.captures, &self.flows[train.flow as usize], train, false) {
            if let Some(ring) = capture.interface.as_mut().and_then(|interface| interface.ring.as_mut())
                && packets > 0
            {
                ring.accepted.push_back(Accepted { at: train.at, gap: train.gap, packets });
            }
        }
    }

    /// The interface of a host has sent a train: each packet was through at its time.
    #[inline]
    pub(super) fn show_sent(captures: &mut [Capture], flow: &Flow, train: &Train) {
        for (capture, addressing) in concerned(captures, flow, train, false) {
            let Some(interface) = &mut capture.interface else { continue };
            let lasts = interface.rate.serialisation(Bytes::new(u64::from(train.frame)));
            for i in 0..train.packets {
                let end = train.at + train.gap * i64::from(i);
                let (in_vain, entered) = match &mut interface.ring {
                    Some(ring) => ring.hand_over(end),
                    None if interface.bucket => (None, end),
                    None => (None, end + Span::ps(-lasts.picoseconds())),
                };
                for at in in_vain.into_iter().chain([entered]) {
                    capture.tap.see_one(train, i, at, addressing, |packet| flow.place(packet));
                }
            }
        }
    }

    /// The captures as files (pcap), by host.
    pub fn take_captures(&mut self, run: &Run) -> Vec<(String, Vec<u8>)> {
        let file = |capture: Capture| (run.hosts[capture.host].name.clone(), capture.tap.finish());
        std::mem::take(&mut self.captures).into_iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven packets at once, three descriptors, 100 ns each: the first four go at once (one is being sent), each further
    /// one is offered when the one before it has entered, in vain, and enters when a descriptor is free.
    #[test]
    fn a_full_ring_gives_packets_back_once() {
        let mut ring = Ring::new(3);
        ring.accepted.push_back(Accepted { at: SimTime::START, gap: Span::ZERO, packets: 7 });
        let at = |nanoseconds| SimTime::START + Span::ns(nanoseconds);
        let seen: Vec<_> = (1..=7).map(|n| ring.hand_over(at(100 * n))).collect();
        let expected = [
            (None, at(0)),
            (None, at(0)),
            (None, at(0)),
            // The first began to be sent at once: its descriptor counts as free.
            (None, at(0)),
            (Some(at(0)), at(100)),
            (Some(at(100)), at(200)),
            (Some(at(200)), at(300)),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn an_idle_interface_takes_packets_as_they_come() {
        let mut ring = Ring::new(1);
        ring.accepted.push_back(Accepted { at: SimTime::START, gap: Span::us(1), packets: 3 });
        let at = |nanoseconds| SimTime::START + Span::ns(nanoseconds);
        let seen: Vec<_> = (0..3).map(|n| ring.hand_over(at(1_000 * n + 100))).collect();
        assert_eq!(seen, [(None, at(0)), (None, at(1_000)), (None, at(2_000))]);
    }
}
