//! What leaves, when, and how much at once: the send loop of `net/ipv4/tcp_output.c`.

use super::{Pending, Sender};
use crate::due::Due;
use crate::net::{Body, Data, Ecn, Train};
use crate::tcp::scoreboard::Segment;
use crate::tcp::{Feedback, clock};
use wirespeed_congestion::{Phase, Restart, RestartKind, Sent};
use wirespeed_units::{Packets, SimTime, Span};

/// `net.ipv4.tcp_min_tso_segs`.
const MINIMUM_BURST: u64 = 2;
/// `net.ipv4.tcp_tso_win_divisor`: a third of the window is worth sending at once.
pub(super) const WINDOW_DIVISOR: u64 = 3;
/// `sk_pacing_shift`: a burst lasts a millisecond (1/1024 s) at the pacing rate.
pub(super) const PACING_SHIFT: u32 = 10;
/// `net.ipv4.tcp_tso_rtt_log`: short paths may burst more.
const RTT_LOG: u32 = 9;
/// GSO_LEGACY_MAX_SIZE less the largest header (`sk_trim_gso_size`).
pub const GSO_BYTES: u64 = 65_536 - super::MAX_TCP_HEADER - 1;
/// The longest a send is put off in the hope of more (1 ms, `tcp_tso_should_defer`).
const LONGEST_WAIT: Span = Span::ms(1);
/// Packets that a train may have whatever their size: as many as a GSO packet of 64 KiB has at an MTU of 1500. At rates
/// that use larger frames they last no longer, and several GSO packets of those are one train.
pub const TRAIN_PACKETS: u32 = 43;
/// Packets that leave before pacing begins (`tcp_update_skb_after_send`).
const UNPACED: u64 = 10;

/// How much is to be sent (`push_one` of `tcp_write_xmit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    /// All that may be sent.
    All,
    /// One piece, without waiting for more.
    One,
    /// One packet, even beyond the window.
    Probe,
}

/// What could leave as one GSO packet if nothing but the queue's division limited it.
pub(super) struct Offer {
    packets: u64,
    pub(super) bytes: u64,
    /// Nothing waits behind it.
    is_last: bool,
}

/// Why sending stopped.
#[derive(Debug, Default, Clone, Copy)]
struct Limits {
    window: bool,
    receiver: bool,
}

/// Whether packets have left before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    First,
    Again,
}

impl Sender {
    /// Packets of one GSO packet (`tcp_tso_autosize`), from what is known now.
    pub(super) fn autosize(&self) -> u64 {
        let mss = u64::from(self.settings.mss);
        let quantum = self.control.send_quantum.map(|q| (q.get() / mss).max(1));
        if let Some(quantum) = quantum {
            return quantum.min(u64::from(self.settings.gso_packets));
        }
        let mut bytes = self.pacing_rate >> PACING_SHIFT;
        let shift = self.rtt.minimum().clamp(0, 1 << 32) as u64 >> RTT_LOG;
        if shift < 32 {
            bytes += GSO_BYTES >> shift;
        }
        let full = u64::from(self.settings.gso_packets);
        // A full one and the least are what mostly comes out, without a division.
        if bytes >= full * mss {
            full
        } else if bytes < (MINIMUM_BURST + 1) * mss {
            MINIMUM_BURST.min(full)
        } else {
            (bytes / mss).min(full)
        }
    }

    pub(super) fn is_paced(&self) -> bool {
        self.settings.paced || self.settings.algorithm.needs_pacing
    }

    /// The pacer forbids sending now; it will say when (`tcp_pacing_check`).
    pub(super) fn waits_for_pacer(&mut self) -> bool {
        if !self.is_paced() || self.settings.held || self.pace <= self.now {
            return false;
        }
        self.pacing_timer = Due::at(self.pace);
        true
    }

    /// What the congestion window allows (`tcp_cwnd_test`).
    fn quota(&self) -> u64 {
        let room = self.cwnd.saturating_sub(self.in_flight());
        room.min((self.cwnd / 2).max(1))
    }

    /// Bytes that the peer's window allows beyond what has left.
    pub(super) fn room(&self) -> u64 {
        match self.window_end.checked_sub(self.nxt) {
            Some(window) => window * u64::from(self.settings.mss) + u64::from(self.window_rest),
            None => 0,
        }
    }

