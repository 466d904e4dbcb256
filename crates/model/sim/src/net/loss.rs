//! Which packets are lost at random: counted ahead, so that a train without a loss costs one comparison.

use super::random::Random;
use super::settings::LossSettings;

/// The loss process of a link, asked in the order in which packets are sent.
#[derive(Debug, Clone)]
pub(crate) enum Loss {
    None,
    /// One draw per packet, as sch_wire.c does: the stream is searched ahead for the next loss.
    Each {
        random: Random,
        /// Lost is what draws less: the probability times 2^64.
        bound: u64,
        /// Packets from here on that are known to get through.
        clear: u64,
        /// The packet after them is known to be lost; otherwise nothing is known about it.
        then_lost: bool,
    },
    /// One draw per packet, as sch_wire.c does, with a probability that changes from packet to packet; none while it is zero.
    Now {
        random: Random,
        bound: u64,
    },
    /// Wrong bits lie at geometric distances, whatever frames the bits belong to: a frame of b bits gets through
    /// with (1 - rate)^b. What follows the first wrong bit of a frame does not matter, and the process has no
    /// memory, so the next distance is drawn from the frame's end.
    Bits {
        random: Random,
        rate: f64,
        /// Bits from here on that are right; the one after them is wrong.
        clear: u64,
    },
    /// In each state, the packets up to its end and those up to the next loss are geometric and independent.
    Burst {
        random: Random,
        /// Probability of leaving the good and the bad state.
        leave: [f64; 2],
        /// Loss probability in the good and the bad state.
        loss: [f64; 2],
        /// 0: good, 1: bad.
        state: usize,
        /// Packets until the state changes, at least one.
        stay: u64,
        /// Packets from here on that get through if the state stays; the one after them is lost.
        clear: u64,
    },
}

/// How far the stream of [`Loss::Each`] is searched at once: short against a run, long against a train.
const AHEAD: u64 = 512;

/// `probability` times 2^64. 2^64 does not fit: a probability of 1 spares one packet in 2^64 (as crates/run/substrates does).
pub(crate) fn bound(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

impl Loss {
    pub(crate) fn new(settings: &LossSettings, seed: u64) -> Loss {
        match *settings {
            LossSettings::None => Loss::None,
            LossSettings::Random { probability } => match bound(probability) {
                0 => Loss::None,
                bound => Loss::Each { random: Random::new(seed), bound, clear: 0, then_lost: false },
            },
            LossSettings::BitError { rate } if rate <= 0.0 => Loss::None,
            LossSettings::BitError { rate } => {
                let mut random = Random::derived(seed, "bit error");
                let clear = random.failures_before_success(rate);
                Loss::Bits { random, rate, clear }
            }
            LossSettings::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let mut random = Random::derived(seed, "burst loss");
                let stay = random.failures_before_success(good_to_bad).saturating_add(1);
                let clear = random.failures_before_success(loss_good);
                let (leave, loss) = ([good_to_bad, bad_to_good], [loss_good, loss_bad]);
                Loss::Burst { random, leave, loss, state: 0, stay, clear }
            }
        }
    }

    /// The same where the probability of [`LossSettings::Random`] may change from packet to packet.
    pub(crate) fn changing(settings: &LossSettings, seed: u64) -> Loss {
        match settings {
            LossSettings::None | LossSettings::Random { .. } => {
                Loss::Now { random: Random::new(seed), bound: 0 }
            }
            _ => Loss::new(settings, seed),
        }
    }

    /// The probability for the packets to come, if it is one that changes: as [`bound`].
    pub(crate) fn set_bound(&mut self, new: u64) {
        if let Loss::Now { bound, .. } = self {
            *bound = new;
        }
    }

    /// Sends `packets` frames of `frame` bytes if it is known already that all of them get through.
    #[inline]
    pub(crate) fn spares(&mut self, frame: u32, packets: u32) -> bool {
        let packets = u64::from(packets);
        let (clear, cost) = match self {
            Loss::None => return true,
            Loss::Each { clear, .. } => (clear, packets),
            Loss::Bits { clear, .. } => (clear, packets * u64::from(frame) * 8),
            Loss::Now { bound, .. } => return *bound == 0,
            Loss::Burst { .. } => return false,
        };
        let spared = *clear >= cost;
        if spared {
            *clear -= cost;
        }
        spared
    }

    /// Sends up to `packets` frames of `frame` bytes: the number (from 0) of the first that is lost, in which case
    /// those after it have not been sent yet, or none.
    pub(crate) fn first_lost(&mut self, frame: u32, packets: u32) -> Option<u32> {
        let packets = u64::from(packets);
        let first = match self {
            Loss::None => return None,
            Loss::Each { random, bound, clear, then_lost } => {
                while *clear < packets && !*then_lost {
                    let found = random.before_below(*bound, AHEAD);
                    *clear += found;
                    *then_lost = found < AHEAD;
                }
                if *clear >= packets {
                    *clear -= packets;
                    return None;
                }
                *then_lost = false;
                std::mem::take(clear)
            }
            Loss::Now { random, bound } => {
                if *bound == 0 {
                    return None;
                }
                (0..packets).find(|_| random.draw() < *bound)?
            }
            Loss::Bits { random, rate, clear } => {
                let bits = u64::from(frame) * 8;
                if *clear >= packets * bits {
                    *clear -= packets * bits;
                    return None;
                }
                let first = *clear / bits;
                *clear = random.failures_before_success(*rate);
                first
            }
            Loss::Burst { random, leave, loss, state, stay, clear } => {
                let mut sent = 0;
                loop {
                    let here = (*stay).min(packets - sent);
                    let lost = *clear < here;
                    let passed = if lost { *clear + 1 } else { here };
                    sent += passed;
                    *stay -= passed;
                    let changes = *stay == 0;
                    if changes {
                        *state = 1 - *state;
                        *stay = random.failures_before_success(leave[*state]).saturating_add(1);
                    }
                    if changes || lost {
                        *clear = random.failures_before_success(loss[*state]);
                    } else {
                        *clear -= passed;
                    }
                    if lost {
                        break sent - 1;
                    }
                    if sent == packets {
                        return None;
                    }
                }
            }
        };
        Some(first as u32)
    }
}
