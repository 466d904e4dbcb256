//! What sockets put out ahead of its time for a pipe that several flows share.
//!
//! A socket answers all acknowledgements of a train at the first one, and what it sends leaves at later times. A queue that only this
//! flow uses may take it at once. Where others send too, each train enters when its first packet is there: otherwise a full queue would
//! decide about it before what others have sent earlier.

use super::{Event, Way, World};
use crate::due::Due;
use crate::net::Train;
use std::collections::VecDeque;
use wirespeed_units::SimTime;

/// Trains in order of time; of several at one time in the order in which they were put out.
#[derive(Debug)]
pub struct Early {
    trains: VecDeque<Train>,
    packets: u64,
    /// When an event is pending for the first.
    event: Due,
}

impl Default for Early {
    fn default() -> Self {
        Early { trains: VecDeque::new(), packets: 0, event: Due::NEVER }
    }
}

impl Early {
    /// Puts a train where its time is. Answers whether it is the first of all.
    fn push(&mut self, train: Train) -> bool {
        self.packets += u64::from(train.packets);
        let behind = self.trains.iter().rev().take_while(|other| other.at > train.at).count();
        let place = self.trains.len() - behind;
        self.trains.insert(place, train);
        place == 0
    }

    /// Takes the first train, if it is due at `now`.
    fn pop(&mut self, now: SimTime) -> Option<Train> {
        self.next().filter(|at| *at <= now)?;
        let train = self.trains.pop_front()?;
        self.packets -= u64::from(train.packets);
        Some(train)
    }

    fn next(&self) -> Option<SimTime> {
        self.trains.front().map(|train| train.at)
    }

    /// How many wait.
    pub fn packets(&self) -> u64 {
        self.packets
    }
}

impl World {
    /// Keeps a train that is ahead of its time until then.
    pub(super) fn enter_later(&mut self, pipe: u32, train: Train) {
        let at = train.at;
        if self.pipes[pipe as usize].early.push(train) {
            self.plan_entry(pipe, at);
        }
    }

    fn plan_entry(&mut self, pipe: u32, at: SimTime) {
        let event = &mut self.pipes[pipe as usize].early.event;
        if Due::at(at) < *event {
            *event = Due::at(at);
            self.events.push(at, Event::Entry(pipe));
        }
    }

    /// Trains that were kept are due.
    pub(super) fn on_entry(&mut self, pipe: u32) {
        let early = &mut self.pipes[pipe as usize].early;
        if early.event != Due::at(self.now) {
            return;
        }
        early.event = Due::NEVER;
        while let Some(train) = self.pipes[pipe as usize].early.pop(self.now) {
            if self.is_withdrawn(&train) {
                self.flows[train.flow as usize].discount_departure(&train, Way::Forward);
                self.discard(&train, Way::Forward);
            } else {
                let flow = train.flow;
                self.offer(pipe, train, Way::Forward);
                if self.pipes[pipe as usize].tells_departures {
                    self.plan_sender(flow);
                }
            }
        }
        if let Some(at) = self.pipes[pipe as usize].early.next() {
            self.plan_entry(pipe, at);
        }
    }
}
