//! A core: what it is busy with, what waits for it, and where its time went.

use super::thread::ThreadId;
use crate::net::Train;
use std::collections::VecDeque;
use wirespeed_units::{SimTime, Span};

/// What a core's time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Interrupts.
    HardIrq,
    /// Network work at interrupt level's end.
    SoftIrq,
    /// The same in the thread ksoftirqd, which competes with other threads.
    Ksoftirqd,
    /// Applications that send or receive.
    App,
    /// A packet capture.
    Capture,
    /// Other work.
    Load,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::HardIrq, Kind::SoftIrq, Kind::Ksoftirqd, Kind::App, Kind::Capture, Kind::Load];
}

/// A core.
#[derive(Debug)]
pub struct Core {
    /// The node it is on.
    pub node: usize,
    /// Its hyper-thread twin.
    pub twin: Option<usize>,
    /// When what it does now ends.
    pub free_at: SimTime,
    /// When it is to be looked at.
    pub event: Option<SimTime>,
    /// Receive queues that wait to be polled here, in this round.
    pub polls: VecDeque<usize>,
    /// Those that wait for the next.
    pub next_polls: VecDeque<usize>,
    /// Packets between interface and stack (`softnet_data.input_pkt_queue`).
    pub backlog: VecDeque<Train>,
    /// How many.
    pub backlog_packets: u32,
    /// What goes on in softirq.
    pub session: Session,
    /// ksoftirqd has taken the softirq work over.
    pub handed: bool,
    /// Threads that want to run, ksoftirqd among them.
    pub runnable: Vec<ThreadId>,
    /// The one that runs.
    pub current: Option<ThreadId>,
    /// How long it has run.
    pub ran: Span,
    /// What is done when the present piece of work ends.
    pub finish: Option<ThreadId>,
    /// Virtual time of the thread that is furthest behind, to place those that wake.
    pub least: Span,
    /// Time by kind.
    pub spent: [Span; Kind::ALL.len()],
    /// Rounds of softirq that ended with packets left (`time_squeeze`).
    pub squeezed: u64,
}

/// One stretch of softirq work.
#[derive(Debug, Default, Clone, Copy)]
pub struct Session {
    /// When it began; `None`: there is none.
    pub since: Option<SimTime>,
    /// When the present round began; `None`: there is none.
    pub round: Option<SimTime>,
    /// Rounds that are over.
    pub rounds: u32,
    /// What the present round has used of its budget, packets.
    pub used: u32,
}

impl Core {
    /// An idle core.
    pub fn new(node: usize, twin: Option<usize>) -> Core {
        Core {
            node,
            twin,
            free_at: SimTime::START,
            event: None,
            polls: VecDeque::new(),
            next_polls: VecDeque::new(),
            backlog: VecDeque::new(),
            backlog_packets: 0,
            session: Session::default(),
            handed: false,
            runnable: Vec::new(),
            current: None,
            ran: Span::ZERO,
            finish: None,
            least: Span::ZERO,
            spent: [Span::ZERO; Kind::ALL.len()],
            squeezed: 0,
        }
    }

    /// Softirq work waits.
    pub fn has_softirq(&self) -> bool {
        !self.polls.is_empty() || !self.next_polls.is_empty() || !self.backlog.is_empty()
    }

    /// A queue is to be polled: in the present round, or in the next.
    pub fn poll(&mut self, queue: usize, next: bool) {
        let line = if next { &mut self.next_polls } else { &mut self.polls };
        line.push_back(queue);
    }

    /// A thread is to take the core over (TIF_NEED_RESCHED).
    pub fn has_to_switch(&self) -> bool {
        self.current.is_none() && !self.runnable.is_empty()
    }

    /// Nothing waits and nothing goes on at `now`.
    pub fn is_idle(&self, now: SimTime) -> bool {
        self.free_at <= now && self.runnable.is_empty() && !self.has_softirq()
    }

    /// Time goes by in work of a kind that ends at `until`.
    pub fn spend(&mut self, kind: Kind, from: SimTime, until: SimTime) {
        self.spent[kind as usize] += until - from;
        self.free_at = self.free_at.max(until);
    }
}
