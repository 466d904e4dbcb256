//! Whether an ACK leaves now, later, or is held back (`__tcp_ack_snd_check`, `tcp_send_delayed_ack`).

use super::{DELAY_MAX_TICKS, DELAY_MIN_TICKS, Receiver};
use crate::due::Due;
use crate::net::{Ack, Body, PayloadCounted, Train};
use crate::tcp::clock;
use wirespeed_units::{SimTime, Span};

/// `net.ipv4.tcp_comp_sack_nr`: duplicate ACKs held back at most.
const COMPRESSED_MOST: u32 = 44;
/// `net.ipv4.tcp_comp_sack_delay_ns`, and `tcp_comp_sack_slack_ns`. The slack always passes: a timer that fires in
/// softirq (HRTIMER_MODE_SOFT) is looked at only when the earliest of its kind is due with its slack
/// (kernel/time/hrtimer.c, `softirq_expires_next`), and TCP has few others.
const COMPRESSED_DELAY: Span = Span::ms(1);
const COMPRESSED_SLACK: Span = Span::us(100);
/// Duplicate ACKs sent at once before any is held back (TCP_FASTRETRANS_THRESH).
const UNCOMPRESSED: u32 = 3;

impl Receiver {
    /// Whether an ACK leaves now, later, or is held back (`__tcp_ack_snd_check`).
    pub(super) fn settle(&mut self, out: &mut Vec<Train>) {
        let widely = self.more_than_one_waits()
            && (!self.buffer.awaits_reader() || self.buffer.would_offer() >= self.buffer.offered());
        // The peer's FIN switches the socket to pingpong mode (`tcp_fin`).
        let is_quick = self.quick > 0 && !self.is_finished() && !self.message.is_interactive;
        if widely || is_quick || self.ack_now {
            self.acknowledge(out);
            return;
        }
        if self.order.is_empty() {
            self.delay();
            return;
        }
        let compresses = self.settings.sack && self.settings.buffer.rules.compresses_sacks;
        if !compresses || self.compressed >= COMPRESSED_MOST {
            self.acknowledge(out);
            return;
        }
        if self.compressed_next != self.next {
            self.compressed_next = self.next;
            self.duplicate_acks = 0;
        }
        if self.duplicate_acks < UNCOMPRESSED {
            self.duplicate_acks += 1;
            self.acknowledge(out);
            return;
        }
        self.compressed += 1;
        if !self.compressed_at.is_set() {
            // The receiver's own smoothed round-trip time is that of the handshake: it sends no data.
            let rtt = self.buffer.round_trip_us().min(self.handshake_us);
            let part = Span::us(rtt).picoseconds() / 20;
            let delay = COMPRESSED_DELAY.min(Span::ps(part));
            self.compressed_at = Due::at(self.now + delay + COMPRESSED_SLACK);
            if self.armed.has_come(self.now) {
                self.armed = Due::NEVER;
            }
        }
    }

    /// More than a full segment waits to be acknowledged (`rcv_nxt - rcv_wup > rcv_mss`).
    fn more_than_one_waits(&self) -> bool {
        let waiting = self.next.saturating_sub(self.acknowledged);
        // The FIN counts as a byte.
        let fin = u64::from(waiting > 0 && self.is_finished());
        if waiting <= 1 && fin == 0 || self.buffer.missing == 0 {
            return waiting + fin > 1;
        }
        let acknowledged = self.rare.as_ref().map_or(0, |rare| rare.missing_acknowledged);
        waiting * self.buffer.mss - (self.buffer.missing - acknowledged) + fin > self.buffer.mss
    }

    /// Lets an ACK leave for those that were compressed, if any (`tcp_sack_compress_send_ack`); whether one did.
    pub(super) fn flush_compressed(&mut self, out: &mut Vec<Train>) -> bool {
        let any = self.compressed > 0;
        if any {
            self.acknowledge(out);
        }
        any
    }

    /// Whether it has begun to hold acknowledgements back since this was last asked and answered.
    #[inline]
    pub fn begins_to_hold(&mut self) -> bool {
        let begins = self.compressed_at.is_set() && !self.is_known_to_hold;
        self.is_known_to_hold |= begins;
        begins
    }

    /// From when on what it holds back may leave with what others do: when its timer is due without the slack.
    pub fn may_release_at(&self) -> Due {
        if self.compressed_at.is_set() {
            Due::at(self.compressed_at.time() + COMPRESSED_SLACK * -1)
        } else {
            Due::NEVER
        }
    }

    /// Nobody keeps in mind any longer that it holds something back.
    pub fn is_released(&mut self) {
        self.is_known_to_hold = false;
    }

