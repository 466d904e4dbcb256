//! What threads do when they run: read, write, look at captured packets, other work. It takes effect at its end.

use super::core::Kind;
use super::cost::times;
use super::socket::SEND_BUFFER;
use super::softirq::Place;
use super::thread::{Role, ThreadId};
use super::{Host, Outside};
use crate::world::Endpoint;
use wirespeed_units::{SimTime, Span};

/// Datagrams that are read, and packets that are captured, as one piece of work.
const TOGETHER: u64 = 16;
/// Other work as one piece.
const LOAD_PIECE: Span = Span::us(100);

impl Host {
    /// A thread begins a piece of work, or finds nothing to do and sleeps.
    pub(super) fn start_work(&mut self, id: ThreadId, at: SimTime, outside: &mut Outside) {
        let ends = match self.threads[id].role {
            Role::Ksoftirqd => None,
            Role::Reader(flow) => self.start_reading(id, flow, at, outside),
            Role::Writer(flow) => self.start_writing(id, flow, at, outside),
            Role::Capture => {
                let packets = self.capture_packets.min(TOGETHER);
                self.capture_packets -= packets;
                (packets > 0).then(|| self.ends(id, at, times(self.settings.costs.capture, packets)))
            }
            Role::Load(_) => {
                let left = &mut self.threads[id].left;
                let piece = if *left < LOAD_PIECE { *left } else { LOAD_PIECE };
                *left = *left - piece;
                (piece > Span::ZERO).then(|| at + piece)
            }
        };
        match ends {
            Some(until) => self.account(id, at, until),
            None => self.sleep(id),
        }
    }

    /// When work of a nominal cost ends, a switch to the thread included if there is one.
    fn ends(&mut self, id: ThreadId, at: SimTime, nominal: Span) -> SimTime {
        let switch = if std::mem::take(&mut self.threads[id].switches) {
            self.settings.costs.wakeup
        } else {
            Span::ZERO
        };
        at + self.takes(self.threads[id].core, at, nominal + switch)
    }

    /// The same of a piece of a thread's work that has an effect when it ends ([`Self::finish_work`]).
    fn finishes(&mut self, id: ThreadId, at: SimTime, nominal: Span) -> SimTime {
        let core = self.threads[id].core;
        self.cores[core].finish = Some(id);
        self.ends(id, at, nominal)
    }

    fn account(&mut self, id: ThreadId, at: SimTime, until: SimTime) {
        let thread = &mut self.threads[id];
        let core = &mut self.cores[thread.core];
        thread.virtual_time += until - at;
        core.ran += until - at;
        core.spend(thread.kind(), at, until);
    }

    fn start_reading(
        &mut self,
        id: ThreadId,
        flow: u32,
        at: SimTime,
        outside: &mut Outside,
    ) -> Option<SimTime> {
        let core = self.threads[id].core;
        let socket = self.sockets.get_mut(&flow)?;
        let filled = self.cores[socket.filled_by].node;
        if let Some(datagrams) = &socket.datagrams {
            let packets = datagrams.waiting.min(TOGETHER);
            if packets == 0 {
                return None;
            }
            let (bytes, memory) = (packets * datagrams.payload, datagrams.waiting * datagrams.each);
            socket.working_on = packets;
            self.note_unread(flow, memory);
            let (copying, carried) = self.copy(core, at, bytes, filled);
            let calls = times(self.settings.costs.syscall, packets);
            return Some(self.finishes(id, at, calls + copying).max(carried));
        }
        if !socket.backlog.is_empty() {
            return Some(self.take_socket_backlog(id, flow, at, outside));
        }
        let Endpoint::Tcp(tcp) = &outside.flows[flow as usize].endpoint else { return None };
        let mss = u64::from(tcp.sender.state().mss());
        let packets = tcp.receiver.unread().min((self.settings.costs.call.get() / mss).max(1));
        if packets == 0 {
            return None;
        }
        socket.working_on = packets;
        let (copying, carried) = self.copy(core, at, packets * mss, filled);
        let until = self.finishes(id, at, self.settings.costs.syscall + copying).max(carried);
        if let Some(socket) = self.sockets.get_mut(&flow) {
            socket.locked_until = until;
        }
        Some(until)
    }

    /// What came while the reader had the lock is TCP's work on the reader's core (`release_sock`).
    fn take_socket_backlog(
        &mut self,
        id: ThreadId,
        flow: u32,
        at: SimTime,
        outside: &mut Outside,
    ) -> SimTime {
        let begin = self.ends(id, at, Span::ZERO);
        let mut place = Place { core: self.threads[id].core, at: begin };
        let Some(socket) = self.sockets.get_mut(&flow) else { return begin };
        let waiting = std::mem::take(&mut socket.backlog);
        socket.backlog_memory = 0;
        for train in waiting {
            self.receive_data(train, &mut place, outside);
        }
        outside.touched.push(flow);
        place.at
    }

