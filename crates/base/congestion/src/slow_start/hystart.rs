use super::SlowStart;
use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent};
use crate::round::Round;
use crate::tick::{micros, micros_at};
use crate::window::Window;

/// Samples of a round trip before its least delay counts.
const MIN_SAMPLES: u64 = 8;
/// Bounds of the tolerated rise of delay, microseconds (Linux 6.12).
const DELAY_MIN_US: u64 = 4_000;
const DELAY_MAX_US: u64 = 16_000;
/// The largest burst a socket builds (`sk_gso_max_size`), bytes.
const GSO_MAX_BYTES: u64 = 65_536;
/// Most time allowed for bursts to be gathered and sent, microseconds.
const GATHERING_MAX_US: u64 = 1_000;

/// What HyStart looks at, by the names of `tcp_cubic`'s parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HyStartSettings {
    /// `hystart`: leave slow start before loss at all.
    pub on: bool,
    /// `hystart_detect` & 1: a train of ACKs that lasts as long as the path is a sign.
    pub ack_train: bool,
    /// `hystart_detect` & 2: a rise of the least delay of a round trip is a sign.
    pub delay: bool,
    /// `hystart_low_window`: not below this window, packets.
    pub low_window: u64,
    /// `hystart_ack_delta_us`: ACKs closer than this belong to one train, microseconds.
    pub ack_delta_us: u64,
}

/// Hybrid slow start (Ha, Rhee, Computer Networks 2011) as Linux' CUBIC has it: it sets the threshold to the window
/// when a round trip shows that the path is full.
#[derive(Debug, Clone)]
pub struct HyStart {
    settings: HyStartSettings,
    found: bool,
    /// Least delay ever seen, microseconds.
    least_us: Option<u64>,
    round: Round,
    round_start_us: u64,
    last_ack_us: u64,
    /// Least delay of this round trip.
    round_us: u64,
    samples: u64,
}

impl HyStart {
    /// Not yet found.
    pub fn new(settings: HyStartSettings) -> Self {
        HyStart {
            settings,
            found: false,
            least_us: None,
            round: Round::default(),
            round_start_us: 0,
            last_ack_us: 0,
            round_us: u64::MAX,
            samples: 0,
        }
    }

    fn start_round(&mut self, now_us: u64, snd_nxt: u64) {
        self.round.start(snd_nxt);
        self.round_start_us = now_us;
        self.last_ack_us = now_us;
        self.round_us = u64::MAX;
        self.samples = 0;
    }

    /// Time that building and sending bursts may add to a round trip; slow start paces at twice the rate, so two
    /// bursts on either side.
    fn gathering_us(ack: &AckSample) -> u64 {
        let rate = ack.pacing_rate.bytes_per_second();
        (GSO_MAX_BYTES * 4 * 1_000_000).checked_div(rate).map_or(0, |us| us.min(GATHERING_MAX_US))
    }

    fn train_is_long(&mut self, ack: &AckSample, least_us: u64, now_us: u64) -> bool {
        if now_us - self.last_ack_us > self.settings.ack_delta_us {
            return false;
        }
        self.last_ack_us = now_us;
        let path_us = least_us + Self::gathering_us(ack);
        // Without pacing a train as long as the one-way delay fills the path; pacing alone may take half a round trip.
        let limit = if ack.paced { path_us } else { path_us / 2 };
        now_us - self.round_start_us > limit
    }

    fn delay_rose(&mut self, delay_us: u64, least_us: u64) -> bool {
        self.round_us = self.round_us.min(delay_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_us > least_us + (least_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US)
    }
}

impl SlowStart for HyStart {
    fn on_delay(&mut self, ack: &AckSample, window: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        let (delay_us, now_us) = (micros(rtt), micros_at(ack.now));
        let least_us = self.least_us.map_or(delay_us, |least| least.min(delay_us));
        self.least_us = Some(least_us);
        if self.found || !self.settings.on || !window.in_slow_start() {
            return;
        }
        if self.round.is_over(ack.snd_una) {
            self.start_round(now_us, ack.snd_nxt);
        }
        if window.cwnd < self.settings.low_window {
            return;
        }
        let train = self.settings.ack_train && self.train_is_long(ack, least_us, now_us);
        let delay = self.settings.delay && self.delay_rose(delay_us, least_us);
        if train || delay {
            self.found = true;
            window.ssthresh = window.cwnd.max(2);
        }
    }

