//! A window that slides over the bytes of a file.

use std::io::{ErrorKind, Read};

/// The buffer. Small enough for a processor's cache, and large enough that a call of the system is rare.
const CAPACITY: usize = 512 << 10;

/// Result of [`Window::fill`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// As many bytes as wanted are there.
    Enough,
    /// The input ended before, or failed for this reason.
    Short(Option<String>),
}

/// Bytes of a reader that were not used yet.
pub(crate) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the file.
    offset: u64,
    /// The reader has no more, for this reason if it failed.
    ended: Option<Option<String>>,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(reader: R) -> Self {
        Window { reader, buffer: vec![0; CAPACITY], start: 0, end: 0, offset: 0, ended: None }
    }

    /// Offset in the file of the first byte that was not used.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes that are there.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Marks `count` bytes that are there as used, and returns them.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start += count;
        self.offset += count as u64;
        &self.buffer[from..self.start]
    }

    /// Reads until `wanted` bytes are there.
    #[inline]
    pub(crate) fn fill(&mut self, wanted: usize) -> Filled {
        if self.end - self.start >= wanted { Filled::Enough } else { self.read_more(wanted) }
    }

    #[cold]
    fn read_more(&mut self, wanted: usize) -> Filled {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted.next_multiple_of(CAPACITY), 0);
        }
        while self.end < wanted {
            if let Some(failed) = &self.ended {
                return Filled::Short(failed.clone());
            }
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = Some(None),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => self.ended = Some(Some(error.to_string())),
            }
        }
        Filled::Enough
    }

    /// Skips `count` bytes that need not fit into the window.
    pub(crate) fn skip(&mut self, mut count: u64) -> Filled {
        loop {
            let there = count.min((self.end - self.start) as u64);
            self.take(there as usize);
            count -= there;
            if count == 0 {
                return Filled::Enough;
            }
            if let short @ Filled::Short(_) = self.read_more(1) {
                return short;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_larger_than_the_window_fits() {
        let bytes: Vec<u8> = (0..3 * CAPACITY).map(|at| (at % 251) as u8).collect();
        let mut window = Window::new(bytes.as_slice());
        assert_eq!(window.fill(10), Filled::Enough);
        window.take(7);
        assert_eq!(window.fill(2 * CAPACITY), Filled::Enough);
        assert_eq!(window.bytes()[..2 * CAPACITY], bytes[7..7 + 2 * CAPACITY]);
        assert_eq!(window.skip(3 * CAPACITY as u64 - 7), Filled::Enough);
        assert_eq!(window.fill(1), Filled::Short(None));
        assert_eq!(window.offset(), bytes.len() as u64);
    }
}
