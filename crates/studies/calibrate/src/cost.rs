//! Kinds of work and their costs.

use serde::{Deserialize, Serialize};

/// A kind of work of a core. Its cost is the time of one, or of one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// A call of the application, read or write.
    Syscall,
    /// A byte that a writer copies into a socket.
    CopyWritten,
    /// A byte that a reader copies out of a socket, with its share of freeing the pages.
    CopyRead,
    /// Sending a GSO packet of up to 64 KiB: TCP, IP, queue, and the other core's backlog.
    TxSegment,
    /// Cutting one packet of the wire out of a GSO packet in software, where the interface does not, and handing it over by itself.
    TxPacket,
    /// Receiving a packet or GSO packet: backlog, IP and TCP.
    RxData,
    /// Receiving an acknowledgement, and what TCP does about it.
    RxAck,
    /// Sending an acknowledgement.
    TxAck,
    /// Putting a thread to sleep and waking it.
    Wakeup,
    /// An interrupt from the other core.
    Interrupt,
    /// Interrupting the other core. On a virtual machine the hypervisor does that.
    Kick,
    /// Leaving the idle state.
    IdleExit,
    /// Other work, in each microsecond.
    OtherWork,
}

impl Cost {
    /// All of them, in the order of tables.
    pub const ALL: [Cost; 13] = [
        Cost::Syscall,
        Cost::CopyWritten,
        Cost::CopyRead,
        Cost::TxSegment,
        Cost::TxPacket,
        Cost::RxData,
        Cost::RxAck,
        Cost::TxAck,
        Cost::Wakeup,
        Cost::Interrupt,
        Cost::Kick,
        Cost::IdleExit,
        Cost::OtherWork,
    ];

    /// Its name in tables.
    pub fn words(self) -> &'static str {
        match self {
            Cost::Syscall => "system call",
            Cost::CopyWritten => "copy, written byte",
            Cost::CopyRead => "copy, read byte",
            Cost::TxSegment => "send a GSO packet",
            Cost::TxPacket => "cut a packet in software",
            Cost::RxData => "receive a packet or GSO packet",
            Cost::RxAck => "receive an ACK",
            Cost::TxAck => "send an ACK",
            Cost::Wakeup => "sleep and wake-up of a thread",
            Cost::Interrupt => "interrupt of another core",
            Cost::Kick => "interrupt the other core",
            Cost::IdleExit => "leave the idle state",
            Cost::OtherWork => "other work in a microsecond",
        }
    }

    /// The counter of its number.
    pub fn origin(self) -> &'static str {
        match self {
            Cost::Syscall => "calls of write(2) and read(2)",
            Cost::CopyWritten => "bytes written",
            Cost::CopyRead => "bytes read",
            Cost::TxSegment => "IpOutRequests of the sender",
            Cost::TxPacket => "IpInReceives of the receiver, GSO off",
            Cost::RxData => "IpInReceives of the receiver",
            Cost::RxAck => "IpInReceives of the sender",
            Cost::TxAck => "IpOutRequests of the receiver",
            Cost::Wakeup => "voluntary_ctxt_switches of the threads",
            Cost::Interrupt => "CAL of /proc/interrupts",
            Cost::Kick => "CAL of the other core",
            Cost::OtherWork => "measured time",
            Cost::IdleExit => "idle_calls of /proc/timer_list",
        }
    }
}
