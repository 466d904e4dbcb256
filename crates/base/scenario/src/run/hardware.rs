//! What a host is made of, for the model to show what happens inside it: cores, interrupts, rings, and what work
//! costs. A substrate with real hosts has hardware of its own and takes only the settings an operator has.

use super::KernelVersion;
use serde::{Deserialize, Serialize};
use wirespeed_units::{Bytes, Rate, Span};

/// The inside of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// Sockets, cores, caches.
    pub machine: Machine,
    /// The interface.
    pub nic: Nic,
    /// Which cores serve the interface's interrupts.
    pub irq: Irq,
    /// Cores on which the applications may run; flow by flow in turn where they are pinned.
    pub apps: Apps,
    /// Core of a packet capture (`tcpdump`) that looks at every packet of the interface; `None`: no capture.
    pub capture: Option<u32>,
    /// Cores that each packet's protocol work is handed to (Receive Packet Steering); empty: the interrupt's own.
    pub rps: Vec<u32>,
    /// How much of a core softirq takes before it looks around.
    #[serde(default)]
    pub softirq: Softirq,
    /// Other work.
    pub load: Vec<Load>,
    /// What work costs at the machine's nominal speed.
    pub costs: Costs,
}

/// Sockets, cores and caches. Core `c` is on node `c / cores_per_node`; with hyper-threads its twin is core
/// `c + nodes * cores_per_node`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// NUMA nodes.
    pub nodes: u32,
    /// Cores of each.
    pub cores_per_node: u32,
    /// Speed of a hyper-thread while its twin works, as a part of its full speed; `None`: no hyper-threads.
    pub twin_speed: Option<f64>,
    /// Speed as a part of the nominal one (governor, frequency); every cost is divided by it.
    pub speed: f64,
    /// Memory that stays in a cache between the softirq that fills a socket and the application that reads it.
    pub cache: Bytes,
    /// Rate of the link between nodes (QPI, UPI), each way; `None`: never the limit.
    pub interlink: Option<Rate>,
    /// What the memory of a node carries, copies out of it and the interface's writes together; `None`: never the
    /// limit.
    #[serde(default)]
    pub memory: Option<Rate>,
    /// The kernel's `sched_min_granularity`: a thread runs so long before another of the same core may.
    pub granularity: Span,
    /// The kernel, for the rules of softirq, scheduler, sockets and the repair of losses.
    #[serde(default)]
    pub kernel: KernelVersion,
}

/// The interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// The node its bus is on.
    pub node: u32,
    /// Rate of that bus after its own overhead (kit-2019: width x transfers x encoding - 1 Gbit/s); `None`: never
    /// the limit.
    pub bus: Option<Rate>,
    /// What goes out and what comes in share that rate (PCI, PCI-X); else each way has it.
    #[serde(default)]
    pub bus_shared: bool,
    /// Receive queues; a flow's packets all go to one.
    pub rx_queues: u32,
    /// How flows come to queues.
    pub rss: Rss,
    /// Receive descriptors of each queue.
    pub rx_ring: u32,
    /// Bytes of a receive work-queue entry that packets share (striding receive queue, mlx5); `rx_ring` then counts
    /// packets of 1500 B, whatever the MTU. `None`: a descriptor for each packet.
    #[serde(default)]
    pub rx_wqe: Option<Bytes>,
    /// Transmit descriptors.
    pub tx_ring: u32,
    /// With `coalesce_frames`, how long a packet waits for its interrupt at most; without, the least time from one
    /// interrupt of a queue to the next (ITR of ixgbe and e1000). Zero: every packet may raise one.
    pub coalesce: Span,
    /// The interrupt comes when so many packets wait (`rx-frames`), or `coalesce` (`rx-usecs`) after the first of them;
    /// 0: a queue's interrupts are kept apart by `coalesce`.
    pub coalesce_frames: u32,
    /// Interrupts are kept apart only once so many packets came since the last one (dynamic mode of e1000); 0: always.
    /// Says nothing beside `coalesce_frames`.
    #[serde(default)]
    pub coalesce_from: u32,
    /// Moderation adapts to the load as `net_dim` has it, whatever the three above say.
    #[serde(default)]
    pub adaptive: bool,
    /// Interrupts stay off while packets are polled (NAPI); `false`: one interrupt a packet, and a backlog between
    /// interface and stack.
    pub napi: bool,
    /// Memory of a receive buffer; every packet occupies one, whatever its length. `None`: as large as the packet.
    pub rx_buffer: Option<Bytes>,
}

