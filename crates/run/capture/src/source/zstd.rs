//! Zstandard (RFC 8878) as a stream of any number of frames.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Largest body of a block (RFC 8878, 3.1.1.2.4).
const LARGEST_BLOCK: usize = 128 << 10;
const BLOCK_HEAD: usize = 3;
const CHECKSUM: usize = 4;

/// Decompresses frames one after the other.
///
/// The decoder keeps a whole window back until the last block of a frame. A file that ends within a frame gets an empty last block,
/// so that all that was decompressed is delivered before the error.
pub(super) struct Zstd<R> {
    input: R,
    decoder: FrameDecoder,
    /// The decoder is within a frame, or has not delivered all of it.
    in_frame: bool,
    /// The error that follows after the bytes that the decoder still has.
    failed: Option<io::Error>,
    block: Vec<u8>,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(input: R) -> Self {
        Zstd { input, decoder: FrameDecoder::new(), in_frame: false, failed: None, block: Vec::new() }
    }

    /// Begins the next frame; `false` at the end of the input.
    fn begin_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// Decompresses one block.
    fn decode_block(&mut self) -> io::Result<()> {
        let mut head = [0; BLOCK_HEAD];
        self.block.clear();
        let complete = self.input.read_exact(&mut head).and_then(|()| {
            let word = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let (kind, size) = (word >> 1 & 3, (word >> 3) as usize);
            // A run-length block has one byte, and its size is that of the result.
            let body = if kind == 1 { 1 } else { size };
            if body > LARGEST_BLOCK {
                return Err(io::Error::other("a block of the Zstandard frame is larger than any may be"));
            }
            self.block.extend(head);
            self.block.resize(BLOCK_HEAD + body, 0);
            self.input.read_exact(&mut self.block[BLOCK_HEAD..])
        });
        if let Err(error) = complete {
            self.failed = Some(error);
            let empty_last_block = [1, 0, 0];
            self.block.clear();
            self.block.extend(empty_last_block);
        }
        // The checksum behind the last block is skipped; one that is cut off makes no difference.
        let checksum = (&mut self.input).chain(io::repeat(0).take(CHECKSUM as u64));
        let source = self.block.as_slice().chain(checksum);
        self.decoder.decode_blocks(source, BlockDecodingStrategy::UptoBlocks(1)).map_err(io::Error::other)?;
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if let Some(error) = self.failed.take() {
                    return Err(error);
                }
                if !self.begin_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if self.decoder.is_finished() {
                self.in_frame = false;
            } else {
                self.decode_block()?;
            }
        }
    }
}
