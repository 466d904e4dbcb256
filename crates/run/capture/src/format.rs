//! Frames of a file: pcap and pcapng.

pub(crate) mod pcap;
pub(crate) mod pcapng;

use crate::error::CaptureError;
use crate::facts::{CaptureFacts, Compression, DamagedTail, FileFormat};
use crate::segment::Passage;
use crate::window::{Filled, Window};
use std::io::Read;

/// Order of the bytes of numbers in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let two = [bytes[at], bytes[at + 1]];
        if self == Order::Little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) }
    }

    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self == Order::Little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) }
    }

    pub(crate) fn u64(self, bytes: &[u8]) -> Option<u64> {
        let eight = bytes.try_into().ok()?;
        Some(if self == Order::Little { u64::from_le_bytes(eight) } else { u64::from_be_bytes(eight) })
    }
}

/// A frame of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// Since the Unix epoch; `None` if the file does not have it.
    pub time_ns: Option<i64>,
    /// Index among the interfaces of the file; `None` if the file names one that it does not describe.
    pub interface: Option<u32>,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// The bytes that were captured.
    pub bytes: &'a [u8],
    pub passage: Passage,
}

/// The next element of a file.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    Frame(Frame<'a>),
    End,
    Damaged(DamagedTail),
}

/// Largest frame that a file may have. BIG TCP makes frames of 512 KiB.
pub(crate) const LARGEST_FRAME: usize = 16 << 20;

/// A record that is not complete: the end of the file, or damage.
pub(crate) fn incomplete<R: Read>(window: &Window<R>, what: &str, why: Option<String>) -> Next<'static> {
    let rest = window.bytes().len();
    match why {
        None if rest == 0 => Next::End,
        None => damaged(window, format!("the file ends within {what}, {rest} bytes after its start")),
        Some(why) => damaged(window, format!("the file cannot be read further: {why}")),
    }
}

/// Damage where the window is.
pub(crate) fn damaged<R: Read>(window: &Window<R>, reason: impl Into<String>) -> Next<'static> {
    Next::Damaged(DamagedTail { offset: window.offset(), reason: reason.into() })
}

/// Reads frames of either format.
pub(crate) enum Frames {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

/// Recognizes the format by the first bytes.
pub(crate) fn recognize<R: Read>(
    window: &mut Window<R>,
    compression: Compression,
) -> Result<(Frames, CaptureFacts), CaptureError> {
    if let Filled::Short(why) = window.fill(pcap::FILE_HEAD) {
        if let Some(why) = why {
            return Err(CaptureError::Start(std::io::Error::other(why)));
        }
        if window.bytes().len() < 4 {
            return Err(CaptureError::TooShort { bytes: window.bytes().len() });
        }
    }
    let bytes = window.bytes();
    let start = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if start == pcapng::SECTION_HEADER {
        let facts = CaptureFacts { sections: 0, ..CaptureFacts::new(FileFormat::Pcapng, compression) };
        return Ok((Frames::Pcapng(pcapng::Pcapng::default()), facts));
    }
    let Some(kind) = pcap::Kind::of(start) else {
        return Err(other_format(start));
    };
    if bytes.len() < pcap::FILE_HEAD {
        return Err(CaptureError::TooShort { bytes: bytes.len() });
    }
    let (pcap, facts) = pcap::Pcap::open(kind, window.take(pcap::FILE_HEAD), compression);
    Ok((Frames::Pcap(pcap), facts))
}

/// Formats that people have, with what converts them.
fn other_format(start: [u8; 4]) -> CaptureError {
    const WITH_EDITCAP: &str = "`editcap -F pcapng FILE FILE.pcapng`";
    let (format, remedy) = match start {
        [0xfd, b'7', b'z', b'X'] => ("xz", "`xz -dc FILE | wirespeed trace -`"),
        [b'B', b'Z', b'h', _] => ("bzip2", "`bzip2 -dc FILE | wirespeed trace -`"),
        [0x04, 0x22, 0x4d, 0x18] => ("LZ4", "`lz4 -dc FILE | wirespeed trace -`"),
        [b'P', b'K', 3, 4] => ("a ZIP archive", "`unzip -p FILE | wirespeed trace -`"),
        [b's', b'n', b'o', b'o'] => ("a snoop capture", WITH_EDITCAP),
        [b'G', b'M', b'B', b'U'] => ("a Network Monitor capture", WITH_EDITCAP),
        [b'R', b'T', b'S', b'S'] => ("a Network Monitor capture", WITH_EDITCAP),
        _ => return CaptureError::NotACapture { start },
    };
    CaptureError::OtherFormat { format, remedy }
}

impl Frames {
    /// The next frame. Facts other than counts of frames go to `facts`.
    #[inline]
    pub(crate) fn next<'a, R: Read>(
        &mut self,
        window: &'a mut Window<R>,
        facts: &mut CaptureFacts,
    ) -> Next<'a> {
        match self {
            Frames::Pcap(pcap) => pcap.next(window),
            Frames::Pcapng(pcapng) => pcapng.next(window, facts),
        }
    }
}
