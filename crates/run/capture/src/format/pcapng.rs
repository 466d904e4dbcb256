//! pcapng files (IETF draft-ietf-opsawg-pcapng).
//!
//! Packets are read here, without an allocation. All other blocks, which are few, are read by crate `pcap-parser`.

use super::{Frame, LARGEST_FRAME, Next, Order, damaged, incomplete};
use crate::facts::{CaptureFacts, Interface, InterfaceDrops, LinkType};
use crate::segment::Passage;
use crate::window::{Filled, Window};
use pcap_parser::pcapng::{
    Block, InterfaceDescriptionBlock, InterfaceStatisticsBlock, OptionCode, PcapNGOption, parse_block_be,
    parse_block_le,
};
use std::io::Read;

/// Type of a section header block, the same in both orders.
pub(crate) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Type, length and the length once more.
const FRAMING: usize = 12;
const HEAD: usize = 8;
const ENHANCED_PACKET: u32 = 6;
const SIMPLE_PACKET: u32 = 3;
/// The block before there were enhanced packet blocks.
const OBSOLETE_PACKET: u32 = 2;
/// Fields before the data of a packet: five words.
const PACKET_FIELDS: usize = 20;
/// Room for a frame and its options. Larger blocks of other types are skipped.
const LARGEST_BLOCK: usize = LARGEST_FRAME + (1 << 20);
const MOST_INTERFACES: usize = 1 << 12;
const OPTION_COMMENT: u16 = 1;
const OPTION_FLAGS: u16 = 2;
const OPTION_DROPS: u16 = 4;

/// How an interface counts time.
#[derive(Debug, Clone, Copy)]
struct Ticks {
    per_second: u64,
    /// Nanoseconds of a tick, if it is a whole number of them.
    whole_ns: Option<i64>,
    offset_ns: i64,
}

impl Ticks {
    /// `resolution` is `if_tsresol`: a negative power of 10, or of 2 if the highest bit is set.
    fn new(resolution: u8, offset_seconds: i64) -> Option<Ticks> {
        let power = u32::from(resolution & 0x7f);
        let per_second =
            if resolution & 0x80 == 0 { 10u64.checked_pow(power)? } else { 1u64.checked_shl(power)? };
        let whole_ns = (1_000_000_000 % per_second == 0).then(|| (1_000_000_000 / per_second) as i64);
        Some(Ticks { per_second, whole_ns, offset_ns: offset_seconds.saturating_mul(1_000_000_000) })
    }

    #[inline]
    fn nanoseconds(self, ticks: u64) -> i64 {
        let since_offset = match self.whole_ns {
            Some(each) => i64::try_from(ticks).unwrap_or(i64::MAX).saturating_mul(each),
            None => {
                let exact = u128::from(ticks) * 1_000_000_000 / u128::from(self.per_second);
                i64::try_from(exact).unwrap_or(i64::MAX)
            }
        };
        since_offset.saturating_add(self.offset_ns)
    }
}

/// The place in a pcapng file.
pub(crate) struct Pcapng {
    order: Order,
    /// How the interfaces count time, over all sections. `None`: their resolution is not a possible one.
    ticks: Vec<Option<Ticks>>,
    /// Index of the first interface of the section.
    first_interface: usize,
    /// Packets before this one, for comments.
    packets: u64,
}

impl Default for Pcapng {
    fn default() -> Self {
        Pcapng { order: Order::Little, ticks: Vec::new(), first_interface: 0, packets: 0 }
    }
}

/// Fields of a packet in its block, which starts at byte 0.
struct PacketFields {
    interface: Option<u32>,
    time: Option<u64>,
    wire_bytes: u32,
    captured: usize,
    data: usize,
}

