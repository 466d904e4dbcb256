//! Bytes of anybody in the place of a handshake, and of what follows one: without the secret nobody gets anywhere.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::LazyLock;
use std::thread;
use wirespeed_transport::sealed::{Channel, Secret};

static SECRET: LazyLock<Secret> = LazyLock::new(|| Secret::of(b"a token that no stranger knows"));

/// Both ends of a channel, between which there is a stranger.
static PAIR: LazyLock<[Channel; 2]> = LazyLock::new(|| {
    let (here, there) = UnixStream::pair().expect("there are descriptors");
    let theirs = thread::spawn(move || Channel::handshake(there, &SECRET, false).expect("it has the secret"));
    [
        Channel::handshake(here, &SECRET, true).expect("it has the secret"),
        theirs.join().expect("it does not panic"),
    ]
});

/// Somebody who says `input`, and is listened to.
struct Stranger<'a> {
    input: &'a [u8],
    heard: usize,
}

impl Read for Stranger<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.input.read(room)
    }
}

impl Write for Stranger<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Knocks at either end with `bytes`, then says them between two that know each other.
pub fn knock(bytes: &[u8]) {
    for begins in [false, true] {
        let mut stranger = Stranger { input: bytes, heard: 0 };
        assert!(Channel::handshake(&mut stranger, &SECRET, begins).is_err(), "a stranger was let in");
        // One message with its length at most, which tells nothing.
        assert!(stranger.heard <= 50, "{} bytes for a stranger", stranger.heard);
    }
    for end in &*PAIR {
        let mut taken = Vec::new();
        assert!(end.receive(bytes, &mut taken).is_err(), "a stranger ended what others say");
        assert!(taken.is_empty(), "a stranger was listened to");
    }
}
