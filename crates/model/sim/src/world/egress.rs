//! A host's own queue and those who send by it: what it holds of a socket, refuses, and drops later.

use super::World;
use super::flow::Endpoint;
use super::path::Way;
use crate::net::{Arrival, Body, Dropped, Train};

impl World {
    /// Those whose packets a host's queue has dropped without refusing them learn that their memory is free
    /// (`sock_wfree`, `tcp_wfree`); a TCP socket that was in its call reduces its window (`tcp_enter_cwr`).
    pub(super) fn notify_dropped(&mut self, pipe: u32) {
        for Dropped { train, told } in self.pipes[pipe as usize].take_gone() {
            let way = Way::of(&train.body);
            self.notify_refused(&train, way, train.packets.into());
            if way == Way::Back {
                continue;
            }
            let flow = &mut self.flows[train.flow as usize];
            match &mut flow.endpoint {
                Endpoint::Tcp(tcp) => {
                    if told {
                        tcp.sender.on_local_drop(train.packets.into());
                    }
                    self.take_back(&train, train.packets.into());
                }
                Endpoint::Udp(_) => {
                    flow.leave_host(&train);
                    self.free_memory(train.flow);
                }
            }
        }
    }

    /// Datagrams of a flow are due: its writer's thread sends them, where its host has threads.
    pub(super) fn send_datagrams(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let host = flow.origin(Way::Forward);
        let Endpoint::Udp(udp) = &mut flow.endpoint else { return };
        match &mut self.hosts[host] {
            Some(inside) => {
                udp.next = None;
                inside.wake_sender(index, self.now);
                self.plan_host(host);
            }
            None => udp.send(self.now, index, &mut self.outgoing),
        }
    }

    /// Some of what a flow of datagrams has in its host is through.
    pub(super) fn free_memory(&mut self, index: u32) {
        let flow = &self.flows[index as usize];
        let host = flow.origin(Way::Forward);
        if let Some(inside) = &mut self.hosts[host] {
            inside.free_memory(index, flow.in_host, self.now);
            self.plan_host(host);
        }
    }

    /// Packets of a train leave their socket's memory without having left the host.
    fn take_back(&mut self, train: &Train, packets: u64) {
        if let (Endpoint::Tcp(tcp), Body::Data(_)) =
            (&mut self.flows[train.flow as usize].endpoint, &train.body)
        {
            tcp.sender.take_back(packets, self.now);
            self.plan_sender(train.flow);
        }
    }

    /// A train of data leaves its host's queue: its memory goes back to who sent it, if that does not know already. Answers
    /// whether it was told.
    pub(super) fn give_back(&mut self, pipe: u32, train: &Train) -> bool {
        let flow = &mut self.flows[train.flow as usize];
        match (&mut flow.endpoint, &train.body) {
            (Endpoint::Tcp(_), _) if self.pipes[pipe as usize].tells_departures => return false,
            (Endpoint::Tcp(tcp), Body::Data(_)) => tcp.sender.begin_leaving(train),
            (Endpoint::Tcp(_), _) => {}
            (Endpoint::Udp(_), _) => {
                flow.leave_host(train);
                self.free_memory(train.flow);
            }
        }
        true
    }

    /// The first acknowledgements of the first train on a pipe come to their sender, up to those that may let it send. The others
    /// come at their own time: by then the queue has decided.
    pub(super) fn take_part(&mut self, pipe: u32, index: u32) {
        let place = &mut self.pipes[pipe as usize];
        let Some(train) = place.first() else { return };
        let flow = &mut self.flows[index as usize];
        let taken = flow.taken_at_once(train, self.until);
        let is_whole = taken == train.packets;
        let part = if is_whole { train.clone() } else { train.part(0, taken) };
        let next = if is_whole { place.remove_first(taken) } else { place.skip_first(taken) };
        self.events.set_arrival(pipe, next);
        Self::show_arriving(&mut self.captures, flow, &part);
        flow.count_arrival(&part, Way::Back);
        flow.take_at_once(&part, &mut self.outgoing);
        self.settle_arrival(index, Way::Back);
    }

    /// A socket learns when the packets of a train leave that its host's queue has accepted: all as `arrival` says, or those
    /// that have passed.
    fn tell_departures(&mut self, train: &Train, arrival: Option<Arrival>) {
        let (Endpoint::Tcp(tcp), Body::Data(_)) =
            (&mut self.flows[train.flow as usize].endpoint, &train.body)
        else {
            return;
        };
        match arrival {
            Some(arrival) => tcp.sender.will_leave(train.at, arrival, train.packets),
            None => {
                for part in &self.passing {
                    tcp.sender.will_leave(train.at, part.arrival(), part.packets);
                }
            }
        }
    }

    /// A train was withdrawn before its host's queue was asked.
    pub(super) fn discard(&mut self, train: &Train, way: Way) {
        if let (Endpoint::Tcp(tcp), Body::Data(data)) =
            (&mut self.flows[train.flow as usize].endpoint, &train.body)
        {
            tcp.sender.forget_withdrawn(data.first, train.packets);
        }
        self.notify_refused(train, way, train.packets.into());
        self.take_back(train, train.packets.into());
    }

    /// So many packets of a train are not sent: their host's queue refused them or others before them.
    pub(super) fn notify_refused(&mut self, train: &Train, way: Way, packets: u64) {
        if packets > 0
            && let Some(inside) = &mut self.hosts[self.flows[train.flow as usize].origin(way)]
        {
            inside.refuse(train, packets);
        }
    }

    /// Data enters its own host's queue, which tells the socket what it holds and what it refused.
    pub(super) fn offer_to_host(&mut self, pipe: u32, train: Train) {
        let place = &mut self.pipes[pipe as usize];
        let before = place.refused();
        let arrival = place.offer(&train, &mut self.passing);
        let refused = place.refused() - before;
        let flow = &mut self.flows[train.flow as usize];
        // Before the queue of a host without a machine stands a token bucket, which splits a GSO packet: TCP hears of a
        // refusal only if no packet of it got in (`tbf_segment`).
        let is_told = self.hosts[flow.origin(Way::Forward)].is_some() || refused == u64::from(train.packets);
        let withdraws = place.refuses_last;
        match &mut flow.endpoint {
            Endpoint::Tcp(tcp) if refused > 0 => {
                if is_told {
                    let tried = match &train.body {
                        Body::Data(data) if withdraws => {
                            tcp.sender.withdraw(data.first + u64::from(train.packets) - refused, refused)
                        }
                        _ => refused,
                    };
                    tcp.sender.on_local_drop(tried);
                    if tried < refused {
                        place.forget_refused(refused - tried);
                        flow.discount_departure(&train.part(0, (refused - tried) as u32), Way::Forward);
                    }
                }
                self.take_back(&train, refused);
            }
            Endpoint::Tcp(_) => {}
            Endpoint::Udp(_) => flow.enter_host(&train, refused),
        }
        self.notify_refused(&train, Way::Forward, refused);
        self.note_accepted(&train, train.packets - refused as u32);
        if self.pipes[pipe as usize].tells_departures {
            self.tell_departures(&train, arrival);
        }
        match arrival {
            Some(arrival) => self.carry_whole(pipe, train, arrival),
            None => self.carry_parts(pipe),
        }
        self.notify_dropped(pipe);
    }
}
