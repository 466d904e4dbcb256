//! One counter at one instant, and what it means.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use wirespeed_record::{Stage, words};

words! {
    /// Which way the counted packets went, seen from this host.
    Way {
        /// Received.
        Rx = "rx",
        /// Sent.
        Tx = "tx",
    }
}

words! {
    /// What growth of a counter says.
    Meaning {
        /// Something went its way: packets or bytes.
        Traffic = "traffic",
        /// Something was lost here.
        Loss = "loss",
        /// Something was sent again.
        Retransmission = "retransmission",
        /// A sign of pressure, marking, reordering or a mistaken guess: nothing was lost by it.
        Hint = "hint",
        /// Work was done: time of a core, interrupts, polls.
        Work = "work",
        /// No counter: a level that goes up and down.
        Gauge = "gauge",
        /// No table of ours says.
        Unknown = "unknown",
    }
}

words! {
    /// What one of a counter is.
    Unit {
        /// A packet (or frame) as it is on the wire.
        Packets = "packets",
        /// A socket buffer: with segmentation or merging in use it holds several packets, so the number of packets
        /// is at least this.
        Buffers = "buffers",
        /// A byte.
        Bytes = "bytes",
        /// Something that happened; how many packets it concerned is not said.
        Events = "events",
        /// A nanosecond.
        Nanoseconds = "ns",
        /// A plain number.
        Number = "number",
    }
}

words! {
    /// Who counts.
    Origin {
        /// The device or its firmware: it also sees what the host never gets.
        Hardware = "hardware",
        /// The driver or the kernel.
        Software = "software",
        /// Not known, or it differs.
        Unknown = "unknown",
    }
}

/// How far a counter counts before it starts at 0 again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Width {
    /// Modulo 2^32.
    Bits32,
    /// Modulo 2^64: never in practice.
    Bits64,
}

/// What a counter means, whatever its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CounterMeaning {
    /// The place in the packet's way; `None` if it concerns none, or several, or we do not know.
    pub stage: Option<Stage>,
    /// Received or sent; `None` if it concerns both or neither.
    pub way: Option<Way>,
    /// What growth says.
    pub meaning: Meaning,
    /// What one is.
    pub unit: Unit,
    /// Who counts.
    pub origin: Origin,
}

impl CounterMeaning {
    const fn of(meaning: Meaning, unit: Unit) -> CounterMeaning {
        CounterMeaning { stage: None, way: None, meaning, unit, origin: Origin::Unknown }
    }

    /// Packets lost at a stage.
    pub const fn loss(stage: Stage, way: Way) -> CounterMeaning {
        CounterMeaning {
            stage: Some(stage),
            way: Some(way),
            ..CounterMeaning::of(Meaning::Loss, Unit::Packets)
        }
    }

    /// Packets lost, at a place that is none of the stages or that the counter does not tell.
    pub const fn lost(way: Way) -> CounterMeaning {
        CounterMeaning { way: Some(way), ..CounterMeaning::of(Meaning::Loss, Unit::Packets) }
    }

    /// Packets that went their way.
    pub const fn packets(way: Way) -> CounterMeaning {
        CounterMeaning { way: Some(way), ..CounterMeaning::of(Meaning::Traffic, Unit::Packets) }
    }

    /// Bytes that went their way.
    pub const fn bytes(way: Way) -> CounterMeaning {
        CounterMeaning { way: Some(way), ..CounterMeaning::of(Meaning::Traffic, Unit::Bytes) }
    }

    /// A sign of something, in events.
    pub const fn hint() -> CounterMeaning {
        CounterMeaning::of(Meaning::Hint, Unit::Events)
    }

    /// Retransmissions, in packets.
    pub const fn retransmission() -> CounterMeaning {
        CounterMeaning { way: Some(Way::Tx), ..CounterMeaning::of(Meaning::Retransmission, Unit::Packets) }
    }

    /// Work, in events.
    pub const fn work() -> CounterMeaning {
        CounterMeaning::of(Meaning::Work, Unit::Events)
    }

    /// A level.
    pub const fn gauge(unit: Unit) -> CounterMeaning {
        CounterMeaning::of(Meaning::Gauge, unit)
    }

    /// Nothing is known.
    pub const fn unknown() -> CounterMeaning {
        CounterMeaning::of(Meaning::Unknown, Unit::Number)
    }

    /// The same at a stage.
    pub const fn at(self, stage: Stage) -> CounterMeaning {
        CounterMeaning { stage: Some(stage), ..self }
    }

    /// The same for what is received.
    pub const fn rx(self) -> CounterMeaning {
        CounterMeaning { way: Some(Way::Rx), ..self }
    }

    /// The same for what is sent.
    pub const fn tx(self) -> CounterMeaning {
        CounterMeaning { way: Some(Way::Tx), ..self }
    }

    /// The same in another unit.
    pub const fn unit(self, unit: Unit) -> CounterMeaning {
        CounterMeaning { unit, ..self }
    }

    /// The same, counted by the device.
    pub const fn hardware(self) -> CounterMeaning {
        CounterMeaning { origin: Origin::Hardware, ..self }
    }

    /// The same, counted by driver or kernel.
    pub const fn software(self) -> CounterMeaning {
        CounterMeaning { origin: Origin::Software, ..self }
    }
}

