//! Forward error correction over a link: an encoder before its queue, a decoder at its end.
//!
//! The fate of a packet is known when it is offered to the link, and packets arrive in their order. So what a repair packet
//! recovers is known when that is offered, and no later packet changes it.

use super::settings::FecSettings;
use super::train::{Body, Ecn, Train};
use std::collections::{BTreeMap, VecDeque};
use wirespeed_fec::{Decoder, Encoder, NAME, REPAIR_HEADER, Release, Solved, repairs_of_window, window};
use wirespeed_units::{SimTime, Span};

/// The flow of repair packets, which no other flow has: they do not leave the link.
const NO_FLOW: u32 = u32::MAX;

/// Both ends of the correction.
#[derive(Debug, Clone)]
pub(crate) struct Fec {
    encoder: Encoder<Group>,
    decoder: Decoder<u64, ()>,
    release: Release<SimTime, Span, Train>,
    /// Packets so far.
    number: u64,
    /// Packets that did not arrive and can still be recovered.
    lost: BTreeMap<u64, Train>,
    /// For how many packets they are kept.
    window: u64,
    /// Groups whose repair packets have not been sent.
    full: Vec<Group>,
    flush: Span,
    /// When the last packet came.
    last_at: SimTime,
    /// Repair packets sent.
    repairs: u64,
    decoded: Counted,
    recovered: Counted,
}

/// The packets that a repair packet protects.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    numbers: Vec<u64>,
    /// Of the largest packet.
    frame: u32,
}

/// Packets that count from a time on, which does not decrease.
#[derive(Debug, Clone, Default)]
struct Counted {
    upcoming: VecDeque<SimTime>,
    packets: u64,
}

impl Counted {
    fn add(&mut self, at: SimTime) {
        self.upcoming.push_back(at);
    }

    fn until(&mut self, now: SimTime) -> u64 {
        while self.upcoming.front().is_some_and(|at| *at <= now) {
            self.upcoming.pop_front();
            self.packets += 1;
        }
        self.packets
    }
}

/// Packets of a correction so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FecCounts {
    /// Repair packets that the encoder sent.
    pub repair: u64,
    /// Repair packets that reached the decoder.
    pub decoded: u64,
    /// Lost packets that the decoder recovered.
    pub recovered: u64,
}

/// Packets that leave the decoder go to `out`, with the times at which they leave.
fn leaving(out: &mut Vec<Train>) -> impl FnMut(SimTime, Train) {
    |at, packet| out.push(Train { at, ..packet })
}

impl Fec {
    pub(crate) fn new(settings: &FecSettings) -> Fec {
        let (data, interleave) = (settings.data, &settings.interleave);
        Fec {
            encoder: Encoder::new(data, interleave),
            decoder: Decoder::new(repairs_of_window(data, interleave)),
            release: Release::new((settings.hold > Span::ZERO).then_some(settings.hold)),
            number: 0,
            lost: BTreeMap::new(),
            window: window(data, interleave),
            full: Vec::new(),
            flush: settings.flush,
            last_at: SimTime::START,
            repairs: 0,
            decoded: Counted::default(),
            recovered: Counted::default(),
        }
    }

    /// A packet was offered to the link; `arrived`: as it comes to the decoder, if it does.
    pub(crate) fn pass(&mut self, packet: &Train, arrived: Option<Train>, out: &mut Vec<Train>) {
        let (number, frame) = (self.number, packet.frame);
        self.number += 1;
        self.last_at = packet.at;
        self.decoded.until(packet.at);
        self.recovered.until(packet.at);
        match arrived {
            Some(arrived) => self.release.enter(number, arrived.at, arrived, &mut leaving(out)),
            None => {
                self.lost.insert(number, packet.clone());
                while let Some(first) = self.lost.first_entry()
                    && *first.key() + self.window < number
                {
                    first.remove();
                }
            }
        }
        let add = |group: &mut Group| {
            group.numbers.push(number);
            group.frame = group.frame.max(frame);
        };
        self.encoder.enter(add, &mut self.full);
    }

    /// Whether the pause that ends all groups is over at `now`.
    pub(crate) fn is_pause_over(&self, now: SimTime) -> bool {
        self.last_at + self.flush <= now && !self.encoder.is_empty()
    }

    /// Ends all groups.
    pub(crate) fn flush(&mut self) {
        self.encoder.flush(&mut self.full);
    }

    /// The groups whose repair packets have to be sent.
    pub(crate) fn take_full(&mut self) -> Vec<Group> {
        std::mem::take(&mut self.full)
    }

    /// The repair packet of a group, which is sent at `now`.
    pub(crate) fn repair_of(&mut self, group: &Group, now: SimTime) -> Train {
        let names = NAME * group.numbers.len() as u32;
        let repair = Train {
            at: now,
            gap: Span::ZERO,
            packets: 1,
            frame: group.frame + REPAIR_HEADER + names,
            flow: NO_FLOW,
            ecn: Ecn::NotCapable,
            body: Body::Datagram { first: self.repairs },
        };
        self.repairs += 1;
        repair
    }

    /// A repair packet arrives at the decoder at `at`. Packets that it recovers leave now.
    pub(crate) fn decode(&mut self, group: Group, at: SimTime, out: &mut Vec<Train>) {
        self.decoded.add(at);
        let mut missing = group.numbers;
        // No group spans more packets than lost ones are kept for.
        missing.retain(|number| self.lost.contains_key(number));
        let mut solved: Vec<Solved<u64, ()>> = self.decoder.enter(missing, ()).into_iter().collect();
        while let Some(Solved { packet, .. }) = solved.pop() {
            let Some(train) = self.lost.remove(&packet) else { continue };
            self.recovered.add(at);
            self.release.enter(packet, at, train, &mut leaving(out));
            self.decoder.found(packet, |()| (), &mut solved);
        }
    }

    /// When [`Fec::is_pause_over`] or [`Fec::expire`] has something to do next.
    pub(crate) fn next_wake(&self) -> Option<SimTime> {
        let pause = (!self.encoder.is_empty()).then(|| self.last_at + self.flush);
        pause.into_iter().chain(self.release.deadline()).min()
    }

    /// Releases packets that have waited for the longest time.
    pub(crate) fn expire(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.release.expire(now, &mut leaving(out));
    }

    pub(crate) fn counts(&mut self, now: SimTime) -> FecCounts {
        FecCounts {
            repair: self.repairs,
            decoded: self.decoded.until(now),
            recovered: self.recovered.until(now),
        }
    }
}