    /// Whether to wait for more to send at once than the GSO packet on offer, where `burst` packets may be
    /// (`tcp_tso_should_defer`).
    fn should_wait(&self, offer: &Offer, burst: u64, limits: &mut Limits) -> bool {
        if self.phase >= Phase::Recovery {
            return false;
        }
        let mss = u64::from(self.settings.mss);
        let window = self.room();
        let congestion = (self.cwnd - self.in_flight()) * mss;
        let limit = window.min(congestion);
        if limit >= burst * mss || limit >= offer.bytes && !offer.is_last {
            return false;
        }
        if limit >= self.window_bytes.min(self.cwnd * mss) / WINDOW_DIVISOR {
            return false;
        }
        if !self.may_wait(self.now) {
            return false;
        }
        // The last packet of a stream may be shorter.
        let at_end = if offer.is_last { self.missing(self.written) - self.missing(self.nxt) } else { 0 };
        let length = offer.bytes - at_end;
        let is_cut = limit <= length;
        if congestion < window {
            limits.window |= is_cut;
        } else {
            limits.receiver |= is_cut;
        }
        is_cut || !(offer.is_last && self.shut)
    }

    /// Whether less than could be sent at once waits for more at `now`: something left not long ago, and an
    /// acknowledgement is to come soon.
    ///
    /// With a pacer "left" is when the next may leave: `tcp_wstamp_ns` is moved on by what was sent.
    pub(super) fn may_wait(&self, now: SimTime) -> bool {
        let left = if self.is_paced() { self.pace.max(self.last_sent) } else { self.last_sent };
        (now - left) <= LONGEST_WAIT && self.until_ack(now).is_some_and(|until| until <= self.longest_wait())
    }

    /// From `now` until the head is acknowledged, as far as the round-trip time tells.
    pub(super) fn until_ack(&self, now: SimTime) -> Option<Span> {
        self.board.head().map(|head| head.sent + Span::ps(self.rtt.smoothed8() * 125_000) - now)
    }

    /// The longest that a send waits for an acknowledgement.
    pub(super) fn longest_wait(&self) -> Span {
        Span::ps(self.rtt.smoothed8() * 125_000 / 2).min(LONGEST_WAIT)
    }

    /// Sends what may be sent (`tcp_write_xmit`).
    pub(super) fn write(&mut self, push: Push, out: &mut Vec<Train>) {
        if !self.established || self.host_queue.is_asked() {
            return;
        }
        let burst = self.burst;
        let mut limits = Limits::default();
        let mut sent = 0;
        loop {
            let available = self.written - self.nxt;
            if available == 0 || self.waits_for_pacer() {
                break;
            }
            let mut quota = self.quota();
            if quota == 0 {
                if push != Push::Probe {
                    break;
                }
                quota = 1;
            }
            let quota = quota.min(burst);
            let offer = self.offer(quota, available);
            if offer.bytes.min(u64::from(self.settings.mss)) > self.room() {
                limits.receiver = true;
                break;
            }
            if offer.packets > 1 {
                if push == Push::All && self.should_wait(&offer, burst, &mut limits) {
                    break;
                }
            } else if offer.is_last && self.unsent_phase > 0 && self.has_small_out() {
                break;
            }
            let (packets, missing) = self.split(&offer, quota);
            if self.is_throttled(packets, 0) {
                break;
            }
            let window = self.window_end.saturating_sub(self.nxt);
            let pieces = if push == Push::All && missing == 0 {
                self.equal_pieces(packets, window.min(available))
            } else {
                1
            };
            if missing > 0 {
                self.note_short(packets, missing);
            }
            self.send_new(packets as u32, pieces, out);
            sent += packets * u64::from(pieces);
            if push != Push::All || self.asks(sent) {
                break;
            }
        }
        self.window_limited.set(limits.receiver, self.now);
        let limited = limits.window || self.in_flight() >= self.cwnd;
        if sent > 0 || limited {
            self.validate_window(limited);
        }
        if sent > 0 {
            if self.phase.is_reducing() {
                self.prr_out += sent;
            }
            if push != Push::Probe {
                self.schedule_probe(false);
            }
        }
        if self.nxt == self.una && push == Push::All && self.written > self.nxt {
            self.await_window();
        }
        self.note_application_limit();
    }

    /// The first GSO packet of what waits, once it is as long as `quota` allows (`tcp_grow_skb`).
    #[inline]
    pub(super) fn offer(&self, quota: u64, available: u64) -> Offer {
        let mss = u64::from(self.settings.mss);
        if self.unsent_phase == 0 {
            let packets = self.pieces.length(self.nxt, quota).min(available);
            return Offer { packets, bytes: packets * mss, is_last: packets == available };
        }
        let (packets, ends) = self.pieces.length_apart(self.nxt, quota, available);
        let phase = if ends { u64::from(self.unsent_phase) } else { 0 };
        Offer { packets, bytes: packets * mss - phase, is_last: packets == available }
    }

