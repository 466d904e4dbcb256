//! A transmitter's clock: when it is free, exactly, at a few instructions per train.

use wirespeed_units::Rate;

/// How long a frame of some size takes: `whole` picoseconds and `part` of the rate's denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Service {
    pub frame: u32,
    /// Picoseconds, rounded down.
    pub whole: i64,
    /// What was rounded off, in picoseconds divided by the rate in bit/s.
    pub part: u64,
}

/// Free from an instant on that is kept as picoseconds and a remainder, as sch_wire.c keeps nanoseconds and a
/// remainder: the long-term rate is exact.
#[derive(Debug, Clone)]
pub(crate) struct Transmitter {
    /// bit/s.
    rate: u64,
    /// Picoseconds.
    free: i64,
    /// Of `free`, in picoseconds divided by `rate`; less than `rate`.
    remainder: u64,
    /// A run has few frame sizes: data, acknowledgements, a last short segment, the handshake.
    known: [Service; 4],
    oldest: usize,
}

/// Picoseconds in a second times bits in a byte.
const SECOND_BITS: u64 = 8_000_000_000_000;

impl Transmitter {
    /// # Panics
    /// If the rate is zero.
    pub(crate) fn new(rate: Rate) -> Transmitter {
        assert!(rate.get() > 0, "a rate of zero carries nothing");
        Transmitter { rate: rate.get(), free: 0, remainder: 0, known: [Service::default(); 4], oldest: 0 }
    }

    pub(crate) fn free(&self) -> i64 {
        self.free
    }

    /// Of [`Transmitter::free`].
    pub(crate) fn remainder(&self) -> u64 {
        self.remainder
    }

    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// How long a frame of `frame` bytes takes.
    pub(crate) fn service(&mut self, frame: u32) -> Service {
        match self.known.iter().find(|s| s.frame == frame) {
            Some(service) => *service,
            None => self.learn(frame),
        }
    }

    #[cold]
    fn learn(&mut self, frame: u32) -> Service {
        debug_assert!(frame < 2_000_000, "a frame's bits in picoseconds fit in 64 bits");
        let bits = u64::from(frame) * SECOND_BITS;
        let service = Service { frame, whole: (bits / self.rate) as i64, part: bits % self.rate };
        self.known[self.oldest] = service;
        self.oldest = (self.oldest + 1) % self.known.len();
        service
    }

    /// A frame that came to an idle transmitter at `at` occupies it, whatever else was charged before.
    pub(crate) fn hold(&mut self, service: Service, at: i64) {
        if at + service.whole > self.free {
            self.free = at + service.whole;
            self.remainder = service.part;
        }
    }

    /// Is free at `free`, and from then on sends at `rate`, if that is known.
    pub(crate) fn follow(&mut self, rate: Option<u64>, free: i64) {
        if let Some(rate) = rate.filter(|rate| *rate != self.rate) {
            self.rate = rate;
            self.known = [Service::default(); 4];
        }
        (self.free, self.remainder) = (free, 0);
    }

    /// A frame reaches an idle transmitter at `at`: what remained of an earlier period no longer matters.
    pub(crate) fn start(&mut self, at: i64) {
        self.free = at;
        self.remainder = 0;
    }

    /// Sends `packets` frames from when it is free.
    pub(crate) fn occupy(&mut self, service: Service, packets: u32) {
        let (free, remainder) =
            later(self.free, self.remainder, service.whole, service.part, u64::from(packets), self.rate);
        self.free = free;
        self.remainder = remainder;
    }

    /// How many of `packets` frames that arrive from `at` on every `gap` find a transmitter that is busy when the
    /// first arrives; the frame after them finds it idle.
    pub(crate) fn busy_for(&self, service: Service, at: i64, gap: i64, packets: u32) -> u32 {
        let last = i64::from(packets - 1);
        // Those that leave no faster than they come never let it idle. Most trains end before they could.
        if gap <= service.whole || self.free + last * service.whole > at + last * gap {
            return packets;
        }
        // Frame i is the first with free + (remainder + i * bits) / rate <= at + i * gap, rounded down on the left;
        // that is, with (free - at - 1) * rate + remainder < i * (gap * rate - bits).
        let rate = i128::from(self.rate);
        let bits = i128::from(service.whole) * rate + i128::from(service.part);
        let ahead = i128::from(self.free - at - 1) * rate + i128::from(self.remainder);
        let first = ahead / (i128::from(gap) * rate - bits) + 1;
        first.min(i128::from(packets)) as u32
    }
}

/// `packets` steps of `whole` and `part` after `time` and `remainder`.
#[inline]
pub(crate) fn later(time: i64, remainder: u64, whole: i64, part: u64, packets: u64, rate: u64) -> (i64, u64) {
    let time = time + whole * packets as i64;
    if part == 0 {
        return (time, remainder);
    }
    if packets == 1 {
        let sum = remainder + part;
        return if sum >= rate { (time + 1, sum - rate) } else { (time, sum) };
    }
    match part.checked_mul(packets).and_then(|parts| parts.checked_add(remainder)) {
        Some(parts) => (time + (parts / rate) as i64, parts % rate),
        None => {
            let parts = u128::from(part) * u128::from(packets) + u128::from(remainder);
            (time + (parts / u128::from(rate)) as i64, (parts % u128::from(rate)) as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_million_frames_end_to_the_picosecond() {
        // 1514 bytes at 9.7 Gbit/s last 1248659.79... ps.
        let mut transmitter = Transmitter::new(Rate::bps(9_700_000_000));
        let service = transmitter.service(1514);
        for _ in 0..1_000_000 {
            transmitter.occupy(service, 1);
        }
        assert_eq!(
            transmitter.free(),
            (1514_u128 * 8 * 1_000_000_000_000 * 1_000_000 / 9_700_000_000) as i64
        );
    }

    #[test]
    fn sizes_beyond_the_known_ones_are_learnt_again() {
        let mut transmitter = Transmitter::new(Rate::gbit(1));
        for frame in (60..1514).chain(60..1514) {
            assert_eq!(transmitter.service(frame).whole, i64::from(frame) * 8000);
        }
    }

    proptest! {
        #[test]
        fn many_at_once_equal_one_by_one(rate in 1..2_000_000_000_000_u64, frame in 1..9018_u32, n in 1..200_u32) {
            let mut one = Transmitter::new(Rate::bps(rate));
            let mut many = one.clone();
            let service = one.service(frame);
            many.occupy(service, n);
            for _ in 0..n {
                one.occupy(service, 1);
            }
            prop_assert_eq!((one.free, one.remainder), (many.free, many.remainder));
        }

        #[test]
        fn the_end_of_a_backlog_is_found(
            rate in 1_000_000..2_000_000_000_000_u64,
            frame in 60..9018_u32,
            backlog in 1..100_000_000_i64,
            share in 0.5..3.0_f64,
            n in 1..200_u32,
        ) {
            let mut transmitter = Transmitter::new(Rate::bps(rate));
            let service = transmitter.service(frame);
            transmitter.free = backlog;
            transmitter.remainder = rate - 1;
            let gap = (service.whole as f64 * share) as i64;
            let found = transmitter.busy_for(service, 0, gap, n);
            let mut naive = 0;
            while naive < n && transmitter.free > i64::from(naive) * gap {
                transmitter.occupy(service, 1);
                naive += 1;
            }
            prop_assert_eq!(found, naive);
        }
    }
}
