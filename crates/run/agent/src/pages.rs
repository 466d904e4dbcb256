//! What TCP senders write: zeros, copied or taken by reference.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::OnceLock;

/// What one system call takes, at least: the fewer calls the faster, and none is limited by the flow's end.
const PIECE: usize = 64 * 1024;
/// How many of them.
const PIECES: usize = 64;

/// Where a sender's bytes come from.
pub enum Source {
    /// Pages of a file in memory. Sockets send them as they are (`sendfile`): nothing is copied. They never change, so that
    /// nobody has to wait until they are acknowledged.
    Pages(&'static File),
    /// A piece that is copied into the socket's own pages, again and again: it stays in the processor's cache.
    Piece(Vec<u8>),
}

impl Source {
    /// Pages, the same for all flows of this process: 4 MiB.
    ///
    /// # Errors
    /// If the kernel gives none (`memfd_create(2)`).
    pub fn pages() -> io::Result<Source> {
        static FILE: OnceLock<File> = OnceLock::new();
        if let Some(file) = FILE.get() {
            return Ok(Source::Pages(file));
        }
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("zero_copy: a file in memory: {error}"));
        let made = Self::file().map_err(named)?;
        // Of several threads that make one at once the first is kept.
        Ok(Source::Pages(FILE.get_or_init(|| made)))
    }

    /// A piece to copy.
    pub fn piece() -> Source {
        Source::Piece(vec![0; PIECE])
    }

    fn file() -> io::Result<File> {
        const NAME: &CStr = c"wirespeed";
        // SAFETY: the name ends with its zero.
        let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nobody else has it.
        let mut file = unsafe { File::from_raw_fd(fd) };
        // Written, not only as long: a hole is one page for all processors to count references of.
        let piece = [0; PIECE];
        (0..PIECES).try_for_each(|_| file.write_all(&piece))?;
        Ok(file)
    }

    /// Writes to a socket what one call takes, at most `most` bytes; answers how many these were. `joins`: the last packet of a call
    /// waits for the next call unless it is the last of the `most` bytes (`MSG_MORE`), as if all had been written at once.
    ///
    /// # Errors
    /// Those of `sendfile(2)` and `send(2)`. None raises SIGPIPE, which Rust's programs ignore.
    pub fn send(&self, socket: RawFd, most: u64, joins: bool) -> io::Result<u64> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let sent = match self {
            Source::Pages(file) => {
                // All of them are the same: each call begins with the first.
                let mut from: libc::off_t = 0;
                // SAFETY: the kernel writes to `from` only.
                unsafe { libc::sendfile(socket, file.as_raw_fd(), &raw mut from, most.min(PIECE * PIECES)) }
            }
            Source::Piece(piece) => {
                let whole = (most / PIECE).min(PIECES);
                let one = libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: PIECE };
                let pieces = [one; PIECES];
                let goes_on = joins && whole > 0 && whole * PIECE < most;
                let flags = libc::MSG_NOSIGNAL | if goes_on { libc::MSG_MORE } else { 0 };
                // SAFETY: an all-zero msghdr is valid; the kernel only reads the pieces, all of which are `piece`.
                unsafe {
                    let mut message: libc::msghdr = std::mem::zeroed();
                    message.msg_iov = pieces.as_ptr().cast_mut();
                    message.msg_iovlen = whole;
                    match whole {
                        0 => libc::send(socket, piece.as_ptr().cast(), most, flags),
                        _ => libc::sendmsg(socket, &message, flags),
                    }
                }
            }
        };
        u64::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn either_source_sends_so_many_zeros_and_no_more() {
        const BYTES: u64 = 5_000_017;
        for source in [Source::pages().unwrap(), Source::piece()] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut receiver, _) = listener.accept().unwrap();
            let reader = std::thread::spawn(move || {
                let mut all = Vec::new();
                receiver.read_to_end(&mut all).unwrap();
                all
            });
            let mut left = BYTES;
            while left > 0 {
                left -= source.send(sender.as_raw_fd(), left, false).unwrap();
            }
            drop(sender);
            let all = reader.join().unwrap();
            assert!(all.len() as u64 == BYTES && all.iter().all(|byte| *byte == 0), "{}", all.len());
        }
    }

    #[test]
    fn a_closed_connection_is_an_error_and_no_signal() {
        for source in [Source::pages().unwrap(), Source::piece()] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            sender.shutdown(std::net::Shutdown::Write).unwrap();
            let error = source.send(sender.as_raw_fd(), 10, false).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
    }
}
