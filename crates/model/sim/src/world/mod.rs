//! A run as components that hand trains to each other, and the loop that lets time pass.

mod alone;
mod application;
mod build;
mod capture;
mod chance;
#[cfg(test)]
mod closed_window;
mod connection;
mod early;
mod egress;
mod flow;
mod held_back;
mod inside;
mod late;
mod limits;
mod moderated;
mod path;
mod record;
mod relay;
mod row;
mod udp;

pub use build::{Unsupported, check};
pub use chance::depends_on_seed;
pub use flow::{Endpoint, Flow};
pub use late::Late;
pub use path::Way;
pub use record::{Recorder, ignored, lifecycle_events};

use crate::due::Due;
use crate::engine::{Event, Events};
use crate::host::Host;
use crate::net::{Arrival, Train};
use application::Applications;
use capture::Capture;
use moderated::Moderated;
use path::Pipe;
use relay::Relays;
use wirespeed_scenario::run::Run;
use wirespeed_units::SimTime;

/// Everything that moves.
pub struct World {
    events: Events,
    pipes: Vec<Pipe>,
    flows: Vec<Flow>,
    /// The inside of the hosts that have one.
    hosts: Vec<Option<Box<Host>>>,
    /// The interfaces of others that do not interrupt with each packet.
    interfaces: Vec<Option<Box<Moderated>>>,
    /// `false`: every packet is an event of its own.
    trains: bool,
    now: SimTime,
    /// When somebody looks at it next.
    until: SimTime,
    /// Filled and emptied within one event; kept to spare allocations.
    outgoing: Vec<Train>,
    /// As well: flows of which something changed.
    touched: Vec<u32>,
    passing: Vec<Train>,
    captures: Vec<Capture>,
    /// By host: flows whose receivers there hold acknowledgements back.
    holding: Vec<Vec<u32>>,
    relays: Relays,
    applications: Applications,
    handled: u64,
    late: Late,
}

impl World {
    /// The world of a run.
    ///
    /// # Errors
    /// What the run asks for that the model lacks.
    pub fn of(run: &Run) -> Result<World, Unsupported> {
        let (pipes, mut flows) = build::build(run)?;
        let hosts = inside::hosts(run, &mut flows);
        let relays = Relays::of(run, &mut flows);
        let applications = Applications::of(run, &mut flows);
        let mut world = World {
            events: Events::default(),
            pipes,
            flows,
            hosts,
            interfaces: moderated::interfaces(run),
            trains: build::moves_trains(run),
            now: SimTime::START,
            until: SimTime::START,
            outgoing: Vec::new(),
            touched: Vec::new(),
            passing: Vec::new(),
            captures: Capture::of(run),
            holding: vec![Vec::new(); run.hosts.len()],
            relays,
            applications,
            handled: 0,
            late: Late::default(),
        };
        // A splitter begins when a connection reaches it, and ends with that.
        for (index, flow) in run.flows.iter().enumerate().filter(|(_, flow)| !flow.is_relayed()) {
            world.events.push(SimTime::START + flow.start, Event::Start(index as u32));
            world.events.push(SimTime::START + flow.stop, Event::Stop(index as u32));
        }
        for host in 0..world.hosts.len() {
            world.plan_host(host);
        }
        Ok(world)
    }

    /// Lets everything happen that is due until `end`, included.
    pub fn run_until(&mut self, end: SimTime) {
        self.until = end;
        while let Some((at, event)) = self.events.pop_until(end) {
            self.late.follow(self.now, at);
            self.now = at;
            self.handled += 1;
            match event {
                Event::Arrival(pipe) => self.on_arrival(pipe),
                Event::Wake(pipe) => self.on_wake(pipe),
                Event::Entry(pipe) => self.on_entry(pipe),
                Event::Sender(flow) => self.on_sender_timer(flow, at),
                Event::Receiver(flow) => self.on_receiver_timer(flow, at),
                Event::Host(host) => self.on_host(host as usize, at),
                Event::Start(flow) => self.on_start(flow),
                Event::Stop(flow) => self.on_stop(flow),
            }
        }
        self.now = end;
    }

    /// What was due before what caused it.
    pub fn late(&self) -> Late {
        let inside: u64 = self.hosts.iter().flatten().map(|host| host.late().backward).sum();
        Late { backward: self.late.backward + inside, ..self.late }
    }

    /// Events handled so far.
    pub fn events_handled(&self) -> u64 {
        self.handled
    }

