//! The lost packets that can be recovered.

use std::collections::BTreeMap;

/// Repair packets of whose groups two or more packets are missing. `K` names a packet, and `P` is the knowledge of a group: in the
/// end, the packet itself.
#[derive(Debug, Clone)]
pub struct Decoder<K, P> {
    waiting: BTreeMap<u64, Waiting<K, P>>,
    /// Numbers of the repair packets that wait for a packet.
    by_packet: BTreeMap<K, Vec<u64>>,
    repairs: u64,
    most: usize,
}

#[derive(Debug, Clone)]
struct Waiting<K, P> {
    missing: Vec<K>,
    known: P,
}

/// A packet that follows from its group, and the knowledge of that group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solved<K, P> {
    /// The packet.
    pub packet: K,
    /// Of the group, without all its other packets.
    pub known: P,
}

impl<K: Ord + Copy, P> Decoder<K, P> {
    /// A decoder that remembers `most` repair packets.
    pub fn new(most: usize) -> Decoder<K, P> {
        Decoder { waiting: BTreeMap::new(), by_packet: BTreeMap::new(), repairs: 0, most }
    }

    /// A repair packet arrives, of whose group the packets `missing` are not there; `known` is the rest of it without the
    /// others. The answer is the packet that follows from it.
    pub fn enter(&mut self, missing: Vec<K>, known: P) -> Option<Solved<K, P>> {
        match missing[..] {
            [] => None,
            [packet] => Some(Solved { packet, known }),
            _ => {
                for packet in &missing {
                    self.by_packet.entry(*packet).or_default().push(self.repairs);
                }
                self.waiting.insert(self.repairs, Waiting { missing, known });
                self.repairs += 1;
                while self.waiting.len() > self.most
                    && let Some((number, oldest)) = self.waiting.pop_first()
                {
                    self.forget(number, &oldest.missing);
                }
                None
            }
        }
    }

    /// A packet is there after all: it arrived late, or was recovered. `reduce` takes it out of the knowledge of a group. Packets
    /// that follow now are appended to `solved`; one may be there twice.
    pub fn found(&mut self, packet: K, mut reduce: impl FnMut(&mut P), solved: &mut Vec<Solved<K, P>>) {
        for number in self.by_packet.remove(&packet).unwrap_or_default() {
            let Some(group) = self.waiting.get_mut(&number) else { continue };
            group.missing.retain(|missing| *missing != packet);
            reduce(&mut group.known);
            if let [last] = group.missing[..]
                && let Some(group) = self.waiting.remove(&number)
            {
                self.forget(number, &[last]);
                solved.push(Solved { packet: last, known: group.known });
            }
        }
    }

