//! Two coupled queues for L4S (RFC 9332, appendix A), in the form of Linux 6.17 (net/sched/sch_dualpi2.c). A PI controller follows
//! the longer of the two head delays. The classic queue has its probability squared, the low-latency queue k times its
//! probability and a step threshold. Weighted round robin serves both. Drops and marks happen when a packet leaves.

use super::codel::Tally;
use super::random::Random;
use super::served::Served;
use super::settings::{DualPi2Settings, StepSettings};
use super::store::Store;
use super::train::{Ecn, Train};
use std::collections::VecDeque;

/// Weights of the scheduler are in percent.
const ALL_PERCENT: i64 = 100;
const PS_PER_S: f64 = 1e12;

/// Packets that left the two queues.
#[derive(Debug, Clone, Default)]
pub struct ServedByClass {
    /// The low-latency queue.
    pub low_latency: Served,
    /// The classic queue.
    pub classic: Served,
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    LowLatency,
    Classic,
}

/// The controller: a base probability that follows a delay.
#[derive(Debug, Clone)]
struct Controller {
    /// p', of which both queues' probabilities are functions.
    probability: f64,
    /// The delay at the last update, and when the next one is, in picoseconds.
    last_delay: i64,
    next: i64,
}

/// Both queues.
#[derive(Debug, Clone)]
pub(crate) struct DualQueue {
    settings: DualPi2Settings,
    low_latency: Store,
    classic: Store,
    /// For each packet of the low-latency queue, whether the step is applied; empty if it is to all.
    steps: VecDeque<bool>,
    controller: Controller,
    /// In bytes times percent: the low-latency queue is served unless it is above zero.
    credit: i64,
    random: Random,
    served: ServedByClass,
}

impl DualQueue {
    pub(crate) fn new(settings: &DualPi2Settings, seed: u64) -> DualQueue {
        let mut queue = DualQueue {
            settings: settings.clone(),
            low_latency: Store::new(1),
            classic: Store::new(1),
            steps: VecDeque::new(),
            controller: Controller {
                probability: 0.0,
                last_delay: 0,
                next: settings.tupdate.picoseconds().max(1),
            },
            credit: 0,
            random: Random::derived(seed, "dualpi2"),
            served: ServedByClass::default(),
        };
        queue.reset_credit();
        queue
    }

    pub(crate) fn packets(&self) -> u64 {
        self.low_latency.packets() + self.classic.packets()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.low_latency.bytes() + self.classic.bytes()
    }

    /// Packets that have left since this was last asked.
    pub(crate) fn take_served(&mut self) -> ServedByClass {
        std::mem::take(&mut self.served)
    }

    /// The scheduler restarts when nothing waits (`dualpi2_reset_c_protection`).
    fn reset_credit(&mut self) {
        let classic = i64::from(self.settings.classic_protection_percent);
        self.credit = i64::from(self.settings.largest_frame) * (classic - (ALL_PERCENT - classic));
    }

    /// Packets come. Answers how many do not fit.
    pub(crate) fn put(&mut self, train: &Train) -> u64 {
        self.update(train.at.picoseconds());
        let room = u64::from(self.settings.limit).saturating_sub(self.packets());
        let fits = u64::from(train.packets).min(room) as u32;
        if fits > 0 {
            let kept = train.part(0, fits);
            if train.ecn.is_l4s() {
                if self.settings.min_qlen_step > 0 {
                    let before = self.low_latency.packets();
                    let least = u64::from(self.settings.min_qlen_step);
                    self.steps.extend((0..u64::from(fits)).map(|ahead| before + ahead >= least));
                }
                self.low_latency.put(kept);
            } else {
                self.classic.put(kept);
            }
        }
        u64::from(train.packets - fits)
    }

    /// A train passes while nothing waits: each packet comes and goes at once.
    pub(crate) fn passed(&mut self, train: &Train) {
        self.update(train.at.picoseconds());
        self.reset_credit();
        let class = if train.ecn.is_l4s() { Class::LowLatency } else { Class::Classic };
        self.served_of(class).count(train.packets, train.frame, 0, false);
    }

    /// The packet that the transmitter sends next at `now` (`dualpi2_qdisc_dequeue`).
    pub(crate) fn dequeue(&mut self, now: i64, tally: &mut Tally) -> Option<Train> {
        self.update(now);
        loop {
            let (class, mut packet, credit) = self.pick()?;
            let is_stepped = class == Class::LowLatency && self.is_stepped(&packet, now);
            let came_marked = packet.ecn == Ecn::Marked;
            if self.must_drop(class, &mut packet) {
                let delay = now - packet.at.picoseconds();
                self.served_of(class).drop(packet.packets, delay);
                tally.drop(packet, false);
                continue;
            }
            if is_stepped {
                packet.ecn = Ecn::Marked;
            }
            let marked = !came_marked && packet.ecn == Ecn::Marked;
            tally.marked += u64::from(marked);
            self.credit += credit;
            let delay = now - packet.at.picoseconds();
            self.served_of(class).count(packet.packets, packet.frame, delay, marked);
            return Some(packet);
        }
    }