    fn on_timeout(&mut self, event: &CongestionEvent) {
        self.found = false;
        self.least_us = None;
        self.start_round(micros_at(event.now), event.snd_nxt);
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("hystart_found_bool", f64::from(u8::from(self.found)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_units::{Bytes, Rate, SimTime, Span};

    const BOTH: HyStartSettings =
        HyStartSettings { on: true, ack_train: true, delay: true, low_window: 16, ack_delta_us: 2_000 };

    fn ack(at_us: i64, una: u64, rtt_us: i64) -> AckSample {
        AckSample {
            now: SimTime::START + Span::us(at_us),
            snd_una: una,
            snd_nxt: 1_000,
            rtt: Some(Span::us(rtt_us)),
            ..AckSample::default()
        }
    }

    fn window() -> Window {
        Window::new(Bytes::new(1000), 20)
    }

    #[test]
    fn a_train_longer_than_half_the_least_delay_ends_slow_start() {
        let (mut start, mut w) = (HyStart::new(HyStartSettings { delay: false, ..BOTH }), window());
        // The round begins at 10 ms; half of 10 ms later is not past it, a millisecond more is.
        for ms in 10..=15 {
            start.on_delay(&ack(ms * 1_000, 1, 10_000), &mut w);
        }
        assert_eq!(w.ssthresh, u64::MAX);
        start.on_delay(&ack(16_000, 1, 10_000), &mut w);
        assert_eq!(w.ssthresh, 20);
    }

    #[test]
    fn a_gap_ends_the_train() {
        let (mut start, mut w) = (HyStart::new(HyStartSettings { delay: false, ..BOTH }), window());
        for ms in [10, 11, 12, 15, 16, 17, 18] {
            start.on_delay(&ack(ms * 1_000, 1, 10_000), &mut w);
        }
        assert_eq!(w.ssthresh, u64::MAX);
    }

    #[test]
    fn pacing_doubles_the_train_and_bursts_add_up_to_a_millisecond() {
        let (mut start, mut w) = (HyStart::new(HyStartSettings { delay: false, ..BOTH }), window());
        // 4 x 65,536 B at 262.144 MB/s take 1 ms: the train may last 10 + 1 ms.
        let paced = |ms: i64| AckSample {
            paced: true,
            pacing_rate: Rate::bps(8 * 262_144_000),
            ..ack(ms * 1_000, 1, 10_000)
        };
        for ms in 10..=21 {
            start.on_delay(&paced(ms), &mut w);
        }
        assert_eq!(w.ssthresh, u64::MAX);
        start.on_delay(&paced(22), &mut w);
        assert_eq!(w.ssthresh, 20);
    }

    #[test]
    fn a_rise_of_delay_above_the_bound_ends_slow_start_after_eight_samples() {
        for (rise_us, expected) in [(4_000, u64::MAX), (4_001, 20)] {
            let (mut start, mut w) = (HyStart::new(HyStartSettings { ack_train: false, ..BOTH }), window());
            start.on_delay(&ack(0, 1, 10_000), &mut w);
            // A second round: its least delay counts from the ninth sample on.
            for sample in 0..8 {
                start.on_delay(&ack(20_000 + sample, 1_001, 10_000 + rise_us), &mut w);
                assert_eq!(w.ssthresh, u64::MAX);
                // Only the first of them starts the round.
                start.round.start(2_000);
            }
            start.on_delay(&ack(20_008, 1_001, 10_000 + rise_us), &mut w);
            assert_eq!(w.ssthresh, expected);
        }
    }

    #[test]
    fn small_windows_and_the_switch_keep_it_quiet() {
        for settings in [HyStartSettings { on: false, ..BOTH }, HyStartSettings { low_window: 21, ..BOTH }] {
            let (mut start, mut w) = (HyStart::new(settings), window());
            for ms in 10..40 {
                start.on_delay(&ack(ms * 1_000, 1, 10_000 + ms * 1_000), &mut w);
            }
            assert_eq!(w.ssthresh, u64::MAX);
        }
    }
}
