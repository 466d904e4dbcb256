//! What a receiver does when its memory has run out although its window was respected: packets small for their memory, a
//! reader that is late, holes that never fill (`tcp_prune_queue`).
//!
//! First the buffer grows or the window is held down, then packets are copied together, then what is out of order is thrown
//! away, and what does not fit is dropped.

use super::Receiver;
use super::buffer::Buffer;
use super::order::Tight;
use super::settings::DESCRIPTOR;
use crate::net::Train;

/// Payload of a buffer that packets are copied to: a page less `skb_shared_info` (SKB_MAX_ORDER(0, 0)).
const PAGE_PAYLOAD: u64 = 4096 - SHARED_INFO;
/// `struct skb_shared_info`, aligned.
const SHARED_INFO: u64 = 320;
/// The least memory of a head (net/core/skbuff.c, SKB_SMALL_HEAD_CACHE_SIZE).
const SMALL_HEAD: u64 = 576;

/// What a receiver did for lack of memory, by Linux' counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shortage {
    /// The buffer was over its limit and was tidied (`TcpExtPruneCalled`).
    pub tidied: u64,
    /// Buffers that were copied together (`TcpExtTCPRcvCollapsed`).
    pub collapsed: u64,
    /// What was out of order was thrown away, in whole or in part (`TcpExtOfoPruned`).
    pub prunings: u64,
    /// Packets thrown away then, which Linux does not count.
    pub pruned: u64,
    /// None of it made room (`TcpExtRcvPruned`).
    pub failed: u64,
    /// Packets in order that were dropped for it (`TcpExtTCPRcvQDrop`).
    pub in_order: u64,
    /// Packets out of order that were (`TcpExtTCPOFODrop`).
    pub out_of_order: u64,
    /// Packets that came into a closed window (`TcpExtTCPZeroWindowDrop`, which counts only the one that is next).
    pub closed: u64,
}

impl Receiver {
    /// What was done for lack of memory so far.
    pub fn shortage(&self) -> Shortage {
        self.rare.as_ref().map(|rare| rare.shortage).unwrap_or_default()
    }

    fn note(&mut self) -> &mut Shortage {
        &mut self.rare.get_or_insert_default().shortage
    }

    /// The packet that is next is not taken (`tcp_data_queue`): the window is closed, or there is no memory.
    #[cold]
    pub(super) fn refuses_next(&mut self, number: u64, out: &mut Vec<Train>) -> bool {
        if self.buffer.current(self.next) == 0 {
            self.counts.dropped += 1;
            self.note().closed += 1;
            self.enter_quick_mode();
            self.settle(out);
            return true;
        }
        // What the reader waits for is taken whatever the memory (`sk_forced_mem_schedule`).
        if self.make_room(number) || self.buffer.unread() == 0 {
            return false;
        }
        self.counts.dropped += 1;
        self.note().in_order += 1;
        if self.settings.buffer.rules.closes_window {
            self.buffer.close(self.next);
            self.acknowledge_with(0, out);
        }
        self.read_at_once(out);
        true
    }

    /// A packet out of order is not taken (`tcp_sequence`, `tcp_data_queue_ofo`): it lies beyond a window that was closed
    /// since, or there is no memory.
    #[cold]
    pub(super) fn refuses_later(&mut self, number: u64, missing: u32, out: &mut Vec<Train>) -> bool {
        if self.buffer.excludes(number, missing, self.next) {
            self.counts.dropped += 1;
            self.note().closed += 1;
            self.answer(out);
            return true;
        }
        if self.make_room(number) {
            return false;
        }
        self.counts.dropped += 1;
        self.note().out_of_order += 1;
        self.read_at_once(out);
        true
    }

    /// Tidies the buffer for packet `number`; says whether it fits then (`tcp_prune_queue`).
    fn make_room(&mut self, number: u64) -> bool {
        if self.buffer.fits() {
            return true;
        }
        self.note().tidied += 1;
        self.quick = 0;
        let held = if self.settings.buffer.rules.clamps_to_unread { self.order.packets() } else { 0 };
        self.buffer.clamp_window(held);
        if self.buffer.fits() {
            return true;
        }
        let buffer = &self.buffer;
        let mut collapsed = self.order.collapse(
            buffer.size >> 3,
            |memory, packets| buffer.is_bloated(memory, packets * buffer.mss),
            |packets| tight(packets * buffer.mss),
        );
        self.buffer.hold(self.order.memory());
        collapsed += self.buffer.collapse();
        self.note().collapsed += collapsed;
        if self.buffer.fits() {
            return true;
        }
        let excess = self.buffer.occupied() - self.buffer.size;
        let all = self.settings.buffer.rules.prunes_all;
        let pruned = self.order.prune(number, all, self.buffer.size, excess);
        if pruned > 0 {
            self.buffer.hold(self.order.memory());
            self.note().prunings += 1;
            self.note().pruned += pruned;
        }
        if self.buffer.fits() {
            return true;
        }
        self.note().failed += 1;
        false
    }
}