    /// What it holds back leaves.
    pub fn release(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.now = self.now.max(now);
        self.flush_compressed(out);
    }

    /// `tcp_send_delayed_ack`.
    pub(super) fn delay(&mut self) {
        self.delayed = self.delayed.min(self.delayed_from(self.now));
        self.armed = self.delayed;
    }

    /// When an ACK is due that begins to be delayed now.
    pub(super) fn delayed_from(&self, now: SimTime) -> Due {
        Due::at(clock::wheel(now, self.interval.clamp(1, DELAY_MAX_TICKS)))
    }

    /// An ACK leaves.
    pub(super) fn acknowledge(&mut self, out: &mut Vec<Train>) {
        let window = self.buffer.select_window(self.next);
        self.acknowledge_with(window, out);
    }

    /// An ACK leaves for a packet that was not taken. It is none of those that are due at once, unless one was due
    /// (`tcp_dec_quickack_mode`).
    pub(super) fn answer(&mut self, out: &mut Vec<Train>) {
        let (quick, was_due) = (self.quick, self.delayed.is_set() || self.compressed > 0);
        self.acknowledge(out);
        if !was_due {
            self.quick = quick;
        }
    }

    /// An ACK leaves with a window of so many bytes.
    pub(super) fn acknowledge_with(&mut self, window: u64, out: &mut Vec<Train>) {
        let most = if self.settings.timestamps { 3 } else { 4 };
        let sack = self.settings.sack.then(|| self.order.report(most)).flatten();
        let blocks = sack.as_ref().map_or(0, |s| s.blocks.len() + usize::from(s.duplicate.is_some()));
        // Two bytes of padding, kind and length, then eight per block.
        let marks = self.report_marks(blocks == 0);
        let of_marks = marks.and_then(|marks| marks.option).map_or(0, |_| PayloadCounted::OPTION);
        let options = of_marks + if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.interval = DELAY_MIN_TICKS;
            }
        }
        self.acknowledged = self.next;
        if self.buffer.missing > 0 {
            self.rare.get_or_insert_default().missing_acknowledged = self.buffer.missing;
        }
        self.delayed = Due::NEVER;
        self.compressed = 0;
        self.compressed_at = Due::NEVER;
        self.ack_now = false;
        self.pushed = false;
        self.counts.acks_out += 1;
        out.push(Train {
            at: self.now,
            gap: Span::ZERO,
            packets: 1,
            frame: self.settings.ack_frame + options,
            flow: self.flow,
            ecn: self.settings.ack_ecn,
            body: Body::Ack(Ack {
                next: self.next,
                stride: 1,
                window,
                stamp: clock::stamp(self.now),
                echo: self.echo,
                ece: self.congestion_seen,
                asks: false,
                marks,
                sack: sack.map(Box::new),
            }),
        });
    }

    /// The application reads if it was woken (SO_RCVLOWAT), which may make an ACK leave (`tcp_cleanup_rbuf`).
    pub(super) fn read(&mut self, out: &mut Vec<Train>) {
        let ended = self.end.is_some_and(|end| self.next >= end);
        if self.buffer.wakes_reader(self.next) || ended {
            self.read_at_once(out);
        }
    }

    /// The application reads whatever its mark (`sk_data_ready`). A thread of a modelled host does so when it can.
    pub(super) fn read_at_once(&mut self, out: &mut Vec<Train>) {
        if self.buffer.is_hosted() || self.is_in_poll {
            return;
        }
        self.buffer.read(self.now);
        self.answer_reader(out);
    }

    /// The packets from now on are received at one instant, and the application reads after them ([`Receiver::end_poll`]). Whether
    /// that is new.
    pub fn begin_poll(&mut self) -> bool {
        !std::mem::replace(&mut self.is_in_poll, true)
    }

    /// That was all of it.
    pub fn end_poll(&mut self, out: &mut Vec<Train>) {
        if std::mem::take(&mut self.is_in_poll) {
            self.read(out);
        }
    }

    /// The application has read: an ACK leaves if more than a packet waits for one, or if one does that was pushed and nothing
    /// else is left, or if the window has become much wider (`tcp_cleanup_rbuf`).
    pub(super) fn answer_reader(&mut self, out: &mut Vec<Train>) {
        let waiting = self.next.saturating_sub(self.acknowledged);
        let answers_pushed = self.settings.buffer.rules.answers_pushed && !self.message.is_interactive;
        if self.more_than_one_waits()
            || waiting > 0 && self.pushed && answers_pushed && !self.is_finished() && self.buffer.is_empty()
            || self.buffer.is_much_wider(self.next)
        {
            self.acknowledge(out);
        }
    }
}
