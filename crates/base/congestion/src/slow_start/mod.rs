//! Slow starts: how a window grows below its threshold, and when it should stop before loss.

mod hystart;
mod limited;

pub use hystart::{HyStart, HyStartSettings};
pub use limited::Limited;

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent};
use crate::window::Window;
use std::fmt::Debug;

/// A slow start.
pub trait SlowStart: Debug + Send {
    /// Grows for `acked` packets, not beyond the threshold; returns the packets left over.
    fn grow(&mut self, acked: u64, window: &mut Window) -> u64 {
        window.slow_start(acked)
    }

    /// An ACK that carries a round-trip time, in any phase.
    fn on_delay(&mut self, _ack: &AckSample, _window: &mut Window) {}

    /// The retransmission timer expired.
    fn on_timeout(&mut self, _event: &CongestionEvent) {}

    /// Reports the inner state.
    fn observe(&self, _observer: &mut dyn Observer) {}
}

/// One packet more for each acknowledged (RFC 5681, section 3.1).
#[derive(Debug, Clone, Copy, Default)]
pub struct Standard;

impl SlowStart for Standard {}
