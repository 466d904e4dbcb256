//! CAIA delay gradient (Hayes, Armitage, Networking 2011) in Linux' form: backs off with probability
//! 1 - e^(-gradient/G), where the gradient is that of the least or largest round-trip time of a round trip, averaged;
//! keeps a shadow window of what loss alone would have left; and gives up backing off where it has no effect.

use crate::control::Observer;
use crate::event::{AckSample, CongestionEvent, CongestionKind, Phase, Restart};
use crate::loss_based::{LossBased, PhaseChange, WindowRule};
use crate::parameter::{LARGEST, Parameter};
use crate::random::Random;
use crate::registry::{Algorithm, EcnUse};
use crate::round::Round;
use crate::slow_start::{SlowStart, Standard};
use crate::tick::{micros, micros_at};
use crate::window::Window;

/// ACKs closer than this form a train, microseconds.
const TRAIN_GAP_US: u64 = 3_000;
/// HyStart tolerates no delays shorter than this, microseconds.
const HYSTART_LEAST_US: i64 = 125;
/// Samples of a round trip before its least delay counts.
const HYSTART_SAMPLES: u64 = 8;
/// A sum of gradients that fell by this shows that a back-off had effect, microseconds.
const EFFECT_US: i64 = -32;
/// Delayed ACKs remembered at most.
const DELAYED_MOST: u64 = 5;

pub(super) const ROW: Algorithm = Algorithm {
    name: "cdg",
    about: "Backs off with a probability that follows the delay's gradient",
    reference: "Hayes, Armitage, Networking 2011",
    linux: Some("cdg"),
    parameters: &[
        Parameter::new("window", 8, 1, 256, "gradients averaged, a power of two").at_loading(),
        Parameter::new("backoff_beta", 724, 0, 1024, "window kept after a back-off, in 1/1024"),
        Parameter::new("backoff_factor", 42, 0, LARGEST, "scale of the back-off probability"),
        Parameter::new("hystart_detect", 3, 0, 3, "HyStart's signs: 1 ACK train, 2 delay, 3 both"),
        Parameter::new("use_ineff", 5, 0, LARGEST, "ineffectual back-offs tolerated; 0: any number"),
        Parameter::new("use_shadow", 1, 0, 1, "keep the window loss would have left"),
        Parameter::new("use_tolerance", 0, 0, 1, "ignore loss that no delay announced"),
    ],
    needs_pacing: false,
    reads_rates: false,
    ecn: EcnUse::IfNegotiated,
    draws: true,
    build: |setup, values| {
        let gradients = values.count("window");
        if !gradients.is_power_of_two() {
            return Err(values.refuse("window", ", a power of two"));
        }
        let detect = values.count("hystart_detect");
        let settings = Settings {
            keeps: values.count("backoff_beta"),
            factor: values.count("backoff_factor"),
            hystart_train: detect & 1 != 0,
            hystart_delay: detect & 2 != 0,
            ineffectual: values.count("use_ineff"),
            shadow: values.is_on("use_shadow"),
            tolerance: values.is_on("use_tolerance"),
        };
        let window = setup.window();
        let rule = Cdg::new(settings, Random::new(setup.seed), gradients as usize, window.cwnd, 0);
        Ok(Box::new(LossBased::new(window, Standard, rule)))
    },
};

#[derive(Debug, Clone, Copy)]
struct Settings {
    keeps: u64,
    factor: u64,
    hystart_train: bool,
    hystart_delay: bool,
    ineffectual: u64,
    shadow: bool,
    tolerance: bool,
}

/// Least and largest of something, microseconds; both zero: nothing yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Range {
    least: i64,
    largest: i64,
}

/// What delays say about the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    Unknown,
    NotFull,
    Full,
    /// A back-off is wanted or under way.
    BackOff,
}

