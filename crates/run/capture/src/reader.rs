//! Packets of a capture, one after the other.

use crate::error::CaptureError;
use crate::facts::{CaptureFacts, SkipReason};
use crate::format::{Frame, Frames, Next, recognize};
use crate::headers::{Tunnels, headers};
use crate::segment::{Body, Packet, Passage};
use crate::source::{Input, open};
use crate::window::Window;
use std::io::Read;

/// Reads the TCP and UDP packets of a capture. Memory does not grow with the file.
pub struct Reader {
    window: Window<Box<dyn Read + Send>>,
    frames: Frames,
    facts: CaptureFacts,
    tunnels: Tunnels,
    is_at_end: bool,
    /// Time of the frame before.
    before_ns: Option<i64>,
}

impl Reader {
    /// Opens a capture: pcap or pcapng, as it is or in gzip or Zstandard.
    ///
    /// # Errors
    /// If the input cannot be opened, or is not a capture.
    pub fn open(input: Input<'_>, tunnels: Tunnels) -> Result<Reader, CaptureError> {
        let (reader, compression) = open(input)?;
        let mut window = Window::new(reader);
        let (frames, facts) = recognize(&mut window, compression)?;
        Ok(Reader { window, frames, facts, tunnels, is_at_end: false, before_ns: None })
    }

    /// The next TCP or UDP packet. `None` at the end, or where the file is damaged, which
    /// [`CaptureFacts::damaged_tail`] reports.
    pub fn next_packet(&mut self) -> Option<Packet> {
        let mut packet = Packet::EMPTY;
        self.next_into(&mut packet).then_some(packet)
    }

    /// Writes the next packet to `place`, as [`Reader::next_packet`], without a copy. `false` at the end.
    #[inline]
    pub fn next_into(&mut self, place: &mut Packet) -> bool {
        while !self.is_at_end {
            let frame = match self.frames.next(&mut self.window, &mut self.facts) {
                Next::Frame(frame) => frame,
                Next::End => {
                    self.is_at_end = true;
                    break;
                }
                Next::Damaged(tail) => {
                    self.facts.damaged_tail = Some(tail);
                    self.is_at_end = true;
                    break;
                }
            };
            if packet(frame, &mut self.facts, &self.tunnels, &mut self.before_ns, place) {
                return true;
            }
        }
        false
    }

    /// Facts of the file up to the newest packet.
    pub fn facts(&self) -> &CaptureFacts {
        &self.facts
    }

    /// Facts of the file up to the newest packet.
    pub fn into_facts(self) -> CaptureFacts {
        self.facts
    }
}

/// Farthest time from 1970, in nanoseconds: 146 years. The difference of two times fits into 64 bits.
const FARTHEST_NS: i64 = i64::MAX / 2;

/// Counts a frame, and reads its headers. `false` if it is only counted.
#[inline]
fn packet(
    frame: Frame<'_>,
    facts: &mut CaptureFacts,
    tunnels: &Tunnels,
    before_ns: &mut Option<i64>,
    place: &mut Packet,
) -> bool {
    facts.all.add(frame.wire_bytes);
    let ordinal = facts.all.packets;
    facts.cut += u64::from(frame.bytes.len() < frame.wire_bytes as usize);
    let time_ns = match frame.time_ns.map(|time_ns| time_ns.clamp(-FARTHEST_NS, FARTHEST_NS)) {
        Some(time_ns) => {
            facts.times_out_of_order += u64::from(before_ns.is_some_and(|before| time_ns < before));
            facts.first_ns = Some(facts.first_ns.map_or(time_ns, |first| first.min(time_ns)));
            facts.last_ns = Some(facts.last_ns.map_or(time_ns, |last| last.max(time_ns)));
            time_ns
        }
        None => {
            facts.without_time += 1;
            before_ns.unwrap_or(0)
        }
    };
    *before_ns = Some(time_ns);
    let interface = frame.interface.and_then(|index| facts.interfaces.get_mut(index as usize));
    let read = match interface {
        Some(interface) => {
            interface.packets += 1;
            headers(interface.link_type, frame.bytes, frame.wire_bytes, tunnels, place)
        }
        None => Err(SkipReason::UnknownInterface),
    };
    let is_encapsulated = match read {
        Ok(is_encapsulated) => is_encapsulated,
        Err(reason) => {
            facts.skipped.entry(reason).or_default().add(frame.wire_bytes);
            return false;
        }
    };
    facts.decapsulated += u64::from(is_encapsulated);
    match &place.body {
        Body::Tcp(segment) => {
            facts.tcp.add(frame.wire_bytes);
            facts.cut_options += u64::from(segment.options.are_cut);
        }
        Body::Udp(_) => facts.udp.add(frame.wire_bytes),
    }
    place.ordinal = ordinal;
    place.time_ns = time_ns;
    place.interface = frame.interface.unwrap_or_default();
    place.wire_bytes = frame.wire_bytes;
    if frame.passage != Passage::Unknown {
        place.passage = frame.passage;
    }
    true
}
