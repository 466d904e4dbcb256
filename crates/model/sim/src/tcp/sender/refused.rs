//! Packets that the host's own queue refuses. Linux hands it one GSO packet after the other and stops at the first refusal: new data
//! stays at the send head (`tcp_write_xmit`), and lost packets still wait for their retransmission
//! (`tcp_xmit_retransmit_queue`). Both are tried once more with the next acknowledgement.

use super::Sender;
use std::collections::BTreeMap;
use std::ops::Range;
use wirespeed_units::SimTime;

/// Ranges of packets that do not overlap: the end of each by its start. Each train is looked up here, and there can be many ranges:
/// a search through a list took three quarters of a run at 400 Gbit/s.
#[derive(Debug, Clone, Default)]
pub(super) struct Recalled(BTreeMap<u64, u64>);

impl Recalled {
    /// Adds a range, and makes one of it and those that it overlaps.
    fn add(&mut self, range: Range<u64>) {
        let mut whole = range.clone();
        for other in self.take(range) {
            whole = whole.start.min(other.start)..whole.end.max(other.end);
        }
        self.0.insert(whole.start, whole.end);
    }

    /// Removes every range that overlaps this one, as a whole.
    fn remove(&mut self, range: Range<u64>) {
        self.take(range).for_each(drop);
    }

    /// Removes every range that overlaps this one, and returns it.
    fn take(&mut self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        std::iter::from_fn(move || {
            let (&start, &end) = self.0.range(..range.end).next_back()?;
            (end > range.start).then(|| self.0.remove(&start))??;
            Some(start..end)
        })
    }

    fn contains(&self, number: u64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, end)| *end > number)
    }
}

impl Sender {
    /// The host's queue refused `packets` from number `from` on, which came to it together. They wait to be sent as before, and so do
    /// the packets behind them, which Linux does not try. The tried ones stay counted as sent or retransmitted:
    /// `tcpi_bytes_sent` and `tcpi_total_retrans` grow before the queue is asked. Returns how many of `packets` were tried.
    pub fn withdraw(&mut self, from: u64, packets: u64) -> u64 {
        if from < self.una {
            return packets;
        }
        let tried = packets.min(self.settings.gso_packets.into());
        let is_new = from < self.nxt && self.board.left_once(from);
        let departure =
            if is_new { self.withdraw_new(from, tried) } else { self.recall(from..from + packets, tried) };
        let Some(departure) = departure else { return packets };
        // The pacer's clock moves with sent packets only (`tcp_update_skb_after_send`).
        self.pace = departure.min(self.pace);
        // Sending stopped here, not at the small-queue limit that was reached behind it.
        self.host_queue.refuse();
        tried
    }

    /// New data from number `from` on, of which so many packets were tried, is as if it never had been sent. Returns when it was to
    /// leave.
    fn withdraw_new(&mut self, from: u64, tried: u64) -> Option<SimTime> {
        let before = self.nxt;
        let (end, departure) = self.board.withdraw(from);
        self.nxt = end.unwrap_or(self.una).max(self.una);
        if self.phase.is_reducing() {
            self.prr_out = self.prr_out.saturating_sub(before - self.nxt);
        }
        let tried = (from + tried).max(self.nxt);
        if let Ok(untried @ 1..) = u32::try_from(before.saturating_sub(tried)) {
            self.uncount(tried, untried);
        }
        self.forget_unsent_shorts();
        if self.outstanding() == 0 {
            // No acknowledgement will come: it is tried again like a probe of a closed window (`tcp_check_probe_timer`).
            self.timer.cancel();
            self.await_window();
        }
        departure
    }

    /// Retransmissions that came together as `refused`, of which so many packets were tried, still wait, and so do those behind them.
    /// Returns when the first was to leave.
    fn recall(&mut self, refused: Range<u64>, mut tried: u64) -> Option<SimTime> {
        let recalled = self.board.recall(refused.start);
        let departure = recalled.first()?.sent;
        for part in recalled {
            let packets = part.end - part.first;
            let attempts = std::mem::take(&mut tried).min(packets);
            if let untried @ 1.. = (packets - attempts) as u32 {
                let bytes = self.uncount(part.first + attempts, untried);
                self.counts.retransmitted -= u64::from(untried);
                self.counts.retransmitted_bytes -= bytes;
                self.undo_retransmissions -= i64::from(untried);
            }
            if self.phase.is_reducing() {
                self.prr_out = self.prr_out.saturating_sub(packets);
            }
            // Others are still to come to the queue.
            if !refused.contains(&part.first) {
                self.recalled.add(part.first..part.end);
            }
        }
        Some(departure)
    }

    /// `packets` from number `first` on were not tried. Returns their payload in bytes.
    fn uncount(&mut self, first: u64, packets: u32) -> u64 {
        let bytes = self.payload(first, packets);
        let fins = u64::from(first + u64::from(packets) > self.stream.packets);
        self.counts.packets_out -= u64::from(packets) - fins;
        self.counts.bytes_out -= bytes;
        bytes
    }

    /// Whether the packets of a train that begins with number `first` were withdrawn before the host's queue was asked.
    pub fn has_withdrawn(&self, first: u64) -> bool {
        first >= self.nxt || self.recalled.contains(first)
    }

    /// A train of `packets` from number `first` on that was withdrawn is gone.
    pub fn forget_withdrawn(&mut self, first: u64, packets: u32) {
        self.recalled.remove(first..first + u64::from(packets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_are_one_and_are_removed_as_a_whole() {
        let mut recalled = Recalled::default();
        recalled.add(10..20);
        recalled.add(30..40);
        recalled.add(20..25);
        assert_eq!(recalled.0, BTreeMap::from([(10, 20), (20, 25), (30, 40)]), "neighbours do not overlap");
        recalled.add(15..22);
        assert_eq!(recalled.0, BTreeMap::from([(10, 25), (30, 40)]));
        assert_eq!(
            [9, 10, 24, 25, 30, 40].map(|n| recalled.contains(n)),
            [false, true, true, false, true, false]
        );
        recalled.remove(25..30);
        assert_eq!(recalled.0.len(), 2, "nothing overlaps");
        recalled.remove(24..31);
        assert!(recalled.0.is_empty());
    }
}
