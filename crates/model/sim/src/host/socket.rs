//! A socket of a host: who reads or writes it, what waits behind its lock, and a datagram socket's memory.

use super::sack_walk::Remembered;
use super::thread::ThreadId;
use crate::net::Train;
use std::collections::VecDeque;
use wirespeed_units::SimTime;

/// A socket.
#[derive(Debug)]
pub struct Socket {
    /// The thread that reads or writes.
    pub thread: ThreadId,
    /// The receive queue its packets come to.
    pub queue: usize,
    /// The core on which its packets were last put into it.
    pub filled_by: usize,
    /// The reader holds the lock until then.
    pub locked_until: SimTime,
    /// Packets that came while it was locked (`sk_backlog`).
    pub backlog: VecDeque<Train>,
    /// Their memory.
    pub backlog_memory: u64,
    /// How much of what its thread works on it has taken: packets, or datagrams.
    pub working_on: u64,
    /// Packets that its thread has read, of a stream.
    pub read: u64,
    /// A datagram socket's own state.
    pub datagrams: Option<Datagrams>,
    /// What it was told last selectively.
    pub told: Remembered,
    /// Memory of what is unread, as last seen.
    pub unread: u64,
    /// Its writer waits for memory to send datagrams from (`sock_wait_for_wmem`).
    pub awaits_memory: bool,
}

/// Memory of the datagrams of a socket that its host has not sent yet (`net.core.wmem_default`; sk_buffs of 256 small
/// packets, `SK_WMEM_MAX`).
pub const SEND_BUFFER: u64 = 212_992;

/// A datagram socket's receive buffer.
#[derive(Debug, Clone, Default)]
pub struct Datagrams {
    /// Its size in memory (`sk_rcvbuf`, twice what SO_RCVBUF asks for).
    pub limit: u64,
    /// Memory of one datagram (`skb->truesize`).
    pub each: u64,
    /// Payload of one.
    pub payload: u64,
    /// Datagrams that wait.
    pub waiting: u64,
    /// Read by the application.
    pub read: u64,
}

impl Socket {
    pub(super) fn new(thread: ThreadId, queue: usize, core: usize, datagrams: Option<Datagrams>) -> Socket {
        Socket {
            thread,
            queue,
            filled_by: core,
            locked_until: SimTime::START,
            backlog: VecDeque::new(),
            backlog_memory: 0,
            working_on: 0,
            read: 0,
            datagrams,
            told: Remembered::default(),
            unread: 0,
            awaits_memory: false,
        }
    }

    /// Its reader has it, or has not yet taken what came meanwhile.
    pub fn is_locked(&self, at: SimTime) -> bool {
        at < self.locked_until || !self.backlog.is_empty()
    }
}

impl Datagrams {
    /// How many more fit.
    pub fn room(&self) -> u64 {
        // Linux takes a datagram as long as the limit is not yet exceeded (`__udp_enqueue_schedule_skb`).
        (self.limit / self.each + 1).saturating_sub(self.waiting)
    }
}