#[derive(Debug, Clone)]
struct Cdg {
    settings: Settings,
    random: Random,
    /// Round-trip times of this round trip, and of the last.
    rtt: Range,
    last_rtt: Range,
    gradients: Vec<Range>,
    sum: Range,
    /// The whole window of gradients is known.
    filled: bool,
    tail: usize,
    queue: Queue,
    wants_reduction: bool,
    delayed: u64,
    round: Round,
    shadow: u64,
    /// Back-offs since one had effect.
    back_offs: u64,
    samples: u64,
    least_us: i64,
    /// HyStart's train: its last ACK and its start, microseconds; `None`: no train.
    train: Option<(u64, u64)>,
}

impl Cdg {
    fn new(settings: Settings, random: Random, gradients: usize, cwnd: u64, snd_nxt: u64) -> Self {
        Cdg {
            settings,
            random,
            rtt: Range::default(),
            last_rtt: Range::default(),
            gradients: vec![Range::default(); gradients],
            sum: Range::default(),
            filled: false,
            tail: 0,
            queue: Queue::Unknown,
            wants_reduction: false,
            delayed: 0,
            round: Round::until(snd_nxt),
            shadow: cwnd,
            back_offs: 0,
            samples: 0,
            least_us: 0,
            train: None,
        }
    }

    fn train_is_long(&mut self, now: u64, cwnd_limited: bool) -> bool {
        match self.train {
            Some((last, start)) if cwnd_limited => {
                if now >= last + TRAIN_GAP_US {
                    return false;
                }
                self.train = Some((now, start));
                now > start + (self.least_us / 2).max(HYSTART_LEAST_US) as u64
            }
            _ => {
                self.train = Some((now, now));
                false
            }
        }
    }

    fn delay_rose(&mut self) -> bool {
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.rtt.least > (self.least_us + self.least_us / 8).max(HYSTART_LEAST_US)
    }

    /// HyStart as CDG has it: at any window, its train forgotten with each round trip.
    fn hystart(&mut self, ack: &AckSample, window: &mut Window) {
        if self.rtt.least > 0 && (self.least_us == 0 || self.rtt.least < self.least_us) {
            self.least_us = self.rtt.least;
        }
        if self.least_us == 0 {
            return;
        }
        let train = self.settings.hystart_train && self.train_is_long(micros_at(ack.now), ack.cwnd_limited);
        if train || (self.settings.hystart_delay && self.delay_rose()) {
            window.ssthresh = window.cwnd.max(2);
        }
    }

    /// The gradient over the window of round trips, a sum; what is not yet known is extrapolated.
    fn gradient(&mut self) -> i64 {
        let mut newest = Range {
            least: self.rtt.least - self.last_rtt.least,
            largest: self.rtt.largest - self.last_rtt.largest,
        };
        // As in Linux a window of one averages nothing.
        if self.gradients.len() > 1 {
            let oldest = std::mem::replace(&mut self.gradients[self.tail], newest);
            self.sum.least += newest.least - oldest.least;
            self.sum.largest += newest.largest - oldest.largest;
            self.tail = (self.tail + 1) % self.gradients.len();
            newest = self.sum;
        }
        let mut gradient = if newest.least > 0 { newest.least } else { newest.largest };
        if !self.filled {
            if self.tail == 0 {
                self.filled = true;
            } else {
                gradient = gradient * self.gradients.len() as i64 / self.tail as i64;
            }
        }
        if newest.least <= EFFECT_US || newest.largest <= EFFECT_US {
            self.back_offs = 0;
        }
        if self.settings.tolerance {
            let (least, largest) = (round_by_64(newest.least), round_by_64(newest.largest));
            if least > 0 && largest <= 0 {
                self.queue = Queue::Full;
            } else if (least > 0 && largest > 0) || largest < 0 {
                self.queue = Queue::NotFull;
            }
        }
        gradient
    }

    fn backs_off(&mut self, gradient: u64, window: &Window) -> bool {
        if self.random.next_u32() <= negative_exponential(gradient.saturating_mul(self.settings.factor)) {
            return false;
        }
        if self.settings.ineffectual > 0 {
            self.back_offs += 1;
            if self.back_offs > self.settings.ineffectual {
                return false;
            }
        }
        self.shadow = self.shadow.max(window.cwnd);
        self.queue = Queue::BackOff;
        self.wants_reduction = true;
        true
    }
}