/// Memory of so much payload when it is copied together (`tcp_collapse`).
fn tight(payload: u64) -> Tight {
    let (pages, rest) = (payload / PAGE_PAYLOAD, payload % PAGE_PAYLOAD);
    let page = PAGE_PAYLOAD + SHARED_INFO + DESCRIPTOR;
    let last = match rest {
        0 => 0,
        rest if rest + SHARED_INFO <= SMALL_HEAD => SMALL_HEAD + DESCRIPTOR,
        rest => (rest + SHARED_INFO).next_power_of_two() + DESCRIPTOR,
    };
    Tight { memory: pages * page + last, fills_one: pages > 0 }
}

impl Buffer {
    /// Whether so much payload occupies more memory than its part of the window (`tcp_collapse`).
    fn is_bloated(&self, memory: u64, payload: u64) -> bool {
        self.payload_of(memory) > payload
    }

    /// More memory is occupied than there is: a tuned buffer grows, or the window goes back to two segments
    /// (`tcp_clamp_window`). `held` packets are out of order.
    fn clamp_window(&mut self, held: u64) {
        let before = self.rules().rules.clamps_to_unread;
        if self.tuned() && self.size < self.largest() && (!before || held > 0) {
            self.size = self.occupied().min(self.largest());
        }
        if self.fits() {
            return;
        }
        if before && held == 0 {
            let mut unread = self.unread_bytes;
            if self.occupied() >= 2 * self.size {
                unread /= 2;
            }
            self.clamp = self.clamp.min(unread.saturating_sub(self.mss).max(2 * self.mss));
        }
        self.threshold = self.clamp.min(2 * self.mss);
    }

    /// Copies what is unread together where that saves memory; returns how many buffers it was (`tcp_collapse`). What was
    /// copied before is not bloated; of what has come since each packet is as good as another.
    fn collapse(&mut self) -> u64 {
        let before = self.copied_bytes;
        let memory = self.used.saturating_sub(tight(before).memory);
        let (packets, payload) =
            (self.unread_packets - self.copied, self.unread_bytes.saturating_sub(before));
        if packets == 0 || !self.is_bloated(memory, payload) {
            return 0;
        }
        let each = self.each(self.mss);
        let buffers = (memory.saturating_sub(packets * each.fragment) / each.overhead).clamp(1, packets);
        self.used = tight(self.unread_bytes).memory;
        self.copied = self.unread_packets;
        self.copied_bytes = self.unread_bytes;
        // Nothing joins the last of them.
        self.merged.fill();
        buffers
    }

    /// Memory of the first `packets` of what is unread, of which some were copied together.
    #[cold]
    pub(super) fn memory_of_first(&self, packets: u64) -> u64 {
        let whole = tight(self.copied_bytes).memory.min(self.used);
        if packets < self.copied {
            return whole - tight(self.copied_bytes.saturating_sub(packets * self.mss)).memory.min(whole);
        }
        let others = u128::from(self.used - whole) * u128::from(packets - self.copied)
            / u128::from((self.unread_packets - self.copied).max(1));
        whole + others as u64
    }

    /// The window is closed, whatever was offered before (`ICSK_ACK_NOMEM`).
    fn close(&mut self, next: u64) {
        self.window = 0;
        self.offered_end = self.position(next);
    }

    /// Whether packet `number` lies beyond the window, `next` being the one that is awaited; `missing`: by how much the
    /// packets before it fall short ([`Data::missing`](crate::net::Data::missing)).
    pub(super) fn excludes(&self, number: u64, missing: u32, next: u64) -> bool {
        let between = missing.wrapping_sub(self.missing as u32);
        ((number - next) * self.mss).saturating_sub(between.into()) >= self.current(next).max(1)
    }

    /// Memory up to which packets may wait behind the socket's lock, with what is unread (`tcp_add_backlog`).
    pub(super) fn backlog_limit(&self) -> u64 {
        let rules = self.rules();
        rules.rules.backlog_limit(self.size, rules.send_buffer)
    }
}
