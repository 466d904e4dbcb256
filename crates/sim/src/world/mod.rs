//! A run as components that hand trains to each other, and the loop that lets time pass.

mod alone;
mod build;
mod capture;
mod flow;
mod path;
mod record;

pub use build::{Unsupported, check};
pub use record::{Recorder, ignored};

use crate::engine::{Event, Events};
use crate::net::{Body, Step, Train};
use capture::Capture;
use flow::{Endpoint, Flow};
use path::{Pipe, Way};
use wirespeed_scenario::run::Run;
use wirespeed_units::{SimTime, Span};

/// Everything that moves.
pub struct World {
    events: Events,
    pipes: Vec<Pipe>,
    flows: Vec<Flow>,
    /// `false`: every packet is an event of its own.
    trains: bool,
    now: SimTime,
    /// Filled and emptied within one event; kept to spare allocations.
    outgoing: Vec<Train>,
    passing: Vec<Train>,
    captures: Vec<Capture>,
    handled: u64,
}

impl World {
    /// The world of a run.
    ///
    /// # Errors
    /// What the run asks for that the model lacks.
    pub fn of(run: &Run) -> Result<World, Unsupported> {
        let (pipes, flows) = build::build(run)?;
        let mut world = World {
            events: Events::default(),
            pipes,
            flows,
            trains: run.trains,
            now: SimTime::START,
            outgoing: Vec::new(),
            passing: Vec::new(),
            captures: Capture::of(run),
            handled: 0,
        };
        for (index, flow) in run.flows.iter().enumerate() {
            world.events.push(SimTime::START + flow.start, Event::Start(index as u32));
            world.events.push(SimTime::START + flow.stop, Event::Stop(index as u32));
        }
        Ok(world)
    }

    /// Lets everything happen that is due until `end`, included.
    pub fn run_until(&mut self, end: SimTime) {
        while let Some((at, event)) = self.events.pop_until(end) {
            debug_assert!(at >= self.now, "no event comes before its cause");
            self.now = at;
            self.handled += 1;
            match event {
                Event::Arrival(pipe) => self.on_arrival(pipe),
                Event::Wake(pipe) => self.on_wake(pipe),
                Event::Sender(flow) => self.on_sender_timer(flow, at),
                Event::Receiver(flow) => self.on_receiver_timer(flow, at),
                Event::Start(flow) => self.on_start(flow),
                Event::Stop(flow) => self.on_stop(flow),
            }
        }
        self.now = end;
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
                udp.send(now, index, &mut self.outgoing);
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
        if flow.sender_event != Some(at) {
            return;
        }
        flow.sender_event = None;
        match &mut flow.endpoint {
            Endpoint::Tcp(tcp) => {
                if tcp.sender.deadline().is_some_and(|due| due <= at) {
                    tcp.sender.on_timer(at, &mut self.outgoing);
                }
            }
            Endpoint::Udp(udp) => udp.send(at, index, &mut self.outgoing),
        }
        self.settle(index);
    }

    fn on_receiver_timer(&mut self, index: u32, at: SimTime) {
        let flow = &mut self.flows[index as usize];
        if flow.receiver_event != Some(at) {
            return;
        }
        flow.receiver_event = None;
        if let Endpoint::Tcp(tcp) = &mut flow.endpoint
            && tcp.receiver.deadline().is_some_and(|due| due <= at)
        {
            tcp.receiver.on_timer(at, &mut self.outgoing);
        }
        self.settle(index);
    }

    /// The first train on a pipe is at its end.
    fn on_arrival(&mut self, pipe: u32) {
        let place = &mut self.pipes[pipe as usize];
        let train = place.arrive();
        self.events.set_arrival(pipe, place.on_the_way.front_at());
        let Some(train) = train else { return };
        let index = train.flow;
        let way = Way::of(&train.body);
        let flow = &mut self.flows[index as usize];
        if self.pipes[pipe as usize].is_host && way == Way::Forward {
            flow.leave_host(&train);
            if let Endpoint::Tcp(tcp) = &mut flow.endpoint
                && tcp.sender.set_host_queue(flow.in_host)
            {
                tcp.sender.resume(train.at, &mut self.outgoing);
            }
        }
        match flow.next_pipe(way, pipe) {
            Some(next) => self.offer(next, train),
            None => self.deliver(train),
        }
        self.settle(index);
    }

    fn on_wake(&mut self, pipe: u32) {
        self.pipes[pipe as usize].wake_event = None;
        let mut passed = std::mem::take(&mut self.passing);
        self.pipes[pipe as usize].wake(self.now, &mut passed);
        self.carry(pipe, &mut passed);
        self.passing = passed;
    }

