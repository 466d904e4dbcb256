//! The receive buffer: memory that packets occupy, the window that is offered, and how both are tuned
//! (`tcp_rcv_space_adjust`, `tcp_grow_window`, `__tcp_select_window`).
//!
//! A packet occupies its payload and what describes it (truesize); packets that are merged in the queue share the latter.
//! The window is what the rest of the buffer could hold in payload, by a ratio learnt from the first packet
//! (`scaling_ratio`, since Linux 6.6). What happens when the memory runs out all the same: [`super::shortage`].

use super::Settings;
use super::held::Held;
use super::merged::{FRAGMENTS, Layout, Merged};
use super::order::Each;
use super::settings::{BufferSettings, RATIO_BITS, RATIO_INITIAL, UNSCALED};
use crate::tcp::clock;
use std::rc::Rc;
use wirespeed_units::SimTime;

/// Largest shift (TCP_MAX_WSCALE).
const SHIFT_MOST: u32 = 14;
/// Bounds of the guess at the peer's segments.
const TCP_MSS_DEFAULT: u64 = 536;
/// See there.
const TCP_MIN_MSS: u64 = 88;
/// Packets of the initial target (TCP_INIT_CWND).
const INITIAL_PACKETS: u64 = 10;

/// The first three are what samples read.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Buffer {
    pub(super) unread_packets: u64,
    /// Bytes read in the last round trip (`rcvq_space`).
    space: u64,
    pub(super) rtt8: i64,
    /// What all receivers of its kind have in common.
    settings: Rc<Settings>,
    pub(super) mss: u64,
    pub(super) size: u64,
    /// Memory of what is in order and unread, and of what is out of order.
    pub(super) used: u64,
    pub(super) held: u64,
    /// How many of them, the first, were copied together for lack of memory.
    pub(super) copied: u64,
    /// Their payload in bytes.
    pub(super) copied_bytes: u64,
    pub(super) merged: Merged,
    pub(super) unread_bytes: u64,
    pub(super) clamp: u64,
    /// The window is opened step by step up to the clamp (`rcv_ssthresh`).
    pub(super) threshold: u64,
    pub(super) window: u64,
    /// Where the window ends that was offered, in bytes of the stream.
    pub(super) offered_end: u64,
    /// Bytes by which the packets that arrived in order fall short of full segments.
    pub(super) missing: u64,
    /// Where that round trip began, and when.
    space_from: u64,
    space_at: SimTime,
    read_bytes: u64,
    pub(super) rtt_from: u64,
    pub(super) rtt_at: Option<SimTime>,
    wake_at: u64,
    wake_again: u64,
    shift: u32,
    ratio: u32,
    pub(super) last_echo: u32,
    /// The ratio is not what packets carry yet.
    learns: bool,
}

impl Buffer {
    pub(super) fn new(settings: Rc<Settings>) -> Self {
        let rules = &settings.buffer;
        let mss = u64::from(settings.mss);
        let size = rules.fixed.unwrap_or(rules.range.0);
        let largest = rules.fixed.unwrap_or(rules.range.1);
        // A fixed buffer bounds the window that its scale is for (`tcp_openreq_init_rwin`).
        let widest = match rules.fixed {
            Some(size) => rules.window_of(size, RATIO_INITIAL).max(1),
            None => size.max(largest).max(rules.ceiling).min(UNSCALED << SHIFT_MOST),
        };
        let shift = if rules.scaling { (widest.ilog2().saturating_sub(15)).min(SHIFT_MOST) } else { 0 };
        let mut buffer = Buffer {
            settings,
            mss,
            shift,
            size,
            ratio: RATIO_INITIAL as u32,
            learns: true,
            used: 0,
            held: 0,
            unread_packets: 0,
            copied: 0,
            copied_bytes: 0,
            merged: Merged::default(),
            unread_bytes: 0,
            clamp: UNSCALED << shift,
            threshold: 0,
            window: 0,
            offered_end: 0,
            missing: 0,
            space: 0,
            space_from: 0,
            space_at: SimTime::START,
            read_bytes: 0,
            rtt8: 0,
            rtt_from: 0,
            rtt_at: None,
            last_echo: 0,
            wake_at: 1,
            wake_again: 0,
        };
        let space = buffer.payload_of(size);
        let own = buffer.rules().own_mss;
        let most = buffer.rules().rules.first_window(own, shift);
        let whole = if space > own { space / own * own } else { space };
        buffer.window = whole.min(most).max(mss);
        buffer.offered_end = buffer.window;
        buffer
    }

