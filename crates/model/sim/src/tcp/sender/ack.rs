//! What an acknowledgement does: the order of `tcp_ack` in `net/ipv4/tcp_input.c`.

use super::Sender;
use super::recovery::Repeat;
use super::together::Leaving;
use super::transmit::Push;
use crate::net::{MarksCounted, Sack, Train};
use crate::tcp::clock::{self, PAWS_WINDOW};
use crate::tcp::rate::Newest;
use wirespeed_congestion::{CongestionKind, Phase};
use wirespeed_units::{SimTime, Span};

/// One acknowledgement.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// Arrival.
    pub now: SimTime,
    /// The packet the receiver waits for.
    pub next: u64,
    /// Receive window in bytes.
    pub window: u64,
    /// Sender's millisecond clock that it echoes.
    pub echo: u32,
    /// Receiver's millisecond clock.
    pub stamp: u32,
    /// ECN-Echo.
    pub ece: bool,
    /// Marks that the receiver has counted.
    pub marks: Option<MarksCounted>,
    /// Selective acknowledgements.
    pub sack: Option<&'a Sack>,
    /// How many acknowledgements this stands for, the last of them.
    pub count: u32,
    /// Time between them.
    pub gap: Span,
    /// Packets that each acknowledges.
    pub stride: u32,
    /// When what they let go leaves, if that is not all at once with the last of them.
    pub leaving: Option<Leaving>,
    /// Of several that it stands for, each measures the round-trip time of the first packet that it acknowledges, as one by itself does;
    /// else of the last.
    pub by_first: bool,
}

/// What an acknowledgement turned out to say (the FLAG_* of `tcp_input.c`).
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub advanced: bool,
    pub data_acked: bool,
    pub data_sacked: bool,
    pub original_delivered: bool,
    pub retransmitted_acked: bool,
    pub duplicate_reported: bool,
    pub duplicate_of_probe: bool,
    pub window_updated: bool,
    pub predicted: bool,
    /// Congestion was experienced: ECN-Echo, or marks that the receiver has counted.
    pub ece: bool,
    /// Its timestamp is newer than that of any before.
    pub newer: bool,
    pub retransmission_lost: bool,
    pub reneging: bool,
    pub maybe_delayed: bool,
    pub set_timer: bool,
}

/// What was acknowledged before an acknowledgement: everything below `una`, and selectively.
#[derive(Debug, Clone, Copy)]
struct Before {
    una: u64,
    highest_sacked: u64,
    sacked: u64,
}

/// Send times of what an acknowledgement delivered, for the round-trip time.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub first_acked: Option<SimTime>,
    pub last_acked: Option<SimTime>,
    pub first_sacked: Option<SimTime>,
    pub last_sacked: Option<SimTime>,
}

