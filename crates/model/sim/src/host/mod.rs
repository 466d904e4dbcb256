//! The inside of a host: interface, interrupts, cores, threads and sockets. What comes from the network lies in a
//! ring until a core takes it out, what is received lies in a socket until a thread reads it, and all of them share
//! the cores. Nothing here decides that a host is overloaded: it follows from what work costs.
//!
//! A piece of work (a poll of up to 64 packets, a call of an application) is an event; interrupts prolong it. What a
//! poll does has the times of its packets within it; what a thread does happens at its end.

mod app;
mod core;
mod cost;
mod dim;
mod fetch;
mod irq;
mod memory;
mod ring;
mod rules;
mod rx;
mod sack_walk;
mod socket;
mod softirq;
mod thread;
mod tx;
mod view;

pub use self::core::Kind;
pub use ring::Ring;
pub use rules::SocketRules;

pub use rx::{Moderation, RxQueue};
pub use socket::Datagrams;
pub use softirq::merge;
pub use view::{CoreTime, Intake, RingState};

use crate::net::{Random, Train};
use crate::world::{Flow, Late, Way};
use core::Core;
use memory::Memory;
use rules::Rules;
use socket::Socket;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use thread::{Role, Thread, ThreadId};
use wirespeed_scenario::run::{Hardware, Rss};
use wirespeed_units::{SimTime, Span};

/// What happens in a host, in the order in which it happens at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A receive queue raises its interrupt.
    Irq(usize),
    /// A core is through with a piece of work, or has something to do.
    Core(usize),
    /// A thread of other work begins its next period.
    Load(ThreadId),
    /// The scheduler's tick.
    Tick,
    /// A core's tick goes on with the softirq work that ksoftirqd has not come to.
    Resume(usize),
    /// irqbalance looks.
    Balance,
}

/// Events to come.
#[derive(Debug, Default)]
struct Calendar(BinaryHeap<Reverse<(SimTime, Event)>>);

impl Calendar {
    fn push(&mut self, at: SimTime, event: Event) {
        self.0.push(Reverse((at, event)));
    }
}

/// Packets lost inside the host, by place; data first, ACKs second.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// No receive descriptor was free.
    pub rx_ring: [u64; 2],
    /// The backlog between interface and stack was full.
    pub softnet_backlog: [u64; 2],
    /// The socket's backlog was full while its reader held the lock.
    pub tcp_backlog: [u64; 2],
    /// No memory in a UDP socket.
    pub udp_rcvbuf: u64,
}

/// What a host reaches outside of itself.
pub struct Outside<'a> {
    /// All flows.
    pub flows: &'a mut [Flow],
    /// Trains that leave the host go here, at the times when they do.
    pub out: &'a mut Vec<Train>,
    /// Flows of which something has changed.
    pub touched: &'a mut Vec<u32>,
}

/// The inside of a host.
#[derive(Debug)]
pub struct Host {
    /// Name, as in the scenario.
    pub name: String,
    settings: Hardware,
    rules: Rules,
    gro: bool,
    tso: bool,
    backlog_limit: u32,
    cores: Vec<Core>,
    queues: Vec<RxQueue>,
    threads: Vec<Thread>,
    ksoftirqd: Vec<ThreadId>,
    capture: Option<ThreadId>,
    capture_packets: u64,
    sockets: BTreeMap<u32, Socket>,
    calendar: Calendar,
    /// A tick of the scheduler is planned: there are threads that may move.
    ticks: bool,
    /// The time of the present event.
    now: SimTime,
    late: Late,
    /// When the link between nodes is free, by node it comes from and node it goes to.
    interlink: Vec<Vec<SimTime>>,
    /// Memory of what is unread, all sockets.
    unread: u64,
    /// The memory of each node.
    memory: Vec<Memory>,
    /// When the bus is through with what comes.
    bus_free: SimTime,
    /// And with what leaves, where both share it.
    bus_out_free: SimTime,
    /// What a packet took of it that was handed over last.
    bus_out_each: Span,
    random: Random,
    lost: Lost,
    /// Packets that came from the wire, data first.
    came: [u64; 2],
    /// Packets that were handed to the stack, data first.
    handed: [u64; 2],
    /// Those of them that TCP takes without a reader: ACKs, handshakes, probes.
    replies: [u64; 2],
    /// Filled and emptied within one event.
    scratch: Vec<Train>,
}

impl Host {
    /// A host at rest. `seed` decides what chance decides: which queue a flow hashes to, where the scheduler puts
    /// a thread, what irqbalance does.
    pub fn new(
        name: &str,
        settings: &Hardware,
        offloads: wirespeed_scenario::run::Offloads,
        backlog_limit: u32,
        seed: u64,
    ) -> Host {
        let machine = &settings.machine;
        let physical = (machine.nodes * machine.cores_per_node) as usize;
        let twins = machine.twin_speed.is_some();
        let count = if twins { 2 * physical } else { physical };
        let cores = (0..count).map(|index| {
            let node = (index % physical) / machine.cores_per_node as usize;
            let twin = twins.then(|| (index + physical) % count);
            Core::new(node, twin)
        });
        let nodes = machine.nodes as usize;
        let mut host = Host {
            name: name.to_owned(),
            settings: settings.clone(),
            rules: Rules::of(machine).with_round(settings.softirq.budget_time),
            gro: offloads.gro,
            tso: offloads.tso || offloads.gso,
            backlog_limit,
            cores: cores.collect(),
            queues: Vec::new(),
            threads: Vec::new(),
            ksoftirqd: Vec::new(),
            capture: None,
            capture_packets: 0,
            sockets: BTreeMap::new(),
            calendar: Calendar::default(),
            ticks: false,
            now: SimTime::START,
            late: Late::default(),
            interlink: vec![vec![SimTime::START; nodes]; nodes],
            unread: 0,
            memory: (0..nodes).map(|_| Memory::default()).collect(),
            bus_free: SimTime::START,
            bus_out_free: SimTime::START,
            bus_out_each: Span::ZERO,
            random: Random::derived(seed, &format!("host {name}")),
            lost: Lost::default(),
            came: [0; 2],
            handed: [0; 2],
            replies: [0; 2],
            scratch: Vec::new(),
        };
        host.set_up();
        host
    }

