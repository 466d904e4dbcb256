//! From the wire to the interrupt: the bus, the receive queues, moderation, and who is interrupted.

use super::core::Kind;
use super::cost::{part, times};
use super::dim::Dim;
use super::ring::Ring;
use super::rx::{Moderation, RxQueue};
use super::{Event, Host, Outside};
use crate::net::Train;
use wirespeed_scenario::run::Irq;
use wirespeed_units::{Bytes, SimTime, Span};

/// What the interface can hold while its bus is busy: the receive packet buffer of an Intel 82598 (datasheet,
/// section 3.2.7; later ones have as much or somewhat more).
const FIFO: u64 = 512 * 1024;

impl Host {
    pub(super) fn set_up_interrupts(&mut self) {
        let nic = &self.settings.nic;
        let count = nic.rx_queues.max(1) as usize;
        let (packets, entry, mapped) = (nic.rx_ring, nic.rx_wqe.map(Bytes::get), self.rules.mapped);
        let targets: Vec<usize> = match &self.settings.irq {
            Irq::Cores(cores) => (0..count).map(|queue| cores[queue % cores.len()] as usize).collect(),
            Irq::Balanced(every) => {
                self.calendar.push(SimTime::START + *every, Event::Balance);
                (0..count).map(|_| self.random.draw() as usize % self.cores.len()).collect()
            }
        };
        let moderation = || {
            if nic.adaptive {
                Moderation::Adaptive(Dim::default())
            } else {
                Moderation::fixed(nic.coalesce, nic.coalesce_frames, nic.coalesce_from)
            }
        };
        let queue = |core| RxQueue::new(core, Ring::new(packets, entry, mapped), moderation());
        self.queues = targets.into_iter().map(queue).collect();
    }

    /// irqbalance moves every queue's interrupt. To it all cores without other interrupts look alike, so that it is
    /// a matter of chance which it takes.
    pub(super) fn balance_interrupts(&mut self, now: SimTime) {
        let Irq::Balanced(every) = self.settings.irq else { return };
        for queue in 0..self.queues.len() {
            self.queues[queue].core = self.random.draw() as usize % self.cores.len();
        }
        self.calendar.push(now + every, Event::Balance);
    }

    /// A train comes from the wire.
    pub fn arrive(&mut self, mut train: Train) {
        self.now = self.now.max(train.at);
        self.came[Self::direction(&train)] += u64::from(train.packets);
        let queue = self.sockets.get(&train.flow).map_or(0, |socket| socket.queue);
        if let Some(lost) = self.over_the_bus(&mut train, queue) {
            self.queues[queue].dropped += u64::from(lost);
            self.lost.rx_ring[Self::direction(&train)] += u64::from(lost);
            if lost == train.packets {
                return;
            }
            train = train.split(train.packets - lost);
        }
        self.queues[queue].arrive(train);
        self.plan_irq(queue);
    }

    /// The bus, and the link between the nodes if the queue's buffers are on another one, carry a train to memory;
    /// returns how many of its packets found the interface's own memory full.
    fn over_the_bus(&mut self, train: &mut Train, queue: usize) -> Option<u32> {
        let node = self.settings.nic.node as usize;
        let target = self.cores[self.queues[queue].core].node;
        let mut free = self.bus_free;
        let mut rate = self.settings.nic.bus;
        if target != node
            && let Some(link) = self.settings.machine.interlink
        {
            rate = Some(rate.map_or(link, |bus| bus.min(link)));
            free = free.max(self.interlink[node][target]);
        }
        if let Some(memory) = self.settings.machine.memory {
            let left = self.memory[target].left(memory, train.at);
            rate = Some(rate.map_or(left, |rate| rate.min(left)));
        }
        let rate = rate?;
        let begins = free.max(train.at);
        let mut each = rate.serialisation(Bytes::new(u64::from(train.frame)));
        each = each + part(self.share_bus(begins, times(each, train.packets.into())), train.packets);
        let room = rate.serialisation(Bytes::new(FIFO));
        // Packet i comes at `at + i * gap` and is through at `begins + (i + 1) * each`.
        let behind = begins - train.at;
        let growth = each - train.gap;
        let most = if behind > room {
            0
        } else if growth > Span::ZERO {
            let steps = (room - behind).picoseconds() / growth.picoseconds();
            u32::try_from(steps + 1).unwrap_or(u32::MAX)
        } else {
            u32::MAX
        };
        let taken = train.packets.min(most);
        train.at = begins + each;
        train.gap = train.gap.max(each);
        self.bus_free = begins + each * i64::from(taken);
        if target != node {
            self.interlink[node][target] = self.bus_free;
        }
        (taken < train.packets).then_some(train.packets - taken)
    }

