//! Packets that wait out of order as one `sk_buff`.

use crate::long::{Pack, varint};

/// Packets that wait as one `sk_buff`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub first: u64,
    pub packets: u32,
    /// Fragments it refers to: a packet each, and [`FRAGMENTS`](super::merged::FRAGMENTS) if its packets were copied together.
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

/// What those before it let expect of one: that it is as far from the last one as that was from the one before, and like it.
#[derive(Debug, Default)]
pub(super) struct Packer {
    last: [u64; 4],
    step: u64,
}

impl Packer {
    fn expected(&self) -> [u64; 4] {
        let [first, packets, fragments, memory] = self.last;
        [first.wrapping_add(self.step), packets, fragments, memory]
    }

    fn follow(&mut self, numbers: [u64; 4]) {
        self.step = numbers[0].wrapping_sub(self.last[0]);
        self.last = numbers;
    }
}

impl Pack for Held {
    const FEW: usize = 512;
    type Packer = Packer;

    fn key(&self) -> u64 {
        self.first
    }

    fn put(&self, packer: &mut Packer, bytes: &mut Vec<u8>) {
        let (numbers, expected) = (self.numbers(), packer.expected());
        let changed = (0..4).filter(|i| numbers[*i] != expected[*i]);
        bytes.push(changed.clone().map(|i| 1 << i).sum());
        changed.for_each(|i| varint::put(bytes, varint::fold(numbers[i].wrapping_sub(expected[i]))));
        packer.follow(numbers);
    }

    fn take(packer: &mut Packer, bytes: &mut &[u8]) -> Held {
        let mut numbers = packer.expected();
        let changed = varint::take_byte(bytes);
        for i in (0..4).filter(|i| changed & 1 << i != 0) {
            numbers[i] = numbers[i].wrapping_add(varint::unfold(varint::take(bytes)));
        }
        packer.follow(numbers);
        let [first, packets, fragments, memory] = numbers;
        Held { first, packets: packets as u32, fragments: fragments as u32, memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(all: &[Held]) -> Vec<u8> {
        let (mut packer, mut bytes) = (Packer::default(), Vec::new());
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
            let (mut packer, mut left) = (Packer::default(), &bytes[..]);
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
