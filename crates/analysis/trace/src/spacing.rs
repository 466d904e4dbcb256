//! Spacing of data packets: bursts, the rate within them, and pacing.

use crate::distribution::Distribution;
use crate::result::Bursts;
use std::collections::VecDeque;

/// A rate is measured over so many packets.
const WINDOW: usize = 16;
/// After so many packets the limit between bursts is computed again.
const RENEW: u64 = 512;
/// Packets of a burst follow each other within so many packet times.
const PACKET_TIMES: f64 = 3.0;
/// The limit until a rate is known, in nanoseconds.
const FIRST_LIMIT: i64 = 100_000;

/// Follows the data packets of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spacing {
    window: VecDeque<(i64, u32)>,
    /// In kbit/s.
    rates: Distribution,
    sizes: Distribution,
    gaps: Distribution,
    /// From the last acknowledgment to the start of a burst.
    delays: Distribution,
    ack_gaps: Distribution,
    packets: u64,
    limit_ns: Option<i64>,
    burst_packets: i64,
    burst_start: i64,
    last: Option<i64>,
    last_ack: Option<i64>,
    is_paced: bool,
    /// Rate within bursts as of the last time that it was computed, kbit/s.
    burst_kbps: Option<i64>,
}

impl Spacing {
    pub(crate) fn ack(&mut self, t: i64) {
        if let Some(last) = self.last_ack {
            self.ack_gaps.add(t - last);
        }
        self.last_ack = Some(t);
    }

    /// `packets` packets of `wire_bytes` in all left at `t`. Returns the burst before, as time and packets, if they begin another.
    pub(crate) fn data(&mut self, t: i64, packets: u32, wire_bytes: u32) -> Option<(i64, i64)> {
        self.packets += 1;
        self.window.push_back((t, wire_bytes));
        if self.window.len() > WINDOW {
            self.window.pop_front();
            let first = self.window[0].0;
            let bytes: u64 = self.window.iter().skip(1).map(|&(_, bytes)| u64::from(bytes)).sum();
            if t - first >= 1_000 {
                self.rates.add((bytes as f64 * 8e6 / (t - first) as f64) as i64);
            }
        }
        if self.packets.is_multiple_of(RENEW) || (self.limit_ns.is_none() && self.rates.count() > 0) {
            self.is_paced = self.looks_paced();
            self.burst_kbps = self.peak_kbps();
            self.limit_ns = self.burst_kbps.map(|rate| (PACKET_TIMES * 1514.0 * 8e6 / rate as f64) as i64);
        }
        let limit = self.limit_ns.unwrap_or(FIRST_LIMIT);
        let before = self.open_burst();
        let ended = match self.last {
            Some(last) if t - last <= limit => {
                self.burst_packets += i64::from(packets);
                None
            }
            Some(_) => {
                self.sizes.add(self.burst_packets);
                self.gaps.add(t - self.burst_start);
                self.begin(t, packets);
                before
            }
            None => {
                self.begin(t, packets);
                None
            }
        };
        self.last = Some(t);
        ended
    }

    /// Start and packets of the burst that no later packet has ended yet.
    pub(crate) fn open_burst(&self) -> Option<(i64, i64)> {
        self.last.map(|_| (self.burst_start, self.burst_packets))
    }

    fn begin(&mut self, t: i64, packets: u32) {
        (self.burst_start, self.burst_packets) = (t, i64::from(packets));
        if let Some(ack) = self.last_ack {
            self.delays.add(t - ack);
        }
    }

    fn peak_kbps(&self) -> Option<i64> {
        self.rates.quantile(0.99).map(|rate| rate.max(1))
    }

    /// Share of bursts that followed an acknowledgment after the usual time. The tolerance is an eighth of the time between
    /// bursts, or between acknowledgments if that is shorter.
    fn ack_clocked_share(&self) -> Option<f64> {
        let (delay, gap) = (self.delays.quantile(0.5)?, self.gaps.quantile(0.5)?);
        let gap = gap.min(self.ack_gaps.quantile(0.5)?);
        (self.delays.count() >= 32).then(|| self.delays.share_between(delay - gap / 8, delay + gap / 8))
    }

    /// Whether the packets so far are paced, as of the last time that was computed.
    pub(crate) fn is_paced(&self) -> bool {
        self.is_paced
    }

    /// The rate within bursts so far in bits per second, as of the last time that was computed.
    pub(crate) fn burst_bps(&self) -> Option<f64> {
        self.burst_kbps.map(|rate| rate as f64 * 1e3)
    }

    fn looks_paced(&self) -> bool {
        let Some(gaps) = self.gaps.quantiles() else { return false };
        let quarter = self.gaps.quantile(0.25).unwrap_or(0);
        let three = self.gaps.quantile(0.75).unwrap_or(i64::MAX);
        let is_even = (three - quarter) as f64 <= 0.5 * gaps.median as f64;
        is_even && self.ack_clocked_share().is_some_and(|share| share < 0.5)
    }

    pub(crate) fn finish(mut self) -> Bursts {
        if self.burst_packets > 0 {
            self.sizes.add(self.burst_packets);
        }
        Bursts {
            packets: self.sizes.quantiles(),
            peak_rate_bps: self.peak_kbps().map(|rate| rate as f64 * 1e3),
            gap_ns: self.gaps.quantiles(),
            ack_clocked_share: self.ack_clocked_share(),
            is_paced: self.looks_paced(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_packets_without_acknowledgments_before_them_are_paced() {
        let mut spacing = Spacing::default();
        for i in 0..2_000i64 {
            // Acknowledgments drift against the packets.
            spacing.ack(i * 100_000 - (i * 7_919) % 100_000);
            // Super-packets, as TSO makes them: 40 packet times at the peak rate lie between two of them.
            spacing.data(i * 100_000, 40, 40 * 1_514);
        }
        let bursts = spacing.finish();
        assert!(bursts.is_paced, "{bursts:?}");
        assert!((bursts.peak_rate_bps.unwrap() / 4.845e9 - 1.0).abs() < 0.03, "{bursts:?}");
    }

    #[test]
    fn bursts_after_acknowledgments_are_clocked_by_them() {
        let mut spacing = Spacing::default();
        for i in 0..2_000i64 {
            let t = i * 1_000_000;
            spacing.ack(t - 9_000);
            for packet in 0..20 {
                spacing.data(t + packet * 12_000, 1, 1_514);
            }
        }
        let bursts = spacing.finish();
        assert!(!bursts.is_paced && bursts.ack_clocked_share.unwrap() > 0.9, "{bursts:?}");
        assert_eq!(bursts.packets.unwrap().median, 20, "{bursts:?}");
        assert!((bursts.peak_rate_bps.unwrap() / 1.0093e9 - 1.0).abs() < 0.03, "{bursts:?}");
    }
}