    fn start_writing(
        &mut self,
        id: ThreadId,
        flow: u32,
        at: SimTime,
        outside: &mut Outside,
    ) -> Option<SimTime> {
        let Endpoint::Tcp(tcp) = &outside.flows[flow as usize].endpoint else {
            return self.start_sending(id, flow, at, outside);
        };
        if !tcp.sender.wants_writer() {
            return None;
        }
        let mss = u64::from(tcp.sender.state().mss());
        let packets = (self.settings.costs.call.get() / mss).max(1);
        self.sockets.get_mut(&flow)?.working_on = packets;
        let copying = times(self.settings.costs.copy_cached, packets * mss);
        Some(self.finishes(id, at, self.settings.costs.syscall + copying))
    }

    /// The writer of datagrams sends the next (`sendto`) if it is due, and sleeps until it is. Behind time it sends one after
    /// the other, as iperf 2 does (`Client::RunUDP`, "running delay"): nothing is given up but what is late at the end.
    fn start_sending(
        &mut self,
        id: ThreadId,
        flow: u32,
        at: SimTime,
        outside: &mut Outside,
    ) -> Option<SimTime> {
        let sending = &mut outside.flows[flow as usize];
        let held = sending.in_host;
        let Endpoint::Udp(udp) = &mut sending.endpoint else { return None };
        udp.next = udp.due(at);
        if udp.next? > at {
            outside.touched.push(flow);
            return None;
        }
        udp.next = None;
        let bytes = u64::from(udp.frame);
        let socket = self.sockets.get_mut(&flow)?;
        socket.awaits_memory = held >= SEND_BUFFER;
        if socket.awaits_memory {
            return None;
        }
        let costs = &self.settings.costs;
        let call = costs.syscall + times(costs.copy_cached, bytes) + costs.tx_segment;
        Some(self.finishes(id, at, call))
    }

    /// The next datagram of a flow is due.
    pub fn wake_sender(&mut self, flow: u32, at: SimTime) {
        if let Some(socket) = self.sockets.get(&flow) {
            self.wake(socket.thread, at);
        }
    }

    /// The packets of a flow that its host has not sent take `held` bytes of memory now: who waits for some goes on when at
    /// most half of the buffer is taken (`sock_def_write_space`).
    pub fn free_memory(&mut self, flow: u32, held: u64, at: SimTime) {
        if let Some(socket) = self.sockets.get_mut(&flow)
            && socket.awaits_memory
            && 2 * held <= SEND_BUFFER
        {
            socket.awaits_memory = false;
            let thread = socket.thread;
            self.wake(thread, at);
        }
    }

    /// A thread's piece of work is done.
    pub(super) fn finish_work(&mut self, id: ThreadId, at: SimTime, outside: &mut Outside) {
        let (Role::Reader(flow) | Role::Writer(flow)) = self.threads[id].role else { return };
        let sent = outside.out.len();
        outside.touched.push(flow);
        let Some(socket) = self.sockets.get_mut(&flow) else { return };
        let packets = std::mem::take(&mut socket.working_on);
        match (&mut outside.flows[flow as usize].endpoint, self.threads[id].role) {
            (Endpoint::Tcp(tcp), Role::Reader(_)) => {
                socket.read += packets;
                tcp.receiver.read_some(at, packets, outside.out);
                let memory = tcp.receiver.memory();
                self.note_unread(flow, memory);
            }
            (Endpoint::Tcp(tcp), _) => tcp.sender.grant(at, packets, outside.out),
            (Endpoint::Udp(udp), Role::Writer(_)) => outside.out.push(udp.write(at, flow)),
            (Endpoint::Udp(_), _) => {
                if let Some(datagrams) = &mut socket.datagrams {
                    datagrams.waiting -= packets;
                    datagrams.read += packets;
                }
            }
        }
        let mut place = Place { core: self.threads[id].core, at };
        self.send_from(sent, &mut place, outside);
        if place.at > at {
            self.account(id, at, place.at);
        }
    }

    /// Whether a thread writes.
    pub(super) fn is_writer(&self, id: ThreadId) -> bool {
        matches!(self.threads[id].role, Role::Writer(_))
    }

    /// Work of a kind is done on a core from outside of its own events, as soon as it is free.
    pub(super) fn steal(&mut self, core: usize, kind: Kind, at: SimTime, nominal: Span) -> SimTime {
        let begin = at.max(self.cores[core].free_at);
        let until = begin + self.takes(core, begin, nominal);
        self.cores[core].spend(kind, begin, until);
        until
    }
}