    fn served_of(&mut self, class: Class) -> &mut Served {
        match class {
            Class::LowLatency => &mut self.served.low_latency,
            Class::Classic => &mut self.served.classic,
        }
    }

    /// Takes a packet of the queue whose turn it is (`dequeue_packet`). Answers its price as well, which is due if it is sent. There
    /// is none while the other queue is empty.
    fn pick(&mut self) -> Option<(Class, Train, i64)> {
        let (waits, other_waits) = (self.low_latency.packets() > 0, self.classic.packets() > 0);
        let weight = i64::from(self.settings.classic_protection_percent);
        let (class, packet, price) = if waits && (!other_waits || self.credit <= 0) {
            (Class::LowLatency, self.low_latency.take(1)?, if other_waits { weight } else { 0 })
        } else if other_waits {
            (Class::Classic, self.classic.take(1)?, if waits { weight - ALL_PERCENT } else { 0 })
        } else {
            self.reset_credit();
            return None;
        };
        let bytes = packet.bytes() as i64;
        Some((class, packet, price * bytes))
    }

    /// Whether a packet that leaves the low-latency queue is beyond the step (`do_step_aqm`).
    fn is_stepped(&mut self, packet: &Train, now: i64) -> bool {
        let applies = self.steps.pop_front().unwrap_or(true);
        applies
            && match self.settings.step {
                StepSettings::Time(time) => now - packet.at.picoseconds() > time.picoseconds(),
                StepSettings::Packets(packets) => self.low_latency.packets() > packets.into(),
            }
    }

    /// Draws by the controller's probability, and marks the packet if it is to be (`must_drop`).
    fn must_drop(&mut self, class: Class, packet: &mut Train) -> bool {
        // So little behind it is not a standing queue.
        if self.bytes() < 2 * u64::from(self.settings.largest_frame) {
            return false;
        }
        let base = self.controller.probability;
        let coupled = base * self.settings.coupling;
        let is_overloaded = coupled > 1.0;
        match class {
            Class::Classic => {
                if !self.draws_squared(base) {
                    return false;
                }
                if is_overloaded || !packet.ecn.can_be_marked() {
                    return true;
                }
                packet.ecn = Ecn::Marked;
                false
            }
            Class::LowLatency => {
                if is_overloaded && self.settings.drops_overload && self.draws_squared(base) {
                    return true;
                }
                if is_overloaded || self.random.unit() <= coupled {
                    packet.ecn = Ecn::Marked;
                }
                false
            }
        }
    }

    /// True with the square of a probability: both of two numbers are below it.
    fn draws_squared(&mut self, probability: f64) -> bool {
        self.random.unit() <= probability && self.random.unit() <= probability
    }

    /// Updates of the probability that are due (`calculate_probability`). Between two of them the heads of the queues stay what they
    /// are, since every packet that comes or leaves asks for updates first.
    fn update(&mut self, now: i64) {
        let tupdate = self.settings.tupdate.picoseconds().max(1);
        while self.controller.next <= now {
            let at = self.controller.next;
            let wait = |store: &Store| store.front().map_or(0, |head| (at - head.at.picoseconds()).max(0));
            let delay = wait(&self.low_latency).max(wait(&self.classic));
            if delay == 0 && self.controller.last_delay == 0 && self.controller.probability == 0.0 {
                // Nothing changes before something waits.
                self.controller.next += ((now - at) / tupdate + 1) * tupdate;
                return;
            }
            self.controller.follow(&self.settings, delay);
            self.controller.next += tupdate;
        }
    }
}

impl Controller {
    /// An update with this delay in picoseconds (RFC 9332, figure 6).
    fn follow(&mut self, settings: &DualPi2Settings, delay: i64) {
        let seconds = |ps: i64| ps as f64 / PS_PER_S;
        let change = settings.alpha_per_s * seconds(delay - settings.target.picoseconds())
            + settings.beta_per_s * seconds(delay - self.last_delay);
        let most = if settings.drops_overload { 1.0 } else { 1.0 / settings.coupling };
        self.probability = (self.probability + change).clamp(0.0, most);
        self.last_delay = delay;
    }
}

#[cfg(test)]
mod tests;