    /// `tcp_init_buffer_space`.
    pub(super) fn open(&mut self, now: SimTime) {
        // Only packets larger than the first guess teach the ratio (`tcp_initialize_rcv_mss`, `tcp_measure_rcv_mss`).
        let guess = self.mss.min(self.window / 2).clamp(TCP_MIN_MSS, TCP_MSS_DEFAULT);
        self.learns = self.mss > guess;
        let (whole, own) = (self.payload_of(self.size), self.rules().own_mss);
        self.clamp = self.clamp.min(whole);
        // Linux keeps room for a segment.
        if self.clamp > 2 * own && self.clamp + own > whole {
            self.clamp = (whole - own).max(2 * own);
        }
        self.threshold = self.window.min(self.clamp);
        self.space = self.threshold.min(self.window).min(INITIAL_PACKETS * self.mss);
        self.space_at = now;
    }

    #[inline]
    pub(super) fn rules(&self) -> &BufferSettings {
        &self.settings.buffer
    }

    /// The buffer grows as it is used.
    #[inline]
    pub(super) fn tuned(&self) -> bool {
        self.rules().fixed.is_none()
    }

    /// Its largest size in bytes.
    #[inline]
    pub(super) fn largest(&self) -> u64 {
        self.rules().fixed.unwrap_or(self.rules().range.1)
    }

    pub(super) fn payload_of(&self, memory: u64) -> u64 {
        self.rules().window_of(memory, u64::from(self.ratio))
    }

    fn memory_of(&self, payload: u64) -> u64 {
        if let Some(scale) = self.rules().adv_win_scale {
            return ((u128::from(payload) << scale) / ((1 << scale) - 1).max(1)) as u64;
        }
        ((u128::from(payload) << RATIO_BITS) / u128::from(self.ratio)) as u64
    }

    /// Memory that a packet of so much payload occupies (`skb->truesize`).
    pub(super) fn packet(&self, payload: u64) -> u64 {
        self.rules().fragment(payload) + self.rules().overhead()
    }

    /// The same in parts.
    pub(super) fn each(&self, payload: u64) -> Each {
        let rules = self.rules();
        let (fragment, overhead) = (rules.fragment(payload), rules.overhead());
        Each { fragment, overhead, coalesces: rules.rules.coalesces }
    }

    fn free(&self) -> u64 {
        self.payload_of(self.size.saturating_sub(self.used + self.held))
    }

    #[inline]
    fn learn(&mut self, payload: u64, packets: u32) {
        if self.learns {
            self.learn_ratio(payload, u64::from(packets));
        }
    }

    /// Of `packets` that came as one (GRO), if there are several.
    #[inline(never)]
    fn learn_ratio(&mut self, payload: u64, packets: u64) {
        if payload < self.mss || self.rules().adv_win_scale.is_some() {
            return;
        }
        self.learns = false;
        let each = self.each(payload);
        let memory = packets * each.fragment + packets.div_ceil(FRAGMENTS) * each.overhead;
        self.ratio = (((payload * packets) << RATIO_BITS) / memory).clamp(1, 255) as u32;
        self.clamp = self.payload_of(self.size);
        self.space = self.space.min(self.clamp);
    }

    /// How many of `packets` can be taken before the reader is woken or the window needs a look, for the quick way.
    #[inline]
    pub(super) fn takes_unread(&self, payload: u32, packets: u32) -> u32 {
        let payload = u64::from(payload.max(1));
        let room = at_most(packets, payload, self.wake_at.saturating_sub(self.unread_bytes + 1));
        let unpressed = self.pressed_above().saturating_sub(self.used + self.held);
        let room = at_most(room, self.packet(payload), unpressed);
        // A buffer of fixed size limits the flow by every packet's memory.
        let settled = self.tuned() && self.threshold >= self.clamp.min(self.free()) && !self.learns;
        if settled && self.fits() && self.window > 0 { room } else { 0 }
    }

