//! Splitters: they relay the data of one connection of a flow to the next, through a bounded buffer.
//!
//! A relay reads as soon as data has arrived and its buffer has room. It writes as soon as the next socket has room. That is
//! how a process on an idle core works (`crates/run/agent/src/relay.rs`). With a full buffer it does not read, and the receive
//! window of the first connection closes.

use super::World;
use super::flow::{Endpoint, Flow, Tcp};
use crate::net::Train;
use wirespeed_scenario::run::Run;
use wirespeed_units::SimTime;

/// The relay of one flow at one splitter.
#[derive(Debug)]
pub(super) struct Relay {
    /// Numbers of the flows whose data it takes and brings on.
    upstream: usize,
    downstream: usize,
    /// Bytes that it holds at most.
    room: u64,
    /// Bytes of the whole flow; [`u64::MAX`]: no end.
    all: u64,
    /// Bytes that it has given to the application's side of the next socket: whole packets, and the last one.
    given: u64,
    /// Most bytes that it has held.
    most: u64,
    /// It has opened the next connection.
    has_begun: bool,
}

/// The relays of a run.
#[derive(Debug, Default)]
pub(super) struct Relays {
    all: Vec<Relay>,
    /// By flow: numbers of the relays that it brings data to, and has data from.
    of_flow: Vec<[Option<u32>; 2]>,
}

impl Relays {
    /// Those of a run, whose relayed senders have nothing to send yet.
    pub fn of(run: &Run, flows: &mut [Flow]) -> Relays {
        let mut relays = Relays::default();
        if !run.splits() {
            return relays;
        }
        relays.of_flow = vec![[None; 2]; flows.len()];
        for (downstream, planned) in run.flows.iter().enumerate().filter(|(_, flow)| flow.is_relayed()) {
            let Some(room) = planned.leg.as_ref().and_then(|leg| leg.relay_buffer) else { continue };
            // The legs of a flow stand one behind the other.
            let upstream = downstream - 1;
            if let Endpoint::Tcp(tcp) = &mut flows[downstream].endpoint {
                tcp.sender.await_writer();
            }
            let number = Some(relays.all.len() as u32);
            relays.of_flow[upstream][0] = number;
            relays.of_flow[downstream][1] = number;
            let all = planned.bytes.map_or(u64::MAX, |bytes| bytes.get().max(1));
            let room = room.get();
            relays.all.push(Relay { upstream, downstream, room, all, given: 0, most: 0, has_begun: false });
        }
        relays
    }
}

impl Relay {
    /// Moves what can be moved. Answers whether something was.
    fn carry(&mut self, up: &mut Tcp, down: &mut Tcp, now: SimTime, out: &mut Vec<Train>) -> bool {
        let mut moved = false;
        loop {
            let written = down.sender.written_bytes().min(self.all);
            let held = up.receiver.read_bytes().min(self.all) - written;
            let packets = up.receiver.unread().min((self.room - held) / up.receiver.segment());
            if packets == 0 {
                return moved;
            }
            moved = true;
            up.receiver.read_some(now, packets, out);
            let read = up.receiver.read_bytes().min(self.all);
            self.most = self.most.max(read - written);
            let segment = down.sender.segment();
            let whole = (read - self.given) / segment;
            let rest = read == self.all && self.given + whole * segment < read;
            self.given = if rest { read } else { self.given + whole * segment };
            down.sender.relay(now, whole + u64::from(rest), out);
        }
    }
}

impl World {
    /// A flow's ends have been at work: relays that have to do with it carry on.
    #[inline]
    pub(super) fn relay(&mut self, index: u32) {
        if self.relays.all.is_empty() {
            return;
        }
        for relay in self.relays.of_flow[index as usize].into_iter().flatten() {
            self.carry_on(relay as usize);
        }
    }

    fn carry_on(&mut self, number: usize) {
        let now = self.now;
        let relay = &mut self.relays.all[number];
        let (before, after) = self.flows.split_at_mut(relay.downstream);
        let (up, down) = (&mut before[relay.upstream], &mut after[0]);
        let (Endpoint::Tcp(up), Endpoint::Tcp(down)) = (&mut up.endpoint, &mut down.endpoint) else { return };
        let (upstream, downstream) = (relay.upstream as u32, relay.downstream as u32);
        if !relay.has_begun {
            if up.receiver.is_confirmed() {
                relay.has_begun = true;
                self.on_start(downstream);
            }
            return;
        }
        if !down.sender.state().established() || !relay.carry(up, down, now, &mut self.outgoing) {
            return;
        }
        if !self.outgoing.is_empty() {
            self.send_outgoing();
        }
        self.note_holding(upstream);
        self.plan_receiver(upstream);
        self.plan_sender(downstream);
    }
}

#[cfg(test)]
mod tests;
