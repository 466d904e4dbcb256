//! What a receive queue has to put packets into: a descriptor each, or entries that many packets share.

use std::collections::VecDeque;

/// Free and filled receive memory of a queue.
#[derive(Debug)]
pub enum Ring {
    /// One descriptor a packet; what a poll takes out is free again at once.
    Packets {
        /// All of them.
        size: u32,
        /// Those that hold a packet.
        filled: u32,
    },
    /// Work-queue entries that packets share.
    Strides(Strides),
}

/// A striding receive queue (`MLX5_WQ_TYPE_LINKED_LIST_STRIDING_RQ`): the interface writes one packet after the
/// other into an entry and goes on to the next where it has no room for one. An entry is free again when the last of
/// its packets has been taken out and new pages have been mapped into it, which a poll begins and the next one finds
/// done (`mlx5e_post_rx_mpwqes`).
#[derive(Debug)]
pub struct Strides {
    /// Bytes of an entry.
    entry: u64,
    /// Entries of the ring.
    size: u32,
    /// Entries that the interface may begin.
    ready: u32,
    /// Entries that a poll can have mapped at most.
    most: u32,
    /// Pages are being mapped into so many.
    mapping: u32,
    /// The one that the interface fills.
    open: Option<Open>,
    /// Packets still to be taken out of entries that are full, the oldest first.
    full: VecDeque<u32>,
}

/// The entry that the interface fills.
#[derive(Debug, Clone, Copy)]
struct Open {
    room: u64,
    packets: u32,
}

/// Bytes of a stride, the unit in which packets lie in an entry (`MLX5_MPWRQ_DEF_LOG_STRIDE_SZ`).
const STRIDE: u64 = 64;
/// Payload of a packet in which the size of such a ring is given, whatever the MTU (ETH_DATA_LEN in
/// `mlx5e_packets_to_rx_wqes`).
const COUNTED: u64 = 1500;

/// Entries of the smallest ring (`MLX5E_PARAMS_MINIMUM_LOG_RQ_SIZE_MPW`).
const LEAST: u64 = 4;

impl Ring {
    /// An empty ring for `size` packets, in entries of `entry` bytes where they are shared, of which a poll gives back
    /// `most`.
    pub fn new(size: u32, entry: Option<u64>, most: u32) -> Ring {
        match entry {
            None => Ring::Packets { size, filled: 0 },
            Some(entry) => Ring::Strides(Strides::new(size, entry, most)),
        }
    }

    /// How many packets of `frame` bytes it can take in.
    pub fn room(&self, frame: u32) -> u32 {
        match self {
            Ring::Packets { size, filled } => size - filled,
            Ring::Strides(strides) => strides.room(frame),
        }
    }

    /// Packets come in, for which there is room.
    pub fn fill(&mut self, packets: u32, frame: u32) {
        match self {
            Ring::Packets { filled, .. } => *filled += packets,
            Ring::Strides(strides) => strides.fill(packets, frame),
        }
    }

    /// A packet comes for which there is no room: an entry too full for it is not filled further.
    pub fn refuse(&mut self) {
        if let Ring::Strides(strides) = self {
            strides.close();
        }
    }

    /// The oldest packets are taken out.
    pub fn take(&mut self, packets: u32) {
        match self {
            Ring::Packets { filled, .. } => *filled -= packets,
            Ring::Strides(strides) => strides.take(packets),
        }
    }

    /// A poll gives back what it can. Returns the entries it has new pages for, and whether it has to be called
    /// again, entries being still without memory.
    pub fn refill(&mut self) -> (u64, bool) {
        match self {
            Ring::Packets { .. } => (0, false),
            Ring::Strides(strides) => strides.refill(),
        }
    }
}

impl Strides {
    fn new(packets: u32, entry: u64, most: u32) -> Strides {
        let each = (entry / whole_strides(COUNTED)).max(1);
        let wanted = u64::from(packets.next_power_of_two()).div_ceil(each).next_power_of_two();
        // One of a linked list stays unused (`mlx5_wq_ll_is_full`).
        let size = u32::try_from(wanted.max(LEAST) - 1).unwrap_or(u32::MAX);
        Strides { entry, size, ready: size, most, mapping: 0, open: None, full: VecDeque::new() }
    }

