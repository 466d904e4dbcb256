//! What can happen once in a run.

use crate::words;

words! {
    /// The kind of an event.
    EventKind {
        /// A flow is connected, or sends its first datagram.
        FlowStart = "flow_start",
        /// A flow's sender will write no more.
        FlowWritten = "flow_written",
        /// A flow's receiver has read everything.
        FlowEnd = "flow_end",
        /// A flow ended early.
        FlowError = "flow_error",
        /// A packet found no transmit descriptor and went back to the queueing discipline, for the first time.
        Requeue = "requeue",
        /// An interface lost its link.
        LinkDown = "link_down",
        /// It has it again.
        LinkUp = "link_up",
        /// Packets of the interface's MTU do not pass the path, and nobody says so.
        MtuBlackHole = "mtu_black_hole",
        /// A process that is not of the test used a core.
        OtherLoad = "other_load",
        /// iperf3's own account of what went wrong.
        Iperf3Error = "iperf3_error",
    }
}