    /// How many packets of it leave, and by how many bytes the last falls short of a full segment
    /// (`tcp_mss_split_point`).
    #[inline]
    fn split(&self, offer: &Offer, quota: u64) -> (u64, u32) {
        let mss = u64::from(self.settings.mss);
        let (most, room) = (quota * mss, self.room());
        if self.unsent_phase == 0 && room >= most.min(offer.bytes) {
            return (quota.min(offer.packets), 0);
        }
        let whole = most.min(offer.bytes);
        let length = if offer.packets == 1 || room >= most && !offer.is_last {
            whole
        } else {
            let needed = whole.min(room);
            let partial = needed % mss;
            let may_cut = partial > 0 && !self.has_small_out() && self.may_end_short(partial as u32);
            if may_cut { needed } else { needed - partial }
        };
        let packets = length.div_ceil(mss);
        (packets, (packets * mss - length) as u32)
    }

    /// How many GSO packets of `packets` leave now one after the other, `most` packets in all: as many as the loop of
    /// [`Sender::write`] would come to, each whole and with nothing to decide about. At least one.
    fn equal_pieces(&self, packets: u64, most: u64) -> u32 {
        let train = u64::from(self.settings.train_packets);
        let is_whole = packets == self.pieces.goal() && self.pieces.are_full() && self.unsent_phase == 0;
        let leaves_apart = self.leaving.is_some();
        if 2 * packets > train || !is_whole || self.settings.queued || self.is_paced() || leaves_apart {
            return 1;
        }
        let room = self.cwnd.saturating_sub(self.in_flight()).min(most).min(train);
        (room / packets).max(1) as u32
    }

    /// Sends new data: `pieces` GSO packets of `packets`.
    pub(super) fn send_new(&mut self, packets: u32, pieces: u32, out: &mut Vec<Train>) {
        let first = self.nxt;
        if self.outstanding() == 0 {
            self.restart_after_idle();
        }
        let sent = self.departure(packets * pieces);
        self.note_sent(packets, sent);
        self.transmit(first, (packets * pieces, packets), Turn::First, sent, out);
        self.busy.set(true, sent);
        self.pieces.take(first, packets);
        // Of several, each but the first only moves its memory from what is written to what is sent.
        self.check_space();
        if first == self.una || self.timer.pending == Some(Pending::Probe) {
            self.rearm();
        }
        if pieces > 1 {
            self.note_more_sent(packets, pieces - 1, sent);
        }
    }

    #[inline(never)]
    fn note_more_sent(&mut self, packets: u32, pieces: u32, sent: SimTime) {
        (0..pieces).for_each(|_| self.note_sent(packets, sent));
    }

    /// New data leaves at `sent`: it is in flight from now on.
    #[inline(always)]
    fn note_sent(&mut self, packets: u32, sent: SimTime) {
        let in_flight = self.in_flight();
        let snapshot = self.delivery.on_send(sent, self.outstanding(), packets, in_flight);
        self.tell_sent(sent, packets, in_flight);
        let segment = Segment::fresh(self.nxt, packets, sent, snapshot);
        self.nxt = segment.end();
        self.board.push(segment);
    }

    fn restart_after_idle(&mut self) {
        let idle = self.now - self.last_sent;
        let rto = Span::ms(self.rtt.rto);
        if self.settings.slow_start_after_idle
            && !self.settings.algorithm.needs_pacing
            && self.counts.packets_out > 0
            && idle > rto
        {
            let restart = Restart {
                now: self.now,
                kind: RestartKind::Idle { idle, rto },
                snd_nxt: self.bytes(self.nxt),
            };
            self.tell_restart(&restart);
        }
    }

    /// When the next `packets` leave, all at once: now, unless acknowledgements were taken together. What the pacer holds
    /// back is not sent before; a head or a probe that a timer repeats does not wait for
    /// it: Linux gives all the pacer's time (`skb_set_delivery_time`), which only its fq keeps.
    pub(super) fn departure(&mut self, packets: u32) -> SimTime {
        if self.settings.held {
            return self.pace.max(self.now);
        }
        match &mut self.leaving {
            Some(leaving) => leaving.depart(packets.into()).min(self.now),
            None => self.now,
        }
    }

    pub(super) fn tell_sent(&mut self, sent: SimTime, packets: u32, in_flight: u64) {
        let snd_nxt = self.bytes(self.nxt);
        let Some(cc) = &mut self.cc else { return };
        cc.on_sent(&Sent {
            now: sent,
            packets: Packets::new(u64::from(packets)),
            in_flight_before: Packets::new(in_flight),
            since_last: sent - self.last_sent,
            app_limited: self.written <= self.nxt + u64::from(packets),
            snd_nxt,
        });
        self.last_sent = sent;
    }

