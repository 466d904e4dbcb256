//! The order of the arms within a round.

/// Random permutations from a seed, so that a proof can be repeated in the same order.
#[derive(Debug, Clone)]
pub struct Order(u64);

impl Order {
    /// The permutations of that seed.
    pub fn new(seed: u64) -> Order {
        Order(seed)
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The numbers below `arms` in random order (Fisher and Yates).
    pub fn round(&mut self, arms: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..arms).collect();
        for last in (1..arms).rev() {
            let other = (self.next() % (last as u64 + 1)) as usize;
            order.swap(last, other);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_occurs_about_equally_often() {
        let mut order = Order::new(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            *counts.entry(order.round(3)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // 1000 each; five standard deviations are 144.
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_seed_gives_the_same_orders_again() {
        let rounds = |seed| {
            let mut order = Order::new(seed);
            [(); 5].map(|()| order.round(4))
        };
        assert_eq!(rounds(7), rounds(7));
        assert_ne!(rounds(7), rounds(8));
    }
}
