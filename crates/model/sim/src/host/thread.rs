//! Threads, and which core runs which: applications, captures, other work, ksoftirqd.

use super::core::Kind;
use super::rules::next_tick;
use super::{Event, Host};
use wirespeed_units::{SimTime, Span};

/// Number of a thread of a host.
pub type ThreadId = usize;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The softirq work of its core.
    Ksoftirqd,
    /// Reads what a flow receives.
    Reader(u32),
    /// Writes what a flow sends.
    Writer(u32),
    /// Looks at every packet.
    Capture,
    /// Other work that wants a part of the core: how much of every period.
    Load(Span),
}

/// A thread.
#[derive(Debug)]
pub struct Thread {
    /// What it does.
    pub role: Role,
    /// The core it is on.
    pub core: usize,
    /// Cores it may be on.
    pub allowed: Vec<usize>,
    /// It wants to run.
    pub runnable: bool,
    /// Processor time it has had, moved ahead when it wakes (`vruntime` of the fair scheduler).
    pub virtual_time: Span,
    /// Other work left in this period.
    pub left: Span,
    /// It was woken and its core has to switch to it.
    pub switches: bool,
}

impl Thread {
    pub(super) fn new(role: Role, core: usize, allowed: Vec<usize>) -> Thread {
        Thread {
            role,
            core,
            allowed,
            runnable: false,
            virtual_time: Span::ZERO,
            left: Span::ZERO,
            switches: false,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self.role {
            Role::Ksoftirqd => Kind::Ksoftirqd,
            Role::Reader(_) | Role::Writer(_) => Kind::App,
            Role::Capture => Kind::Capture,
            Role::Load(_) => Kind::Load,
        }
    }
}

impl Host {
    /// A thread wants to run from `at` on.
    pub(super) fn wake(&mut self, id: ThreadId, at: SimTime) {
        if self.threads[id].runnable {
            return;
        }
        let place = self.place(id, at);
        if self.threads[id].allowed.len() > 1 {
            self.plan_tick(at);
        }
        self.wake_on(id, place, at);
    }

    fn wake_on(&mut self, id: ThreadId, place: usize, at: SimTime) {
        let thread = &mut self.threads[id];
        thread.runnable = true;
        thread.switches = true;
        thread.core = place;
        let core = &mut self.cores[place];
        thread.virtual_time = thread.virtual_time.max(core.least - self.rules.turns.credit);
        let mine = thread.virtual_time;
        core.runnable.push(id);
        // It takes over at once if the one that runs has had that much more (`check_preempt_wakeup`).
        if let Some(current) = core.current
            && self.threads[current].virtual_time - mine > self.rules.turns.ahead
        {
            self.cores[place].current = None;
        }
        self.plan_core(place, at);
    }

    /// The core a waking thread goes to: its last one if it and its twin are idle, else another such one, else any
    /// idle one it may use (`select_idle_sibling`).
    fn place(&self, id: ThreadId, at: SimTime) -> usize {
        let thread = &self.threads[id];
        if thread.allowed.len() == 1 {
            return thread.core;
        }
        let idle = |core: &usize| self.cores[*core].is_idle(at);
        let whole = |core: &usize| idle(core) && self.cores[*core].twin.is_none_or(|twin| idle(&twin));
        let near = |core: &usize| self.cores[*core].node == self.cores[thread.core].node;
        let first = |wanted: &dyn Fn(&usize) -> bool| {
            let last = Some(thread.core).filter(wanted);
            last.or_else(|| thread.allowed.iter().copied().find(wanted))
        };
        first(&|core| whole(core) && near(core))
            .or_else(|| first(&|core| whole(core)))
            .or_else(|| first(&|core| idle(core)))
            .unwrap_or(thread.core)
    }

    /// A thread has nothing to do.
    pub(super) fn sleep(&mut self, id: ThreadId) {
        let thread = &mut self.threads[id];
        thread.runnable = false;
        let core = &mut self.cores[thread.core];
        core.runnable.retain(|other| *other != id);
        if core.current == Some(id) {
            core.current = None;
        }
    }

    /// The thread that runs next on a core: the present one until it has had its turn, then the one that had least.
    pub(super) fn choose(&mut self, index: usize) -> Option<ThreadId> {
        let core = &mut self.cores[index];
        let wanting = core.runnable.len() as u32;
        if let Some(current) = core.current
            && (wanting == 1 || core.ran < self.rules.turns.lasts(wanting))
        {
            return Some(current);
        }
        let chosen = core.runnable.iter().copied().min_by_key(|id| (self.threads[*id].virtual_time, *id))?;
        if core.current != Some(chosen) {
            self.threads[chosen].switches = true;
        }
        core.current = Some(chosen);
        core.ran = Span::ZERO;
        core.least = core.least.max(self.threads[chosen].virtual_time);
        Some(chosen)
    }

    /// Moves threads that share a core, or a core's hyper-threads, with another to idle ones they may use (load
    /// balancing at the tick). It sees threads, not interrupts.
    pub(super) fn balance_threads(&mut self, now: SimTime) {
        for id in 0..self.threads.len() {
            let thread = &self.threads[id];
            if !thread.runnable || thread.allowed.len() == 1 || self.cores[thread.core].finish == Some(id) {
                continue;
            }
            let busy = |core: usize| !self.cores[core].runnable.is_empty();
            let twin = |core: usize| self.cores[core].twin.is_some_and(busy);
            let crowded = self.cores[thread.core].runnable.len() > 1;
            if !crowded && !twin(thread.core) {
                continue;
            }
            let free = thread.allowed.iter().copied().filter(|core| !busy(*core));
            let near = |core: &usize| self.cores[*core].node == self.cores[thread.core].node;
            let whole = free.clone().find(|core| !twin(*core) && near(core));
            let whole = whole.or_else(|| free.clone().find(|core| !twin(*core)));
            let target = if crowded { whole.or_else(|| free.clone().next()) } else { whole };
            if let Some(target) = target {
                self.sleep(id);
                self.wake_on(id, target, now);
            }
        }
        self.ticks = false;
        if self.threads.iter().any(|thread| thread.runnable && thread.allowed.len() > 1) {
            self.plan_tick(now);
        }
    }

    /// Plans the next tick of the scheduler, which is needless while nothing can move.
    fn plan_tick(&mut self, now: SimTime) {
        if !self.ticks {
            self.ticks = true;
            self.calendar.push(next_tick(now), Event::Tick);
        }
    }
}