    /// Puts packets on the wire, in GSO packets of `piece`, and pays the pacer.
    pub(super) fn transmit(
        &mut self,
        first: u64,
        (packets, piece): (u32, u32),
        turn: Turn,
        sent: SimTime,
        out: &mut Vec<Train>,
    ) {
        let end = first + u64::from(packets);
        let payload = self.payload(first, packets);
        // It comes to fq now, and is to leave later.
        let (at, held) = if self.settings.held { (self.now, sent - self.now) } else { (sent, Span::ZERO) };
        if self.is_paced() {
            let prior = self.pace;
            self.pace = self.pace.max(self.now);
            if self.pacing_rate > 0 && self.pacing_rate < u64::MAX && self.counts.packets_out >= UNPACED {
                let length = (u128::from(payload) * 1_000_000_000_000 / u128::from(self.pacing_rate)) as i64;
                let credit = (self.pace - prior).picoseconds();
                // Half of the pause may be saved up against late timers.
                self.pace = self.pace + Span::ps(length - (length / 2).min(credit));
            }
        }
        // A separate FIN is not data (`tcpi_data_segs_out`).
        self.counts.packets_out += u64::from(packets) - u64::from(end > self.stream.packets);
        self.counts.bytes_out += payload;
        if self.settings.queued {
            // What is sent next, in the same call too, is checked against what this occupies (`sk_wmem_alloc`).
            self.host_queue.enter(packets, sent, self.settings.line);
        }
        // Only the last of what left as one may carry less than the others.
        let missing = self.missing(first);
        let last_payload = self.payload(end - 1, 1) as u32;
        let (ecn, cwr) = match turn {
            Turn::First => (self.settings.ecn, std::mem::take(&mut self.ecn_cwr)),
            // RFC 3168, section 6.1.5; retransmissions of DCTCP and Prague are capable as well (`tcp_ecn_send`).
            Turn::Again if self.settings.feedback == Feedback::Classic => (Ecn::NotCapable, false),
            Turn::Again => (self.settings.ecn, false),
        };
        let data = |first| Data {
            first,
            stamp: clock::stamp(sent),
            echo: self.peer_stamp,
            last: false,
            pushes: 0,
            cwr: false,
            held,
            missing: missing as u32,
        };
        let train = |packets, frame, body| Train {
            at,
            gap: Span::ZERO,
            packets,
            frame,
            flow: self.stream.flow,
            ecn,
            body,
        };
        let full = self.settings.headers + self.settings.mss;
        let short = last_payload < self.settings.mss;
        let whole = packets - u32::from(short);
        if whole > 0 {
            let last = self.ends_stream(end) && !short;
            let pushes = if short { 0 } else { self.pushes(end, packets, piece) };
            let next = train(whole, full, Body::Data(Data { last, cwr, pushes, ..data(first) }));
            match out.last_mut() {
                Some(open)
                    if open.packets + whole <= self.settings.train_packets
                        && open.at == next.at
                        && open.is_continued_by(&next) =>
                {
                    open.append(&next);
                }
                _ => out.push(next),
            }
        }
        if short {
            let frame = self.settings.headers + last_payload;
            let last = self.ends_stream(end);
            let cwr = cwr && whole == 0;
            let pushes = self.pushes(end, packets, piece) & 1;
            out.push(train(1, frame, Body::Data(Data { last, cwr, pushes, ..data(end - 1) })));
        }
    }

    /// Whether the packet before number `end` carries the FIN.
    fn ends_stream(&self, end: u64) -> bool {
        self.shut && end == self.end
    }

    /// Which of `packets` up to number `end` have PSH ([`Data::pushes`]): the last of each GSO packet of `piece`
    /// (`__tcp_transmit_skb`), and where the writer pushed.
    fn pushes(&self, end: u64, packets: u32, piece: u32) -> u64 {
        if piece > 1 && self.settings.era.pushes {
            (0..packets.min(u64::BITS)).step_by(piece as usize).fold(0, |all, back| all | 1 << back)
        } else {
            u64::from(self.pieces.was_pushed(end))
        }
    }

    /// What waited for the pacer or the host's queue: retransmissions first, then new data (`tcp_tsq_write`).
    pub(super) fn push(&mut self, out: &mut Vec<Train>) {
        if self.board.lost > self.board.retransmitted && self.cwnd > self.in_flight() {
            self.retransmit_lost(out);
        }
        self.push_new(out);
    }

    /// New data, after an acknowledgement has decided what is repeated (`tcp_data_snd_check`).
    pub(super) fn push_new(&mut self, out: &mut Vec<Train>) {
        self.write(Push::All, out);
        self.let_application_write(out);
    }
}