    fn on_start(&mut self, index: u32) {
        let now = self.now;
        self.enter_path(index as usize);
        let flow = &mut self.flows[index as usize];
        flow.started = Some(now);
        match &mut flow.endpoint {
            Endpoint::Tcp(tcp) => tcp.sender.connect(now, &mut self.outgoing),
            Endpoint::Udp(udp) => {
                flow.established = Some(now);
                udp.begin(now);
                self.send_datagrams(index);
            }
        }
        self.settle(index);
    }

    fn on_stop(&mut self, index: u32) {
        match &mut self.flows[index as usize].endpoint {
            Endpoint::Tcp(tcp) => tcp.sender.close(),
            Endpoint::Udp(udp) => udp.stop(self.now),
        }
    }

    fn on_sender_timer(&mut self, index: u32, at: SimTime) {
        let flow = &mut self.flows[index as usize];
        if flow.sender_event != Due::at(at) {
            if flow.later_sender_event == Due::at(at) {
                flow.later_sender_event = Due::NEVER;
            }
            return;
        }
        flow.sender_event = std::mem::take(&mut flow.later_sender_event);
        match &mut flow.endpoint {
            Endpoint::Tcp(tcp) => {
                if tcp.sender.deadline().has_come(at) {
                    tcp.sender.on_timer(at, &mut self.outgoing);
                }
            }
            Endpoint::Udp(_) => self.send_datagrams(index),
        }
        self.settle(index);
    }

    fn on_receiver_timer(&mut self, index: u32, at: SimTime) {
        let flow = &mut self.flows[index as usize];
        if flow.receiver_event != Due::at(at) {
            return;
        }
        flow.receiver_event = Due::NEVER;
        let mut releases = false;
        if let Endpoint::Tcp(tcp) = &mut flow.endpoint
            && tcp.receiver.deadline().has_come(at)
        {
            releases = tcp.receiver.may_release_at().has_come(at);
            tcp.receiver.on_timer(at, &mut self.outgoing);
        }
        self.settle(index);
        if releases {
            self.release_with(index, at);
        }
    }

    /// The first train on a pipe is at its end.
    fn on_arrival(&mut self, pipe: u32) {
        if self.flows.len() > CACHED {
            self.prepare(pipe);
        }
        let place = &mut self.pipes[pipe as usize];
        let Some(train) = place.first() else { return };
        let (index, packets, way) = (train.flow, train.packets, Way::of(&train.body));
        let flow = &mut self.flows[index as usize];
        if let Some(next) = flow.next_pipe(way, pipe) {
            return self.forward(pipe, next, way);
        }
        // It reaches the host it is for, and is looked at where it is.
        let host = flow.destination(way);
        if packets > 1 && way == Way::Back && flow.path.tells_departures && self.interfaces[host].is_none() {
            return self.take_part(pipe, index);
        }
        let inside = &mut self.hosts[host];
        if let Some(inside) = inside {
            Self::show_arriving(&mut self.captures, flow, train);
            inside.arrive(train.clone());
        } else if let Some(interface) = &mut self.interfaces[host] {
            interface.arrive(train.clone());
        } else {
            Self::show_arriving(&mut self.captures, flow, train);
            flow.count_arrival(train, way);
            flow.take(train, &mut self.outgoing);
        }
        let has_inside = inside.is_some() || self.interfaces[host].is_some();
        let next = place.remove_first(packets);
        self.events.set_arrival(pipe, next);
        if has_inside {
            self.plan_host(host);
        }
        self.settle_arrival(index, way);
    }

    /// The flows of the trains that arrive after the first are brought into the cache.
    fn prepare(&self, pipe: u32) {
        let on_the_way = &self.pipes[pipe as usize].on_the_way;
        if let Some(train) = on_the_way.upcoming(2) {
            self.flows[train.flow as usize].prefetch(Way::of(&train.body));
        }
        if let Some(train) = on_the_way.upcoming(1) {
            self.flows[train.flow as usize].prepare(Way::of(&train.body));
        }
    }

    /// The first train on a pipe goes on to the next.
    fn forward(&mut self, pipe: u32, next: u32, way: Way) {
        let place = &mut self.pipes[pipe as usize];
        let train = place.arrive();
        self.events.set_arrival(pipe, place.on_the_way.front_at());
        let leaves_host = place.is_host && way == Way::Forward;
        let is_host = place.is_host;
        let Some(train) = train else { return };
        let index = train.flow;
        if is_host {
            Self::show_sent(&mut self.captures, &self.flows[index as usize], &train);
        }
        let leaves_host = leaves_host && self.give_back(pipe, &train);
        self.offer(next, train, way);
        if leaves_host {
            self.settle(index);
        }
    }

