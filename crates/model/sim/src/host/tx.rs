//! What leaving packets cost their host, and when they leave. The queueing discipline and the transmit ring behind
//! this are the host's pipe ([`crate::world`]).

use super::core::Kind;
use super::cost::times;
use super::softirq::Place;
use super::{Host, Outside};
use crate::net::{Body, Train};
use wirespeed_units::{SimTime, Span};

/// Bytes of a piece that leaves as one (GSO).
const PIECE: u64 = 65_536;

impl Host {
    /// The trains from number `sent` on were put out in a piece of work: they take their time one after the other.
    pub(super) fn send_from(&mut self, sent: usize, place: &mut Place, outside: &mut Outside) {
        for index in sent..outside.out.len() {
            let train = &mut outside.out[index];
            let put_out = train.at;
            let (first, each) = self.departure(train);
            let before = place.at;
            self.spend(place, first + times(each, u64::from(train.packets)));
            Self::time(train, before, place.at, each);
            self.fetch(train);
            keep_due(train, put_out);
            if let Some(id) = self.capture {
                self.capture_packets += u64::from(train.packets);
                let at = place.at;
                self.wake(id, at);
            }
        }
    }

    /// TCP put a train out by a timer or by the interface's having room again: work of the core its ACKs come to.
    pub fn send_alone(&mut self, train: &mut Train, now: SimTime) {
        let Some(socket) = self.sockets.get(&train.flow) else { return };
        let (core, put_out) = (socket.filled_by, train.at);
        let (first, each) = self.departure(train);
        let begin = now.max(self.cores[core].free_at);
        let until = self.steal(core, Kind::SoftIrq, now, first + times(each, u64::from(train.packets)));
        Self::time(train, begin, until, each);
        self.fetch(train);
        keep_due(train, put_out);
        self.plan_core(core, until);
    }

    /// Costs of a departing train: once, and for each packet.
    fn departure(&self, train: &Train) -> (Span, Span) {
        let costs = &self.settings.costs;
        // A capture sees what leaves before it is cut.
        let tap = if self.capture.is_some() { costs.capture_tap } else { Span::ZERO };
        match &train.body {
            Body::Data(_) if self.tso => {
                (times(costs.tx_segment + tap, train.bytes().div_ceil(PIECE)), Span::ZERO)
            }
            Body::Data(_) => (Span::ZERO, costs.tx_packet + tap),
            // Its thread has spent the rest on it.
            Body::Datagram { .. } => (Span::ZERO, tap),
            Body::Ack(_) | Body::Handshake { .. } | Body::WindowProbe { .. } => {
                (Span::ZERO, costs.tx_ack + tap)
            }
        }
    }

    /// Packets leave when the work on them is done, and not before they would have.
    fn time(train: &mut Train, begin: SimTime, until: SimTime, each: Span) {
        let others = i64::from(train.packets - 1);
        let spread = each * others;
        let first = if spread > until - begin { begin } else { until + Span::ps(-spread.picoseconds()) };
        let gap = (until - first).picoseconds() / others.max(1);
        train.at = train.at.max(first).max(begin);
        train.gap = train.gap.max(Span::ps(gap));
    }
}

/// A train that its host's fq is to keep is due when it was (`skb->tstamp`), however long the work on it took.
fn keep_due(train: &mut Train, put_out: SimTime) {
    if let Body::Data(data) = &mut train.body
        && data.held > Span::ZERO
    {
        let later = (train.at - put_out).max(Span::ZERO);
        data.held = if data.held > later { data.held - later } else { Span::ZERO };
    }
}