    fn set_up(&mut self) {
        for core in 0..self.cores.len() {
            let id = self.add_thread(Role::Ksoftirqd, core, vec![core]);
            self.ksoftirqd.push(id);
        }
        self.set_up_interrupts();
        if let Some(core) = self.settings.capture {
            self.capture = Some(self.add_thread(Role::Capture, core as usize, vec![core as usize]));
        }
        for load in self.settings.load.clone() {
            let work = scaled(LOAD_PERIOD, load.share);
            let core = load.core as usize;
            let id = self.add_thread(Role::Load(work), core, vec![core]);
            self.calendar.push(SimTime::START, Event::Load(id));
        }
    }

    fn add_thread(&mut self, role: Role, core: usize, allowed: Vec<usize>) -> ThreadId {
        self.threads.push(Thread::new(role, core, allowed));
        self.threads.len() - 1
    }

    /// Adds a socket of a flow, the `index`-th of this host's.
    pub fn add_socket(&mut self, flow: u32, index: usize, receives: bool, udp: Option<socket::Datagrams>) {
        use wirespeed_scenario::run::Apps;
        let role = if receives { Role::Reader(flow) } else { Role::Writer(flow) };
        let (core, allowed) = match &self.settings.apps {
            Apps::Pinned(cores) => {
                let core = cores[index % cores.len()] as usize;
                (core, vec![core])
            }
            Apps::Free(cores) => {
                let cores: Vec<usize> = cores.iter().map(|core| *core as usize).collect();
                (cores[(self.random.draw() % cores.len() as u64) as usize], cores)
            }
        };
        let thread = self.add_thread(role, core, allowed);
        let queues = self.queues.len() as u64;
        let queue = match self.settings.nic.rss {
            Rss::Hash => self.random.draw() % queues,
            Rss::Spread => index as u64 % queues,
        };
        self.sockets.insert(flow, Socket::new(thread, queue as usize, core, udp));
    }

    /// When something happens here next.
    pub fn next_event(&self) -> Option<SimTime> {
        self.calendar.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Lets happen what is due at `now`.
    pub fn run(&mut self, now: SimTime, outside: &mut Outside) {
        while let Some(Reverse((at, event))) = self.calendar.0.peek().copied()
            && at <= now
        {
            self.calendar.0.pop();
            self.late.follow(self.now, at);
            self.now = self.now.max(at);
            match event {
                Event::Irq(queue) => self.on_irq(queue, at, outside),
                Event::Core(core) => self.on_core(core, at, outside),
                Event::Load(id) => self.on_load(id, at),
                Event::Tick => self.balance_threads(at),
                Event::Resume(core) => self.resume_softirq(core, at),
                Event::Balance => self.balance_interrupts(at),
            }
        }
    }

    fn on_load(&mut self, id: ThreadId, at: SimTime) {
        if let Role::Load(work) = self.threads[id].role {
            self.threads[id].left = work;
        }
        self.wake(id, at);
        self.calendar.push(at + LOAD_PERIOD, Event::Load(id));
    }

    /// A core will be looked at when it can: at `at`, or when it is through with what it does.
    fn plan_core(&mut self, index: usize, at: SimTime) {
        let core = &mut self.cores[index];
        let due = at.max(core.free_at).max(self.now);
        if core.event.is_none_or(|planned| due < planned) {
            core.event = Some(due);
            self.calendar.push(due, Event::Core(index));
        }
    }

    /// A core is free, or was to be looked at: one piece of work ends, the next begins.
    fn on_core(&mut self, index: usize, at: SimTime, outside: &mut Outside) {
        if self.cores[index].event != Some(at) {
            return;
        }
        self.cores[index].event = None;
        if self.cores[index].free_at > at {
            self.plan_core(index, at);
            return;
        }
        if let Some(id) = self.cores[index].finish.take() {
            self.finish_work(id, at, outside);
            if self.cores[index].free_at > at {
                self.plan_core(index, at);
                return;
            }
        }
        let core = &self.cores[index];
        let softirq = core.has_softirq() && !core.handed;
        if softirq && !self.hand_to_ksoftirqd(index, at) {
            self.softirq(index, at, Kind::SoftIrq, outside);
        } else {
            self.cores[index].session = core::Session::default();
            match self.choose(index) {
                Some(id) if self.threads[id].role == Role::Ksoftirqd => {
                    self.ksoftirqd(index, id, at, outside);
                }
                Some(id) => self.start_work(id, at, outside),
                None => return,
            }
        }
        self.plan_core(index, at);
    }

    fn direction(train: &Train) -> usize {
        usize::from(Way::of(&train.body) == Way::Back)
    }

    /// Events of the host that came after a later one.
    pub fn late(&self) -> Late {
        self.late
    }

    /// Losses so far.
    pub fn lost(&self) -> Lost {
        self.lost
    }
}

/// The period of other work.
const LOAD_PERIOD: Span = Span::ms(10);

fn scaled(span: Span, factor: f64) -> Span {
    Span::ps((span.picoseconds() as f64 * factor) as i64)
}