    fn on_wake(&mut self, pipe: u32) {
        // One that an earlier one has replaced finds nothing to do; to plan again for each would keep all of them for ever.
        if self.pipes[pipe as usize].wake_event != Some(self.now) {
            return;
        }
        self.pipes[pipe as usize].wake_event = None;
        let mut passed = std::mem::take(&mut self.passing);
        self.pipes[pipe as usize].wake(self.now, &mut passed);
        self.carry(pipe, &mut passed);
        self.passing = passed;
        if self.pipes[pipe as usize].is_host {
            self.notify_dropped(pipe);
        }
    }

    /// Sends what the endpoints of a flow have put out, and sees to their timers.
    #[inline]
    fn settle(&mut self, index: u32) {
        if !self.outgoing.is_empty() {
            self.send_outgoing();
        }
        self.plan_timers(index);
        self.relay(index);
        self.apply(index);
    }

    /// The same after something has arrived that went so: only the end that it came to has been at work. What the other one
    /// waits for is in other places of memory, which with many flows are far from the processor.
    #[inline]
    fn settle_arrival(&mut self, index: u32, way: Way) {
        if !self.outgoing.is_empty() {
            self.send_outgoing();
        }
        match way {
            Way::Forward => {
                self.note_holding(index);
                self.plan_receiver(index);
            }
            Way::Back => self.plan_sender(index),
        }
        self.relay(index);
        self.apply(index);
        debug_assert!(self.is_planned(index), "the other end's timer is as it was");
    }

    fn send_outgoing(&mut self) {
        if self.outgoing.len() > 1 {
            let mut outgoing = std::mem::take(&mut self.outgoing);
            for train in outgoing.drain(..) {
                self.send(train);
            }
            self.outgoing = outgoing;
        } else if let Some(train) = self.outgoing.pop() {
            self.send(train);
        }
    }

    /// A socket has put out a train.
    #[inline(always)]
    fn send(&mut self, mut train: Train) {
        let way = Way::of(&train.body);
        let host = self.flows[train.flow as usize].origin(way);
        if let Some(inside) = &mut self.hosts[host] {
            inside.send_alone(&mut train, self.now);
            self.plan_host(host);
        }
        if self.is_withdrawn(&train) {
            self.discard(&train, way);
            return;
        }
        self.depart(train, way);
    }

    /// A train leaves its host.
    #[inline(always)]
    fn depart(&mut self, train: Train, way: Way) {
        let flow = &mut self.flows[train.flow as usize];
        flow.count_departure(&train, way);
        Self::show_leaving(&mut self.captures, flow, &train);
        match flow.first_pipe(way) {
            Some(pipe)
                if train.at > self.now && way == Way::Forward && self.pipes[pipe as usize].is_shared() =>
            {
                self.enter_later(pipe, train);
            }
            Some(pipe) => self.offer(pipe, train, way),
            None => unreachable!("a flow's hosts are apart"),
        }
    }

    /// Sees to the timers of a flow's endpoints.
    #[inline]
    fn plan_timers(&mut self, index: u32) {
        self.plan_sender(index);
        self.plan_receiver(index);
    }

    #[inline]
    fn plan_sender(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let due = flow.sender_deadline();
        if due < flow.sender_event {
            let at = self.late.not_before(self.now, due.time());
            // The timer of a retransmission stays pending while the pacer's or the host's queue's comes and goes before it.
            flow.later_sender_event = flow.later_sender_event.min(flow.sender_event);
            flow.sender_event = Due::at(at);
            self.events.push(at, Event::Sender(index));
        }
    }

    #[inline]
    fn plan_receiver(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let due = flow.receiver_deadline();
        if due < flow.receiver_event {
            let at = self.late.not_before(self.now, due.time());
            flow.receiver_event = Due::at(at);
            self.events.push(at, Event::Receiver(index));
        }
    }

    /// Whether an event is pending by the time that each timer of a flow is due.
    fn is_planned(&self, index: u32) -> bool {
        let flow = &self.flows[index as usize];
        let by = |planned: Due, due: Due| planned <= due.max(Due::at(self.now));
        by(flow.sender_event, flow.sender_deadline()) && by(flow.receiver_event, flow.receiver_deadline())
    }

