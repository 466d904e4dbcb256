//! The interface between socket and algorithm.

use crate::even::EvenAcks;
use crate::event::{AckSample, CongestionEvent, Restart, Sent, Undo};
use std::fmt::Debug;
use wirespeed_units::{Bytes, Rate};

/// What the socket may do, read after each event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// The congestion window: full segments times MSS. While the socket reduces (phases Cwr and Recovery) this is
    /// where the window ends, and the socket gets there by proportional rate reduction; algorithms with
    /// [`Control::pacing_rate`] are followed at once (Linux `cong_control`).
    pub cwnd: Bytes,
    /// Slow start ends here; `None` if no congestion was seen yet.
    pub ssthresh: Option<Bytes>,
    /// The rate to pace at; `None`: the socket paces by window and round-trip time, if at all.
    pub pacing_rate: Option<Rate>,
    /// How much may leave in one burst; `None`: the socket sizes it from the pacing rate.
    pub send_quantum: Option<Bytes>,
    /// The algorithm wants the window reduced without loss (CDG's back-off). The socket enters Cwr and calls
    /// [`CongestionControl::on_congestion`] with [`crate::CongestionKind::Requested`], once after the ACK; the next ACK
    /// withdraws the wish.
    pub wants_reduction: bool,
    /// The socket should mark what it sends as application-limited (BBR while it probes the round-trip time).
    pub mark_app_limited: bool,
}

/// Sees what is inside an algorithm.
pub trait Observer {
    /// A quantity by name; the name ends in its unit (`_packets`, `_us`, `_bps`, `_ratio`).
    fn value(&mut self, name: &'static str, value: f64);
}

/// A congestion control.
///
/// Order of calls. For each ACK one `on_ack`; if that ACK begins a reduction, `on_congestion` directly after it.
/// A timeout is `on_congestion` alone. A reduction that turns out a mistake is `on_undo`, before the `on_ack` of the
/// ACK that showed it. `on_sent` follows each transmission; `on_restart` precedes the first one after a pause.
/// Time never runs backwards.
///
/// Whatever is called, the window is never below one packet and the threshold never below two.
pub trait CongestionControl: Debug + Send {
    /// Packets were sent.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// An ACK arrived.
    fn on_ack(&mut self, ack: &AckSample);

    /// Several ACKs arrived: the same as [`CongestionControl::on_ack`] for each, at less cost.
    fn on_even_acks(&mut self, acks: &EvenAcks) {
        acks.each(|ack| self.on_ack(ack));
    }
    /// Congestion was seen. A second event within one window of data reduces no further.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// The last reduction was a mistake.
    fn on_undo(&mut self, _undo: &Undo) {}

    /// Sending starts anew after a pause.
    fn on_restart(&mut self, _restart: &Restart) {}

    /// The path carries segments of another size. As in Linux the window keeps its count of packets.
    ///
    /// # Panics
    /// If `mss` is zero.
    fn on_mss(&mut self, _mss: Bytes) {}

    /// What the socket may do now.
    fn control(&self) -> Control;

    /// Reports the inner state.
    fn observe(&self, _observer: &mut dyn Observer) {}

    /// The same without window and threshold, which whoever holds the algorithm knows from [`CongestionControl::control`]: a
    /// recording asks every flow with each sample.
    fn observe_inside(&self, observer: &mut dyn Observer) {
        self.observe(observer);
    }
}