    fn room(&self, frame: u32) -> u32 {
        let bytes = whole_strides(u64::from(frame));
        let open = self.open.map_or(0, |open| open.room / bytes);
        let room = open + u64::from(self.ready) * (self.entry / bytes);
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    fn fill(&mut self, mut packets: u32, frame: u32) {
        let bytes = whole_strides(u64::from(frame));
        while packets > 0 {
            let mut open = self.open.take().unwrap_or_else(|| {
                self.ready -= 1;
                Open { room: self.entry, packets: 0 }
            });
            let here = u32::try_from(open.room / bytes).map_or(packets, |room| room.min(packets));
            open.room -= u64::from(here) * bytes;
            open.packets += here;
            packets -= here;
            self.open = Some(open);
            if packets > 0 {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let filled = self.open.take().map_or(0, |open| open.packets);
        if filled > 0 {
            self.full.push_back(filled);
        }
    }

    fn take(&mut self, mut packets: u32) {
        while packets > 0 {
            let Some(oldest) = self.full.front_mut() else {
                if let Some(open) = &mut self.open {
                    open.packets -= packets;
                }
                return;
            };
            let here = packets.min(*oldest);
            *oldest -= here;
            packets -= here;
            if *oldest == 0 {
                self.full.pop_front();
            }
        }
    }

    fn refill(&mut self) -> (u64, bool) {
        self.ready += std::mem::take(&mut self.mapping);
        let used = self.ready + u32::from(self.open.is_some()) + self.full.len() as u32;
        self.mapping = (self.size - used).min(self.most);
        (self.mapping.into(), self.mapping > 0)
    }
}

fn whole_strides(bytes: u64) -> u64 {
    bytes.max(1).div_ceil(STRIDE) * STRIDE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mlx5() -> Ring {
        Ring::new(8192, Some(256 * 1024), 1)
    }

    #[test]
    fn a_ring_of_8192_holds_so_many_packets_of_1500_bytes_and_1827_of_9000() {
        // mlx5's largest: 64 entries, one of them unused; 29 packets of 9014 B in each, or 170 of 1514 B.
        assert_eq!(mlx5().room(9014), 63 * 29);
        assert_eq!(mlx5().room(1514), 63 * 170);
        assert_eq!(Ring::new(1024, Some(256 * 1024), 1).room(9014), 7 * 29);
    }

    #[test]
    fn an_entry_comes_back_when_its_last_packet_is_out_and_one_a_poll() {
        let mut ring = mlx5();
        ring.fill(63 * 29, 9014);
        assert_eq!(ring.room(9014), 0);
        ring.take(28);
        assert_eq!(ring.refill(), (0, false));
        ring.take(1 + 2 * 29);
        assert_eq!(ring.refill(), (1, true));
        assert_eq!(ring.room(9014), 0, "the interface has it by the next poll");
        assert_eq!(ring.refill(), (1, true));
        assert_eq!(ring.room(9014), 29);
        assert_eq!(ring.refill(), (1, true));
        assert_eq!(ring.refill(), (0, false));
        assert_eq!(ring.room(9014), 3 * 29);
    }

    #[test]
    fn an_entry_too_full_for_the_next_packet_comes_back_too() {
        let mut ring = Ring::new(1, Some(128 * 1024), 1);
        let most = ring.room(9014);
        assert_eq!(most, 3 * 14, "four entries at least");
        ring.fill(most, 9014);
        ring.take(most);
        assert_eq!(ring.room(9014), 0);
        ring.refuse();
        assert_eq!(
            [ring.refill().1, ring.refill().1, ring.refill().1, ring.refill().1],
            [true, true, true, false]
        );
        assert_eq!(ring.room(9014), most);
    }

    #[test]
    fn a_later_driver_gives_all_back_at_once() {
        let mut ring = Ring::new(8192, Some(256 * 1024), u32::MAX);
        ring.fill(63 * 29, 9014);
        ring.take(3 * 29);
        assert_eq!((ring.refill(), ring.refill()), ((3, true), (0, false)));
        assert_eq!(ring.room(9014), 3 * 29);
    }

    #[test]
    fn a_packet_does_not_cross_the_end_of_an_entry() {
        let mut ring = mlx5();
        ring.fill(1, 9014);
        ring.take(1);
        ring.fill(28 * 6, 1514);
        // 262144 - 9024 bytes hold 164 of 1536; the other four began a second entry, and the first is through.
        ring.take(164);
        assert_eq!(ring.refill(), (1, true));
        assert_eq!(ring.room(9014), (262_144 - 4 * 1536) / 9024 + 61 * 29);
    }
}
