//! Least delays over time, in bounded memory.

/// A packet with the least delay of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dot {
    /// Time of the first capture's clock, since an origin, in nanoseconds.
    pub x: i64,
    /// Delay with the clocks as they are.
    pub y: i64,
}

/// The least delay of every interval.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    dots: Vec<Option<Dot>>,
    width_ns: i64,
}

impl Default for Envelope {
    fn default() -> Self {
        Envelope { dots: Vec::new(), width_ns: 1_000_000 }
    }
}

/// So many intervals; then their width doubles.
const MOST: usize = 1 << 14;

impl Envelope {
    pub(crate) fn add(&mut self, dot: Dot) {
        // A time before the origin is one that is out of order.
        let mut at = (dot.x.max(0) / self.width_ns) as usize;
        while at >= MOST {
            self.dots = self
                .dots
                .chunks(2)
                .map(|pair| pair.iter().flatten().copied().min_by_key(|dot| dot.y))
                .collect();
            self.width_ns = self.width_ns.saturating_mul(2);
            at = (dot.x.max(0) / self.width_ns) as usize;
        }
        if at >= self.dots.len() {
            self.dots.resize(at + 1, None);
        }
        let place = &mut self.dots[at];
        if place.is_none_or(|least| dot.y < least.y) {
            *place = Some(dot);
        }
    }

    /// The dots in order of time.
    pub(crate) fn dots(&self) -> Vec<Dot> {
        self.dots.iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_delay_survives_any_length_in_bounded_memory() {
        let mut envelope = Envelope::default();
        for second in 0..100_000 {
            let y = if second == 54_321 { 3 } else { 10 };
            envelope.add(Dot { x: second * 1_000_000_000, y });
        }
        let dots = envelope.dots();
        assert!(dots.len() <= MOST && dots.len() > MOST / 4, "{}", dots.len());
        assert_eq!(dots.iter().filter(|dot| dot.y == 3).count(), 1);
        assert!(dots.windows(2).all(|pair| pair[0].x < pair[1].x));
    }
}
