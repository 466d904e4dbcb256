//! The receive queue as Linux keeps it: consecutive packets are merged into one `sk_buff` as long as it has room for
//! their fragments (`tcp_try_coalesce`, `skb_try_coalesce`). The receiver's tuning looks at the first of them.

/// Fragments of an `sk_buff` at most (MAX_SKB_FRAGS).
pub(super) const FRAGMENTS: u64 = 17;
/// Bits of the size of a page that a writer's data is copied to (SKB_FRAG_PAGE_ORDER: 32 KiB).
const PAGE_BITS: u32 = 15;

/// How packets lie in memory when they come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    mss: u64,
    /// Packets come as they were sent, on a virtual network: what a page's end cuts in two refers to both pages. An
    /// interface puts each into a buffer of its own.
    in_pages: bool,
}

impl Layout {
    pub fn new(mss: u64, in_pages: bool) -> Layout {
        Layout { mss, in_pages }
    }

    /// Fragments of `packets` from number `first` on: one each, and two where a page ends within one.
    pub fn fragments(self, first: u64, packets: u64) -> u64 {
        if !self.in_pages || packets == 0 {
            return packets;
        }
        if packets == 1 {
            let before = (first * self.mss) & ((1 << PAGE_BITS) - 1);
            return 1 + ((before + self.mss - 1) >> PAGE_BITS);
        }
        let end = first + packets;
        let ends = ((end * self.mss - 1) >> PAGE_BITS) - ((first * self.mss) >> PAGE_BITS);
        // Pages that end where a packet does cut none.
        let even = PAGE_BITS - self.mss.trailing_zeros().min(PAGE_BITS);
        packets + ends - (((end - 1) >> even) - (first >> even))
    }

    /// How many of `packets` from number `first` on have no more fragments than `room`, and how many they have.
    #[inline]
    fn fitting(self, first: u64, packets: u64, room: u64) -> (u64, u64) {
        let mut fitting = packets.min(room);
        let mut fragments = self.fragments(first, fitting);
        while fragments > room {
            // No packet has more fragments than that: without so many fewer it does not fit.
            fitting -= match self.most_fragments() {
                2 => (fragments - room).div_ceil(2),
                most => (fragments - room).div_ceil(most),
            };
            fragments = self.fragments(first, fitting);
        }
        (fitting, fragments)
    }

    /// Fragments of a packet at most.
    fn most_fragments(self) -> u64 {
        1 + ((self.mss + (1 << PAGE_BITS) - 2) >> PAGE_BITS)
    }
}

/// The first and the last merged packet.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// Packets of the first.
    first: u64,
    /// Fragments of the last; 0 if there is none.
    last: u64,
    several: bool,
}

impl Merged {
    /// Packets that were merged while they waited out of order are appended as a whole; says whether they joined what was
    /// there.
    pub(super) fn append(&mut self, packets: u64, fragments: u64) -> bool {
        if self.last > 0 && self.last + fragments <= FRAGMENTS {
            self.last += fragments;
            if !self.several {
                self.first += packets;
            }
            return true;
        }
        self.several = self.last > 0;
        if !self.several {
            self.first = packets;
        }
        self.last = fragments.min(FRAGMENTS);
        false
    }

    /// `packets` from number `from` on arrive in order; says how many merged ones more there are now.
    #[inline(always)]
    pub(super) fn push(&mut self, from: u64, packets: u64, layout: Layout) -> u64 {
        let fragments = layout.fragments(from, packets);
        if self.last > 0 && self.last + fragments <= FRAGMENTS {
            // What mostly happens where packets come one by one.
            self.last += fragments;
            self.first += if self.several { 0 } else { packets };
            return 0;
        }
        self.push_apart(from, packets, layout)
    }

    /// The same of packets that GRO has merged: more fragments than one `sk_buff` holds are in a list, which joins nothing
    /// (`skb_gro_receive`, `skb_try_coalesce`). Returns how many `sk_buff`s more have memory of their own.
    pub(super) fn push_merged(&mut self, from: u64, packets: u64, layout: Layout) -> u64 {
        let fragments = layout.fragments(from, packets);
        if self.append(packets, fragments) { 0 } else { fragments.div_ceil(FRAGMENTS) }
    }