/// A row of a source's table: the counters of a name, or of a pattern of names, and what they mean.
///
/// In a pattern `{queue}` stands for the number of a queue, `{n}` for any other number, `*` for anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The pattern.
    pub pattern: &'static str,
    /// What the counters mean.
    pub sense: CounterMeaning,
    /// Counters, as `SOURCE/PATTERN`, of the same device or of the host, in which the same packets are counted.
    /// Where one of them is read, this one repeats it and must not be added.
    pub duplicate_of: &'static [&'static str],
    /// What is counted, in a clause; empty where the name says it.
    pub about: &'static str,
}

/// A row without a word of explanation.
pub const fn row(pattern: &'static str, sense: CounterMeaning) -> Row {
    Row { pattern, sense, duplicate_of: &[], about: "" }
}

impl Row {
    /// The same, repeating the first of these that is there.
    pub const fn duplicate_of(self, duplicate_of: &'static [&'static str]) -> Row {
        Row { duplicate_of, ..self }
    }

    /// The same with an explanation.
    pub const fn about(self, about: &'static str) -> Row {
        Row { about, ..self }
    }
}

/// A network interface. One that is removed and made again has another index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Device {
    /// Interface index.
    pub index: u32,
    /// Its name.
    pub name: Arc<str>,
}

/// A socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Socket {
    /// `tcp` or `udp`.
    pub protocol: Cow<'static, str>,
    /// Its own address and port.
    pub local: SocketAddr,
    /// The peer's; port 0 if it has none.
    pub remote: SocketAddr,
    /// The kernel's number of it: never used twice until the next boot.
    pub cookie: u64,
}

/// Where something was counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// The whole host (or the network namespace that was read).
    Host,
    /// A logical CPU.
    Cpu(u32),
    /// An interface.
    Device(Device),
    /// A queue of an interface.
    Queue {
        /// The interface.
        device: Device,
        /// Number of the queue, from 0.
        queue: u32,
    },
    /// A queueing discipline.
    Qdisc {
        /// The interface it is attached to.
        device: Device,
        /// The kernel's name of its kind, e.g. `fq`.
        kind: Arc<str>,
        /// Its handle, major and minor number.
        handle: u32,
        /// Handle of its parent; [`Place::ROOT`] for a root.
        parent: u32,
    },
    /// An interrupt line on a CPU.
    Interrupt {
        /// The line as /proc/interrupts names it: a number, or letters for those of the architecture.
        line: Arc<str>,
        /// Name of what handles it.
        name: Arc<str>,
        /// The interface it belongs to, if that can be told.
        device: Option<Device>,
        /// Number of the queue, if that can be told.
        queue: Option<u32>,
        /// Logical CPU; `None` for what concerns the line and not a CPU.
        cpu: Option<u32>,
    },
    /// A socket.
    Socket(Arc<Socket>),
}

impl Place {
    /// The parent of a root qdisc (TC_H_ROOT of linux/pkt_sched.h).
    pub const ROOT: u32 = 0xffff_ffff;

    /// The interface concerned, if it is one.
    pub fn device(&self) -> Option<&Device> {
        match self {
            Place::Device(device) | Place::Queue { device, .. } | Place::Qdisc { device, .. } => Some(device),
            Place::Interrupt { device, .. } => device.as_ref(),
            Place::Host | Place::Cpu(_) | Place::Socket(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Host => f.write_str("host"),
            Place::Cpu(cpu) => write!(f, "cpu {cpu}"),
            Place::Device(device) => f.write_str(&device.name),
            Place::Queue { device, queue } => write!(f, "{} queue {queue}", device.name),
            Place::Qdisc { device, kind, handle, .. } => {
                write!(f, "{} {kind} {:x}:{:x}", device.name, handle >> 16, handle & 0xffff)
            }
            Place::Interrupt { line, name, cpu, .. } => {
                write!(f, "interrupt {line} {name}")?;
                cpu.map_or(Ok(()), |cpu| write!(f, " cpu {cpu}"))
            }
            Place::Socket(socket) => write!(f, "{} {} {}", socket.protocol, socket.local, socket.remote),
        }
    }
}

/// One counter at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Name of the source that read it.
    pub source: Cow<'static, str>,
    /// Where it was counted.
    pub place: Place,
    /// Its name, as kernel or driver give it.
    pub counter: Cow<'static, str>,
    /// Its value, in `sense.unit`.
    pub value: u64,
    /// Where it wraps.
    pub width: Width,
    /// What it means.
    pub sense: CounterMeaning,
    /// The counter, as `SOURCE/COUNTER`, in which the same packets are counted already; `None` if this one is to be
    /// counted. A snapshot sets it; before that it is empty.
    pub duplicate_of: Option<Cow<'static, str>>,
}

impl Reading {
    /// A reading of 64 bits.
    pub fn new(
        source: &'static str,
        place: Place,
        counter: impl Into<Cow<'static, str>>,
        value: u64,
        sense: CounterMeaning,
    ) -> Reading {
        let counter = counter.into();
        Reading {
            source: source.into(),
            place,
            counter,
            value,
            width: Width::Bits64,
            sense,
            duplicate_of: None,
        }
    }

    /// The same, of 32 bits.
    pub fn bits32(self) -> Reading {
        Reading { width: Width::Bits32, ..self }
    }

    /// Whether it counts lost packets that no other reading counts.
    pub fn is_the_count_of_a_loss(&self) -> bool {
        self.sense.meaning == Meaning::Loss && self.duplicate_of.is_none()
    }
}
