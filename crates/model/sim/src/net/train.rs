//! Segment trains: packets of one flow that follow each other at an even distance are one event.

use std::ops::{Deref, Range};
use wirespeed_units::{SimTime, Span};

/// Packets of one flow, of one size and kind, at an even distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Train {
    /// When the first packet is here.
    pub at: SimTime,
    /// From one packet to the next; zero if they come at once.
    pub gap: Span,
    /// How many, at least one.
    pub packets: u32,
    /// Bytes of each, Ethernet header included, preamble and FCS not (as Linux counts in its qdiscs).
    pub frame: u32,
    /// Number of the flow.
    pub flow: u32,
    /// Field of the IP header (RFC 3168).
    pub ecn: Ecn,
    /// What they carry.
    pub body: Body,
}

/// When a train comes to the far end of a link: its first packet, and the distance from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Of the first packet.
    pub at: SimTime,
    /// From one packet to the next; zero for a packet alone.
    pub gap: Span,
}

/// ECN field of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The endpoints do not use ECN: a congested queue drops.
    #[default]
    NotCapable = 0,
    /// ECT(0): a congested queue marks.
    Capable = 1,
    /// Congestion experienced.
    Marked = 2,
    /// ECT(1): the identifier of L4S (RFC 9331, section 2).
    Scalable = 3,
}

impl Ecn {
    /// A congested queue may mark it instead of dropping it.
    pub fn can_be_marked(self) -> bool {
        self != Ecn::NotCapable
    }

    /// A queue takes it for L4S: ECT(1), or CE, which may have been that (RFC 9331, section 5.1).
    pub fn is_l4s(self) -> bool {
        matches!(self, Ecn::Scalable | Ecn::Marked)
    }
}

/// Counts of a receiver with Accurate ECN, as an acknowledgement reports them (RFC 9768, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarksCounted {
    /// The field ACE: packets with CE so far plus 5, modulo 8.
    pub ace: u8,
    /// Content of its option. An acknowledgement with SACK blocks has no room for one.
    pub option: Option<PayloadCounted>,
}

/// Payload by its ECN field, as the AccECN option reports it (RFC 9768, section 3.2.3). Bytes, modulo 2^24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadCounted {
    /// With the code point that the sender uses: field EE0B or EE1B, which begin with 1.
    pub capable: u32,
    /// With CE: field ECEB.
    pub marked: u32,
}

impl PayloadCounted {
    /// The fields have 24 bits.
    pub const MASK: u32 = (1 << 24) - 1;
    /// Bytes of an option with two fields of three bytes.
    pub const OPTION: u32 = 8;
}

/// What the packets of a train carry. Data is counted in packets of a full segment; numbers never wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// TCP payload.
    Data(Data),
    /// TCP acknowledgements.
    Ack(Ack),
    /// UDP.
    Datagram {
        /// Number of the first.
        first: u64,
    },
    /// The handshake's packets; always alone.
    Handshake {
        /// Which of the three.
        step: Step,
        /// Millisecond clock of the end that it left, when it did (RFC 7323 TSval).
        stamp: u32,
        /// That of the other end, echoed (RFC 7323 TSecr); zero in the first.
        echo: u32,
        /// Receive window offered, bytes.
        window: u64,
    },
    /// A segment without data before what the receiver waits for, which asks for its window (RFC 9293, 3.8.6.1;
    /// `tcp_xmit_probe_skb`); always alone.
    WindowProbe {
        /// The first packet that was not acknowledged; the segment stands a byte before it.
        una: u64,
        /// Sender's millisecond clock (RFC 7323 TSval).
        stamp: u32,
        /// Receiver's millisecond clock of the latest ACK, echoed (RFC 7323 TSecr).
        echo: u32,
    },
}

/// The packets of TCP's handshake (RFC 9293, section 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// SYN, from the sender.
    Syn,
    /// SYN and ACK, from the receiver.
    Reply,
    /// ACK, from the sender.
    Confirm,
}