impl Pcapng {
    #[inline]
    pub(crate) fn next<'a, R: Read>(
        &mut self,
        window: &'a mut Window<R>,
        facts: &mut CaptureFacts,
    ) -> Next<'a> {
        loop {
            if let Filled::Short(why) = window.fill(FRAMING) {
                return incomplete(window, "the header of a block", why);
            }
            let bytes = window.bytes();
            if bytes[..4] == SECTION_HEADER {
                self.order = match Order::Little.u32(bytes, HEAD) {
                    BYTE_ORDER => Order::Little,
                    swapped if swapped.swap_bytes() == BYTE_ORDER => Order::Big,
                    _ => return damaged(window, "the order of bytes in a section header is unknown"),
                };
            }
            let kind = self.order.u32(bytes, 0);
            let length = self.order.u32(bytes, 4) as usize;
            if length < FRAMING || !length.is_multiple_of(4) {
                return damaged(window, format!("a block has a length of {length} bytes"));
            }
            let is_packet = matches!(kind, ENHANCED_PACKET | SIMPLE_PACKET | OBSOLETE_PACKET);
            if length > LARGEST_BLOCK {
                if is_packet || bytes[..4] == SECTION_HEADER {
                    return damaged(window, format!("a block has a length of {length} bytes"));
                }
                match window.skip(length as u64) {
                    Filled::Enough => continue,
                    Filled::Short(why) => return incomplete(window, "a block", why),
                }
            }
            if let Filled::Short(why) = window.fill(length) {
                return incomplete(window, "a block", why);
            }
            let block = &window.bytes()[..length];
            if self.order.u32(block, length - 4) as usize != length {
                return damaged(window, "the two lengths of a block differ");
            }
            if is_packet {
                let Some(fields) = self.fields(kind, block, facts) else {
                    return damaged(window, "a packet is longer than its block");
                };
                self.packets += 1;
                return Next::Frame(self.frame(fields, kind, window.take(length), facts));
            }
            if let Err(reason) = self.other_block(block, facts) {
                return damaged(window, reason);
            }
            window.take(length);
        }
    }

    /// `None` if the lengths contradict each other.
    #[inline]
    fn fields(&self, kind: u32, block: &[u8], facts: &CaptureFacts) -> Option<PacketFields> {
        let order = self.order;
        if kind == SIMPLE_PACKET {
            if block.len() < FRAMING + 4 {
                return None;
            }
            let wire_bytes = order.u32(block, HEAD);
            let snaplen = match facts.interfaces.get(self.first_interface) {
                Some(interface) if interface.snaplen > 0 => interface.snaplen,
                _ => u32::MAX,
            };
            let captured = (wire_bytes.min(snaplen) as usize).min(block.len() - FRAMING - 4);
            return Some(PacketFields {
                interface: Some(0),
                time: None,
                wire_bytes,
                captured,
                data: HEAD + 4,
            });
        }
        if block.len() < FRAMING + PACKET_FIELDS {
            return None;
        }
        let interface = match kind {
            ENHANCED_PACKET => order.u32(block, HEAD),
            _ => order.u16(block, HEAD).into(),
        };
        let time = u64::from(order.u32(block, 12)) << 32 | u64::from(order.u32(block, 16));
        let captured = order.u32(block, 20) as usize;
        let data = HEAD + PACKET_FIELDS;
        if captured > block.len() - data - 4 {
            return None;
        }
        let wire_bytes = order.u32(block, 24).max(captured as u32);
        Some(PacketFields { interface: Some(interface), time: Some(time), wire_bytes, captured, data })
    }

    #[inline]
    fn frame<'a>(
        &self,
        fields: PacketFields,
        kind: u32,
        block: &'a [u8],
        facts: &mut CaptureFacts,
    ) -> Frame<'a> {
        let interface = fields.interface.and_then(|number| {
            let index = self.first_interface.checked_add(number as usize)?;
            (index < self.ticks.len()).then_some(index)
        });
        let ticks = interface.and_then(|index| self.ticks[index]);
        let data_end = fields.data + fields.captured;
        let options_start = data_end.next_multiple_of(4);
        let mut passage = Passage::Unknown;
        if kind != SIMPLE_PACKET && options_start + 8 <= block.len() {
            passage = self.packet_options(&block[options_start..block.len() - 4], interface, facts);
        }
        Frame {
            time_ns: fields.time.zip(ticks).map(|(time, ticks)| ticks.nanoseconds(time)),
            // Without its ticks the time is unknown, but the frame is there.
            interface: interface.map(|index| index as u32),
            wire_bytes: fields.wire_bytes,
            bytes: &block[fields.data..data_end],
            passage,
        }
    }

    fn packet_options(
        &self,
        mut options: &[u8],
        interface: Option<usize>,
        facts: &mut CaptureFacts,
    ) -> Passage {
        let mut passage = Passage::Unknown;
        while options.len() >= 4 {
            let (code, length) = (self.order.u16(options, 0), usize::from(self.order.u16(options, 2)));
            let Some(value) = options.get(4..4 + length) else { break };
            match code {
                0 => break,
                OPTION_COMMENT => {
                    facts.add_comment(format!("packet {}: {}", self.packets, text(value)));
                }
                OPTION_FLAGS if length == 4 => {
                    passage = match self.order.u32(value, 0) & 3 {
                        1 => Passage::Incoming,
                        2 => Passage::Outgoing,
                        _ => Passage::Unknown,
                    };
                }
                OPTION_DROPS => {
                    if let (Some(index), Some(drops)) = (interface, self.order.u64(value)) {
                        let sum = &mut facts.interfaces[index].dropped_between_packets;
                        *sum = sum.saturating_add(drops);
                    }
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        passage
    }

    /// Reads a block other than a packet.
    fn other_block(&mut self, block: &[u8], facts: &mut CaptureFacts) -> Result<(), &'static str> {
        let parsed = match self.order {
            Order::Little => parse_block_le(block),
            Order::Big => parse_block_be(block),
        };
        match parsed {
            Ok((_, Block::SectionHeader(section))) => {
                facts.sections += 1;
                self.first_interface = self.ticks.len();
                for option in &section.options {
                    match option.code {
                        OptionCode::EndOfOpt => break,
                        OptionCode::Comment => facts.add_comment(option_text(option)),
                        OptionCode::ShbHardware | OptionCode::ShbOs | OptionCode::ShbUserAppl => {
                            facts.add_captured_by(option_text(option));
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
            Ok((_, Block::InterfaceDescription(interface))) => self.interface(&interface, facts),
            Ok((_, Block::InterfaceStatistics(statistics))) => {
                self.statistics(&statistics, facts);
                Ok(())
            }
            // Without these, every packet that follows would be misread.
            Err(_) if block[..4] == SECTION_HEADER => Err("a section header is not valid"),
            Err(_) if self.order.u32(block, 0) == 1 => Err("a description of an interface is not valid"),
            _ => Ok(()),
        }
    }

    fn interface(
        &mut self,
        block: &InterfaceDescriptionBlock<'_>,
        facts: &mut CaptureFacts,
    ) -> Result<(), &'static str> {
        if self.ticks.len() >= MOST_INTERFACES {
            return Err("the file describes more interfaces than a host can have");
        }
        let (mut resolution, mut offset_seconds) = (6, 0);
        let mut interface = Interface {
            name: None,
            description: None,
            filter: None,
            link_type: LinkType(block.linktype.0 as u16),
            snaplen: block.snaplen,
            ticks_per_second: 0,
            packets: 0,
            drops: None,
            dropped_between_packets: 0,
        };
        for option in &block.options {
            let value = option.as_bytes().unwrap_or_default();
            match option.code {
                OptionCode::EndOfOpt => break,
                OptionCode::Comment => facts.add_comment(option_text(option)),
                OptionCode::IfName => interface.name = Some(option_text(option)),
                OptionCode::IfDescription => interface.description = Some(option_text(option)),
                // The first byte is the kind of filter: 0 is an expression as of tcpdump.
                OptionCode::IfFilter if value.first() == Some(&0) => {
                    interface.filter = Some(text(&value[1..]));
                }
                OptionCode::IfTsresol => resolution = value.first().copied().unwrap_or(resolution),
                OptionCode::IfTsoffset => {
                    offset_seconds = self.order.u64(value).map_or(offset_seconds, |bits| bits as i64);
                }
                _ => {}
            }
        }
        let ticks = Ticks::new(resolution, offset_seconds);
        interface.ticks_per_second = ticks.map_or(0, |ticks| ticks.per_second);
        self.ticks.push(ticks);
        facts.interfaces.push(interface);
        Ok(())
    }

    fn statistics(&self, block: &InterfaceStatisticsBlock<'_>, facts: &mut CaptureFacts) {
        let index = self.first_interface.saturating_add(block.if_id as usize);
        let Some(interface) = facts.interfaces.get_mut(index) else { return };
        let mut drops = interface.drops.unwrap_or_default();
        for option in &block.options {
            let number = option.as_bytes().ok().and_then(|value| self.order.u64(value));
            let place = match option.code {
                OptionCode::EndOfOpt => break,
                OptionCode::IsbIfRecv => &mut drops.received,
                OptionCode::IsbIfDrop => &mut drops.dropped_by_interface,
                OptionCode::IsbFilterAccept => &mut drops.accepted_by_filter,
                OptionCode::IsbOsDrop => &mut drops.dropped_by_system,
                OptionCode::IsbUsrDeliv => &mut drops.delivered,
                _ => continue,
            };
            *place = number.or(*place);
        }
        interface.drops = (drops != InterfaceDrops::default()).then_some(drops);
    }
}

fn option_text(option: &PcapNGOption<'_>) -> String {
    text(option.as_bytes().unwrap_or_default())
}

/// Text of a file, with a limit for hostile ones.
fn text(bytes: &[u8]) -> String {
    const LONGEST: usize = 1024;
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).trim_end_matches('\0').into()
}