    fn deliver(&mut self, train: Train) {
        let flow = &mut self.flows[train.flow as usize];
        flow.count_arrival(&train);
        Self::show(&mut self.captures, &flow.ends, &train, true);
        let out = &mut self.outgoing;
        match (&mut flow.endpoint, &train.body) {
            (Endpoint::Tcp(tcp), Body::Data(data)) => {
                tcp.receiver.on_data(&train, data, out);
                if tcp.receiver.is_finished() {
                    flow.finished.get_or_insert(train.at);
                }
            }
            (Endpoint::Tcp(tcp), Body::Ack(ack)) => {
                tcp.sender.on_acks(train.at, train.gap, train.packets, ack, out);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Syn, stamp, .. }) => {
                tcp.receiver.on_connect(train.at, *stamp, out);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Confirm, .. }) => {
                tcp.receiver.on_confirm(train.at);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Reply, window, .. }) => {
                flow.established.get_or_insert(train.at);
                tcp.sender.on_reply(train.at, *window, out);
            }
            (Endpoint::Udp(udp), Body::Datagram { first }) => udp.receive(&train, *first),
            _ => unreachable!("a flow's packets are of its own protocol"),
        }
    }

    /// Sends what the endpoints of a flow have put out, and sees to their timers.
    fn settle(&mut self, index: u32) {
        if !self.outgoing.is_empty() {
            let mut outgoing = std::mem::take(&mut self.outgoing);
            for train in outgoing.drain(..) {
                let flow = &mut self.flows[index as usize];
                flow.count_departure(&train);
                Self::show(&mut self.captures, &flow.ends, &train, false);
                match flow.first_pipe(Way::of(&train.body)) {
                    Some(pipe) => self.offer(pipe, train),
                    None => unreachable!("a flow's hosts are apart"),
                }
            }
            self.outgoing = outgoing;
        }
        let flow = &mut self.flows[index as usize];
        let (sender, receiver) = flow.deadlines();
        let (events, now) = (&mut self.events, self.now);
        let mut schedule = |due: Option<SimTime>, planned: &mut Option<SimTime>, event| {
            if let Some(at) = due
                && planned.is_none_or(|earlier| at < earlier)
            {
                *planned = Some(at.max(now));
                events.push(at.max(now), event);
            }
        };
        schedule(sender, &mut flow.sender_event, Event::Sender(index));
        schedule(receiver, &mut flow.receiver_event, Event::Receiver(index));
    }

    fn offer(&mut self, pipe: u32, train: Train) {
        let (index, forward) = (train.flow as usize, Way::of(&train.body) == Way::Forward);
        let mut passed = std::mem::take(&mut self.passing);
        let host = self.pipes[pipe as usize].is_host;
        let (packets, frame) = (train.packets, train.frame);
        let refused = self.pipes[pipe as usize].offer(train, &mut passed);
        if host && forward {
            let flow = &mut self.flows[index];
            flow.enter_host(u64::from(packets) - refused, frame);
            if let Endpoint::Tcp(tcp) = &mut flow.endpoint {
                tcp.sender.set_host_queue(flow.in_host);
                if refused > 0 {
                    tcp.sender.on_local_drop(refused);
                }
            }
        }
        self.carry(pipe, &mut passed);
        self.passing = passed;
    }

    /// Puts trains on their way along a pipe.
    fn carry(&mut self, index: u32, passed: &mut Vec<Train>) {
        let pipe = &mut self.pipes[index as usize];
        let mut is_first = false;
        for mut train in passed.drain(..) {
            // A burst that a slow link spreads out is several trains: what one does, it does at its first packet.
            let most = if !self.trains {
                1
            } else if train.last_at() - train.at > LONGEST_TRAIN {
                (LONGEST_TRAIN.picoseconds() / train.gap.picoseconds()) as u32 + 1
            } else {
                u32::MAX
            };
            while train.packets > most {
                let front = train.split(most);
                is_first |= pipe.on_the_way.push(front, most);
            }
            is_first |= pipe.on_the_way.push(train, pipe.train_limit);
        }
        if is_first {
            self.events.set_arrival(index, pipe.on_the_way.front_at().map(|at| at.max(self.now)));
        }
        if let Some(at) = pipe.next_wake()
            && pipe.wake_event.is_none_or(|earlier| at < earlier)
        {
            pipe.wake_event = Some(at);
            self.events.push(at.max(self.now), Event::Wake(index));
        }
    }
}

/// The longest a train lasts: as long as Linux' pacing lets a burst be (1 ms, `sk_pacing_shift`).
const LONGEST_TRAIN: Span = Span::ms(1);
/// The most packets of a train: what Linux moves as one GSO packet, 64 KiB.
const TRAIN_BYTES: u64 = 65_536;
/// Larger frames go on being put together up to so many packets: as many as 64 KiB are at an MTU of 1500. At rates
/// that use such frames they last no longer.
const LEAST_LIMIT: u64 = 43;
/// GSO packets of a train where one flow has the whole path for itself. More would save little: an event then costs less
/// than what its packets do.
const ALONE: u32 = 8;
