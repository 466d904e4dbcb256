//! How the receiver of a connection reports congestion marks, as the handshake negotiates it.

/// ECN feedback of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feedback {
    /// None: the connection does not use ECN.
    Off,
    /// ECN-Echo on every acknowledgement from a mark until CWR arrives (RFC 3168, section 6.1).
    Classic,
    /// ECN-Echo is set if the packets that it acknowledges are marked: a change is acknowledged at once (RFC 8257, 3.2).
    ExactEcho,
    /// The receiver counts marks, and acknowledgements report the count (RFC 9768).
    Accurate,
}

impl Feedback {
    /// The connection uses ECN.
    pub fn is_on(self) -> bool {
        self != Feedback::Off
    }

    /// Marks come back by the flag ECN-Echo.
    pub fn echoes(self) -> bool {
        matches!(self, Feedback::Classic | Feedback::ExactEcho)
    }
}
