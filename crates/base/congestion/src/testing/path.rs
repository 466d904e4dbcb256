//! A bottleneck for algorithms that pace.

use super::{Flow, MSS};
use crate::event::RateSample;
use wirespeed_units::{Bytes, Packets, SimTime, Span};

/// A bottleneck that serves a packet in `service`, on a path of `base`, without loss: each ACK is followed by as many
/// packets as window and pacing allow.
pub struct Path {
    pub flow: Flow,
    service: Span,
    base: Span,
    /// (sent at, delivered then, delivery time of that moment), oldest first.
    out: std::collections::VecDeque<(SimTime, u64, SimTime)>,
    /// When the bottleneck is free, and when the last ACK arrived.
    free: SimTime,
    next_send: SimTime,
    delivered_at: SimTime,
    arrivals: std::collections::VecDeque<SimTime>,
}

impl Path {
    pub fn new(name: &'static str, service: Span, base: Span) -> Self {
        Path::with(name, &[], service, base)
    }

    pub fn with(name: &'static str, parameters: &[(&str, i64)], service: Span, base: Span) -> Self {
        let flow = Flow::with(name, parameters).after_handshake(base);
        let start = SimTime::START;
        Path {
            flow,
            service,
            base,
            out: Default::default(),
            free: start,
            next_send: start,
            delivered_at: start,
            arrivals: Default::default(),
        }
    }

    fn send(&mut self, until: SimTime) {
        while (self.out.len() as u64) < self.flow.cwnd() && self.next_send <= until {
            let at = self.next_send.max(self.flow.now);
            if self.out.is_empty() {
                self.delivered_at = at;
            }
            self.free = self.free.max(at) + self.service;
            self.arrivals.push_back(self.free + self.base);
            self.out.push_back((at, self.flow.delivered, self.delivered_at));
            let rate = self.flow.output().pacing_rate.unwrap();
            self.next_send = at + rate.serialisation(Bytes::new(MSS));
        }
    }

    /// Runs for `span`, telling `see` after each ACK.
    pub fn run(&mut self, span: Span, mut see: impl FnMut(&Flow)) {
        let end = self.flow.now + span;
        while self.flow.now < end {
            let next = self.arrivals.front().copied();
            self.send(next.unwrap_or(end).min(end));
            let Some(arrival) = self.arrivals.front().copied() else {
                self.flow.now = self.next_send.min(end);
                continue;
            };
            if arrival > end {
                self.flow.now = end;
                break;
            }
            self.arrivals.pop_front();
            let (sent, delivered, delivered_at) = self.out.pop_front().unwrap();
            self.flow.now = arrival;
            let rtt = arrival - sent;
            let interval = arrival - delivered_at;
            self.delivered_at = arrival;
            let mut ack = self.flow.sample(1, rtt);
            ack.rate = Some(RateSample {
                delivered: Packets::new(self.flow.delivered + 1 - delivered),
                interval,
                prior_delivered: Packets::new(delivered),
                in_flight_at_send: Packets::new(self.out.len() as u64 + 1),
                lost: Packets::new(0),
                app_limited: false,
            });
            ack.prior_in_flight = Packets::new(self.out.len() as u64 + 1);
            ack.in_flight = Packets::new(self.out.len() as u64);
            ack.earliest_departure = self.next_send.max(arrival);
            self.flow.give(ack);
            see(&self.flow);
        }
    }
}
