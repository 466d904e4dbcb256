//! TCP headers, also those that the snapshot length cuts.

use crate::facts::SkipReason;
use crate::segment::{Flags, Options, SackBlock, Segment, Timestamps};
use etherparse::TcpHeaderSlice;

const LARGEST: usize = 60;
const SMALLEST: usize = 20;
/// Up to the window: all that analyses need. Checksum and urgent pointer follow.
const NEEDED: usize = 16;

/// A TCP header with the ports, which are those of the packet.
pub(super) struct Header {
    pub source_port: u16,
    pub destination_port: u16,
    pub segment: Segment,
}

/// Reads a header. `captured` has what there is of it, and of the payload; `bytes` is the length of both on the wire.
#[inline]
pub(super) fn header(captured: &[u8], bytes: usize) -> Result<Header, SkipReason> {
    if captured.len() < NEEDED {
        return Err(if bytes < SMALLEST { SkipReason::Malformed } else { SkipReason::CutHeader });
    }
    let header_bytes = usize::from(captured[12] >> 4) * 4;
    if header_bytes < SMALLEST || header_bytes > bytes {
        return Err(SkipReason::Malformed);
    }
    if let Some(header) = captured.get(..header_bytes) {
        return fields(header, &header[SMALLEST..], false, bytes);
    }
    // The fixed fields are read from a copy that zeros complete, the options from the captured bytes.
    let mut whole = [0; LARGEST];
    whole[..captured.len()].copy_from_slice(captured);
    let is_cut = header_bytes > SMALLEST;
    fields(&whole[..header_bytes], captured.get(SMALLEST..).unwrap_or_default(), is_cut, bytes)
}

#[inline]
fn fields(header: &[u8], options_there: &[u8], are_cut: bool, bytes: usize) -> Result<Header, SkipReason> {
    let slice = TcpHeaderSlice::from_slice(header).map_err(|_| SkipReason::Malformed)?;
    // The flags are nine bits in a row, so that one read has them all.
    let flags = Flags::from_bits(u16::from_be_bytes([header[12], header[13]]));
    let options = Options { are_cut, ..options(options_there) };
    Ok(Header {
        source_port: slice.source_port(),
        destination_port: slice.destination_port(),
        segment: Segment {
            seq: slice.sequence_number(),
            ack: slice.acknowledgment_number(),
            flags,
            window: slice.window_size(),
            payload_bytes: (bytes - header.len()) as u32,
            options,
            ..Segment::default()
        },
    })
}

/// Reads options up to the first that is not valid. Those of unknown kinds are skipped, which is why the iterator of
/// `etherparse`, which stops at them, is not used.
#[inline]
fn options(bytes: &[u8]) -> Options {
    const END: u8 = 0;
    const NO_OPERATION: u8 = 1;
    const MSS: u8 = 2;
    const WINDOW_SCALE: u8 = 3;
    const SACK_PERMITTED: u8 = 4;
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    let word = |value: &[u8], at: usize| {
        u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]])
    };
    let mut options = Options::default();
    let mut rest = bytes;
    // Nearly all segments of Linux have two bytes of padding, and timestamps.
    if let [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, value @ ..] = rest
        && value.len() >= 8
    {
        options.timestamps = Some(Timestamps { value: word(value, 0), echo: word(value, 4) });
        rest = &value[8..];
    }
    while let [kind, tail @ ..] = rest {
        match *kind {
            END => break,
            NO_OPERATION => {
                rest = tail;
                continue;
            }
            _ => {}
        }
        let Some(length) = tail.first().map(|length| usize::from(*length)).filter(|length| *length >= 2)
        else {
            break;
        };
        let Some(value) = rest.get(2..length) else { break };
        match (*kind, value.len()) {
            (MSS, 2) => options.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (WINDOW_SCALE, 1) => options.window_scale = Some(value[0]),
            (SACK_PERMITTED, 0) => options.sack_permitted = true,
            (TIMESTAMPS, 8) => {
                options.timestamps = Some(Timestamps { value: word(value, 0), echo: word(value, 4) });
            }
            (SACK, _) => {
                for block in value.chunks_exact(8) {
                    // Four blocks are all that 40 bytes of options have room for.
                    let _ = options.sack.push(SackBlock { left: word(block, 0), right: word(block, 4) });
                }
            }
            _ => {}
        }
        rest = &rest[length..];
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with these options, and without payload.
    fn with_options(options: &[u8]) -> Vec<u8> {
        let mut header = vec![0; SMALLEST];
        header.extend(options);
        header[12] = (header.len() as u8 / 4) << 4;
        header
    }

    fn read(options: &[u8]) -> Options {
        let header_bytes = with_options(options);
        header(&header_bytes, header_bytes.len()).unwrap().segment.options
    }

    #[test]
    fn option_behind_one_of_unknown_kind_is_read() {
        // Multipath TCP (30), then a block of SACK.
        let bytes = [30, 4, 0, 0, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9];
        assert_eq!(read(&bytes).sack.as_slice(), [SackBlock { left: 1, right: 9 }]);
    }

    #[test]
    fn option_with_a_wrong_length_ends_the_options() {
        assert_eq!(read(&[2, 1, 3, 3]), Options::default());
        assert_eq!(read(&[2, 40, 3, 3]), Options::default());
        let value = read(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 2, 0, 0, 0]);
        assert_eq!(value.timestamps, Some(Timestamps { value: 1, echo: 2 }));
        assert_eq!(value.mss, None);
    }

    #[test]
    fn cut_options_are_reported_and_those_before_are_read() {
        let bytes = with_options(&[2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7]);
        for captured in 0..bytes.len() {
            let result = header(&bytes[..captured], bytes.len() + 100);
            match captured {
                0..NEEDED => assert!(matches!(result, Err(SkipReason::CutHeader)), "{captured}"),
                _ => {
                    let options = result.unwrap().segment.options;
                    assert!(options.are_cut, "{captured}");
                    assert_eq!(options.mss, (captured >= 24).then_some(1460), "{captured}");
                    assert_eq!(options.window_scale, None, "{captured}");
                }
            }
        }
        let whole = header(&bytes, bytes.len() + 100).unwrap().segment;
        assert_eq!((whole.options.window_scale, whole.options.are_cut), (Some(7), false));
        assert_eq!(whole.payload_bytes, 100);
    }
}
