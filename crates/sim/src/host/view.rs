//! What a recording shows of the inside of a host.

use super::Host;
use super::core::Kind;
use wirespeed_units::Span;

/// Where a core's time went.
#[derive(Debug, Clone, Copy)]
pub struct CoreTime {
    /// Number of the core.
    pub core: u32,
    /// Its node.
    pub node: u32,
    /// Time by kind, in the order of [`Kind::ALL`].
    pub spent: [Span; Kind::ALL.len()],
    /// Rounds of softirq that ended with packets left.
    pub squeezed: u64,
}

/// State of a receive ring.
#[derive(Debug, Clone, Copy)]
pub struct RingState {
    /// Packets in it.
    pub waiting: u64,
    /// Bytes of these.
    pub waiting_bytes: u64,
    /// Packets taken out so far.
    pub polled: u64,
    /// Bytes of these.
    pub polled_bytes: u64,
    /// Packets that found it full.
    pub dropped: u64,
    /// Interrupts raised.
    pub interrupts: u64,
    /// The core that is interrupted.
    pub core: u32,
}

impl Host {
    /// Every core's time so far.
    pub fn cores(&self) -> impl Iterator<Item = CoreTime> + '_ {
        self.cores.iter().enumerate().map(|(index, core)| CoreTime {
            core: index as u32,
            node: core.node as u32,
            spent: core.spent,
            squeezed: core.squeezed,
        })
    }

    /// Every receive ring.
    pub fn rings(&self) -> impl Iterator<Item = RingState> + '_ {
        self.queues.iter().map(|queue| RingState {
            waiting: u64::from(queue.waiting()),
            waiting_bytes: queue.waiting_bytes(),
            polled: queue.polled,
            polled_bytes: queue.polled_bytes,
            dropped: queue.dropped,
            interrupts: queue.interrupts,
            core: queue.core as u32,
        })
    }

    /// Packets inside the host that have not reached a socket: in rings, backlogs, and behind sockets' locks.
    pub fn held(&self) -> u64 {
        let rings: u64 = self.queues.iter().map(super::rx::RxQueue::held).sum();
        let backlogs: u64 = self.cores.iter().map(|core| u64::from(core.backlog_packets)).sum();
        rings + backlogs
    }

    /// Packets behind a socket's lock: they have arrived, and TCP has not seen them.
    pub fn behind_locks(&self) -> u64 {
        let of = |socket: &super::Socket| socket.backlog.iter().map(|t| u64::from(t.packets)).sum::<u64>();
        self.sockets.values().map(of).sum()
    }

    /// Datagrams that wait for the application, and those it has read, of a flow.
    pub fn datagrams(&self, flow: u32) -> Option<(u64, u64)> {
        let datagrams = self.sockets.get(&flow)?.datagrams.as_ref()?;
        Some((datagrams.waiting, datagrams.read))
    }
}
