//! Packets that wait out of order as one `sk_buff`.

use crate::long::{Expected, Pack};

/// Packets that wait as one `sk_buff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub first: u64,
    pub packets: u32,
    /// Fragments it refers to: one or two a packet, and [`FRAGMENTS`](super::merged::FRAGMENTS) if its packets were copied together.
    pub fragments: u32,
    /// Bytes (`skb->truesize`).
    pub memory: u64,
}

impl Held {
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.packets)
    }

    fn numbers(&self) -> [u64; 4] {
        [self.first, self.packets.into(), self.fragments.into(), self.memory]
    }
}

impl Pack for Held {
    const FEW: usize = 512;
    /// One is as far from the last one as that was from the one before, and like it.
    type Packer = Expected<4, 1>;

    fn key(&self) -> u64 {
        self.first
    }

    fn put(&self, packer: &mut Self::Packer, bytes: &mut Vec<u8>) {
        packer.put(&self.numbers(), bytes);
    }

    fn take(packer: &mut Self::Packer, bytes: &mut &[u8]) -> Held {
        let [first, packets, fragments, memory] = packer.take(bytes);
        Held { first, packets: packets as u32, fragments: fragments as u32, memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(all: &[Held]) -> Vec<u8> {
        let (mut packer, mut bytes) = (Expected::default(), Vec::new());
        all.iter().for_each(|held| held.put(&mut packer, &mut bytes));
        bytes
    }

    proptest! {
        #[test]
        fn it_comes_out_as_it_went_in(
            all in prop::collection::vec((any::<u64>(), any::<u32>(), any::<u32>(), any::<u64>()), 1..20),
        ) {
            let of = |(first, packets, fragments, memory)| Held { first, packets, fragments, memory };
            let all: Vec<Held> = all.into_iter().map(of).collect();
            let bytes = packed(&all);
            let (mut packer, mut left) = (Expected::default(), &bytes[..]);
            for held in all {
                prop_assert_eq!(Held::take(&mut packer, &mut left), held);
            }
            prop_assert!(left.is_empty());
        }
    }

    #[test]
    fn single_packets_with_holes_between_them_take_a_byte_each() {
        let all: Vec<Held> = (0..64)
            .map(|i| Held { first: (1 << 40) + 2 * i, packets: 1, fragments: 1, memory: 2304 })
            .collect();
        assert!(packed(&all).len() < 64 + 32);
    }
}