/// TCP payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Number of the first packet.
    pub first: u64,
    /// Sender's millisecond clock when they left (RFC 7323 TSval).
    pub stamp: u32,
    /// The last packet ends the stream (FIN).
    pub last: bool,
    /// Packets with PSH, as GSO packets end: bit n is the packet n before the last. Nothing is known of those further from
    /// the end than it has bits.
    pub pushes: u64,
    /// Receiver's millisecond clock of the latest ACK, echoed (RFC 7323 TSecr).
    pub echo: u32,
    /// Congestion window reduced (RFC 3168 CWR) is set on the first.
    pub cwr: bool,
    /// Bytes by which all packets before the first fall short of full segments, modulo 2^32: with its number, its place in the
    /// stream (RFC 9293 sequence number).
    pub missing: u32,
    /// How long its own host's fq is to keep it, from when it comes there to its time of departure (Linux:
    /// `skb->tstamp`); zero everywhere else.
    pub held: Span,
}

impl Data {
    /// [`Data::pushes`] as seen from the packet `back` before the last.
    fn pushes_before(&self, back: u32) -> u64 {
        self.pushes.checked_shr(back).unwrap_or(0)
    }

    /// Whether the packet `back` before the last has PSH.
    pub fn is_pushed(&self, back: u32) -> bool {
        self.pushes_before(back) & 1 == 1
    }
}

/// TCP acknowledgements: the first acknowledges everything before `next`, each further one `stride` packets more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack {
    /// The packet the receiver waits for.
    pub next: u64,
    /// Packets between one acknowledgement and the following one.
    pub stride: u32,
    /// Receive window in bytes.
    pub window: u64,
    /// Receiver's millisecond clock (TSval).
    pub stamp: u32,
    /// Sender's millisecond clock of the packet that caused it (TSecr).
    pub echo: u32,
    /// ECN-Echo.
    pub ece: bool,
    /// It carries a request of the receiver's application, whose bytes are in the frame; such a train has one packet.
    pub asks: bool,
    /// Marks that the receiver has counted; only with Accurate ECN, which has no ECN-Echo.
    pub marks: Option<MarksCounted>,
    /// Selective acknowledgements; a train with them has one packet.
    pub sack: Option<Box<Sack>>,
}

/// The selective acknowledgements of one ACK (RFC 2018, RFC 2883).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sack {
    /// What arrived twice, reported in the first block (DSACK).
    pub duplicate: Option<Range<u64>>,
    /// Blocks beyond `Ack::next`, the most recent first; three beside timestamps, four without.
    pub blocks: Blocks,
}

/// The blocks of an ACK, in their order, where it is itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blocks {
    ranges: [Range<u64>; Blocks::MOST],
    count: usize,
}

impl Blocks {
    /// Blocks that an ACK can report at most (TCP_NUM_SACKS).
    pub const MOST: usize = 4;

    /// The same by their numbers.
    pub fn sorted(&self) -> Blocks {
        let mut sorted = self.clone();
        sorted.ranges[..self.count].sort_unstable_by_key(|block| block.start);
        sorted
    }
}

impl Deref for Blocks {
    type Target = [Range<u64>];
    fn deref(&self) -> &[Range<u64>] {
        &self.ranges[..self.count]
    }
}

impl FromIterator<Range<u64>> for Blocks {
    /// # Panics
    /// If there are more than an ACK can have.
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(blocks: I) -> Blocks {
        let mut found = Blocks::default();
        for block in blocks {
            found.ranges[found.count] = block;
            found.count += 1;
        }
        found
    }
}

impl Train {
    /// When the last packet is here.
    pub fn last_at(&self) -> SimTime {
        self.at + self.gap * i64::from(self.packets - 1)
    }

    /// How many of its packets come before `time`.
    pub fn packets_before(&self, time: SimTime) -> u32 {
        let ahead = (time - self.at).picoseconds();
        if ahead <= 0 {
            return 0;
        }
        match self.gap.picoseconds() {
            gap if gap > 0 => ((ahead - 1) / gap + 1).min(self.packets.into()) as u32,
            _ => self.packets,
        }
    }

    /// When this train comes to where it is.
    pub fn arrival(&self) -> Arrival {
        Arrival { at: self.at, gap: self.gap }
    }

    /// The train at another place and time.
    #[inline]
    pub fn arriving(mut self, arrival: Arrival) -> Train {
        self.at = arrival.at;
        self.gap = arrival.gap;
        self
    }

    /// Payload of each packet, at most `mss` bytes: all packets of a train but a stream's last are full.
    pub fn frame_payload(&self, mss: u32) -> u32 {
        self.frame.min(mss)
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        u64::from(self.packets) * u64::from(self.frame)
    }