impl Sender {
    /// One acknowledgement arrives.
    pub fn on_ack(&mut self, ack: Incoming, out: &mut Vec<Train>) {
        if !self.established || ack.next > self.nxt {
            return;
        }
        self.now = self.now.max(ack.now);
        let mut found = Findings { ece: ack.ece && self.settings.feedback.echoes(), ..Findings::default() };
        let mut times = Times::default();
        let mut newest = Newest::default();
        let delivered_before = self.delivery.delivered;
        if self.settings.timestamps {
            if self.is_from_before(&ack) {
                return;
            }
            self.echo = ack.echo;
            found.newer = ack.stamp > self.peer_stamp;
            self.peer_stamp = self.peer_stamp.max(ack.stamp);
        }
        if ack.next < self.una {
            self.on_old_ack(&ack, found, out);
            return;
        }
        let prior_una = self.una;
        let prior_highest = self.highest_sacked();
        let prior_in_flight = self.in_flight();
        let lost_before = self.delivery.lost;
        let had_data_out = self.outstanding() > 0;
        found.advanced = ack.next > self.una;
        found.predicted = ack.window == self.window_bytes && ack.sack.is_none() && !ack.ece;
        self.update_window(&ack, &mut found);
        if found.advanced {
            self.retries = 0;
        }
        if let Some(sack) = ack.sack.filter(|_| self.settings.sack) {
            self.take_sack(sack, ack.next, prior_una, &mut found, &mut times, &mut newest);
        }
        self.una = ack.next;
        if !had_data_out {
            self.on_window_known();
            self.write(Push::All, out);
            return;
        }
        let sacked_before = self.sacked_out();
        let before = Before { una: prior_una, highest_sacked: prior_highest, sacked: sacked_before };
        let acked = self.clean(ack.count > 1, before, &mut found, &mut times, &mut newest);
        if ack.count > 1 {
            self.measure_each(&ack);
            // The last one's own packets left later than the first ones'.
            times.first_acked = ack.measured(&self.sent_times);
        }
        if let Some(marks) = &ack.marks {
            self.take_marks(marks, self.delivery.delivered - delivered_before, &mut found);
        }
        let rtt = self.measure_rtt(&mut found, &times, acked);
        self.update_reordering_window(&newest);
        let before = self.phase;
        let mut reduction = self.take_probe_ack(ack.next, &found);
        let mut repeat = Repeat::Nothing;
        let undone_before = self.counts.undone;
        let dubious = !(found.data_acked || found.window_updated)
            || found.data_sacked
            || found.ece
            || found.duplicate_reported
            || self.phase != Phase::Open;
        if dubious {
            let is_duplicate =
                !(found.advanced || found.data_acked || found.window_updated || found.duplicate_reported);
            let (began, again) = self.judge(prior_una, u64::from(is_duplicate), &mut found);
            reduction = reduction.or(began);
            repeat = again;
        }
        if found.set_timer {
            self.set_timer();
        }
        let newly_delivered = self.delivery.delivered - delivered_before;
        let newly_lost = self.delivery.lost - lost_before;
        let ended = self.settings.era.halves && before.is_reducing() && !self.phase.is_reducing();
        let rate = self.delivery.sample(self.now, newly_delivered, &newest, self.rtt.minimum());
        let seen = super::congestion::Seen {
            phase: if reduction.is_some() { before } else { self.phase },
            acked,
            delivered: newly_delivered,
            lost: newly_lost,
            may_grow: reduction.is_none()
                && !ended
                && if self.reordering > super::REORDERING {
                    found.data_acked || found.data_sacked
                } else {
                    found.data_acked
                },
            rtt_us: rtt,
            prior_in_flight,
            rate,
            maybe_delayed: found.maybe_delayed,
            undone: self.counts.undone > undone_before,
            stamp: ack.stamp,
            advanced: found.advanced,
            progress: found.advanced || found.data_acked || found.data_sacked || found.duplicate_reported,
            dubious,
            predicted: found.predicted,
            ended,
            together: super::congestion::Together {
                count: ack.count,
                gap: ack.gap,
                stride: u64::from(ack.stride),
            },
        };
        self.control_congestion(&seen, reduction);
        self.repeat(repeat, out);
        if self.outstanding() == 0 {
            self.busy.set(false, self.now);
        }
        self.leaving = ack.leaving;
        self.push_new(out);
        self.leaving = None;
        self.check_space();
        self.let_application_write(out);
    }

    /// Later acknowledgements have arrived, by the stamps, and it is not a mere duplicate (PAWS of RFC 7323, `tcp_paws_discard`,
    /// `tcp_disordered_ack`).
    fn is_from_before(&self, ack: &Incoming) -> bool {
        let age = i64::from(self.peer_stamp) - i64::from(ack.stamp);
        if age <= PAWS_WINDOW {
            return false;
        }
        let says_nothing = ack.next == self.una && ack.window > 0 && ack.window <= self.window_bytes;
        !says_nothing || age > self.rtt.rto * 6 / 5
    }

    fn update_window(&mut self, ack: &Incoming, found: &mut Findings) {
        let same = ack.window == self.window_bytes;
        let packets = if same { self.window_packets } else { ack.window / u64::from(self.settings.mss) };
        let end = self.window_of(ack.next, ack.window, packets);
        let last = (self.window_end, self.window_rest);
        found.window_updated = found.advanced || end > last || ack.window == 0;
        if found.window_updated {
            self.window_bytes = ack.window;
            self.window_packets = packets;
            self.max_window = self.max_window.max(ack.window);
        }
        // A window is not taken back but by a receiver without memory, which closes it (`tcp_may_update_window`).
        (self.window_end, self.window_rest) = if ack.window == 0 { end } else { last.max(end) };
    }

    pub(super) fn count_delivered(&mut self, packets: u64, ece: bool) {
        self.delivery.delivered += packets;
        if ece {
            self.delivery.delivered_ce += packets;
        }
    }

