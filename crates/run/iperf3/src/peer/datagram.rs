//! What stands at the front of iperf3's datagrams: when it was sent, and its number, counted from 1.

use std::time::Duration;

/// Its length with numbers of 64 bits, which this program asks for: seconds and microseconds since 1970 and the
/// number, big-endian, in bytes.
pub const HEADER: usize = 16;
/// The same with numbers of 32 bits.
pub const NARROW_HEADER: usize = 12;

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Time of sending by the sender's clock, since 1970, in microseconds.
    pub sent: Duration,
    /// Number of the datagram, from 1.
    pub number: u64,
}

impl Header {
    /// Writes it to the front of a datagram.
    ///
    /// # Panics
    /// If the datagram is shorter than [`HEADER`].
    pub fn write(self, datagram: &mut [u8]) {
        datagram[..4].copy_from_slice(&(self.sent.as_secs() as u32).to_be_bytes());
        datagram[4..8].copy_from_slice(&self.sent.subsec_micros().to_be_bytes());
        datagram[8..HEADER].copy_from_slice(&self.number.to_be_bytes());
    }

    /// The same without knowing of what width. Servers since 3.1 take the width that they are asked for, older ones have 32 bits
    /// and say nothing of it. The first half of a number of 64 bits is zero for the first four thousand million datagrams, and
    /// no number of 32 bits is.
    pub fn of_either_width(datagram: &[u8]) -> Option<Header> {
        let narrow = Header::read(datagram, false);
        if narrow.is_some() { narrow } else { Header::read(datagram, true) }
    }

    /// The header of a datagram, `wide` if numbers have 64 bits; `None` if it is too short, or its number 0.
    pub fn read(datagram: &[u8], wide: bool) -> Option<Header> {
        let word = |at: usize| Some(u32::from_be_bytes(datagram.get(at..at + 4)?.try_into().ok()?));
        let sent = Duration::from_secs(word(0)?.into()) + Duration::from_micros(word(4)?.into());
        let number = match wide {
            true => u64::from(word(8)?) << 32 | u64::from(word(12)?),
            false => word(8)?.into(),
        };
        (number > 0).then_some(Header { sent, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_data_are_read() {
        let header = Header { sent: Duration::new(1_795_332_529, 123_456_000), number: 1 << 33 };
        let mut datagram = [0; 64];
        header.write(&mut datagram);
        assert_eq!(Header::read(&datagram, true), Some(header));
        assert_eq!(Header::read(&datagram[..15], true), None);
    }

    #[test]
    fn narrow_numbers_have_four_bytes() {
        let datagram = [0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 1, 2];
        let expected = Header { sent: Duration::new(9, 7000), number: 258 };
        assert_eq!(Header::read(&datagram, false), Some(expected));
        assert_eq!(Header::read(&[0; 12], false), None);
    }

    #[test]
    fn the_width_shows_in_the_header() {
        let wide = Header { sent: Duration::new(9, 7000), number: 258 };
        let mut datagram = [0xaa; 64];
        wide.write(&mut datagram);
        assert_eq!(Header::of_either_width(&datagram), Some(wide));
        let mut narrow = [0xaa; 64];
        narrow[..12].copy_from_slice(&[0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 1, 2]);
        assert_eq!(Header::of_either_width(&narrow), Some(wide));
    }
}