    /// Whether a packet, the one that `next` is the number of, can be taken without a look at the reader or the window.
    #[inline]
    pub(super) fn takes_plain(&self, payload: u32, next: u64) -> bool {
        let payload = u64::from(payload);
        let occupied = self.occupied();
        occupied + self.packet(payload) <= self.pressed_above()
            && self.unread_bytes + payload < self.wake_at
            && self.current(next) > 2 * self.mss
            && !self.learns
            && self.threshold >= self.clamp.min(self.free())
    }

    /// How packets lie in memory when they come.
    pub(super) fn layout(&self) -> Layout {
        Layout::new(self.mss, self.rules().packet_memory.is_none())
    }

    /// Packets in order, from number `from` on.
    #[inline]
    pub(super) fn take(&mut self, from: u64, packets: u32, payload: u32) {
        self.learn(u64::from(payload), packets);
        let more = self.merged.push(from, packets.into(), self.layout());
        let coalesces = self.rules().rules.coalesces;
        self.occupy(packets.into(), payload.into(), if coalesces { more } else { packets.into() });
    }

    /// The same of packets that came as one (GRO).
    pub(super) fn take_merged(&mut self, from: u64, packets: u32, payload: u32) {
        self.learn(u64::from(payload), packets);
        let more = self.merged.push_merged(from, packets.into(), self.layout());
        self.occupy(packets.into(), payload.into(), more);
    }

    /// Packets of so much payload are there, with as many `sk_buff`s more as `buffers`.
    #[inline]
    fn occupy(&mut self, packets: u64, payload: u64, buffers: u64) {
        let each = self.each(payload);
        self.used += packets * each.fragment + buffers * each.overhead;
        self.unread_packets += packets;
        self.unread_bytes += packets * payload;
    }

    /// Packets in order, from number `from` on, of which every second since `acknowledged` is acknowledged. Returns the
    /// window of those acknowledgements.
    ///
    /// An offered window is not taken back, but rounded up to its scale with each: if two packets are less than the
    /// scale's step, the window stays what the first offers, for the memory only shrinks meanwhile; else it falls by whole
    /// steps.
    pub(super) fn take_acknowledged(&mut self, from: u64, packets: u32, acknowledged: u64) -> u64 {
        let mss = self.mss as u32;
        let acks = (from + u64::from(packets) - acknowledged) / 2;
        if acks == 0 {
            self.take(from, packets, mss);
            return self.window;
        }
        let first = (acknowledged + 2 - from) as u32;
        self.take(from, first, mss);
        let offered = self.select_window(acknowledged + 2);
        if acks > 1 {
            let more = 2 * (acks - 1);
            self.take(from + u64::from(first), more as u32, mss);
            let step = ((2 * self.mss) >> self.shift) << self.shift;
            let window = self.would_offer().max(offered.saturating_sub(step * (acks - 1)));
            self.window = window.min(self.largest_window());
            self.offered_end = self.position(acknowledged + 2 * acks) + self.window;
        }
        if acknowledged + 2 * acks < from + u64::from(packets) {
            self.take(from + u64::from(packets) - 1, 1, mss);
        }
        self.window
    }

    /// So much memory is held by what is out of order.
    pub(super) fn hold(&mut self, memory: u64) {
        self.held = memory;
    }

    /// Packets that were held are in order now (`tcp_ofo_queue`).
    pub(super) fn deliver(&mut self, held: &Held) {
        let packets = u64::from(held.packets);
        let joins = self.merged.append(packets, held.fragments.into()) && self.rules().rules.coalesces;
        self.used += held.memory - if joins { self.rules().overhead() } else { 0 };
        self.unread_packets += packets;
        self.unread_bytes += packets * self.mss;
    }

    /// Whether another packet fits without pruning (`tcp_try_rmem_schedule`).
    pub(super) fn fits(&self) -> bool {
        self.occupied() <= self.size
    }

