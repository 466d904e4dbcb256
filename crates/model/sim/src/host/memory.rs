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

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_units::Span;

    #[test]
    fn the_interface_has_what_copies_leave_and_at_least_its_share() {
        let (mut memory, all) = (Memory::default(), Rate::gbit(100));
        let at = |nanoseconds| SimTime::START + Span::ns(nanoseconds);
        assert_eq!(memory.left(all, at(0)), all);
        // 250 bytes in 100 ns are 20 Gbit/s.
        memory.read(250, at(0), at(100));
        assert_eq!(memory.left(all, at(50)), Rate::gbit(80));
        // With a second one of 60 Gbit/s 20 would be left: a third is its share.
        memory.read(1_500, at(0), at(200));
        assert_eq!(memory.left(all, at(50)), Rate::bps(33_333_333_333));
        // The first has ended: 40 would be left, half is its share.
        assert_eq!(memory.left(all, at(100)), Rate::gbit(50));
        assert_eq!(memory.left(all, at(200)), all);
    }

    #[test]
    fn a_copy_that_takes_no_time_reads_at_no_rate() {
        let mut memory = Memory::default();
        memory.read(1_000, SimTime::START, SimTime::START);
        assert_eq!(memory.left(Rate::gbit(1), SimTime::START), Rate::gbit(1));
    }
}
