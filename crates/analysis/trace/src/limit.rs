//! Limiting factors of a flow over time.

use serde::Serialize;

/// The limiting factor of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The congestion window: the bytes in flight stayed near their largest number.
    CongestionWindow,
    /// The receive window: less than a full packet of it was left.
    ReceiveWindow,
    /// The interface of the sender: packets left one after the other all the time.
    Interface,
    /// The application or its send buffer: the sender could have sent more, and did not.
    Application,
    /// Packets left evenly, and not when acknowledgments arrived.
    Pacing,
    /// Losses were being repaired.
    Recovery,
}

/// Time by limiting factor, in nanoseconds. Rounds are assigned as a whole, so each time is exact to an RTT for each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Limits {
    /// [`Limit::CongestionWindow`].
    pub congestion_window_ns: i64,
    /// [`Limit::ReceiveWindow`].
    pub receive_window_ns: i64,
    /// [`Limit::Interface`].
    pub interface_ns: i64,
    /// [`Limit::Application`], with the time when nothing was in flight.
    pub application_ns: i64,
    /// [`Limit::Pacing`].
    pub pacing_ns: i64,
    /// [`Limit::Recovery`], with the wait for timeouts.
    pub recovery_ns: i64,
}

impl Limits {
    pub(crate) fn add(&mut self, limit: Limit, time_ns: i64) {
        let sum = match limit {
            Limit::CongestionWindow => &mut self.congestion_window_ns,
            Limit::ReceiveWindow => &mut self.receive_window_ns,
            Limit::Interface => &mut self.interface_ns,
            Limit::Application => &mut self.application_ns,
            Limit::Pacing => &mut self.pacing_ns,
            Limit::Recovery => &mut self.recovery_ns,
        };
        *sum += time_ns;
    }

    /// All time, in nanoseconds.
    pub fn total_ns(&self) -> i64 {
        self.shares().iter().map(|&(_, time)| time).sum()
    }

    /// Each limiting factor with its time in nanoseconds.
    pub fn shares(&self) -> [(Limit, i64); 6] {
        [
            (Limit::CongestionWindow, self.congestion_window_ns),
            (Limit::ReceiveWindow, self.receive_window_ns),
            (Limit::Interface, self.interface_ns),
            (Limit::Application, self.application_ns),
            (Limit::Pacing, self.pacing_ns),
            (Limit::Recovery, self.recovery_ns),
        ]
    }
}

/// All that decides the limiting factor of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundFacts {
    /// Losses were being repaired in it.
    pub in_recovery: bool,
    /// The sender had less than a full packet of the receive window left, once.
    pub hit_receive_window: bool,
    /// Packets left at the rate within bursts from its start to its end.
    pub is_saturated: bool,
    /// Bytes in flight, average over the time of the round.
    pub mean_in_flight: f64,
    /// Bytes in flight, largest number.
    pub max_in_flight: i64,
    /// The same of the round before.
    pub max_before: i64,
    /// Payload of a full packet.
    pub mss: i64,
    /// Recent bursts were even and did not follow acknowledgments.
    pub is_paced: bool,
}

/// A sender with more to send keeps at least this share of its largest number of bytes in flight.
const FULL: f64 = 0.75;

impl RoundFacts {
    pub(crate) fn limit(&self) -> Limit {
        if self.in_recovery {
            return Limit::Recovery;
        }
        if self.hit_receive_window {
            return Limit::ReceiveWindow;
        }
        if self.is_saturated {
            return Limit::Interface;
        }
        // In a round that grows, the average is low although all that was allowed was sent.
        let grows = self.max_in_flight > self.max_before + self.mss;
        if !grows && self.mean_in_flight < FULL * self.max_in_flight as f64 {
            return Limit::Application;
        }
        if self.is_paced { Limit::Pacing } else { Limit::CongestionWindow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> RoundFacts {
        RoundFacts {
            in_recovery: false,
            hit_receive_window: false,
            is_saturated: false,
            mean_in_flight: 95_000.0,
            max_in_flight: 100_000,
            max_before: 100_000,
            mss: 1448,
            is_paced: false,
        }
    }

    #[test]
    fn sender_that_keeps_its_window_full_is_limited_by_it() {
        assert_eq!(facts().limit(), Limit::CongestionWindow);
        assert_eq!(RoundFacts { is_paced: true, ..facts() }.limit(), Limit::Pacing);
        assert_eq!(RoundFacts { is_saturated: true, ..facts() }.limit(), Limit::Interface);
        assert_eq!(RoundFacts { hit_receive_window: true, ..facts() }.limit(), Limit::ReceiveWindow);
        assert_eq!(RoundFacts { in_recovery: true, ..facts() }.limit(), Limit::Recovery);
    }

    #[test]
    fn sender_that_leaves_its_window_empty_is_limited_by_the_application_unless_it_grows() {
        let low = RoundFacts { mean_in_flight: 40_000.0, ..facts() };
        assert_eq!(low.limit(), Limit::Application);
        assert_eq!(RoundFacts { max_before: 50_000, ..low }.limit(), Limit::CongestionWindow);
    }

    #[test]
    fn times_add_up() {
        let mut limits = Limits::default();
        limits.add(Limit::Pacing, 5);
        limits.add(Limit::Recovery, 7);
        assert_eq!(limits.total_ns(), 12);
    }
}
