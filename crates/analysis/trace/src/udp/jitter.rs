//! Jitter of a stream whose datagrams have their time of sending (RFC 3550, 6.4.1 and A.8).

use serde::Serialize;

/// Jitter of RFC 3550: the mean deviation of the spacing of two datagrams at the capture point from that at the sender. Of each
/// new deviation a sixteenth counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Jitter {
    /// At the end of the stream, in nanoseconds. iperf3 prints this one.
    pub last_ns: f64,
    /// Mean over all datagrams, in nanoseconds.
    pub mean_ns: f64,
    /// Largest, in nanoseconds.
    pub max_ns: f64,
}

/// The jitter up to the newest datagram.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct JitterEstimate {
    /// Time from sending to the capture, by different clocks, of the datagram before.
    transit_ns: Option<i64>,
    jitter_ns: f64,
    sum_ns: f64,
    max_ns: f64,
    count: u64,
}

/// Deviations above are those of a clock that was set, or of a media timestamp that wrapped.
const LARGEST_NS: u64 = 10_000_000_000;

impl JitterEstimate {
    pub(super) fn add(&mut self, sent_ns: i64, time_ns: i64) {
        let transit_ns = time_ns.wrapping_sub(sent_ns);
        let Some(before_ns) = self.transit_ns.replace(transit_ns) else { return };
        let deviation_ns = transit_ns.abs_diff(before_ns);
        if deviation_ns > LARGEST_NS {
            return;
        }
        self.jitter_ns += (deviation_ns as f64 - self.jitter_ns) / 16.0;
        self.sum_ns += self.jitter_ns;
        self.max_ns = self.max_ns.max(self.jitter_ns);
        self.count += 1;
    }

    /// The next datagram is of another stream.
    pub(super) fn restart(&mut self) {
        self.transit_ns = None;
    }

    pub(super) fn finish(self) -> Option<Jitter> {
        (self.count > 0).then(|| Jitter {
            last_ns: self.jitter_ns,
            mean_ns: self.sum_ns / self.count as f64,
            max_ns: self.max_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_stream_has_no_jitter_and_one_late_datagram_a_sixteenth() {
        let mut estimate = JitterEstimate::default();
        for number in 0..10 {
            estimate.add(number * 1_000, 5_000_000 + number * 1_000);
        }
        assert_eq!(estimate.finish(), Some(Jitter { last_ns: 0.0, mean_ns: 0.0, max_ns: 0.0 }));
        estimate.add(10_000, 5_000_000 + 10_000 + 1_600);
        assert_eq!(estimate.finish().unwrap().last_ns, 100.0);
        assert_eq!(JitterEstimate::default().finish(), None);
    }

    #[test]
    fn clock_that_is_set_does_not_count() {
        let mut estimate = JitterEstimate::default();
        for time_ns in [0, 1_000, 3_600_000_000_000, 3_600_000_001_000] {
            estimate.add(time_ns % 3_600_000_000_000, time_ns);
        }
        assert_eq!(estimate.finish().unwrap().max_ns, 0.0);
    }
}