    /// Plans a queue's next interrupt.
    pub(super) fn plan_irq(&mut self, queue: usize) {
        let due = self.queues[queue].next_irq();
        let rx = &mut self.queues[queue];
        if let Some(at) = due.map(|due| due.max(self.now))
            && rx.irq_event.is_none_or(|planned| at < planned)
        {
            rx.irq_event = Some(at);
            self.calendar.push(at, Event::Irq(queue));
        }
    }

    pub(super) fn on_irq(&mut self, queue: usize, at: SimTime, outside: &mut Outside) {
        if self.queues[queue].irq_event != Some(at) {
            return;
        }
        self.queues[queue].irq_event = None;
        // Another packet may have put it off.
        if self.queues[queue].next_irq().is_none_or(|due| due > at) {
            self.plan_irq(queue);
            return;
        }
        self.admit(queue, at);
        let index = self.queues[queue].core;
        if self.settings.nic.napi {
            self.queues[queue].scheduled = true;
            self.queues[queue].raise(at);
            self.cores[index].poll(queue, self.rules.once_a_round);
            self.interrupt(index, at, self.settings.costs.interrupt);
        } else {
            self.take_one(queue, index, at, outside);
        }
        self.resume_softirq(index, at);
        self.plan_core(index, at);
    }

    /// Packets that have come by `now` go into the ring.
    pub(super) fn admit(&mut self, queue: usize, now: SimTime) {
        let lost = &mut self.lost.rx_ring;
        self.queues[queue].admit(now, |train| lost[Self::direction(train)] += u64::from(train.packets));
    }

    /// An interrupt takes a core, whatever it does.
    fn interrupt(&mut self, index: usize, at: SimTime, cost: Span) {
        let takes = self.takes(index, at, cost);
        let core = &mut self.cores[index];
        let begins = core.free_at.max(at);
        core.spend(Kind::HardIrq, begins, begins + takes);
    }

    /// Without NAPI every packet has an interrupt, which puts it into the core's backlog (`netif_rx`).
    fn take_one(&mut self, queue: usize, index: usize, at: SimTime, outside: &mut Outside) {
        let mut taken = std::mem::take(&mut self.scratch);
        self.queues[queue].take(1, &mut taken);
        self.queues[queue].raise(at);
        let mut pages = Span::ZERO;
        loop {
            // No poll comes back for entries that are still without memory.
            let (entries, lacking) = self.queues[queue].refill();
            pages += self.mapping(entries);
            if !lacking {
                break;
            }
        }
        let cost = self.settings.costs.interrupt + self.settings.costs.rx_packet + pages;
        self.interrupt(index, at, cost);
        let through = at + self.takes(index, at, cost);
        for train in taken.drain(..) {
            self.queue_backlog(index, train, outside);
        }
        self.scratch = taken;
        // The next interrupt waits until this one is over.
        if let Some(due) = self.queues[queue].next_irq() {
            let due = due.max(through).max(self.now);
            self.queues[queue].irq_event = Some(due);
            self.calendar.push(due, Event::Irq(queue));
        }
    }

    /// Packets wait between interface and stack, if there is room (`enqueue_to_backlog`, `netdev_max_backlog`).
    pub(super) fn queue_backlog(&mut self, index: usize, mut train: Train, outside: &mut Outside) {
        let core = &mut self.cores[index];
        let room = self.backlog_limit.saturating_sub(core.backlog_packets);
        if train.packets > room {
            let refused = u64::from(train.packets - room);
            self.lost.softnet_backlog[Self::direction(&train)] += refused;
            outside.touched.push(train.flow);
            if room == 0 {
                return;
            }
            train = train.split(room);
        }
        let core = &mut self.cores[index];
        core.backlog_packets += train.packets;
        core.backlog.push_back(train);
    }
}
