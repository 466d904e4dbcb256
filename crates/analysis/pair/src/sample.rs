//! A sample of the packets of a capture, the same packets in every capture that has them.

use std::collections::BTreeMap;
use wirespeed_capture::Direction;

/// A packet of the sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Number of the packet in its file.
    pub packet: u64,
    /// Time of the capture.
    pub t_ns: i64,
    /// Number of its TCP connection, from 1.
    pub connection: u64,
    /// Its direction in the connection.
    pub direction: Direction,
    /// Identification of its IPv4 header.
    pub ip_id: Option<u16>,
    /// Timestamp value.
    pub value: Option<u32>,
    /// Another packet has the same hash, such as a retransmission.
    pub is_repeated: bool,
}

impl Sample {
    /// A packet that was seen once so far.
    pub(crate) fn new(packet: u64, t_ns: i64, connection: u64, direction: Direction) -> Sample {
        Sample { packet, t_ns, connection, direction, ip_id: None, value: None, is_repeated: false }
    }
}

/// The packets with the least hashes. Two captures that have mostly the same packets have mostly the same sample, however
/// many packets it leaves out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampler {
    kept: BTreeMap<u64, Sample>,
}

/// So many packets are in a sample.
const MOST: usize = 8_192;

impl Sampler {
    /// Adds a packet with this hash.
    pub(crate) fn add(&mut self, hash: u64, sample: impl FnOnce() -> Sample) {
        if self.kept.len() == MOST && self.kept.last_key_value().is_some_and(|(&last, _)| hash > last) {
            return;
        }
        if let Some(known) = self.kept.get_mut(&hash) {
            known.is_repeated = true;
            return;
        }
        self.kept.insert(hash, sample());
        if self.kept.len() > MOST {
            self.kept.pop_last();
        }
    }

    /// Packets that are in both samples, each once.
    pub(crate) fn common(&self, other: &Sampler) -> Vec<(Sample, Sample)> {
        let mut common = Vec::new();
        for (hash, one) in &self.kept {
            if let Some(two) = other.kept.get(hash)
                && !one.is_repeated
                && !two.is_repeated
            {
                common.push((*one, *two));
            }
        }
        common
    }
}

/// A hash of words whose bits are all equally likely (finalizer of SplitMix64, Steele et al. 2014).
pub(crate) fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0x9e37_79b9_7f4a_7c15, |state: u64, &word| {
        let mut mixed = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(numbers: impl Iterator<Item = u64>) -> Sampler {
        let mut sampler = Sampler::default();
        for number in numbers {
            sampler.add(hash(&[number]), || Sample::new(number, 0, 1, Direction::ClientToServer));
        }
        sampler
    }

    #[test]
    fn captures_with_most_packets_in_common_have_most_samples_in_common() {
        let one = sampler(0..200_000);
        let other = sampler((0..200_000).filter(|number| number % 100 != 7).map(|number| number + 500));
        let common = one.common(&other);
        assert!(common.len() > 7_500, "{}", common.len());
        assert!(common.iter().all(|(one, other)| one.packet == other.packet));
    }

    #[test]
    fn packet_that_a_capture_has_twice_connects_nothing() {
        let one = sampler([1, 2, 3, 2].into_iter());
        let common = one.common(&sampler(1..=3));
        let numbers: Vec<u64> = common.iter().map(|(one, _)| one.packet).collect();
        assert!(numbers.len() == 2 && !numbers.contains(&2), "{numbers:?}");
    }
}