    /// Takes off the first `packets`, which become a train of their own; the rest stays in `self`.
    ///
    /// # Panics
    /// In debug builds unless both parts have a packet.
    pub fn split(&mut self, packets: u32) -> Train {
        debug_assert!(packets > 0 && packets < self.packets, "both parts of a split train have a packet");
        let front = self.part(0, packets);
        self.skip(packets);
        front
    }

    /// Its packets up to the first with PSH, that one included; all if none has it.
    pub fn until_pushed(&self) -> u32 {
        let Body::Data(data) = &self.body else { return self.packets };
        let own = !u64::MAX.checked_shl(self.packets).unwrap_or(0);
        match (data.pushes & own).checked_ilog2() {
            Some(back) => self.packets - back,
            None => self.packets,
        }
    }

    /// Takes off the first packet, which becomes `packet`: until now the one before it.
    ///
    /// # Panics
    /// In debug builds if nothing would be left.
    #[inline]
    pub fn split_into(&mut self, packet: &mut Train) {
        match (&mut self.body, &mut packet.body) {
            // Nearly all are data, of which little differs.
            (Body::Data(data), Body::Data(one)) => {
                packet.at = self.at;
                one.first = data.first;
                one.pushes = data.is_pushed(self.packets - 1).into();
                one.cwr = data.cwr;
                one.missing = data.missing;
                self.skip(1);
            }
            _ => *packet = self.split(1),
        }
    }

    /// A copy of `packets` of them from number `from` (counted from 0) on.
    ///
    /// # Panics
    /// In debug builds unless the train has them and they are at least one.
    pub fn part(&self, from: u32, packets: u32) -> Train {
        debug_assert!(packets > 0 && from + packets <= self.packets, "a part lies within its train");
        let mut part = self.clone();
        if from > 0 {
            part.skip(from);
        }
        if packets < part.packets {
            let behind = part.packets - packets;
            part.packets = packets;
            if let Body::Data(data) = &mut part.body {
                data.last = false;
                data.pushes = data.pushes_before(behind);
            }
        }
        part
    }

    /// Drops the first `packets`.
    ///
    /// # Panics
    /// In debug builds if nothing would be left.
    pub fn skip(&mut self, packets: u32) {
        debug_assert!(packets < self.packets, "a train has a packet");
        self.at = self.at + self.gap * i64::from(packets);
        self.packets -= packets;
        match &mut self.body {
            Body::Data(data) => {
                data.first += u64::from(packets);
                data.cwr &= packets == 0;
            }
            Body::Ack(ack) => ack.next += u64::from(packets) * u64::from(ack.stride),
            Body::Datagram { first } => *first += u64::from(packets),
            Body::Handshake { .. } | Body::WindowProbe { .. } => {}
        }
    }

    /// Adds the packets of `next`, which continues this train ([`Train::is_continued_by`]), at this train's
    /// distance.
    pub fn append(&mut self, next: &Train) {
        self.packets += next.packets;
        if let (Body::Data(data), Body::Data(more)) = (&mut self.body, &next.body) {
            data.last = more.last;
            // What a train has lost at its front is of no account.
            let own = !u64::MAX.checked_shl(next.packets).unwrap_or(0);
            data.pushes = data.pushes.checked_shl(next.packets).unwrap_or(0) | more.pushes & own;
        }
    }

    /// Whether `next` continues this train: same flow, size, kind and numbering. Says nothing about time.
    pub fn is_continued_by(&self, next: &Train) -> bool {
        let packets = u64::from(self.packets);
        self.flow == next.flow
            && self.frame == next.frame
            && self.ecn == next.ecn
            && match (&self.body, &next.body) {
                // Both sides measure by stamps, in milliseconds.
                (Body::Data(a), Body::Data(b)) => {
                    !a.last
                        && !b.cwr
                        && a.first + packets == b.first
                        && a.stamp == b.stamp
                        && a.missing == b.missing
                }
                (Body::Ack(a), Body::Ack(b)) => {
                    a.sack.is_none()
                        && b.sack.is_none()
                        && !(a.asks || b.asks)
                        && a.stride == b.stride
                        && a.ece == b.ece
                        && a.marks == b.marks
                        && a.window == b.window
                        && a.stamp == b.stamp
                        && a.echo == b.echo
                        && a.next + packets * u64::from(a.stride) == b.next
                }
                (Body::Datagram { first: a }, Body::Datagram { first: b }) => a + packets == *b,
                _ => false,
            }
    }
}
