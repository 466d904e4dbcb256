//! The interface of a host that is infinitely fast and interrupts only now and then. The packets that have come by the interrupt are
//! received at that instant, as one poll (NAPI) that takes no time.

use super::World;
use super::build::egress_rate;
use super::flow::{Endpoint, Flow};
use super::path::Way;
use crate::host::{Moderation, Ring, RxQueue, merge};
use crate::net::{Body, Train};
use wirespeed_scenario::run::{self, Run};
use wirespeed_units::{SimTime, Span};

/// A receive queue without an end, and its use.
#[derive(Debug)]
pub(super) struct Moderated {
    /// Name of its host.
    pub host: String,
    queue: RxQueue,
    gro: bool,
    /// Its host's own queue decides what a socket sends next: each acknowledgement is taken by itself.
    one_by_one: bool,
}

/// The interfaces of a run's hosts that are moderated and no part of a modelled inside.
pub(super) fn interfaces(run: &Run) -> Vec<Option<Box<Moderated>>> {
    run.hosts.iter().map(|host| Some(Box::new(Moderated::of(host, host.moderation?)))).collect()
}

impl Moderated {
    fn of(host: &run::Host, moderation: run::Moderation) -> Moderated {
        let moderation = Moderation::fixed(moderation.interval, moderation.frames, 0);
        Moderated {
            host: host.name.clone(),
            queue: RxQueue::new(0, Ring::new(u32::MAX, None, u32::MAX), moderation),
            gro: host.offloads.gro,
            one_by_one: egress_rate(host).is_some(),
        }
    }

    /// A train comes from the wire: its packets reach the queue at their own times.
    pub fn arrive(&mut self, train: Train) {
        self.queue.arrive(train);
    }

    /// When it interrupts next, if no other packet comes.
    pub fn next_interrupt(&self) -> Option<SimTime> {
        self.queue.next_irq()
    }

    /// Packets that wait for an interrupt, or are known to come.
    pub fn held(&self) -> u64 {
        self.queue.held()
    }

    /// It interrupts: all that has come by `at`, as the stack gets it.
    fn interrupt(&mut self, at: SimTime) -> Vec<Train> {
        self.queue.admit(at, |_| unreachable!("the queue has no end"));
        self.queue.raise(at);
        let mut taken = Vec::new();
        self.queue.take(u32::MAX, &mut taken);
        if self.gro {
            merge(&mut taken);
        }
        for train in &mut taken {
            train.at = at;
            train.gap = Span::ZERO;
        }
        taken
    }
}

impl World {
    /// The interface of a host interrupts.
    pub(super) fn on_interrupt(&mut self, index: usize, at: SimTime) {
        let Some(interface) = &mut self.interfaces[index] else { return };
        // Another packet may have put it off.
        if interface.next_interrupt().is_none_or(|due| due > at) {
            return self.plan_host(index);
        }
        let (gro, one_by_one) = (interface.gro, interface.one_by_one);
        let trains = interface.interrupt(at);
        let mut polled = std::mem::take(&mut self.touched);
        for train in &trains {
            if self.flows[train.flow as usize].begin_poll(train) {
                polled.push(train.flow);
            }
        }
        for train in trains {
            let way = Way::of(&train.body);
            if one_by_one && way == Way::Back {
                for packet in 0..train.packets {
                    self.receive(&train.part(packet, 1), way, false);
                }
            } else {
                self.receive(&train, way, gro);
            }
        }
        for flow in polled.drain(..) {
            self.flows[flow as usize].end_poll(&mut self.outgoing);
            self.settle(flow);
        }
        self.touched = polled;
        self.plan_host(index);
    }

    fn receive(&mut self, train: &Train, way: Way, gro: bool) {
        let flow = &mut self.flows[train.flow as usize];
        Self::show_arriving(&mut self.captures, flow, train);
        flow.count_arrival(train, way);
        let is_taken = gro && train.packets > 1 && flow.take_merged(train, &mut self.outgoing);
        if !is_taken {
            flow.take(train, &mut self.outgoing);
        }
        self.settle(train.flow);
    }
}

impl Flow {
    /// Packets are about to be received together with others; whether an application waits for the end of it, and none did before.
    fn begin_poll(&mut self, train: &Train) -> bool {
        match (&mut self.endpoint, &train.body) {
            (Endpoint::Tcp(tcp), Body::Data(_)) => tcp.receiver.begin_poll(),
            (Endpoint::Tcp(tcp), Body::Ack(_)) => tcp.sender.begin_poll(),
            _ => false,
        }
    }

    /// They have been received: the applications run, the reader or the writer.
    fn end_poll(&mut self, out: &mut Vec<Train>) {
        if let Endpoint::Tcp(tcp) = &mut self.endpoint {
            tcp.receiver.end_poll(out);
            tcp.sender.end_poll(out);
        }
    }

    /// Packets that GRO merged reach a socket that takes such; whether it does.
    fn take_merged(&mut self, train: &Train, out: &mut Vec<Train>) -> bool {
        let (Endpoint::Tcp(tcp), Body::Data(data)) = (&mut self.endpoint, &train.body) else { return false };
        tcp.receiver.on_merged(train, data, out);
        if tcp.receiver.is_finished() {
            self.finished.get_or_insert(train.at);
        }
        true
    }
}