/// When the interface of a host that is infinitely fast interrupts. All that has come by then is received at that instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moderation {
    /// As [`Nic::coalesce`].
    pub interval: Span,
    /// As [`Nic::coalesce_frames`].
    pub frames: u32,
}

/// How flows come to receive queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rss {
    /// By a hash of their addresses, drawn from the run's seed: two may meet on one queue.
    Hash,
    /// In turn: flow i to queue i, as flow steering can be set.
    Spread,
}

/// Which cores serve the interface's interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Irq {
    /// Queue i on core i of the list, in turn (`smp_affinity_list`).
    Cores(Vec<u32>),
    /// irqbalance moves every queue's interrupt after each such time. It knows the load by interrupts, not that
    /// of the applications.
    Balanced(Span),
}

/// Where applications run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Apps {
    /// Flow i of the host is pinned to core i of the list, in turn.
    Pinned(Vec<u32>),
    /// The scheduler chooses among these.
    Free(Vec<u32>),
}

/// Limits of softirq work that an operator sets (`net.core` sysctls).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softirq {
    /// `netdev_budget`: packets of one round over all queues of a core.
    pub budget: u32,
    /// `netdev_budget_usecs`: the time of one round; `None`: the kernel version's own.
    pub budget_time: Option<Span>,
    /// `dev_weight`: packets that a core takes out of its backlog between interface and stack in one poll. Polls of an
    /// interface take the driver's weight.
    pub dev_weight: u32,
}

impl Default for Softirq {
    /// Linux' own (net/core/dev.c: `netdev_budget`, `weight_p`).
    fn default() -> Self {
        Softirq { budget: 300, budget_time: None, dev_weight: 64 }
    }
}

/// Work that has nothing to do with the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The core it is pinned to.
    pub core: u32,
    /// The part of it that it wants, 0 to 1.
    pub share: f64,
}

/// What work costs. Where each number comes from stands with its preset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// One interrupt: entry, exit, scheduling the poll.
    pub interrupt: Span,
    /// One NAPI poll, whatever it finds.
    pub poll: Span,
    /// Receiving one packet from the ring: descriptor, buffer, header, merging.
    pub rx_packet: Span,
    /// New memory for a page of 4 KiB of a shared work-queue entry: allocation, mapping, and freeing the old one.
    #[serde(default)]
    pub rx_page: Span,
    /// The same in addition if the polling core is not on the interface's node.
    pub rx_packet_remote: Span,
    /// TCP's work for one packet or what GRO merged.
    pub rx_segment: Span,
    /// UDP's work for one datagram.
    pub rx_datagram: Span,
    /// TCP's work for one ACK at the sender.
    pub rx_ack: Span,
    /// Looking at one packet in flight for what an ACK reports selectively, on kernels that walk through them (until
    /// 2.6.24).
    pub sack_walk: Span,
    /// Sending one ACK.
    pub tx_ack: Span,
    /// Sending one piece of up to 64 KiB (TSO, GSO), or a datagram: TCP, qdisc, driver, completion.
    pub tx_segment: Span,
    /// The same for a packet of TCP where there is no such offload.
    pub tx_packet: Span,
    /// One call of the application, read or write.
    pub syscall: Span,
    /// Waking a thread, for the waker; and switching to it, for the woken.
    pub wakeup: Span,
    /// Copying one byte to or from an application while it is in the cache.
    pub copy_cached: Span,
    /// The same from the memory of the own node.
    pub copy_memory: Span,
    /// The same from another node.
    pub copy_remote: Span,
    /// One packet for a capture's thread.
    pub capture: Span,
    /// What handing a packet to a capture costs where it passes: clock, clone, filter, queue.
    pub capture_tap: Span,
    /// Bytes that the application asks for in one call.
    pub call: Bytes,
}
