//! Against a plain queue.

use super::*;
use proptest::prelude::*;

/// A number that grows, and one that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Item(u64, u32);

impl Pack for Item {
    // So many that one in the middle may move too many.
    const FEW: usize = 3 * MOVED;
    type Packer = u64;

    fn key(&self) -> u64 {
        self.0
    }

    fn put(&self, packer: &mut u64, bytes: &mut Vec<u8>) {
        varint::put(bytes, self.0 - std::mem::replace(packer, self.0));
        varint::put(bytes, self.1.into());
    }

    fn take(packer: &mut u64, bytes: &mut &[u8]) -> Item {
        *packer += varint::take(bytes);
        Item(*packer, varint::take(bytes) as u32)
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// So many come, each so much more than the last.
    Push(usize, u64),
    PopFront(usize),
    PopBack(usize),
    /// So many are put in before the one at this part of all, or after all.
    Insert(f64, usize),
    /// So many are taken out from there on.
    Remove(f64, usize),
    Change(f64),
    Look(f64),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let part = || 0.0..=1.0_f64;
    prop_oneof![
        6 => (1..1000_usize, 0..3_u64).prop_map(|(many, apart)| Step::Push(many, apart)),
        3 => (1..700_usize).prop_map(Step::PopFront),
        1 => (1..500_usize).prop_map(Step::PopBack),
        4 => (part(), 1..200_usize).prop_map(|(part, many)| Step::Insert(part, many)),
        3 => (part(), 1..200_usize).prop_map(|(part, many)| Step::Remove(part, many)),
        3 => part().prop_map(Step::Change),
        3 => part().prop_map(Step::Look),
        1 => Just(Step::Clear),
    ]
}

/// A long sequence beside a plain one.
#[derive(Default)]
struct Both {
    long: Long<Item>,
    plain: VecDeque<Item>,
}

impl Both {
    /// The place of item number `index`, or after all.
    fn place(&self, index: usize) -> Place {
        let place = (0..index).fold(self.long.begin(), |place, _| self.long.after(place));
        if index == 0 { self.long.begin() } else { place }
    }

    fn index(&self, part: f64) -> usize {
        (self.plain.len() as f64 * part) as usize
    }

    fn carry_out(&mut self, step: Step) {
        let (long, plain) = (&mut self.long, &mut self.plain);
        match step {
            Step::Push(many, apart) => {
                for _ in 0..many {
                    let item = Item(plain.back().map_or(1 << 20, |last| last.0) + apart, many as u32);
                    long.push_back(item);
                    plain.push_back(item);
                }
            }
            Step::PopFront(many) => (0..many).for_each(|_| {
                assert_eq!(long.pop_front(), plain.pop_front());
                long.drop_front();
                plain.pop_front();
            }),
            Step::PopBack(many) => (0..many).for_each(|_| assert_eq!(long.pop_back(), plain.pop_back())),
            Step::Insert(part, many) => {
                let index = self.index(part);
                let mut place = self.place(index);
                for _ in 0..many {
                    let before = index.checked_sub(1).map_or(0, |before| self.plain[before].0);
                    let item = Item(self.plain.get(index).map_or(before, |next| next.0), many as u32);
                    place = self.long.insert(place, item);
                    self.plain.insert(index, item);
                    assert_eq!(self.long.get(place), Some(&item));
                }
                assert_eq!(place, self.place(index));
            }
            Step::Remove(part, many) => {
                let index = self.index(part);
                for _ in 0..many {
                    let place = self.place(index);
                    if self.plain.remove(index).is_some() {
                        let next = self.long.remove(place);
                        assert_eq!(next, self.place(index));
                        assert_eq!(self.long.get(next), self.plain.get(index));
                    }
                }
            }
            Step::Change(part) => {
                let index = self.index(part);
                let place = self.place(index);
                if let (Some(item), Some(twin)) = (self.long.get_mut(place), self.plain.get_mut(index)) {
                    (item.1, twin.1) = (8, 8);
                }
                self.long.each_mut(|item| item.1 ^= 1);
                self.plain.iter_mut().for_each(|item| item.1 ^= 1);
            }
            Step::Look(part) => {
                let index = self.index(part);
                let key = self.plain.get(index).map_or(u64::MAX, |item| item.0);
                let below = self.plain.partition_point(|item| item.0 < key).checked_sub(1);
                assert_eq!(self.long.last_below(key), below.map(|index| self.place(index)));
                let place = self.place(index);
                assert_eq!(self.long.before(place), index.checked_sub(1).map(|index| self.place(index)));
                assert_eq!(self.long.get(place), self.plain.get(index));
            }
            Step::Clear => {
                long.clear();
                plain.clear();
            }
        }
    }

    fn agree(&mut self) {
        let (long, plain) = (&mut self.long, &mut self.plain);
        let mut items = Vec::new();
        long.each(|item| items.push(*item));
        assert_eq!(*plain, items);
        assert_eq!(
            (long.len(), long.is_empty(), long.is_one()),
            (plain.len(), plain.is_empty(), plain.len() == 1)
        );
        assert_eq!((long.front(), long.back()), (plain.front(), plain.back()));
        assert_eq!(long.front_mut(), plain.front_mut());
        assert_eq!(long.back_mut(), plain.back_mut());
        if let Some(third) = long.near_front(2) {
            assert_eq!(Some(third), plain.get(2));
        }
        assert_eq!(self.place(self.plain.len()), self.long.end());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn it_is_what_a_plain_queue_is(steps in prop::collection::vec(step(), 1..25)) {
        let mut both = Both::default();
        for step in steps {
            both.carry_out(step);
            both.agree();
        }
    }
}

#[test]
fn one_that_would_move_many_makes_blocks_of_them() {
    for (many, is_packed) in [(2 * MOVED, false), (2 * MOVED + 2, true)] {
        let mut long = Long::default();
        (0..many).for_each(|i| long.push_back(Item(2 * i as u64, 1)));
        let place = long.last_below(many as u64).expect("half are less");
        let place = long.insert(long.after(place), Item(many as u64, 2));
        assert_eq!(long.rest.is_some(), is_packed, "{many}");
        assert_eq!(long.get(place), Some(&Item(many as u64, 2)));
        let behind = long.remove(place);
        assert_eq!(long.get(behind).map(Pack::key), Some(many as u64));
    }
}

#[test]
fn many_items_take_little_memory() {
    let mut long = Long::default();
    (0..100_000).for_each(|i| long.push_back(Item(2 * i, 1)));
    let rest = long.rest.as_deref().expect("they are many");
    assert!(long.back.capacity() <= Item::FEW && rest.bytes() < 3 * 100_000, "{}", rest.bytes());
}
