use super::SlowStart;
use crate::window::Window;

/// Limited slow start (RFC 3742): above `max_ssthresh` at most half of that more in a round trip.
#[derive(Debug, Clone, Copy)]
pub struct Limited {
    max_ssthresh: u64,
    /// Packets acknowledged that have not yet made the window grow.
    count: u64,
}

impl Limited {
    /// Limits above `max_ssthresh` packets; zero: never, which is the standard slow start.
    pub fn above(max_ssthresh: u64) -> Self {
        Limited { max_ssthresh, count: 0 }
    }
}

impl SlowStart for Limited {
    fn grow(&mut self, acked: u64, window: &mut Window) -> u64 {
        if self.max_ssthresh == 0 {
            return window.slow_start(acked);
        }
        let mut left = acked;
        while left > 0 && window.in_slow_start() {
            // K = int(cwnd / (0.5 max_ssthresh)); each ACK adds MSS/K (RFC 3742, section 2).
            let price = if window.cwnd <= self.max_ssthresh {
                1
            } else {
                (2 * window.cwnd / self.max_ssthresh).max(1)
            };
            let needed = price.saturating_sub(self.count).max(1);
            if left < needed {
                self.count += left;
                return 0;
            }
            left -= needed;
            self.count = 0;
            window.slow_start(1);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_units::Bytes;

    #[test]
    fn standard_up_to_the_limit_then_half_of_it_a_round_trip() {
        let mut window = Window::new(Bytes::new(1000), 50);
        let mut start = Limited::above(100);
        start.grow(50, &mut window);
        assert_eq!(window.cwnd, 100);
        start.grow(1, &mut window);
        assert_eq!(window.cwnd, 101);
        // K = int(202/100) = 2 until the window is 150, then K = 3: a round trip of 101 adds 49 and 1.
        start.grow(101, &mut window);
        assert_eq!(window.cwnd, 101 + 49 + 1);
    }

    #[test]
    fn a_stretch_ack_counts_as_its_packets_one_by_one() {
        let (mut a, mut b) = (Window::new(Bytes::new(1000), 300), Window::new(Bytes::new(1000), 300));
        let (mut one, mut many) = (Limited::above(100), Limited::above(100));
        one.grow(1000, &mut a);
        for _ in 0..1000 {
            many.grow(1, &mut b);
        }
        assert_eq!((a.cwnd, one.count), (b.cwnd, many.count));
    }

    #[test]
    fn the_threshold_ends_it() {
        let mut window = Window { ssthresh: 104, ..Window::new(Bytes::new(1000), 100) };
        let mut start = Limited::above(100);
        assert_eq!(start.grow(20, &mut window), 20 - (1 + 2 * 3));
        assert_eq!(window.cwnd, 104);
    }
}
