//! From the transmitter to the far end: drops of the port, random losses, outages, and the delay.

use super::bucket::Bucket;
use super::loss::Loss;
use super::settings::{LinkSettings, LossSettings};
use super::train::{Arrival, Train};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wirespeed_units::{SimTime, Span};

/// The path from the transmitter to the far end.
#[derive(Debug, Clone)]
pub(crate) struct Propagation {
    delay: Span,
    port: Option<Box<Port>>,
    loss: Loss,
    /// From and to; the next one last.
    outages: Vec<(i64, i64)>,
    /// Packets that arrive later than in their turn.
    reorder: Option<Box<Chosen>>,
    /// Packets that arrive twice.
    duplicate: Option<Box<Chosen>>,
    missing: Missing,
}

/// Packets chosen at random, and by how much they or their copies are late.
#[derive(Debug, Clone)]
struct Chosen {
    random: Loss,
    delay: Span,
}

impl Chosen {
    fn new(probability: f64, delay: Span, seed: u64) -> Box<Chosen> {
        Box::new(Chosen { random: Loss::new(&LossSettings::Random { probability }, seed), delay })
    }
}

/// What the port really carries.
#[derive(Debug, Clone)]
struct Port {
    bucket: Bucket,
    limit: u32,
    passing: Vec<Train>,
}

/// Lost and copied packets, with the times from which they count. A lost packet is in flight until it would have arrived, and a
/// copy is made when its packet arrives (sch_wire.c).
#[derive(Debug, Clone, Default)]
struct Missing {
    /// First arrival, gap and number of packets that are not counted yet, and the reason.
    runs: BinaryHeap<Reverse<(i64, i64, u32, By)>>,
    lost: Lost,
}

/// Why a packet is lost or copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Port,
    Random,
    Outage,
    Copy,
}

/// Packets lost, by what lost them, and packets copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    pub port: u64,
    pub random: u64,
    pub outage: u64,
    pub copied: u64,
}

impl Lost {
    /// Lost by whatever it was.
    pub(crate) fn all(self) -> u64 {
        self.port + self.random + self.outage
    }

    fn add(&mut self, by: By) {
        match by {
            By::Port => self.port += 1,
            By::Random => self.random += 1,
            By::Outage => self.outage += 1,
            By::Copy => self.copied += 1,
        }
    }
}

impl Missing {
    /// `packets` of `train` from number `from` on, `delay` before their arrival, will not arrive, or arrive twice.
    fn enter(&mut self, by: By, train: &Train, from: u32, packets: u32, delay: Span) {
        let gap = train.gap.picoseconds();
        let first = (train.at + delay).picoseconds() + gap * i64::from(from);
        self.runs.push(Reverse((first, gap, packets, by)));
    }
}

/// More losses than this are counted off when a packet comes, not only when somebody asks.
const MANY: usize = 1024;

impl Propagation {
    pub(crate) fn new(settings: &LinkSettings) -> Propagation {
        Propagation {
            delay: settings.delay,
            port: settings.port_limit.map(|port| {
                let bucket = Bucket::new(port.rate, port.burst);
                Box::new(Port { bucket, limit: settings.train_limit, passing: Vec::new() })
            }),
            loss: if settings.changes.is_empty() {
                Loss::new(&settings.loss, settings.seed)
            } else {
                Loss::changing(&settings.loss, settings.seed)
            },
            outages: settings
                .outages
                .iter()
                .rev()
                .map(|(from, to)| (from.picoseconds(), to.picoseconds()))
                .collect(),
            reorder: settings.reorder.map(|late| Chosen::new(late.probability, late.delay, late.seed)),
            duplicate: settings.duplicate.map(|copy| Chosen::new(copy.probability, copy.delay, copy.seed)),
            missing: Missing::default(),
        }
    }

    /// Delay and random loss ([`Loss::set_bound`]) of the packets to come.
    pub(crate) fn change(&mut self, delay: Span, loss_bound: u64) {
        self.delay = delay;
        self.loss.set_bound(loss_bound);
    }

    /// Takes `train` from the transmitter to the far end; its transmissions end from `end` on every `gap`. Answers
    /// when it arrives if all of it does; otherwise what does is in `out`.
    #[inline(always)]
    pub(crate) fn carry(
        &mut self,
        train: &Train,
        end: i64,
        gap: i64,
        out: &mut Vec<Train>,
    ) -> Option<Arrival> {
        let (end, gap) = (SimTime::ps(end), Span::ps(gap));
        let is_plain = self.port.is_none()
            && self.outages.is_empty()
            && self.reorder.is_none()
            && self.duplicate.is_none();
        if is_plain && self.loss.spares(train.frame, train.packets) {
            return Some(Arrival { at: end + self.delay, gap });
        }
        self.carry_with_care(train.clone().arriving(Arrival { at: end, gap }), out);
        None
    }

