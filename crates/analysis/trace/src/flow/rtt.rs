//! The RTT estimate of a sender (RFC 6298).

/// Smoothed RTT and its variation, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RttEstimate {
    pub smoothed: Option<i64>,
    pub variation: i64,
}

impl RttEstimate {
    pub(super) fn sample(&mut self, rtt: i64) {
        match self.smoothed {
            None => (self.smoothed, self.variation) = (Some(rtt), rtt / 2),
            Some(smoothed) => {
                self.variation += ((smoothed - rtt).abs() - self.variation) / 4;
                self.smoothed = Some(smoothed + (rtt - smoothed) / 8);
            }
        }
    }
}
