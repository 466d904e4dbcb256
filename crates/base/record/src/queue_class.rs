//! The classes of a queueing discipline with several queues.

use crate::words;

words! {
    /// A queue within a queueing discipline, by the packets that it takes.
    QueueClass {
        /// Packets with ECT(1) or CE (the L queue of RFC 9332).
        LowLatency = "low_latency",
        /// All others (the C queue of RFC 9332).
        Classic = "classic",
    }
}