impl WindowRule for Cdg {
    fn measure(&mut self, ack: &AckSample, _before: Phase, _window: &mut Window) {
        self.wants_reduction = false;
        let Some(rtt) = ack.rtt else { return };
        let rtt = micros(rtt) as i64;
        if ack.sacked_out.get() == 0 {
            // A delayed ACK may lower the least delay but not begin it (Hayes, CAIA TR 100219A).
            let packets = ack.newly_acked.get();
            if packets == 1 && self.delayed > 0 {
                self.rtt.least = self.rtt.least.min(rtt);
                self.delayed -= 1;
                return;
            }
            if packets > 1 && self.delayed < DELAYED_MOST {
                self.delayed += 1;
            }
        }
        self.rtt.least = if self.rtt.least == 0 { rtt } else { self.rtt.least.min(rtt) };
        self.rtt.largest = self.rtt.largest.max(rtt);
    }

    fn grow(&mut self, ack: &AckSample, window: &mut Window, _slow_start: &mut dyn SlowStart) {
        if window.in_slow_start() && (self.settings.hystart_train || self.settings.hystart_delay) {
            self.hystart(ack, window);
        }
        if self.round.is_over(ack.snd_una) && self.rtt != Range::default() {
            let gradient = if self.last_rtt == Range::default() { 0 } else { self.gradient() };
            self.round.start(ack.snd_nxt);
            self.last_rtt = std::mem::take(&mut self.rtt);
            self.train = None;
            self.samples = 0;
            if gradient > 0 && self.backs_off(gradient as u64, window) {
                return;
            }
        }
        if !ack.cwnd_limited {
            self.shadow = self.shadow.min(window.cwnd);
            return;
        }
        let before = window.cwnd;
        window.reno(ack.newly_delivered.get());
        self.shadow += window.cwnd - before;
    }

    fn ssthresh(&mut self, event: &CongestionEvent, window: &Window) -> u64 {
        self.wants_reduction = false;
        if self.queue == Queue::BackOff && event.kind == CongestionKind::Requested {
            return window.cwnd * self.settings.keeps / 1024;
        }
        if self.queue == Queue::NotFull && self.settings.tolerance {
            return window.cwnd;
        }
        self.shadow = (self.shadow / 2).min(window.cwnd);
        if self.settings.shadow { self.shadow.max(window.half()) } else { window.half() }
    }

    fn on_complete(&mut self, change: &PhaseChange, _window: &mut Window) {
        self.queue = Queue::Unknown;
        self.round.start(change.snd_nxt);
        self.last_rtt = std::mem::take(&mut self.rtt);
    }

    fn on_idle_restart(&mut self, restart: &Restart, window: &Window) {
        let (random, gradients) = (self.random.clone(), self.gradients.len());
        *self = Cdg::new(self.settings, random, gradients, window.cwnd, restart.snd_nxt);
    }

    fn wants_reduction(&self) -> bool {
        self.wants_reduction
    }

    fn observe(&self, observer: &mut dyn Observer) {
        observer.value("shadow_packets", self.shadow as f64);
        observer.value("back_offs_count", self.back_offs as f64);
    }
}

fn round_by_64(value: i64) -> i64 {
    (value + if value < 0 { -32 } else { 32 }) / 64
}

