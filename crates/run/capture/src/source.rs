//! Bytes of a capture, decompressed.

mod zstd;

use crate::error::CaptureError;
use crate::facts::Compression;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

/// Source of the bytes of a capture.
pub enum Input<'a> {
    /// A file.
    File(&'a Path),
    /// Standard input, such as a pipe from tcpdump.
    StandardInput,
    /// Anything else.
    Reader(Box<dyn Read + Send>),
}

impl Input<'_> {
    /// `-` is standard input, and all else a file.
    pub fn named(name: &Path) -> Input<'_> {
        if name.as_os_str() == "-" { Input::StandardInput } else { Input::File(name) }
    }

    fn open(self) -> Result<Box<dyn Read + Send>, CaptureError> {
        match self {
            Input::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(source) => Err(CaptureError::Open { path: path.into(), source }),
            },
            Input::StandardInput => Ok(Box::new(io::stdin())),
            Input::Reader(reader) => Ok(reader),
        }
    }
}

/// Compressed input is read in blocks of this size.
const COMPRESSED_BLOCK: usize = 256 << 10;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The lower four bits of the first byte of a skippable frame are free (RFC 8878, 3.1.2).
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Opens `input`. Its first bytes decide about the compression, not its name.
pub(crate) fn open(input: Input<'_>) -> Result<(Box<dyn Read + Send>, Compression), CaptureError> {
    let mut reader = input.open()?;
    let start = first_bytes(&mut reader, 4).map_err(CaptureError::Start)?;
    let compression = if start.starts_with(&GZIP) {
        Compression::Gzip
    } else if start == ZSTD || (start.len() == 4 && start[0] & 0xf0 == 0x50 && start[1..] == ZSTD_SKIPPABLE) {
        Compression::Zstd
    } else {
        Compression::None
    };
    let whole = Cursor::new(start).chain(reader);
    let reader: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(whole),
        Compression::Gzip => {
            // Several members, as of bgzip or of files that were appended to each other.
            Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(COMPRESSED_BLOCK, whole)))
        }
        Compression::Zstd => Box::new(zstd::Zstd::new(BufReader::with_capacity(COMPRESSED_BLOCK, whole))),
    };
    Ok((reader, compression))
}

/// At most `most` bytes; fewer at the end of the input only.
fn first_bytes(reader: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(most).read_to_end(&mut start)?;
    Ok(start)
}