    /// Takes what is acknowledged off the queue (`tcp_clean_rtx_queue`); returns its packets. `together`: several
    /// acknowledgements are taken as one, and each needs its times.
    fn clean(
        &mut self,
        together: bool,
        before: Before,
        found: &mut Findings,
        times: &mut Times,
        newest: &mut Newest,
    ) -> u64 {
        let mut reordered = self.nxt;
        let mut delivered = 0;
        let (now, minimum, high, echo) = (clock::micros(self.now), self.rtt.minimum(), self.high, self.echo);
        let (rack, delivery) = (&mut self.rack, &mut self.delivery);
        let has_sack = self.settings.sack;
        let timestamps = self.settings.timestamps;
        let sent_times = &mut self.sent_times;
        sent_times.clear();
        self.board.acknowledge(self.una, |segment| {
            if segment.was_retransmitted() {
                found.retransmitted_acked = true;
            } else if !segment.sacked {
                times.first_acked.get_or_insert(segment.sent);
                times.last_acked = Some(segment.sent);
                if together {
                    match sent_times.last_mut() {
                        // GSO packets that left at once.
                        Some((end, sent)) if *sent == segment.sent => *end = segment.end(),
                        _ => sent_times.push((segment.end(), segment.sent)),
                    }
                }
                reordered = reordered.min(segment.first);
                found.original_delivered |= segment.end() <= high;
            }
            if !segment.sacked && has_sack {
                delivered += u64::from(segment.packets);
                let spurious = segment.was_retransmitted()
                    && timestamps
                    && echo != 0
                    && echo < clock::stamp(segment.sent);
                if !spurious {
                    rack.advance(now, minimum, segment.sent, segment.end(), segment.was_retransmitted());
                }
            }
            delivery.on_delivered(segment.snapshot, segment.sent, segment.end(), newest);
        });
        self.count_delivered(delivered, found.ece);
        let acked = self.una - before.una;
        found.data_acked = acked > 0;
        found.reneging = self.board.head().is_some_and(|head| head.sacked);
        if acked > 0 {
            found.set_timer = true;
            if has_sack {
                if reordered < before.highest_sacked {
                    self.check_reordering(reordered);
                }
            } else {
                // Without SACK a duplicate ACK stood for a packet delivered out of order (`tcp_remove_reno_sacks`).
                let known = self.dupacks.min(acked.saturating_sub(1));
                self.count_delivered(acked.saturating_sub(known), found.ece);
                self.dupacks = if acked > self.dupacks { 0 } else { self.dupacks - (acked - 1) };
                if found.retransmitted_acked {
                    found.original_delivered = false;
                }
            }
            found.maybe_delayed = acked == 1
                && before.sacked == 0
                && self.payload(before.una, 1) < u64::from(self.settings.mss)
                && newest.prior_delivered() + 1 == self.delivery.delivered
                && !(found.data_sacked || found.ece || found.duplicate_reported);
        }
        acked
    }

    /// `tcp_ack_update_rtt`; returns the round-trip time of the newest packet in microseconds.
    fn measure_rtt(&mut self, found: &mut Findings, times: &Times, acked: u64) -> Option<i64> {
        let now = clock::micros(self.now);
        let since = |sent: SimTime| (now - clock::micros(sent)).max(0);
        let (mut sequence, mut newest) = (None, None);
        if !found.retransmitted_acked {
            newest = times.last_acked.map(since);
            // Mostly of one segment.
            sequence =
                if times.first_acked == times.last_acked { newest } else { times.first_acked.map(since) };
        }
        let selective = times.first_sacked.map(since);
        if let Some(last) = times.last_sacked {
            newest = Some(since(last));
        }
        let mut measured = sequence.or(selective);
        if measured.is_none() && self.settings.timestamps && self.echo != 0 && acked > 0 {
            // The time stamp tells milliseconds; less than one counts as one tick.
            let elapsed = i64::from(clock::stamp(self.now).saturating_sub(self.echo)).max(1) * 1000;
            measured = Some(elapsed);
            newest = Some(elapsed);
        }
        let smoothed = measured?;
        let sample = newest.unwrap_or(smoothed);
        self.rtt.observe_minimum(sample, clock::ticks(self.now), found.maybe_delayed);
        self.rtt.measure(smoothed, self.una, self.nxt);
        if acked == 0
            && let (Some(selective), Some(head)) = (selective, self.board.head())
            && selective > since(head.sent)
        {
            found.set_timer = true;
        }
        newest
    }

    /// `tcp_process_tlp_ack`.
    fn take_probe_ack(&mut self, next: u64, found: &Findings) -> Option<CongestionKind> {
        let end = self.probe_end?;
        if next < end {
            return None;
        }
        if !self.probe_retransmitted || found.duplicate_of_probe {
            self.probe_end = None;
        } else if next > end {
            self.probe_end = None;
            self.high = self.nxt;
            self.keep_open();
            return Some(CongestionKind::TailLoss);
        } else if !(found.advanced || found.data_acked || found.window_updated || found.data_sacked) {
            self.probe_end = None;
        }
        None
    }

    /// The timer that is set, for tests.
    #[cfg(test)]
    pub fn pending(&self) -> Option<super::Pending> {
        self.timer.pending
    }
}