    /// The window opens a step (`tcp_grow_window`) after `packets` of so much payload each came as one; says whether
    /// it did.
    pub(super) fn grow(&mut self, payload: u32, packets: u32) -> bool {
        let room = self.clamp.min(self.free()).saturating_sub(self.threshold);
        let (payload, packets) = (u64::from(payload), u64::from(packets));
        let (bytes, memory) = (payload * packets, self.packet(payload) * packets);
        if room == 0 {
            return false;
        }
        let step = match self.rules().adv_win_scale {
            Some(_) if self.payload_of(memory) > bytes => {
                if !self.may_grow(bytes, memory) {
                    return false;
                }
                2 * self.mss.max(bytes)
            }
            _ => 2 * self.rules().own_mss.max(bytes),
        };
        self.threshold += room.min(step);
        true
    }

    /// Before Linux 6.6: whether the window may grow although packets occupy more memory than their part of it
    /// (`__tcp_grow_window`): up to a part of the buffer that shrinks with what they carry.
    fn may_grow(&self, payload: u64, memory: u64) -> bool {
        let (mut memory, mut window) = (self.payload_of(memory) / 2, self.payload_of(self.size) / 2);
        while self.threshold <= window {
            if memory <= payload {
                return true;
            }
            memory >>= 1;
            window >>= 1;
        }
        false
    }

    pub(super) fn offered(&self) -> u64 {
        self.window
    }

    /// The first byte of packet `next`, of which everything before has come: its place in the stream.
    #[inline]
    pub(super) fn position(&self, next: u64) -> u64 {
        next * self.mss - self.missing
    }

    /// What is left of the window when everything below `next` has come (`tcp_receive_window`).
    pub(super) fn current(&self, next: u64) -> u64 {
        self.offered_end.saturating_sub(self.position(next))
    }

    /// A packet that arrived in order fell short of a full segment by so many bytes.
    pub(super) fn fall_short(&mut self, missing: u64) {
        self.missing += missing;
    }

    /// The same of packets that were held: they counted as full when they were delivered.
    pub(super) fn held_fell_short(&mut self, missing: u64) {
        self.missing += missing;
        self.unread_bytes = self.unread_bytes.saturating_sub(missing);
    }

    /// `__tcp_select_window`.
    pub(super) fn would_offer(&self) -> u64 {
        let whole = self.payload_of(self.size);
        let full = self.clamp.min(whole);
        let mut free = self.free();
        let mss = self.mss.min(full);
        if free < full / 2 {
            free = free >> self.shift << self.shift;
            if free < whole >> 4 || free < mss {
                return 0;
            }
        }
        free = free.min(self.threshold);
        if self.shift > 0 {
            self.scaled(free)
        } else if self.window + mss <= free || self.window > free {
            free / mss.max(1) * mss
        } else {
            self.window
        }
    }

    /// The largest window that an acknowledgement can offer: 1 GiB with the largest scale (RFC 7323, 2.3).
    fn largest_window(&self) -> u64 {
        UNSCALED << self.shift
    }

    /// So many bytes as the window's scale can say them, rounded up.
    fn scaled(&self, bytes: u64) -> u64 {
        let finest = (1 << self.shift) - 1;
        (bytes + finest) & !finest
    }

    /// `tcp_select_window`: what an ACK of everything below `acknowledged` offers, never less than was offered.
    pub(super) fn select_window(&mut self, acknowledged: u64) -> u64 {
        let current = self.current(acknowledged);
        let window = self.would_offer().max(self.scaled(current));
        self.window = window.min(self.largest_window());
        self.offered_end = self.position(acknowledged) + self.window;
        self.window
    }

    /// So much is unread as the reader waits for.
    pub(super) fn awaits_reader(&self) -> bool {
        self.unread_bytes >= self.wake_at
    }

    /// The reader is woken (`tcp_epollin_ready`): before so much is there, too, if memory or the window run out.
    pub(super) fn wakes_reader(&self, next: u64) -> bool {
        self.awaits_reader()
            || self.unread_bytes > 0
                && (self.used + self.held > self.pressed_above() || self.current(next) <= self.mss)
    }

    /// Memory above which the buffer is as good as full (`tcp_rmem_pressure`).
    fn pressed_above(&self) -> u64 {
        self.size - (self.size >> 3)
    }

