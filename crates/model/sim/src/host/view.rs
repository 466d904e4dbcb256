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

/// Where the packets are that came to a host. Each number is counted where it happens and none is worked out from
/// others, so that an account of them shows what is lost without a name; what is lost by name is in the recording's own
/// tables.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Intake {
    /// Name of the host.
    pub host: String,
    /// Packets that came from the wire, data first, then ACKs.
    pub came: [u64; 2],
    /// Packets in receive rings, or on their way into them.
    pub in_rings: u64,
    /// Packets taken out of them.
    pub polled: u64,
    /// Packets between interface and stack.
    pub in_backlogs: u64,
    /// Packets handed to the stack, data first.
    pub handed: [u64; 2],
    /// Those of them that TCP takes without a reader: ACKs, handshakes, probes.
    pub replies: [u64; 2],
    /// Packets behind sockets' locks.
    pub behind_locks: u64,
    /// Data packets that TCP has looked at.
    pub seen: u64,
    /// Those that it had already.
    pub duplicates: u64,
    /// Those that wait out of order.
    pub out_of_order: u64,
    /// Those that wait for the application.
    pub unread: u64,
    /// Those that the applications' threads have read.
    pub read: u64,
    /// Datagrams that wait for the application.
    pub datagrams_unread: u64,
    /// Datagrams that the applications' threads have read.
    pub datagrams_read: u64,
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

    /// Packets inside the host that have not been handed to the stack: in rings and backlogs.
    pub fn held(&self) -> u64 {
        self.in_rings() + self.in_backlogs()
    }

    fn in_rings(&self) -> u64 {
        self.queues.iter().map(super::rx::RxQueue::held).sum()
    }

    fn in_backlogs(&self) -> u64 {
        self.cores.iter().map(|core| u64::from(core.backlog_packets)).sum()
    }

    /// What the host knows of where its packets are; what its sockets hold is for who has the flows to add.
    pub fn intake(&self) -> Intake {
        Intake {
            host: self.name.clone(),
            came: self.came,
            in_rings: self.in_rings(),
            polled: self.queues.iter().map(|queue| queue.polled).sum(),
            in_backlogs: self.in_backlogs(),
            handed: self.handed,
            replies: self.replies,
            behind_locks: self.behind_locks(),
            read: self.sockets.values().map(|socket| socket.read).sum(),
            ..Intake::default()
        }
    }

    /// Packets behind a socket's lock: they have arrived, and TCP has not seen them.
    fn behind_locks(&self) -> u64 {
        let of = |socket: &super::Socket| socket.backlog.iter().map(|t| u64::from(t.packets)).sum::<u64>();
        self.sockets.values().map(of).sum()
    }

    /// Datagrams that wait for the application, and those it has read, of a flow.
    pub fn datagrams(&self, flow: u32) -> Option<(u64, u64)> {
        let datagrams = self.sockets.get(&flow)?.datagrams.as_ref()?;
        Some((datagrams.waiting, datagrams.read))
    }
}