    #[inline]
    fn offer(&mut self, pipe: u32, train: Train, way: Way) {
        let place = &mut self.pipes[pipe as usize];
        if place.is_host && way == Way::Forward {
            return self.offer_to_host(pipe, train);
        }
        let (is_host, before) = (place.is_host, place.refused());
        let arrival = place.offer(&train, &mut self.passing);
        if is_host {
            let refused = (place.refused() - before) as u32;
            self.notify_refused(&train, way, refused.into());
            self.note_accepted(&train, train.packets - refused);
        }
        match arrival {
            Some(arrival) => self.carry_whole(pipe, train, arrival),
            None => self.carry_parts(pipe),
        }
        if is_host {
            self.notify_dropped(pipe);
        }
    }

    /// Puts a train on its way along a pipe as it is.
    #[inline(always)]
    fn carry_whole(&mut self, index: u32, train: Train, arrival: Arrival) {
        let pipe = &mut self.pipes[index as usize];
        if train.packets > 1 && (!self.trains || pipe.is_too_long(train.packets, arrival.gap)) {
            self.passing.push(train.arriving(arrival));
            return self.carry_parts(index);
        }
        if pipe.on_the_way.push_arriving(train, arrival, pipe.train_limit) {
            self.events.set_arrival(index, Some(self.late.not_before(self.now, arrival.at)));
        }
        self.plan_wake(index);
    }

    /// The same for what has passed a pipe in parts.
    fn carry_parts(&mut self, index: u32) {
        let mut passed = std::mem::take(&mut self.passing);
        self.carry(index, &mut passed);
        self.passing = passed;
    }

    /// Puts trains on their way along a pipe.
    fn carry(&mut self, index: u32, passed: &mut Vec<Train>) {
        let pipe = &mut self.pipes[index as usize];
        let mut is_first = false;
        for train in passed.drain(..) {
            if !self.trains && train.packets > 1 {
                is_first |= pipe.on_the_way.push_packets(&train);
                continue;
            }
            if !pipe.is_too_long(train.packets, train.gap) {
                is_first |= pipe.on_the_way.push(train, pipe.train_limit);
                continue;
            }
            let most = pipe.longest(train.gap);
            let mut from = 0;
            while train.packets - from > most {
                is_first |= pipe.on_the_way.push(train.part(from, most), most);
                from += most;
            }
            is_first |= pipe.on_the_way.push(train.part(from, train.packets - from), pipe.train_limit);
        }
        if is_first {
            let front = pipe.on_the_way.front_at().map(|at| self.late.not_before(self.now, at));
            self.events.set_arrival(index, front);
        }
        self.plan_wake(index);
    }

    /// A queue that decides when packets leave is looked at when it can send.
    #[inline(always)]
    fn plan_wake(&mut self, index: u32) {
        if let Some(at) = self.pipes[index as usize].next_wake() {
            self.plan_wake_at(index, at);
        }
    }

    #[inline(never)]
    fn plan_wake_at(&mut self, index: u32, at: SimTime) {
        let at = self.late.not_before(self.now, at);
        let pipe = &mut self.pipes[index as usize];
        if pipe.wake_event.is_none_or(|earlier| at < earlier) {
            pipe.wake_event = Some(at);
            self.events.push(at, Event::Wake(index));
        }
    }
}

/// This many flows stay in the cache without prefetching: some 3 kB each.
const CACHED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_units::Span;

    /// Eight flows between hosts with their own queues: each wake-up that an earlier one replaced used to stay pending.
    #[test]
    fn wakes_that_were_replaced_do_not_stay_pending() {
        let scenario = "schema = 1\nname = \"test\"\n[path]\nrate = \"400 Gbit/s\"\nrtt = \"2 ms\"\nbuffer = \"2 MB\"\n\
            [host.sender]\npreset = \"epyc-2024-400g\"\nmtu = \"1500 B\"\n\
            [host.receiver]\npreset = \"epyc-2024-400g\"\nmtu = \"1500 B\"\n\
            [[flow]]\ncongestion = \"cubic\"\ncount = 8\n[run]\nduration = \"100 ms\"\n";
        let study = wirespeed_scenario::parse(scenario, "test", &[], None).expect("the scenario is in order");
        let mut world = World::of(&study.runs[0]).expect("the model has it all");
        world.run_until(SimTime::START + Span::ms(100));
        let pending = world.events.pending();
        assert!(pending < 100, "{pending} events are pending");
    }
}
