//! What a receive buffer is made with, and what its memory holds.

use crate::host::SocketRules;
use crate::tcp::PACKET_OVERHEAD;

/// `TCP_RMEM_TO_WIN_SCALE`: bits of the ratio.
pub(super) const RATIO_BITS: u32 = 8;
/// Before the first packet half of the memory is taken for payload.
pub(super) const RATIO_INITIAL: u64 = 1 << (RATIO_BITS - 1);
/// `struct sk_buff`, beside a receive buffer of its own.
pub(super) const DESCRIPTOR: u64 = 256;
/// Largest window without scaling (`U16_MAX`).
pub(super) const UNSCALED: u64 = 65_535;
/// Sizes of a receive buffer.
#[derive(Debug, Clone)]
pub struct BufferSettings {
    /// SO_RCVBUF's value doubled, as Linux keeps it; `None`: tuned.
    pub fixed: Option<u64>,
    /// `tcp_rmem`: initial and largest.
    pub range: (u64, u64),
    /// `net.core.rmem_max`, which bounds the window's scale.
    pub ceiling: u64,
    /// Payload of a full segment as the receiver's own MTU has it, of which it offers room for some at first, and more with
    /// each packet (`advmss`).
    pub own_mss: u64,
    /// RFC 7323 window scaling.
    pub scaling: bool,
    /// The reader is woken when so much of the buffer is filled: a part of it, and at most so many bytes. `None`:
    /// the reader is a thread of a modelled host and reads whatever is there.
    pub low_water: Option<(u64, u64)>,
    /// Memory of the interface's receive buffers, which every packet occupies; `None`: as large as the packet.
    pub packet_memory: Option<u64>,
    /// `tcp_adv_win_scale`; `None`: the window follows what packets carry for their memory.
    pub adv_win_scale: Option<u8>,
    /// What the host's kernel does about a socket's memory.
    pub rules: SocketRules,
    /// Send buffer of the receiving socket in bytes, of which its backlog may have a part (`sk_sndbuf`).
    pub send_buffer: u64,
}

impl BufferSettings {
    /// Payload that so much memory is taken to hold (`tcp_win_from_space` before and since Linux 6.6), `ratio` of 256
    /// being what packets carry for their memory.
    pub(super) fn window_of(&self, memory: u64, ratio: u64) -> u64 {
        if let Some(scale) = self.adv_win_scale {
            return memory - (memory >> scale);
        }
        ((u128::from(memory) * u128::from(ratio)) >> RATIO_BITS) as u64
    }

    /// The largest window there can be before a packet has come, in bytes.
    pub fn largest_window(&self) -> u64 {
        let window = self.window_of(self.fixed.unwrap_or(self.range.1), RATIO_INITIAL);
        if self.scaling { window } else { window.min(UNSCALED) }
    }

    /// Memory of a packet's payload.
    pub(super) fn fragment(&self, payload: u64) -> u64 {
        self.packet_memory.map_or(payload, |memory| memory.max(payload))
    }

    /// Memory of what describes a packet, or several that are merged.
    pub(super) fn overhead(&self) -> u64 {
        if self.packet_memory.is_some() { DESCRIPTOR } else { PACKET_OVERHEAD }
    }
}
