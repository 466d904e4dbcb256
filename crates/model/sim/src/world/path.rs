//! The pipes that trains go through: one direction of a link, a host's interface, an access line.

use super::early::Early;
use super::limits::{LONGEST_TRAIN, Limit};
use crate::net::{
    Arrival, Body, Causes, Dropped, InFlight, Link, LinkSettings, LinkStatistics, QueueSettings,
    ServedByClass, Step, Train,
};
use wirespeed_record::Cause;
use wirespeed_units::{SimTime, Span};

/// Which way a packet of a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the sender to the receiver.
    Forward,
    /// Back.
    Back,
}

impl Way {
    /// Which way a packet goes is a matter of what it carries.
    #[inline]
    pub fn of(body: &Body) -> Way {
        let goes_back = matches!(body, Body::Ack(_) | Body::Handshake { step: Step::Reply, .. });
        if goes_back { Way::Back } else { Way::Forward }
    }
}

/// Something that trains go through.
#[derive(Debug)]
pub struct Pipe {
    /// Name in the recording: `HOST/qdisc`, `LINK/forward`, `HOST/access`.
    pub name: String,
    /// What implements it.
    pub kind: &'static str,
    /// Whether it belongs to an end host.
    pub is_host: bool,
    /// Whether a recording shows it as a queue.
    pub is_shown: bool,
    /// Whether it can mark.
    pub marks: bool,
    /// Whether it has forward error correction.
    pub corrects: bool,
    means: Means,
    /// What it can lose packets to.
    causes: Option<Causes>,
    /// What is under way, in order of arrival.
    pub on_the_way: InFlight,
    /// What does not fit is what came last: a sender knows which of its packets were refused.
    pub refuses_last: bool,
    /// A host's first-in-first-out queue that tells sockets when packets leave as it accepts them.
    pub tells_departures: bool,
    /// Packets of one event at most.
    pub train_limit: u32,
    limit: Limit,
    /// Flows that have begun and pass here, each way by itself.
    pub users: u32,
    /// When the queue is to be looked at.
    pub wake_event: Option<SimTime>,
    /// What sockets have put out ahead of its time and enters later.
    pub early: Early,
    offered: u64,
    left: u64,
}

#[derive(Debug)]
enum Means {
    Link(Box<Link>),
    /// No queue, only a delay; packets that entered and when they will have left are counted by what is under way.
    Delay {
        delay: Span,
        bytes: u64,
    },
}

impl Pipe {
    /// A link or an interface.
    pub fn link(
        name: String,
        kind: &'static str,
        is_host: bool,
        settings: &LinkSettings,
        limit: Limit,
    ) -> Pipe {
        let limit = if settings.train_limit == 1 { Limit::ONE } else { limit };
        Pipe {
            name,
            kind,
            is_host,
            is_shown: true,
            marks: false,
            corrects: settings.fec.is_some(),
            means: Means::Link(Box::new(Link::new(settings))),
            causes: Some(Causes::of(settings)),
            on_the_way: InFlight::new(LONGEST_TRAIN, limit == Limit::ONE),
            refuses_last: matches!(
                settings.queue,
                QueueSettings::DropTailPackets { .. } | QueueSettings::PtrRing { .. } | QueueSettings::Fq(_)
            ),
            tells_departures: false,
            train_limit: limit.shared,
            limit,
            users: 0,
            wake_event: None,
            early: Early::default(),
            offered: 0,
            left: 0,
        }
    }

    /// A pure delay.
    pub fn delay(name: String, is_host: bool, delay: Span, limit: Limit) -> Pipe {
        Pipe {
            name,
            kind: "delay",
            is_host,
            is_shown: is_host,
            marks: false,
            corrects: false,
            means: Means::Delay { delay, bytes: 0 },
            causes: None,
            on_the_way: InFlight::new(LONGEST_TRAIN, limit == Limit::ONE),
            refuses_last: false,
            tells_departures: false,
            train_limit: limit.shared,
            limit,
            users: 0,
            wake_event: None,
            early: Early::default(),
            offered: 0,
            left: 0,
        }
    }

    /// Says whether the flow that uses the pipe has its whole path for itself.
    pub fn set_alone(&mut self, alone: bool) {
        (self.train_limit, self.on_the_way.longest) = self.limit.of_train(alone);
    }

