//! Encoder and decoder of packets as bytes.

use crate::{Decoder, Encoder, Solved, repairs_of_window, window};
use std::collections::BTreeMap;

/// A group as its repair packet carries it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parity {
    /// Numbers of the packets, in rising order.
    pub numbers: Vec<u64>,
    /// XOR of the packets, as long as the longest.
    pub xor: Vec<u8>,
}

impl Parity {
    fn add(&mut self, number: u64, packet: &[u8]) {
        self.numbers.push(number);
        add_xor(&mut self.xor, packet);
    }
}

/// XORs `packet` into `sum`, which grows to its length.
fn add_xor(sum: &mut Vec<u8>, packet: &[u8]) {
    if sum.len() < packet.len() {
        sum.resize(packet.len(), 0);
    }
    sum.iter_mut().zip(packet).for_each(|(sum, byte)| *sum ^= byte);
}

/// Numbers packets, and makes the repair packets.
#[derive(Debug, Clone)]
pub struct PacketEncoder {
    encoder: Encoder<Parity>,
    next: u64,
}

impl PacketEncoder {
    /// Groups of `data` packets, with a layer for each interleave.
    ///
    /// # Panics
    /// If `data` or an interleave is 0.
    pub fn new(data: u32, interleave: &[u32]) -> PacketEncoder {
        PacketEncoder { encoder: Encoder::new(data, interleave), next: 0 }
    }

    /// Returns the number of a packet. Repair packets that leave behind it are appended to `repairs`.
    pub fn enter(&mut self, packet: &[u8], repairs: &mut Vec<Parity>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.encoder.enter(|group| group.add(number, packet), repairs);
        number
    }

    /// Ends all groups. Their repair packets are appended to `repairs`.
    pub fn flush(&mut self, repairs: &mut Vec<Parity>) {
        self.encoder.flush(repairs);
    }

    /// Whether no group has a packet.
    pub fn is_empty(&self) -> bool {
        self.encoder.is_empty()
    }
}

/// Keeps packets that arrived, and recovers lost ones. Packets are those of IPv4: a recovered packet has the length in its header.
#[derive(Debug, Clone)]
pub struct PacketDecoder {
    decoder: Decoder<u64, Vec<u8>>,
    /// Packets that arrived or were recovered.
    there: BTreeMap<u64, Vec<u8>>,
    /// For how many packets they are kept.
    window: u64,
}

impl PacketDecoder {
    /// The decoder of a [`PacketEncoder`] with these settings.
    pub fn new(data: u32, interleave: &[u32]) -> PacketDecoder {
        PacketDecoder {
            decoder: Decoder::new(repairs_of_window(data, interleave)),
            there: BTreeMap::new(),
            window: window(data, interleave),
        }
    }

    /// A packet arrives. Packets that follow from it are appended to `recovered`: only if it was overtaken by a repair packet.
    pub fn arrive(&mut self, number: u64, packet: &[u8], recovered: &mut Vec<(u64, Vec<u8>)>) {
        let mut solved = Vec::new();
        self.decoder.found(number, |known| add_xor(known, packet), &mut solved);
        self.keep(number, packet.to_vec());
        self.follow(solved, recovered);
    }

    /// A repair packet arrives. Packets that follow from it are appended to `recovered`, with their numbers.
    pub fn repair(&mut self, parity: Parity, recovered: &mut Vec<(u64, Vec<u8>)>) {
        let Parity { numbers, mut xor } = parity;
        let mut missing = numbers;
        if missing.iter().all(|number| self.there.contains_key(number)) {
            return;
        }
        missing.retain(|number| match self.there.get(number) {
            Some(packet) => {
                add_xor(&mut xor, packet);
                false
            }
            None => true,
        });
        let solved = self.decoder.enter(missing, xor).into_iter().collect();
        self.follow(solved, recovered);
    }

    fn follow(&mut self, mut solved: Vec<Solved<u64, Vec<u8>>>, recovered: &mut Vec<(u64, Vec<u8>)>) {
        while let Some(Solved { packet: number, known: mut packet }) = solved.pop() {
            if self.there.contains_key(&number) {
                continue;
            }
            let Some(length) = ipv4_length(&packet) else { continue };
            packet.truncate(length);
            self.decoder.found(number, |known| add_xor(known, &packet), &mut solved);
            self.keep(number, packet.clone());
            recovered.push((number, packet));
        }
    }

    fn keep(&mut self, number: u64, packet: Vec<u8>) {
        self.there.insert(number, packet);
        let newest = self.there.last_key_value().map_or(number, |(newest, _)| *newest);
        while let Some(first) = self.there.first_entry()
            && *first.key() + self.window < newest
        {
            first.remove();
        }
    }
}

