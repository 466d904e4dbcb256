//! The receive queue as Linux keeps it: consecutive packets are merged into one `sk_buff` as long as it has room for
//! their fragments (`tcp_try_coalesce`). The receiver's tuning looks at the first of them.

/// Packets that are merged at most: MAX_SKB_FRAGS, one fragment each.
pub(super) const FRAGMENTS: u64 = 17;
const MOST: u64 = FRAGMENTS;

/// Sizes of the first and the last merged packet, in packets.
#[derive(Debug, Default)]
pub(super) struct Merged {
    first: u64,
    last: u64,
    several: bool,
}

impl Merged {
    /// Packets that were merged while they waited out of order are appended as a whole; says whether they joined what was
    /// there.
    pub(super) fn append(&mut self, packets: u64) -> bool {
        if self.first == 0 {
            (self.first, self.last) = (packets, packets);
            false
        } else if self.last + packets > MOST {
            self.last = packets;
            self.several = true;
            false
        } else {
            self.last += packets;
            if !self.several {
                self.first = self.last;
            }
            true
        }
    }

    /// Packets arrive in order; says how many merged ones more there are now.
    pub(super) fn push(&mut self, packets: u64) -> u64 {
        let total = self.last + packets;
        if total <= MOST {
            // Without a division: what mostly happens where packets come one by one.
            let more = u64::from(self.last == 0);
            self.last = total;
            if !self.several {
                self.first = total;
            }
            return more;
        }
        let more = total.div_ceil(MOST) - u64::from(self.last > 0);
        if !self.several {
            self.first = MOST;
        }
        self.last = (total - 1) % MOST + 1;
        self.several = true;
        more
    }

    /// The last takes no more.
    pub(super) fn fill(&mut self) {
        self.last = MOST;
        self.first = self.first.max(1);
    }

    /// The queue is read: packets of the first of it.
    pub(super) fn read(&mut self) -> u64 {
        std::mem::take(self).first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_is_full() {
        let mut merged = Merged::default();
        merged.push(40);
        assert_eq!(merged.read(), 17);
        merged.push(3);
        assert_eq!(merged.read(), 3);
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        for before in 0..40 {
            for packets in 1..60 {
                let mut many = Merged::default();
                let mut pieces = 0;
                if before > 0 {
                    pieces += many.push(before);
                }
                pieces += many.push(packets);
                let mut one = Merged::default();
                let apart = (0..before + packets).filter(|_| !one.append(1)).count();
                assert_eq!(pieces, apart as u64);
                assert_eq!((many.first, many.last, many.several), (one.first, one.last, one.several));
            }
        }
    }

    #[test]
    fn what_waited_out_of_order_joins_only_as_a_whole() {
        let mut merged = Merged::default();
        merged.push(4);
        merged.append(17);
        assert_eq!(merged.read(), 4, "4 and 17 do not fit in one");
        merged.push(4);
        merged.append(5);
        assert_eq!(merged.read(), 9);
    }
}
