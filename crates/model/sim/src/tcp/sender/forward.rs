//! Loss detection by forward acknowledgements (FACK; Mathis and Mahdavi, SIGCOMM 1996), as Linux had it until RACK:
//! `tcp_time_to_recover`, `tcp_update_scoreboard`, `tcp_mark_lost_retrans`.

use super::Sender;
use crate::tcp::clock;
use crate::tcp::scoreboard::Segment;
use wirespeed_congestion::Phase;

impl Sender {
    /// Marks as lost what an ACK shows to be.
    pub(super) fn detect_by_forward_acks(&mut self) {
        // After a timeout all is presumed lost already.
        if self.phase == Phase::Loss {
            return;
        }
        let recovers = self.phase == Phase::Recovery;
        if recovers && self.board.retransmitted > 0 {
            // What left after a retransmission has arrived: so should it have.
            let arrived = self.newest_sacked;
            self.delivery.lost +=
                self.board.detect_retransmitted(|segment| segment.sent <= arrived, |_| true);
        }
        // `fackets_out`.
        let reach = self.highest_sacked() - self.una;
        let is_late = self.lateness();
        let head_is_late = self.board.head().is_some_and(&is_late);
        if reach <= self.reordering && !head_is_late {
            return;
        }
        // What left during the recovery is left to the next one.
        let limit = if recovers { self.high } else { self.nxt };
        let end = self.una + reach.saturating_sub(self.reordering).max(1);
        self.delivery.lost += self.board.mark_below(end.min(limit));
        if head_is_late {
            self.delivery.lost += self.board.mark_while(is_late);
        }
    }

    /// Whether a packet has been out for longer than the retransmission timeout (`tcp_skb_timedout`).
    fn lateness(&self) -> impl Fn(&Segment) -> bool + use<> {
        let (now, rto) = (clock::micros(self.now), self.rtt.rto * 1000);
        move |segment| now - clock::micros(segment.sent) > rto
    }

    /// Whether there is nothing that could be sent for the first time.
    fn has_nothing_new(&self) -> bool {
        self.written <= self.nxt || self.window_end <= self.nxt
    }

    /// What is next if all that is presumed lost has been repeated: below the highest packet that has arrived, what is not known
    /// to have arrived, if there is nothing new (forward retransmissions, rule 3 of `NextSeg` in RFC 6675). From then on it
    /// counts as lost, where Linux counts it twice as in flight.
    pub(super) fn looks_ahead(&mut self) -> bool {
        self.settings.era.forward_acks
            && self.phase == Phase::Recovery
            && self.board.sacked > 0
            && self.has_nothing_new()
            && self.board.mark_next_below(self.board.highest_sacked) > 0
    }
}