    /// Whether several flows use it, and what enters ahead of its time has to wait for it there. A host's queue that decides at
    /// departure waits itself.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.users > 1 && (!self.is_host || self.tells_departures)
    }

    /// What arrives is seen packet by packet. Nothing is on the way yet.
    pub fn arrive_one_by_one(&mut self) {
        self.on_the_way = InFlight::new(LONGEST_TRAIN, true);
    }

    /// Packets at most of a train whose packets arrive `gap` apart: what a train does, it does at its first packet. One that a
    /// slow link spreads out, or that was longer than what the link would put together, is several.
    pub fn longest(&self, gap: Span) -> u32 {
        let longest = self.on_the_way.longest;
        if gap <= Span::ZERO {
            u32::MAX
        } else if gap * i64::from(self.train_limit) <= longest {
            self.train_limit
        } else {
            (longest.picoseconds() / gap.picoseconds()) as u32 + 1
        }
    }

    /// Whether so many that arrive `gap` apart are more than [`Pipe::longest`]: asked of each train, and without its division.
    #[inline]
    pub fn is_too_long(&self, packets: u32, gap: Span) -> bool {
        gap > Span::ZERO
            && (packets > self.train_limit || gap * i64::from(packets - 1) > self.on_the_way.longest)
    }

    /// Takes a train in. Answers when it arrives at the end if it gets there as a whole; otherwise what does is in `out`.
    #[inline]
    pub fn offer(&mut self, train: &Train, out: &mut Vec<Train>) -> Option<Arrival> {
        self.offered += u64::from(train.packets);
        match &mut self.means {
            Means::Link(link) => link.pass(train, out),
            Means::Delay { delay, bytes } => {
                *bytes += train.bytes();
                Some(Arrival { at: train.at + *delay, gap: train.gap })
            }
        }
    }

    /// Packets that the queue has refused so far when they were offered.
    pub fn refused(&self) -> u64 {
        match &self.means {
            Means::Link(link) => link.refused(),
            Means::Delay { .. } => 0,
        }
    }

    /// The last `packets` that were refused count as not offered: their sender stopped at the first refusal.
    pub fn forget_refused(&mut self, packets: u64) {
        self.offered -= packets;
        if let Means::Link(link) = &mut self.means {
            link.forget_refused(packets);
        }
    }

    /// What a host's queue has dropped since this was last asked and did not refuse when it was offered.
    pub fn take_gone(&mut self) -> Vec<Dropped> {
        match &mut self.means {
            Means::Link(link) => link.take_gone(),
            Means::Delay { .. } => Vec::new(),
        }
    }

    /// Takes the first train that is at the end.
    #[inline]
    pub fn arrive(&mut self) -> Option<Train> {
        let train = self.on_the_way.pop()?;
        self.left += u64::from(train.packets);
        Some(train)
    }

    /// The first train, as it arrives.
    #[inline]
    pub fn first(&mut self) -> Option<&Train> {
        self.on_the_way.first()
    }

    /// The first packets of the first train, which has more, have been seen to where they were. Answers when the next arrive.
    pub fn skip_first(&mut self, packets: u32) -> Option<SimTime> {
        self.left += u64::from(packets);
        self.on_the_way.skip_first(packets)
    }

    /// The first train, of so many packets, has been seen to where it was. Answers when the next arrives.
    #[inline]
    pub fn remove_first(&mut self, packets: u32) -> Option<SimTime> {
        self.left += u64::from(packets);
        self.on_the_way.remove_first()
    }

    /// Packets that entered, copies, repair packets and recovered packets that are neither through nor known to be lost.
    pub fn in_flight(&mut self, now: SimTime) -> u64 {
        let s = self.statistics(now);
        let entered = self.offered + self.early.packets();
        entered + s.copied_packets + s.repair_packets + s.recovered_packets
            - s.overflow_packets
            - s.lost_packets
            - s.decoded_packets
            - self.left
    }

    /// Packets dropped and lost so far, by cause; nothing where causes are not told apart.
    pub fn drops(&mut self, now: SimTime) -> Vec<(Cause, u64)> {
        let s = self.statistics(now);
        self.causes.as_ref().map_or_else(Vec::new, |causes| causes.packets(&s))
    }

    /// When [`Pipe::wake`] is due.
    #[inline]
    pub fn next_wake(&self) -> Option<SimTime> {
        match &self.means {
            Means::Link(link) => link.next_wake(),
            Means::Delay { .. } => None,
        }
    }

    /// Lets the queue send.
    pub fn wake(&mut self, now: SimTime, out: &mut Vec<Train>) {
        if let Means::Link(link) = &mut self.means {
            link.wake(now, out);
        }
    }

    /// Packets that have left the queue, by class, since this was last asked; `None`: it has no classes.
    pub fn take_served(&mut self) -> Option<ServedByClass> {
        match &mut self.means {
            Means::Link(link) => link.take_served(),
            Means::Delay { .. } => None,
        }
    }

    /// State at `now`.
    pub fn statistics(&mut self, now: SimTime) -> LinkStatistics {
        match &mut self.means {
            Means::Link(link) => {
                let statistics = link.statistics(now);
                LinkStatistics {
                    ahead_packets: statistics.ahead_packets + self.early.packets(),
                    ..statistics
                }
            }
            Means::Delay { bytes, .. } => {
                let under_way = self.offered - self.left;
                LinkStatistics {
                    flight_packets: under_way,
                    sent_packets: self.offered,
                    sent_bytes: *bytes,
                    delivered_packets: self.left,
                    ..LinkStatistics::default()
                }
            }
        }
    }
}
