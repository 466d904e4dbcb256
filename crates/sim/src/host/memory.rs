//! The memory of a node: what copies read out of it and what the interface writes into it share its bandwidth.

use wirespeed_units::{Bytes, Rate, SimTime};

/// The memory of a node.
#[derive(Debug, Default)]
pub struct Memory {
    /// Copies that read it now: when each ends, and how fast it reads.
    copies: Vec<(SimTime, Rate)>,
}

impl Memory {
    /// A copy reads `bytes` from `at` to `until`.
    pub fn read(&mut self, bytes: u64, at: SimTime, until: SimTime) {
        self.copies.retain(|(end, _)| *end > at);
        if until > at {
            let per_second =
                Bytes::new(bytes).bits() * 1_000_000_000_000 / (until - at).picoseconds() as u128;
            self.copies.push((until, Rate::bps(per_second as u64)));
        }
    }

    /// How fast the interface can write at `at`, of `bandwidth` in all: all are served alike, so that it has what the
    /// copies leave, and at least an equal share.
    pub fn left(&self, bandwidth: Rate, at: SimTime) -> Rate {
        let reading = self.copies.iter().filter(|(end, _)| *end > at);
        let (count, sum) = reading.fold((1, 0), |(count, sum), (_, rate)| (count + 1, sum + rate.get()));
        Rate::bps(bandwidth.get().saturating_sub(sum).max(bandwidth.get() / count))
    }
}
