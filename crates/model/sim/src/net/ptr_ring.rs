//! The array that `pfifo_fast` keeps packets in (include/linux/ptr_ring.h): places of packets that were taken out become
//! free again in batches.

/// Pointers in two cache lines of 64 bytes (`__ptr_ring_set_size`).
const BATCH: u64 = 16;

/// An array of so many places, used in a circle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PtrRing {
    size: u64,
    batch: u64,
}

impl PtrRing {
    pub(crate) fn new(size: u32) -> PtrRing {
        let size = u64::from(size);
        // Small rings free each place by itself.
        PtrRing { size, batch: if BATCH > size / 2 { 1 } else { BATCH } }
    }

    /// Packets that have room whatever the position in the batch.
    pub(crate) fn sure_room(self) -> u64 {
        (self.size + 1).saturating_sub(self.batch)
    }

    /// Places that are free when `entered` packets have ever been put in and `taken` of them have been taken out
    /// (`__ptr_ring_discard_one`): those of whole batches, and all at the end of the array.
    pub(crate) fn room(self, entered: u64, taken: u64) -> u64 {
        if self.size == 0 {
            return 0;
        }
        let of_lap = taken % self.size;
        let freed = taken - of_lap % self.batch;
        (freed + self.size).saturating_sub(entered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ring as Linux keeps it: an array with two indices at its consumer's end.
    struct Literal {
        queue: Vec<bool>,
        batch: usize,
        producer: usize,
        head: usize,
        tail: usize,
    }

    impl Literal {
        fn produce(&mut self) -> bool {
            if self.queue.is_empty() || self.queue[self.producer] {
                return false;
            }
            self.queue[self.producer] = true;
            self.producer = (self.producer + 1) % self.queue.len();
            true
        }

        fn consume(&mut self) {
            self.head += 1;
            if self.head - self.tail >= self.batch || self.head >= self.queue.len() {
                self.queue[self.tail..self.head].fill(false);
                self.tail = self.head;
            }
            if self.head >= self.queue.len() {
                (self.head, self.tail) = (0, 0);
            }
        }
    }

    proptest! {
        #[test]
        fn room_is_that_of_the_array(size in 1..200_u32, steps in prop::collection::vec((any::<bool>(), 1..60_u32), 1..60)) {
            let ring = PtrRing::new(size);
            let mut literal =
                Literal { queue: vec![false; size as usize], batch: ring.batch as usize, producer: 0, head: 0, tail: 0 };
            let (mut entered, mut taken) = (0, 0);
            for (enters, packets) in steps {
                for _ in 0..packets {
                    if enters {
                        let fits = literal.produce();
                        prop_assert_eq!(fits, ring.room(entered, taken) > 0);
                        entered += u64::from(fits);
                    } else if taken < entered {
                        literal.consume();
                        taken += 1;
                    }
                    prop_assert!(ring.room(entered, taken) + (entered - taken) >= ring.sure_room());
                }
            }
        }
    }
}
