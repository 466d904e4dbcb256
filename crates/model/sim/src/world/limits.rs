//! How long trains may be.

use crate::tcp::sender::{Era, GSO_BYTES, TRAIN_PACKETS};
use wirespeed_scenario::run::{Direction, Run};
use wirespeed_units::{Bytes, Rate, Span};

/// The longest a train lasts: as long as Linux' pacing lets a burst be (1 ms, `sk_pacing_shift`).
pub(super) const LONGEST_TRAIN: Span = Span::ms(1);
/// The same where one flow has its whole path for itself: two ticks of the clock that its ends go by (HZ is 1000). Longer ones
/// would save nothing, for acknowledgements with different time stamps are trains of their own.
const LONGEST_ALONE: Span = Span::ms(2);
/// The packets of a train that any link may put together: what Linux moves as one GSO packet, 64 KiB.
pub(super) const TRAIN_BYTES: u64 = 65_536;
/// As many times longer trains may be at most, which they are where one flow has the whole path for itself. More would
/// save little: an event then costs less than what its packets do.
const ALONE: u32 = 8;
/// Bytes of the Ethernet, IP and TCP headers of a packet without options.
const FEWEST_HEADERS: u64 = 14 + 20 + 20;
/// Where flows share a link the order of their packets within a train's time is not kept. That is little if it is an
/// eighth of the link's own round-trip time, than which no flow has a shorter one, and of the time in which its queue
/// empties.
const SHARE: i64 = 8;
/// A flow alone meets its own packets in their order, but its socket answers those of a train in one go: no train is more
/// than half of that.
const SHARE_ALONE: i64 = 2;
/// A train has two packets at least where there are any: every second one is acknowledged.
const LEAST: i64 = 2;

/// How many packets a train on a link may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Where flows share it.
    pub shared: u32,
    /// Where one flow has its whole path for itself.
    pub alone: u32,
}

impl Limit {
    /// Every packet is an event of its own.
    pub(super) const ONE: Limit = Limit { shared: 1, alone: 1 };

    /// The packets of a train at most and how long it lasts, where one flow has its whole path for itself or not.
    pub(super) fn of_train(self, is_alone: bool) -> (u32, Span) {
        if is_alone { (self.alone, LONGEST_ALONE) } else { (self.shared, LONGEST_TRAIN) }
    }

    /// The same where GRO at the end looks for packets with PSH: a train has that mark for its last 64
    /// ([`crate::net::Data::pushes`]).
    pub(super) fn within(self, run: &Run) -> Limit {
        let most = if merges_up_to_push(run) { u64::BITS } else { u32::MAX };
        Limit { shared: self.shared.min(most), alone: self.alone.min(most) }
    }

    /// Of a pipe of which nothing is known but the largest `frame`.
    pub(super) fn of_frame(frame: u64) -> Limit {
        let shared = (TRAIN_BYTES / frame.max(1)).max(TRAIN_PACKETS.into()) as u32;
        Limit { shared, alone: shared * ALONE }
    }

    /// Of a host's interface of which sockets know ahead when it sends what: a GSO packet is one train, also one of packets
    /// with few headers.
    pub(super) fn of_interface(frame: u64) -> Limit {
        let limit = Limit::of_frame(frame);
        let packets = GSO_BYTES / frame.saturating_sub(FEWEST_HEADERS).max(1);
        Limit { shared: limit.shared.max(packets as u32), ..limit }
    }

    /// Of a direction of a link whose delays to and fro are `rtt`. Nothing of the flows counts: one that comes later
    /// changes nothing before.
    pub(super) fn of_link(frame: u64, direction: &Direction, rtt: Span) -> Limit {
        let of_frame = Limit::of_frame(frame);
        // Of a link that changes, what fits at its worst.
        let shortest =
            rtt - direction.delay + direction.states().map(|state| state.delay).min().unwrap_or_default();
        let fitting = direction.states().filter(|state| state.rate > Rate::bps(0)).map(|state| {
            let queue = state.rate.serialisation(state.buffer);
            let each = state.rate.serialisation(Bytes::new(frame)).picoseconds().max(1);
            shortest.min(queue).picoseconds() / each
        });
        let packets = fitting.min().unwrap_or_default();
        let part = |share: i64| (packets / share).clamp(LEAST, of_frame.alone.into()) as u32;
        Limit { shared: part(SHARE), alone: part(SHARE_ALONE) }
    }
}

/// Whether a host merges packets of a sender that marks the last of each GSO packet with PSH.
fn merges_up_to_push(run: &Run) -> bool {
    run.flows.iter().any(|flow| {
        let to = run.host(&flow.to);
        let merges = to.offloads.gro && (to.moderation.is_some() || to.hardware.is_some());
        merges && Era::of(super::connection::kernel(run.host(&flow.from))).pushes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trains_are_an_eighth_of_the_round_trip_and_of_the_queue_at_most() {
        let limit = |rate, frame, rtt_us, queue| {
            let direction = Direction::plain(Rate::bps(rate), Span::us(rtt_us / 2), 0.0, Bytes::new(queue));
            let limit = Limit::of_link(frame, &direction, Span::us(rtt_us));
            (limit.shared, limit.alone)
        };
        let least = Limit::of_frame(1514);
        assert_eq!((least.shared, least.alone), (43, 344));
        // 100 Gbit/s: 1386 frames of 721 ns in a millisecond.
        assert_eq!(limit(100_000_000_000, 9014, 1_000, 12_500_000), (173, 344));
        assert_eq!(limit(100_000_000_000, 9014, 1_000, 1_250_000), (17, 69), "the queue empties in 100 us");
        assert_eq!(limit(10_000_000_000, 1514, 100_000, 125_000_000), (344, 344), "never more than alone");
        assert_eq!(limit(1_000_000_000, 1514, 200, 25_000), (2, 8), "16 packets on the way");
        assert_eq!(limit(1_000_000_000, 1514, 10, 1_500), (2, 2));
    }
}
