//! The handshake and what is said after it, over anything that bytes can be read from and written to: who listens, and for how
//! long, is decided elsewhere.

use crate::sealed::Secret;
use snow::StatelessTransportState;
use std::io::{self, Read, Write};

const NOISE: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Each of the two messages of the handshake: a public key and an authentication tag. Nobody who knows the secret sends another
/// length, and a stranger is not waited for any longer.
const GREETING: usize = 32 + 16;
/// A message of Noise is at most so long (section 3); the rest is its authentication tag.
pub(super) const MOST: usize = 65_535;
const PAYLOAD: usize = MOST - 16;

/// What both ends agreed on: keys for both ways.
pub struct Channel {
    state: StatelessTransportState,
}

impl Channel {
    /// Shows the other end that we know the secret, and sees that it does.
    ///
    /// # Errors
    /// If it does not, or the connection breaks.
    pub fn handshake(mut line: impl Read + Write, secret: &Secret, begins: bool) -> io::Result<Channel> {
        let builder = snow::Builder::new(NOISE.parse().expect("it is a protocol of Noise"));
        let builder = builder.psk(0, &secret.0).map_err(io::Error::other)?;
        let state = if begins { builder.build_initiator() } else { builder.build_responder() };
        let mut state = state.map_err(io::Error::other)?;
        let mut room = [0; GREETING];
        for ours in [begins, !begins] {
            if ours {
                let length = state.write_message(&[], &mut room).map_err(io::Error::other)?;
                write_message(&mut line, &room[..length])?;
            } else {
                let got = read_message(&mut line, |length| length == GREETING)?;
                state.read_message(&got, &mut room).map_err(|_| foreign())?;
            }
        }
        Ok(Channel { state: state.into_stateless_transport_mode().map_err(io::Error::other)? })
    }

    /// Sends what `from` gives, to its end. The end is said too: a connection that is cut is none.
    ///
    /// # Errors
    /// As `from` and `line`.
    pub fn send(&self, mut from: impl Read, mut line: impl Write) -> io::Result<()> {
        let mut piece = vec![0; PAYLOAD];
        for number in 0.. {
            let got = from.read(&mut piece)?;
            write_message(&mut line, &self.seal(number, &piece[..got])?)?;
            if got == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Hands what comes to `to`, until the other end has said that it was all.
    ///
    /// # Errors
    /// If the connection breaks, or somebody changed, left out or repeated a part of it.
    pub fn receive(&self, mut line: impl Read, mut to: impl Write) -> io::Result<()> {
        let mut opened = vec![0; MOST];
        for number in 0.. {
            let sealed = read_message(&mut line, |_| true)?;
            let changed = |_| io::Error::new(io::ErrorKind::InvalidData, "somebody changed what was sent");
            match self.state.read_message(number, &sealed, &mut opened).map_err(changed)? {
                0 => break,
                length => to.write_all(&opened[..length])?,
            }
            to.flush()?;
        }
        Ok(())
    }

    /// The message of that number.
    pub(super) fn seal(&self, number: u64, piece: &[u8]) -> io::Result<Vec<u8>> {
        let mut sealed = vec![0; piece.len() + MOST - PAYLOAD];
        let length = self.state.write_message(number, piece, &mut sealed).map_err(io::Error::other)?;
        sealed.truncate(length);
        Ok(sealed)
    }
}

fn foreign() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the other end does not have the same token")
}

/// Sends a message with its length in front.
pub(super) fn write_message(mut line: impl Write, message: &[u8]) -> io::Result<()> {
    let length = (message.len() as u16).to_be_bytes();
    line.write_all(&[&length, message].concat())
}

/// Waits for a message of a length that is right.
fn read_message(mut line: impl Read, is_right: impl Fn(usize) -> bool) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    line.read_exact(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if !is_right(length) {
        return Err(foreign());
    }
    let mut message = vec![0; length];
    line.read_exact(&mut message)?;
    Ok(message)
}
