//! Round trips told by sequence numbers: a round ends when what was next to send at its start is acknowledged.

/// The end of the current round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// A round that ends when byte `snd_nxt` is passed.
    pub fn until(snd_nxt: u64) -> Self {
        Round { end: snd_nxt }
    }

    /// Everything sent before the round began, and more, is acknowledged.
    pub fn is_over(&self, snd_una: u64) -> bool {
        snd_una > self.end
    }

    /// Starts the next round.
    pub fn start(&mut self, snd_nxt: u64) {
        self.end = snd_nxt;
    }
}