/// The total length in the header of an IPv4 packet (RFC 791, section 3.1). `None`: the bytes are not such a packet, or fewer.
pub fn ipv4_length(packet: &[u8]) -> Option<usize> {
    const HEADER: usize = 20;
    let [first, _, high, low, ..] = *packet else { return None };
    let length = usize::from(u16::from_be_bytes([high, low]));
    (first >> 4 == 4 && (HEADER..=packet.len()).contains(&length)).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A packet of that length, with bytes that no other has.
    fn packet(number: u64, length: u16) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..u64::from(length)).map(|i| (number * 37 + i * 11 % 251) as u8).collect();
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..12].copy_from_slice(&number.to_be_bytes());
        bytes
    }

    fn length(number: u64) -> u16 {
        20 + (number * 97 % 1481) as u16
    }

    /// What the decoder recovers when the items `lost` of the stream of data and repair packets do not arrive, and the packets
    /// that did not arrive.
    fn recovered(
        data: u32,
        interleave: &[u32],
        packets: u64,
        lost: &BTreeSet<usize>,
    ) -> (Vec<(u64, Vec<u8>)>, BTreeSet<u64>) {
        let mut encoder = PacketEncoder::new(data, interleave);
        let mut decoder = PacketDecoder::new(data, interleave);
        let (mut repairs, mut found, mut gone) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut place = 0;
        for number in 0..packets {
            let bytes = packet(number, length(number));
            assert_eq!(encoder.enter(&bytes, &mut repairs), number);
            if number + 1 == packets {
                encoder.flush(&mut repairs);
            }
            if lost.contains(&place) {
                gone.insert(number);
            } else {
                decoder.arrive(number, &bytes, &mut found);
            }
            place += 1;
            for parity in repairs.drain(..) {
                if !lost.contains(&place) {
                    decoder.repair(parity, &mut found);
                }
                place += 1;
            }
        }
        (found, gone)
    }

    #[test]
    fn a_recovered_packet_is_the_lost_one_to_the_byte() {
        for interleave in [&[1][..], &[20], &[1, 20, 40]] {
            for place in 0..300 {
                let (found, gone) = recovered(8, interleave, 400, &BTreeSet::from([place]));
                let expected: Vec<_> = gone.iter().map(|n| (*n, packet(*n, length(*n)))).collect();
                assert_eq!(found, expected, "{interleave:?}, {place}");
            }
        }
    }

    #[test]
    fn a_packet_that_a_repair_packet_overtook_is_not_recovered_twice() {
        let (mut encoder, mut decoder) = (PacketEncoder::new(2, &[1]), PacketDecoder::new(2, &[1]));
        let (mut repairs, mut found) = (Vec::new(), Vec::new());
        let packets = [0, 1, 2].map(|number| packet(number, 100));
        for packet in &packets {
            encoder.enter(packet, &mut repairs);
        }
        // Packets 0 and 1 come behind their repair packet.
        decoder.repair(repairs[0].clone(), &mut found);
        assert_eq!(found, []);
        decoder.arrive(1, &packets[1], &mut found);
        assert_eq!(found, [(0, packets[0].clone())]);
        decoder.arrive(0, &packets[0], &mut found);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn bytes_that_are_no_packet_are_not_recovered() {
        let mut decoder = PacketDecoder::new(8, &[1]);
        let mut found = Vec::new();
        decoder.repair(Parity { numbers: vec![7], xor: vec![0x45, 0, 0xff, 0xff] }, &mut found);
        decoder.repair(Parity { numbers: vec![8], xor: Vec::new() }, &mut found);
        assert_eq!(found, []);
        assert_eq!(ipv4_length(&packet(1, 44)), Some(44));
    }

    proptest! {
        #[test]
        fn nothing_is_recovered_twice_or_invented(
            data in 1..12_u32,
            interleave in prop::collection::btree_set(1..30_u32, 1..4),
            lost in prop::collection::btree_set(0..300_usize, 0..120),
        ) {
            let interleave: Vec<u32> = interleave.into_iter().collect();
            let (found, gone) = recovered(data, &interleave, 250, &lost);
            let numbers: BTreeSet<u64> = found.iter().map(|(number, _)| *number).collect();
            prop_assert_eq!(numbers.len(), found.len());
            prop_assert!(numbers.is_subset(&gone));
            for (number, bytes) in found {
                prop_assert_eq!(bytes, packet(number, length(number)));
            }
        }
    }
}