/// e^-x of 2^32 - 1, for x in millionths: exact to about one in 2^30, in integers so that every machine agrees.
fn negative_exponential(millionths: u64) -> u32 {
    const ONE: u128 = 1 << 32;
    /// ln 2 in 2^-32.
    const LN2: u128 = 2_977_044_472;
    if millionths >= 1 << 24 {
        // As in Linux: the result is below 1e-7.
        return 0;
    }
    let x = u128::from(millionths) * ONE / 1_000_000;
    let (halvings, rest) = (x / LN2, (x % LN2) as i128);
    let (mut sum, mut term) = (ONE as i128, ONE as i128);
    for i in 1..16 {
        term = -term * rest / (i * ONE as i128);
        sum += term;
    }
    ((sum >> halvings) as u128 * u128::from(u32::MAX) / ONE) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Flow;
    use wirespeed_units::Span;

    #[test]
    fn means_of_64_round_half_away_from_zero() {
        let rounded = [-96, -95, -32, -31, 0, 31, 32, 95, 96].map(round_by_64);
        assert_eq!(rounded, [-2, -1, -1, 0, 0, 0, 1, 1, 2]);
    }

    #[test]
    fn the_exponential_is_one() {
        for millionths in [0u64, 1, 1_000, 42_000, 693_147, 1_000_000, 5_000_000, 16_000_000] {
            let expected = (-(millionths as f64) / 1e6).exp();
            let got = f64::from(negative_exponential(millionths)) / f64::from(u32::MAX);
            assert!((got - expected).abs() < 1e-8, "{millionths}: {got}, not {expected}");
        }
        assert_eq!(negative_exponential(1 << 24), 0);
    }

    /// Acknowledges round trips whose delay rises by `step_us` each, until a back-off is asked for.
    fn rising(flow: &mut Flow, step_us: i64, most: usize) -> Option<usize> {
        for round in 0..most {
            let cwnd = flow.cwnd();
            for _ in 0..cwnd {
                flow.wait(Span::us(50));
                flow.ack(1, Span::us(10_000 + step_us * round as i64));
                if flow.output().wants_reduction {
                    return Some(round);
                }
            }
        }
        None
    }

    #[test]
    fn a_rising_delay_backs_off_to_seven_tenths() {
        let mut flow = Flow::new("cdg").at(100);
        // A gradient of 8 x 5 ms x 42 is an exponent of 1.7: four back-offs in five round trips.
        assert!(rising(&mut flow, 5_000, 10).is_some());
        let before = flow.cwnd();
        flow.congest(CongestionKind::Requested);
        assert!(!flow.output().wants_reduction);
        assert_eq!(flow.cwnd(), before * 724 / 1024);
    }

    #[test]
    fn a_steady_delay_does_not() {
        let mut flow = Flow::new("cdg").at(50);
        assert_eq!(rising(&mut flow, 0, 60), None);
        assert_eq!(flow.cwnd(), 110);
    }

    #[test]
    fn after_five_ineffectual_back_offs_it_stops() {
        let mut flow = Flow::new("cdg").at(50);
        let mut times = 0;
        for round in 0..80 {
            for _ in 0..flow.cwnd() {
                flow.wait(Span::us(50));
                flow.ack(1, Span::us(10_000 + 5_000 * round));
                if flow.output().wants_reduction {
                    times += 1;
                    flow.congest(CongestionKind::Requested);
                    flow.una = flow.nxt();
                    flow.recover();
                    break;
                }
            }
        }
        assert_eq!(times, 5);
    }

    #[test]
    fn the_shadow_window_survives_back_offs() {
        let mut flow = Flow::new("cdg").at(100);
        rising(&mut flow, 5_000, 10);
        let shadow = flow.see("shadow_packets") as u64;
        flow.congest(CongestionKind::Requested);
        flow.una = flow.nxt();
        flow.recover();
        let before = flow.cwnd();
        flow.lose();
        // Half the shadow, which is more than half of what the back-off left.
        assert_eq!(flow.cwnd(), (shadow / 2).max(before / 2));
        assert!(shadow / 2 > before / 2);
    }

    #[test]
    fn the_window_of_gradients_is_a_power_of_two() {
        let given = std::collections::BTreeMap::from([("window".to_owned(), 6)]);
        let setup = crate::registry::Setup::new(wirespeed_units::Bytes::new(1_448), 10);
        let error = crate::registry::build("cdg", &setup, &given).unwrap_err().to_string();
        assert_eq!(
            error,
            "parameter `window` of congestion control `cdg` is 6: use 1 to 256, a power of two"
        );
    }
}