    /// A repair packet does not wait for these packets any more.
    fn forget(&mut self, number: u64, packets: &[K]) {
        for packet in packets {
            if let Some(numbers) = self.by_packet.get_mut(packet) {
                numbers.retain(|other| *other != number);
                if numbers.is_empty() {
                    self.by_packet.remove(packet);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encoder;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The packets that are recovered of `lost`, in the order of their recovery, when `packets` pass and no repair packet is lost.
    fn recovered(data: u32, interleave: &[u32], packets: u64, lost: &BTreeSet<u64>) -> Vec<u64> {
        let mut encoder: Encoder<Vec<u64>> = Encoder::new(data, interleave);
        let mut decoder = Decoder::new(crate::repairs_of_window(data, interleave));
        let (mut full, mut there, mut found) = (Vec::new(), BTreeSet::new(), Vec::new());
        for number in 0..packets {
            if !lost.contains(&number) {
                there.insert(number);
            }
            encoder.enter(|group| group.push(number), &mut full);
            if number + 1 == packets {
                encoder.flush(&mut full);
            }
            for group in full.drain(..) {
                let missing: Vec<u64> = group.into_iter().filter(|packet| !there.contains(packet)).collect();
                let mut solved: Vec<_> = decoder.enter(missing, ()).into_iter().collect();
                while let Some(Solved { packet, .. }) = solved.pop() {
                    if there.insert(packet) {
                        found.push(packet);
                        decoder.found(packet, |()| (), &mut solved);
                    }
                }
            }
        }
        found
    }

    #[test]
    fn every_single_loss_is_recovered() {
        for interleave in [&[1][..], &[4], &[1, 20, 40]] {
            for lost in 0..400 {
                assert_eq!(recovered(8, interleave, 400, &BTreeSet::from([lost])), [lost], "{interleave:?}");
            }
        }
    }

    #[test]
    fn a_burst_as_long_as_the_widest_interleave_is_recovered() {
        for (interleave, burst) in [(&[1][..], 1), (&[20], 20), (&[1, 20, 40], 40)] {
            for from in 0..400 {
                let lost: BTreeSet<u64> = (from..from + burst).collect();
                let found: BTreeSet<u64> = recovered(8, interleave, 800, &lost).into_iter().collect();
                assert_eq!(found, lost, "{interleave:?} from {from}");
            }
        }
    }

    /// As over a link: repair packets are in the stream, and the burst takes those that are in it.
    #[test]
    fn a_burst_that_takes_repair_packets_is_recovered_too() {
        for (interleave, burst) in [(&[1][..], 1), (&[20], 20), (&[1, 20, 40], 40)] {
            let mut encoder: Encoder<Vec<u64>> = Encoder::new(8, interleave);
            let (mut full, mut stream) = (Vec::new(), Vec::new());
            for number in 0..1200 {
                encoder.enter(|group| group.push(number), &mut full);
                stream.push(Err(number));
                stream.extend(full.drain(..).map(Ok));
            }
            for from in 0..800 {
                let mut decoder = Decoder::new(crate::repairs_of_window(8, interleave));
                let mut there = BTreeSet::new();
                for (place, packet) in stream.iter().enumerate() {
                    let is_lost = (from..from + burst).contains(&place);
                    match packet {
                        _ if is_lost => (),
                        Err(number) => drop(there.insert(*number)),
                        Ok(group) => {
                            let missing =
                                group.iter().filter(|number| !there.contains(number)).copied().collect();
                            let mut solved: Vec<_> = decoder.enter(missing, ()).into_iter().collect();
                            while let Some(Solved { packet, .. }) = solved.pop() {
                                there.insert(packet);
                                decoder.found(packet, |()| (), &mut solved);
                            }
                        }
                    }
                }
                let missing = (0..800).filter(|number| !there.contains(number)).count();
                assert_eq!(missing, 0, "{interleave:?} from {from}");
            }
        }
    }

    #[test]
    fn a_burst_longer_than_one_layer_carries_is_not_recovered() {
        let lost: BTreeSet<u64> = (100..141).collect();
        let found = recovered(8, &[20], 800, &lost);
        assert!(found.len() < 41, "{found:?}");
    }

    #[test]
    fn a_recovered_packet_completes_a_group_of_another_layer() {
        // 0 and 1 are in one group of the first layer. The second layer recovers 0, and the first one then 1.
        let lost = BTreeSet::from([0, 1, 5]);
        let found: BTreeSet<u64> = recovered(4, &[1, 4], 40, &lost).into_iter().collect();
        assert_eq!(found, lost);
    }

    #[test]
    fn old_repair_packets_are_forgotten() {
        let mut decoder: Decoder<u32, ()> = Decoder::new(2);
        for group in [vec![1, 2], vec![3, 4], vec![5, 6]] {
            assert_eq!(decoder.enter(group, ()), None);
        }
        let mut solved = Vec::new();
        decoder.found(1, |()| (), &mut solved);
        assert_eq!(solved, []);
        decoder.found(3, |()| (), &mut solved);
        assert_eq!(solved, [Solved { packet: 4, known: () }]);
        assert_eq!((decoder.waiting.len(), decoder.by_packet.len()), (1, 2));
    }

    proptest! {
        #[test]
        fn nothing_is_recovered_twice_or_invented(
            data in 1..12_u32,
            interleave in prop::collection::btree_set(1..30_u32, 1..4),
            lost in prop::collection::btree_set(0..300_u64, 0..120),
        ) {
            let interleave: Vec<u32> = interleave.into_iter().collect();
            let found = recovered(data, &interleave, 300, &lost);
            let different: BTreeSet<u64> = found.iter().copied().collect();
            prop_assert_eq!(different.len(), found.len());
            prop_assert!(different.is_subset(&lost));
        }
    }
}
