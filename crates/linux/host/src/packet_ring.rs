//! Live packet capture with headers only: a ring of blocks that the kernel fills (AF_PACKET, `TPACKET_V3`).
//!
//! [`LiveCapture`] is a pcapng file that grows while packets come: a reader of captures reads it like any other. Its last
//! block has the kernel's counters of received and dropped packets. Source: Documentation/networking/packet_mmap.rst of Linux.

mod filter;
mod pcapng;
mod ring;

pub use filter::{Filter, FilterError, FilterInstruction};

use pcapng::Link;
use ring::{PacketType, Ring};
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// Form of the packets of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkLayer {
    /// Packets begin with an Ethernet header.
    Ethernet,
    /// Packets begin with their IP header, as those of tunnels.
    Ip,
}

/// The form of the packets of an interface.
///
/// # Errors
/// If there is no such interface.
pub fn link_layer(interface: &str) -> io::Result<LinkLayer> {
    ring::link_layer(interface)
}

/// Processor time of this process, of all its threads.
pub fn processor_time() -> Duration {
    ring::processor_time()
}

/// How to capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSettings {
    /// Name of the interface.
    pub interface: String,
    /// Most bytes of a packet that are kept. 128 have all headers of TCP, with a tag and IPv6.
    pub snaplen: u32,
    /// Bytes of the ring. See [`ring_bytes`].
    pub ring_bytes: usize,
    /// The packets to capture; all of them if `None`.
    pub filter: Option<Filter>,
    /// Time after which the capture ends.
    pub duration: Option<Duration>,
}

/// Size of a ring that holds the headers of a second at `bits_per_second`, of packets with 1500 bytes: from 8 to 512 MiB.
///
/// A reader that other work keeps from running for so long loses no packet.
pub fn ring_bytes(bits_per_second: u64, snaplen: u32) -> usize {
    const PACKET_BITS: u64 = 1500 * 8;
    let per_packet = u64::from(snaplen) + ring::HEADER_BYTES as u64;
    let bytes = (bits_per_second / PACKET_BITS).saturating_mul(per_packet);
    bytes.clamp(8 << 20, 512 << 20).next_multiple_of(ring::BLOCK_BYTES as u64) as usize
}

/// A capture that runs, as a pcapng file.
pub struct LiveCapture {
    ring: Ring,
    /// Bytes of the file that were not read yet.
    pending: Vec<u8>,
    read: usize,
    ends_at: Option<Instant>,
    stop: Box<dyn Fn() -> bool + Send>,
    /// The capture is over, and the ring may have packets of before.
    is_draining: bool,
    has_ended: bool,
}

/// Longest wait for a block: the kernel hands over one that is not full after a tenth of that.
const PATIENCE: Duration = Duration::from_millis(100);
/// Longest wait for the last block: longer than the kernel keeps it.
const LAST_BLOCK: Duration = Duration::from_millis(30);

impl LiveCapture {
    /// Starts a capture. It ends after its duration, when `stop` returns true, or when the interface goes down.
    ///
    /// # Errors
    /// The reason of the kernel, such as a missing CAP_NET_RAW, or an unknown interface.
    pub fn start(settings: &LiveSettings, stop: impl Fn() -> bool + Send + 'static) -> io::Result<Self> {
        let ring = Ring::open(settings)?;
        let link = match ring.link_layer() {
            LinkLayer::Ethernet => Link::Ethernet,
            LinkLayer::Ip => Link::Raw,
        };
        let filter = settings.filter.as_ref().map(|filter| filter.expression.as_str());
        let pending = pcapng::start(&settings.interface, link, settings.snaplen, filter);
        let ends_at = settings.duration.map(|duration| Instant::now() + duration);
        Ok(LiveCapture {
            ring,
            pending,
            read: 0,
            ends_at,
            stop: Box::new(stop),
            is_draining: false,
            has_ended: false,
        })
    }

    fn is_over(&self) -> bool {
        (self.stop)() || self.ends_at.is_some_and(|end| Instant::now() >= end)
    }

    /// Fills `pending` with packets, or with the end.
    fn more(&mut self) -> io::Result<()> {
        self.pending.clear();
        self.read = 0;
        let is_loopback = self.ring.is_loopback();
        while self.pending.is_empty() && !self.has_ended {
            if !self.is_draining && self.is_over() {
                self.ring.reject_all()?;
                self.is_draining = true;
            }
            let wait = if self.is_draining { LAST_BLOCK } else { PATIENCE };
            let pending = &mut self.pending;
            let read = self.ring.next_block(wait, |packet| {
                // A packet passes a loopback interface twice: sent, and received.
                if !(is_loopback && packet.kind == PacketType::Outgoing) {
                    pcapng::packet(pending, &packet);
                }
            });
            let had_block = match read {
                // No more packets come. Those of before may be in the ring.
                Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) && !self.is_draining => {
                    self.is_draining = true;
                    continue;
                }
                read => read?,
            };
            if self.is_draining && !had_block {
                let (received, dropped) = self.ring.take_counters()?;
                pcapng::end(&mut self.pending, received, dropped);
                self.has_ended = true;
            }
        }
        Ok(())
    }
}

impl Read for LiveCapture {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.pending.len() && !self.has_ended {
            self.more()?;
        }
        let left = &self.pending[self.read..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.read += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_has_room_for_a_second_within_limits() {
        let mib = |bits, snaplen| ring_bytes(bits, snaplen) >> 20;
        assert_eq!(mib(10_000_000, 128), 8);
        // 833,333 packets of 128 bytes, each with 82 bytes of the ring's own.
        assert_eq!(mib(10_000_000_000, 128), 167);
        assert_eq!(mib(400_000_000_000, 128), 512);
    }
}
