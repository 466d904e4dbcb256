//! Frames on a protected link. They occupy as many bytes as those of the model (docs/models/path.md).
//!
//! A data packet is not changed. Its number is in the source address of its frame, which has no other use between two ends. A repair
//! packet begins with room for the headers of IPv4 and UDP that it would have across routers. A header of four bytes with the count of its
//! packets follows, then their numbers and their XOR.

use wirespeed_fec::{NAME, Parity, REPAIR_HEADER};
use wirespeed_topology::tunnel::ETHERTYPE;

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// The first two bytes of a source address, which is locally administered (IEEE 802, section 8.4). A number of four bytes follows.
const DATA: [u8; 2] = [0x06, 0];
const REPAIR: [u8; 2] = [0x06, 1];
const HEADER: usize = REPAIR_HEADER as usize;
const OF_NAME: usize = NAME as usize;

/// A frame that arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrived<'a> {
    /// A packet with its number.
    Data(u64, &'a [u8]),
    /// A repair packet.
    Repair(Parity),
}

fn ethernet(peer: [u8; 6], kind: [u8; 2], number: u32, frame: &mut [u8]) {
    frame[..6].copy_from_slice(&peer);
    frame[6..8].copy_from_slice(&kind);
    frame[8..12].copy_from_slice(&number.to_be_bytes());
    frame[12..ETHERNET].copy_from_slice(&ETHERTYPE.to_be_bytes());
}

/// Writes the Ethernet header of data packet `number`, which follows in the frame. Of the number, 32 bits are sent.
pub fn write_data_header(peer: [u8; 6], number: u64, frame: &mut [u8]) {
    ethernet(peer, DATA, number as u32, frame);
}

/// The frame of a repair packet.
pub fn repair(peer: [u8; 6], parity: &Parity) -> Vec<u8> {
    let names = ETHERNET + HEADER;
    let xor = names + parity.numbers.len() * OF_NAME;
    let mut frame = vec![0; xor + parity.xor.len()];
    ethernet(peer, REPAIR, 0, &mut frame);
    frame[names - 4..names].copy_from_slice(&(parity.numbers.len() as u32).to_be_bytes());
    for (place, number) in frame[names..xor].chunks_exact_mut(OF_NAME).zip(&parity.numbers) {
        place.copy_from_slice(&(*number as u32).to_be_bytes());
    }
    frame[xor..].copy_from_slice(&parity.xor);
    frame
}

/// Reads frames. It continues numbers of 32 bits in 64.
#[derive(Debug, Default)]
pub struct Reader {
    newest: u64,
}

impl Reader {
    /// The content of a frame. `None`: it is not one of a protected link.
    pub fn read<'a>(&mut self, frame: &'a [u8]) -> Option<Arrived<'a>> {
        let (header, payload) = frame.split_at_checked(ETHERNET)?;
        let kind = [header[6], header[7]];
        match kind {
            DATA => {
                let number = self.whole(number_in(&header[8..12])?);
                self.newest = self.newest.max(number);
                Some(Arrived::Data(number, payload))
            }
            REPAIR => {
                let (header, rest) = payload.split_at_checked(HEADER)?;
                let count = number_in(&header[HEADER - 4..])? as usize;
                let (names, xor) = rest.split_at_checked(count.checked_mul(OF_NAME)?)?;
                let names = names.chunks_exact(OF_NAME).filter_map(number_in);
                let numbers = names.map(|name| self.whole(name)).collect();
                Some(Arrived::Repair(Parity { numbers, xor: xor.to_vec() }))
            }
            _ => None,
        }
    }

    /// The number with these last 32 bits that is nearest to the newest one.
    fn whole(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.newest as u32).cast_signed();
        self.newest.saturating_add_signed(ahead.into())
    }
}

fn number_in(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: [u8; 6] = [2, 0, 0, 0, 1, 2];

    fn data(number: u64, packet: &[u8]) -> Vec<u8> {
        let mut frame = [&[0; ETHERNET], packet].concat();
        write_data_header(PEER, number, &mut frame);
        frame
    }

    #[test]
    fn frames_have_the_size_of_the_model_and_are_read_back() {
        let mut reader = Reader::default();
        let frame = data(7, b"packet");
        assert_eq!(frame.len(), ETHERNET + 6);
        assert_eq!(reader.read(&frame), Some(Arrived::Data(7, b"packet")));
        let parity = Parity { numbers: (0..8).collect(), xor: vec![3; 1500] };
        let frame = repair(PEER, &parity);
        assert_eq!(frame.len(), 1514 + 32 + 8 * 4);
        assert_eq!(reader.read(&frame), Some(Arrived::Repair(parity)));
    }

    #[test]
    fn numbers_continue_where_32_bits_end() {
        let (mut reader, end) = (Reader::default(), 1_u64 << 32);
        for number in [0, end / 4, end / 2, end - 1, end + 1] {
            assert_eq!(reader.read(&data(number, b"")), Some(Arrived::Data(number, b"")));
        }
        let parity = Parity { numbers: vec![end - 2, end, end + 1], xor: Vec::new() };
        assert_eq!(reader.read(&repair(PEER, &parity)), Some(Arrived::Repair(parity)));
    }

    #[test]
    fn other_frames_and_short_ones_are_not_read() {
        let whole = repair(PEER, &Parity { numbers: vec![1, 2], xor: Vec::new() });
        for length in 0..whole.len() {
            assert_eq!(Reader::default().read(&whole[..length]), None, "{length}");
        }
        assert_eq!(Reader::default().read(&[0; 60]), None);
    }
}
