//! The transport protocol of a flow.

use crate::words;

words! {
    /// What carries a flow's payload.
    Transport {
        /// TCP (RFC 9293).
        Tcp = "tcp",
        /// UDP (RFC 768).
        Udp = "udp",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro makes the enum")]
impl Default for Transport {
    fn default() -> Transport {
        Transport::Tcp
    }
}