    /// The reader takes everything (`tcp_recvmsg`, then `tcp_rcv_space_adjust`).
    pub(super) fn read(&mut self, now: SimTime) {
        // Linux looks at its tuning after each merged packet it hands over, and counts what is still unread off.
        let first = self.unread_bytes.min(self.merged.read() * self.mss);
        self.adjust(now, self.read_bytes + first, self.unread_bytes - first);
        self.read_bytes += self.unread_bytes;
        self.used = 0;
        self.copied = 0;
        self.copied_bytes = 0;
        self.unread_packets = 0;
        self.unread_bytes = 0;
        if let Some((part, most)) = self.rules().low_water
            && self.read_bytes >= self.wake_again
        {
            self.wake_at = (self.size / part).clamp(1, most);
            self.wake_again = self.read_bytes + self.size * 2;
            // A larger low-water mark makes the buffer large enough for it (`tcp_set_rcvlowat`).
            let needed = self.memory_of(self.wake_at).min(self.largest());
            if self.tuned() && needed > self.size {
                self.size = needed;
                self.clamp = self.clamp.max(self.wake_at);
            }
        }
    }

    /// The reader is a thread of a modelled host.
    pub(super) fn is_hosted(&self) -> bool {
        self.rules().low_water.is_none()
    }

    /// The reader takes `packets` (`tcp_recvmsg`).
    pub(super) fn read_some(&mut self, now: SimTime, packets: u64) {
        let packets = packets.min(self.unread_packets);
        if packets == 0 {
            return;
        }
        let bytes = match packets == self.unread_packets {
            true => self.unread_bytes,
            false => (packets * self.mss).min(self.unread_bytes),
        };
        let share = if self.copied > 0 {
            self.memory_of_first(packets)
        } else {
            (u128::from(self.used) * u128::from(packets) / u128::from(self.unread_packets)) as u64
        };
        self.used -= share;
        self.copied = self.copied.saturating_sub(packets);
        self.copied_bytes = if self.copied > 0 { self.copied_bytes.saturating_sub(bytes) } else { 0 };
        self.unread_packets -= packets;
        self.unread_bytes -= bytes;
        self.read_bytes += bytes;
        if self.unread_packets == 0 {
            self.merged = Merged::default();
        }
        self.adjust(now, self.read_bytes, 0);
    }

    pub(super) fn occupied(&self) -> u64 {
        self.used + self.held
    }

    /// `tcp_rcv_space_adjust` when `read` bytes have been read and `unread` are still there.
    fn adjust(&mut self, now: SimTime, read: u64, unread: u64) {
        let elapsed = clock::micros(now) - clock::micros(self.space_at);
        if self.rtt8 == 0 || elapsed < self.rtt8 >> 3 {
            return;
        }
        let copied = (read - self.space_from).saturating_sub(unread);
        if copied > self.space {
            if self.tuned() {
                let mut window = 2 * copied + 16 * self.mss;
                let growth =
                    u128::from(window) * u128::from(copied - self.space) / u128::from(self.space.max(1));
                window = window.saturating_add(u64::try_from(growth * 2).unwrap_or(u64::MAX >> 1));
                let size = self.memory_of(window).min(self.largest());
                if size > self.size {
                    self.size = size;
                    self.clamp = self.payload_of(size);
                }
            }
            self.space = copied;
        }
        self.space_from = read;
        self.space_at = now;
    }

    /// The window could be twice what the sender knows (`tcp_cleanup_rbuf`).
    pub(super) fn is_much_wider(&self, next: u64) -> bool {
        let current = self.current(next);
        if 2 * current > self.clamp {
            return false;
        }
        let window = self.would_offer();
        window > 0 && window >= 2 * current
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Nothing is in it, neither unread nor out of order.
    pub(super) fn is_empty(&self) -> bool {
        self.unread_bytes == 0 && self.held == 0
    }

    pub(super) fn unread(&self) -> u64 {
        self.unread_packets
    }

    pub(super) fn space(&self) -> u64 {
        self.space
    }
}

/// How many of `packets` fit into `room` with `each`: mostly all, and divisions are slow.
#[inline]
fn at_most(packets: u32, each: u64, room: u64) -> u32 {
    if u64::from(packets) * each <= room { packets } else { (room / each) as u32 }
}
