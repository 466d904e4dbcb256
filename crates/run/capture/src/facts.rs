//! Facts about a capture as a whole, and reasons not to trust it.

use std::collections::BTreeMap;
use std::fmt;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// pcap with microseconds.
    PcapMicroseconds,
    /// pcap with nanoseconds.
    PcapNanoseconds,
    /// pcap with the longer packet header of A. Kuznetsov's patch.
    PcapModified,
    /// pcapng.
    Pcapng,
}

/// Compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// None.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// Link type of an interface: a number of the registry at tcpdump.org/linktypes.html.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u16);

/// Packets that an interface or the capturing program lost, as an interface statistics block reports. `None` where it
/// does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InterfaceDrops {
    /// `isb_ifrecv`: packets that the interface received.
    pub received: Option<u64>,
    /// `isb_ifdrop`: packets dropped for lack of resources at the interface.
    pub dropped_by_interface: Option<u64>,
    /// `isb_filteraccept`: packets that the filter accepted.
    pub accepted_by_filter: Option<u64>,
    /// `isb_osdrop`: packets that the operating system dropped.
    pub dropped_by_system: Option<u64>,
    /// `isb_usrdeliv`: packets delivered to the program.
    pub delivered: Option<u64>,
}

/// An interface of the capture. A pcap file has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The filter of the capture.
    pub filter: Option<String>,
    /// Link type.
    pub link_type: LinkType,
    /// Snapshot length: at most so many bytes of a frame were kept; 0 if there is no limit.
    pub snaplen: u32,
    /// Ticks of the timestamps in a second.
    pub ticks_per_second: u64,
    /// Frames captured here.
    pub packets: u64,
    /// Drop counters, from the newest statistics block.
    pub drops: Option<InterfaceDrops>,
    /// Sum of `epb_dropcount`: packets dropped between one packet of the file and the next.
    pub dropped_between_packets: u64,
}

/// The place where a file is damaged or cut off. All packets before it are delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedTail {
    /// Offset of the first byte that cannot be used, in the uncompressed file.
    pub offset: u64,
    /// The damage, as a sentence without a full stop.
    pub reason: String,
}

impl fmt::Display for DamagedTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.reason)
    }
}

/// Why a frame is counted, but not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// A link type that is not read.
    LinkType(LinkType),
    /// An EtherType that is not read, such as ARP (0x0806).
    EtherType(u16),
    /// A protocol within PPP that is not read.
    Ppp(u16),
    /// An IP protocol that is not read, such as ICMP (1).
    Protocol(u8),
    /// A fragment of an IP packet. The first has a transport header, but not the length of its packet.
    Fragment,
    /// The snapshot length ended before the transport header did.
    CutHeader,
    /// Lengths in its headers contradict each other.
    Malformed,
    /// The file does not describe its interface.
    UnknownInterface,
    /// More encapsulations within each other than the reader removes.
    TooManyLayers,
}

/// A number of frames and their bytes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packets {
    /// Frames.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Packets {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// A capture as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureFacts {
    /// Format.
    pub format: FileFormat,
    /// Compression.
    pub compression: Compression,
    /// Interfaces, in the order of the file, over all its sections.
    pub interfaces: Vec<Interface>,
    /// Comments on the file, at most [`CaptureFacts::MOST_COMMENTS`].
    pub comments: Vec<String>,
    /// Names that the file gives for the hardware, the system and the program.
    pub captured_by: Vec<String>,
    /// Sections of a pcapng file; 1 for pcap.
    pub sections: u32,
    /// All frames.
    pub all: Packets,
    /// Frames of TCP.
    pub tcp: Packets,
    /// Frames of UDP.
    pub udp: Packets,
    /// Frames that are not delivered, by reason.
    pub skipped: BTreeMap<SkipReason, Packets>,
    /// Frames with at least one tunnel, VLAN tag or label stack that was removed.
    pub decapsulated: u64,
    /// Frames of which fewer bytes were kept than there were on the wire.
    pub cut: u64,
    /// Frames of TCP whose options were cut off by the snapshot length.
    pub cut_options: u64,
    /// Super-packets: TCP packets larger than the MSS allows on the wire.
    pub super_packets: u64,
    /// Frames with a time before that of the frame before them.
    pub times_out_of_order: u64,
    /// Frames without a time (simple packet blocks). They have the time of the frame before them.
    pub without_time: u64,
    /// Earliest time, in nanoseconds since the Unix epoch.
    pub first_ns: Option<i64>,
    /// Latest time, in nanoseconds since the Unix epoch.
    pub last_ns: Option<i64>,
    /// Damage.
    pub damaged_tail: Option<DamagedTail>,
    /// Connections and UDP flows.
    pub connections: u64,
    /// Most connections that were open at once.
    pub most_open: u32,
}

impl CaptureFacts {
    /// Most comments that are kept.
    pub const MOST_COMMENTS: usize = 100;

    /// Facts of a file of which nothing was read yet.
    pub fn new(format: FileFormat, compression: Compression) -> Self {
        CaptureFacts {
            format,
            compression,
            interfaces: Vec::new(),
            comments: Vec::new(),
            captured_by: Vec::new(),
            sections: 1,
            all: Packets::default(),
            tcp: Packets::default(),
            udp: Packets::default(),
            skipped: BTreeMap::new(),
            decapsulated: 0,
            cut: 0,
            cut_options: 0,
            super_packets: 0,
            times_out_of_order: 0,
            without_time: 0,
            first_ns: None,
            last_ns: None,
            damaged_tail: None,
            connections: 0,
            most_open: 0,
        }
    }

    pub(crate) fn add_comment(&mut self, comment: String) {
        if self.comments.len() < Self::MOST_COMMENTS {
            self.comments.push(comment);
        }
    }

    /// A program that appends a section names itself again.
    pub(crate) fn add_captured_by(&mut self, name: String) {
        if self.captured_by.len() < Self::MOST_COMMENTS && !self.captured_by.contains(&name) {
            self.captured_by.push(name);
        }
    }

    /// Frames that the capture lost by its own counters, if it has any.
    ///
    /// Programs write counters of an interface at the end, or with each packet the number lost before it. The larger
    /// sum counts if a file has both.
    pub fn reported_drops(&self) -> Option<u64> {
        let of = |interface: &Interface| {
            let counters = interface.drops.unwrap_or_default();
            let at_the_end = match (counters.dropped_by_interface, counters.dropped_by_system) {
                (None, None) => None,
                (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
            };
            let between = Some(interface.dropped_between_packets).filter(|drops| *drops > 0);
            at_the_end.max(between)
        };
        self.interfaces.iter().filter_map(of).reduce(u64::saturating_add)
    }
}