    #[inline(never)]
    fn carry_with_care(&mut self, train: Train, out: &mut Vec<Train>) {
        if self.port.is_some() { self.through_port(train, out) } else { self.lose(train, out) }
    }

    fn through_port(&mut self, train: Train, out: &mut Vec<Train>) {
        let Some(mut port) = self.port.take() else { return };
        let (missing, delay) = (&mut self.missing, self.delay);
        port.bucket.filter(train, port.limit, &mut port.passing, |train, from, packets| {
            missing.enter(By::Port, train, from, packets, delay);
        });
        for train in port.passing.drain(..) {
            self.lose(train, out);
        }
        self.port = Some(port);
    }

    /// Random losses, in the order of transmission.
    fn lose(&mut self, mut train: Train, out: &mut Vec<Train>) {
        train.at = train.at + self.delay;
        while let Some(first) = self.loss.first_lost(train.frame, train.packets) {
            if first > 0 {
                self.arrive(train.part(0, first), out);
            }
            self.missing.enter(By::Random, &train, first, 1, Span::ZERO);
            if first + 1 == train.packets {
                return;
            }
            train.skip(first + 1);
        }
        self.arrive(train, out);
    }

    /// Outages.
    fn arrive(&mut self, mut train: Train, out: &mut Vec<Train>) {
        for i in (0..self.outages.len()).rev() {
            let delay = self.delay.picoseconds();
            let (from, to) = (self.outages[i].0 + delay, self.outages[i].1 + delay);
            let before = earlier(&train, from);
            if before == train.packets {
                break;
            }
            let lost = earlier(&train, to) - before;
            if lost == 0 {
                continue;
            }
            self.missing.enter(By::Outage, &train, before, lost, Span::ZERO);
            if before > 0 {
                self.deliver(train.part(0, before), out);
            }
            if before + lost == train.packets {
                return;
            }
            train.skip(before + lost);
        }
        self.deliver(train, out);
    }

    /// Lets the packets arrive that are not lost, some of them late.
    fn deliver(&mut self, mut train: Train, out: &mut Vec<Train>) {
        while let Some(Chosen { random, delay }) = self.reorder.as_deref_mut()
            && let Some(first) = random.first_lost(train.frame, train.packets)
        {
            let mut late = train.part(first, 1);
            late.at = late.at + *delay;
            if first > 0 {
                self.copy(train.part(0, first), out);
            }
            self.copy(late, out);
            if first + 1 == train.packets {
                return;
            }
            train.skip(first + 1);
        }
        self.copy(train, out);
    }

    /// Lets packets arrive, some of them twice.
    fn copy(&mut self, mut train: Train, out: &mut Vec<Train>) {
        while let Some(Chosen { random, delay }) = self.duplicate.as_deref_mut()
            && let Some(first) = random.first_lost(train.frame, train.packets)
        {
            let mut copy = train.part(first, 1);
            copy.gap = Span::ZERO;
            copy.at = copy.at + *delay;
            self.missing.enter(By::Copy, &train, first, 1, Span::ZERO);
            Self::put_out(train.part(0, first + 1), out);
            out.push(copy);
            if first + 1 == train.packets {
                return;
            }
            train.skip(first + 1);
        }
        Self::put_out(train, out);
    }

    fn put_out(mut train: Train, out: &mut Vec<Train>) {
        if train.packets == 1 {
            train.gap = Span::ZERO;
        }
        out.push(train);
    }

    /// Forgets what is over at `at`, the time of a train that comes.
    #[inline]
    pub(crate) fn tidy(&mut self, at: i64) {
        while let Some((_, to)) = self.outages.last()
            && *to <= at
        {
            self.outages.pop();
        }
        if self.missing.runs.len() > MANY {
            self.lost(at);
        }
    }

    /// How many have been lost or copied at `now`.
    pub(crate) fn lost(&mut self, now: i64) -> Lost {
        let missing = &mut self.missing;
        while let Some(Reverse((first, gap, packets, by))) = missing.runs.peek().copied()
            && first <= now
        {
            missing.runs.pop();
            missing.lost.add(by);
            if packets > 1 {
                missing.runs.push(Reverse((first + gap, gap, packets - 1, by)));
            }
        }
        missing.lost
    }
}

/// How many packets of `train` come before `time`.
fn earlier(train: &Train, time: i64) -> u32 {
    let (first, gap) = (train.at.picoseconds(), train.gap.picoseconds());
    if time <= first {
        0
    } else if train.last_at().picoseconds() < time {
        train.packets
    } else {
        // The last comes at `time` or later and the first before it: the gap is not zero.
        ((time - first - 1) / gap) as u32 + 1
    }
}
