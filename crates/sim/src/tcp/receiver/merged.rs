//! The receive queue as Linux keeps it: consecutive packets are merged into one `sk_buff` as long as it has room for
//! their fragments (`tcp_try_coalesce`). The receiver's tuning looks at the first of them.

/// Packets that are merged at most: MAX_SKB_FRAGS, one fragment each.
const MOST: u64 = 17;

/// Sizes of the first and the last merged packet, in packets.
#[derive(Debug, Default)]
pub(super) struct Merged {
    first: u64,
    last: u64,
    several: bool,
}

impl Merged {
    /// Packets that were merged while they waited out of order are appended as a whole.
    fn append(&mut self, packets: u64) {
        if self.first == 0 {
            (self.first, self.last) = (packets, packets);
        } else if self.last + packets > MOST {
            self.last = packets;
            self.several = true;
        } else {
            self.last += packets;
            if !self.several {
                self.first = self.last;
            }
        }
    }

    /// Packets arrive in order.
    pub(super) fn push(&mut self, packets: u64) {
        let total = self.last + packets;
        let fits = total <= MOST;
        if !self.several {
            self.first = total.min(MOST);
        }
        self.last = if fits { total } else { (total - 1) % MOST + 1 };
        self.several |= !fits;
    }

    /// Packets that waited out of order join.
    pub(super) fn join(&mut self, packets: u64) {
        let mut left = packets;
        while left > 0 {
            let piece = left.min(MOST);
            self.append(piece);
            left -= piece;
        }
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
                if before > 0 {
                    many.push(before);
                }
                many.push(packets);
                let mut one = Merged::default();
                (0..before + packets).for_each(|_| one.append(1));
                assert_eq!((many.first, many.last, many.several), (one.first, one.last, one.several));
            }
        }
    }

    #[test]
    fn what_waited_out_of_order_joins_only_as_a_whole() {
        let mut merged = Merged::default();
        merged.push(4);
        merged.join(17);
        assert_eq!(merged.read(), 4, "4 and 17 do not fit in one");
        merged.push(4);
        merged.join(5);
        assert_eq!(merged.read(), 9);
    }
}