    fn push_apart(&mut self, from: u64, packets: u64, layout: Layout) -> u64 {
        let (mut from, mut left, mut more) = (from, packets, 0);
        while left > 0 {
            let (taken, fragments) = layout.fitting(from, left, FRAGMENTS - self.last);
            if taken == 0 {
                self.several = true;
                self.last = 0;
                continue;
            }
            more += u64::from(self.last == 0);
            self.last += fragments;
            if !self.several {
                self.first += taken;
            }
            from += taken;
            left -= taken;
        }
        more
    }

    /// The last takes no more.
    pub(super) fn fill(&mut self) {
        self.last = FRAGMENTS;
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

    const APART: Layout = Layout { mss: 1448, in_pages: false };
    const IN_PAGES: Layout = Layout { mss: 1448, in_pages: true };
    const JUMBO: Layout = Layout { mss: 8948, in_pages: true };
    const LARGEST: Layout = Layout { mss: 65_483, in_pages: true };

    #[test]
    fn more_than_one_buffer_holds_stay_together_if_gro_merged_them() {
        let mut merged = Merged::default();
        assert_eq!(merged.push_merged(0, 10, APART), 1);
        assert_eq!(merged.push_merged(10, 7, APART), 0, "17 fragments in one");
        assert_eq!(merged.push_merged(17, 44, APART), 3);
        assert_eq!(merged.read(), 17);
        assert_eq!(merged.push_merged(61, 44, APART), 3);
        assert_eq!(merged.push_merged(105, 2, APART), 1, "a list of fragments takes no more");
        assert_eq!(merged.read(), 44);
    }

    #[test]
    fn the_first_of_many_is_full() {
        let mut merged = Merged::default();
        merged.push(0, 40, APART);
        assert_eq!(merged.read(), 17);
        merged.push(40, 3, APART);
        assert_eq!(merged.read(), 3);
    }

    #[test]
    fn a_packet_in_two_pages_is_two_fragments() {
        // 32,768 = 22 x 1448 + 912: packets 22, 45 and 67 lie in two pages; a page and packet 4096 begin together.
        assert_eq!(IN_PAGES.fragments(0, 22), 22);
        assert_eq!(IN_PAGES.fragments(0, 23), 24);
        assert_eq!(IN_PAGES.fragments(22, 1), 2);
        assert_eq!(IN_PAGES.fragments(23, 50), 52);
        let fragments = |first, packets| LARGEST.fragments(first, packets);
        assert_eq!((fragments(0, 1), fragments(0, 2), fragments(1, 1)), (2, 5, 3));
        assert_eq!((IN_PAGES.most_fragments(), LARGEST.most_fragments()), (2, 3));
        assert_eq!((IN_PAGES.fragments(4095, 1), IN_PAGES.fragments(4096, 1)), (1, 1));
        for (first, packets) in [(0, 9000), (4000, 200), (4096, 4096)] {
            let apart: u64 = (first..first + packets).map(|i| IN_PAGES.fragments(i, 1)).sum();
            assert_eq!(IN_PAGES.fragments(first, packets), apart);
        }
        // What the kernel in virtual time showed (validation cell 96): from 281 on the first has 16, from 297 on 17.
        for (from, first) in [(281, 16), (297, 17), (627, 16)] {
            let mut merged = Merged::default();
            merged.push(from, 55, IN_PAGES);
            assert_eq!(merged.read(), first);
        }
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        for layout in [APART, IN_PAGES, JUMBO, LARGEST] {
            for before in 0..40 {
                for packets in 1..60 {
                    let mut many = Merged::default();
                    let mut pieces = many.push(7, before, layout);
                    pieces += many.push(7 + before, packets, layout);
                    let mut one = Merged::default();
                    let joins = |i| one.append(1, layout.fragments(7 + i, 1));
                    let apart = (0..before + packets).map(joins).filter(|joins| !joins).count();
                    assert_eq!(pieces, apart as u64);
                    assert_eq!((many.first, many.last, many.several), (one.first, one.last, one.several));
                }
            }
        }
    }

    #[test]
    fn out_of_order_data_join_only_as_a_whole() {
        let mut merged = Merged::default();
        merged.push(0, 4, APART);
        merged.append(17, 17);
        assert_eq!(merged.read(), 4, "4 and 17 do not fit in one");
        merged.push(0, 4, APART);
        merged.append(5, 5);
        assert_eq!(merged.read(), 9);
    }
}
