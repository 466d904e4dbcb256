//! Blocks of items, of which those that were looked at lately are open and the others packed.

use super::{Pack, Place};
use std::collections::VecDeque;

/// Items that are packed together. Twice as many are two blocks.
pub(super) const BLOCK: usize = 64;
/// Blocks that are open at a time beside the first: the head, what is acknowledged, what is looked at for losses, what leaves
/// again and what has left again are at different places.
const OPEN: usize = 8;

/// All but the last items of many: at least one block, and none is empty.
#[derive(Debug, Clone)]
pub(super) struct Rest<T> {
    /// The first is always open.
    blocks: VecDeque<Block<T>>,
    /// Numbers of the other open ones, those that were looked at most recently last.
    open: Vec<usize>,
    /// Items of all.
    count: usize,
    /// Kept to spare allocations.
    scratch: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Block<T> {
    Open(VecDeque<T>),
    Packed {
        /// Key of the first.
        key: u64,
        count: u32,
        bytes: Box<[u8]>,
    },
}

impl<T> Default for Rest<T> {
    fn default() -> Self {
        Rest { blocks: VecDeque::new(), open: Vec::new(), count: 0, scratch: Vec::new() }
    }
}

impl<T: Pack> Block<T> {
    fn key(&self) -> u64 {
        match self {
            Block::Open(items) => items.front().map_or(0, T::key),
            Block::Packed { key, .. } => *key,
        }
    }

    fn count(&self) -> usize {
        match self {
            Block::Open(items) => items.len(),
            Block::Packed { count, .. } => *count as usize,
        }
    }

    fn pack(items: VecDeque<T>, scratch: &mut Vec<u8>) -> Block<T> {
        let (key, count) = (items.front().map_or(0, T::key), items.len() as u32);
        scratch.clear();
        let mut packer = T::Packer::default();
        items.iter().for_each(|item| item.put(&mut packer, scratch));
        Block::Packed { key, count, bytes: scratch.as_slice().into() }
    }

    /// Unpacks it if it is packed.
    fn open(&mut self) -> &mut VecDeque<T> {
        if let Block::Packed { count, bytes, .. } = self {
            let mut items = VecDeque::with_capacity(*count as usize);
            unpack(*count, bytes, |item| items.push_back(item));
            *self = Block::Open(items);
        }
        match self {
            Block::Open(items) => items,
            Block::Packed { .. } => unreachable!("it was unpacked"),
        }
    }
}

/// Shows the items of a packed block.
fn unpack<T: Pack>(count: u32, mut bytes: &[u8], mut see: impl FnMut(T)) {
    let mut packer = T::Packer::default();
    (0..count).for_each(|_| see(T::take(&mut packer, &mut bytes)));
}

impl<T: Pack> Rest<T> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    #[inline]
    fn count(&self, block: usize) -> usize {
        self.blocks[block].count()
    }

    /// The items of the first block.
    #[inline]
    pub(super) fn front(&self) -> &VecDeque<T> {
        match &self.blocks[0] {
            Block::Open(items) => items,
            Block::Packed { .. } => unreachable!("the first block is open"),
        }
    }

    /// The first item.
    #[inline(never)]
    pub(super) fn first(&self) -> Option<&T> {
        self.front().front()
    }

    /// The first item, to change it.
    #[inline(never)]
    pub(super) fn first_mut(&mut self) -> Option<&mut T> {
        self.front_mut().front_mut()
    }

    #[inline]
    fn front_mut(&mut self) -> &mut VecDeque<T> {
        self.blocks[0].open()
    }

    /// The place after another.
    #[inline(never)]
    pub(super) fn after(&self, place: Place) -> Place {
        self.item_at(Place { at: place.at + 1, ..place })
    }

    /// The place before another.
    #[inline(never)]
    pub(super) fn before(&self, place: Place) -> Option<Place> {
        match (place.at.checked_sub(1), place.block.checked_sub(1)) {
            (Some(at), _) => Some(Place { at, ..place }),
            (None, Some(block)) => Some(Place { block, at: self.count(block) - 1 }),
            (None, None) => None,
        }
    }

    /// A place in a block or just behind it as that of the item that is there.
    pub(super) fn item_at(&self, place: Place) -> Place {
        if place.block < self.blocks() && place.at == self.count(place.block) {
            Place { block: place.block + 1, at: 0 }
        } else {
            place
        }
    }

    /// An item, to change it.
    #[inline(never)]
    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        self.open(place.block).get_mut(place.at)
    }

    /// The last block whose first key is less than `key`.
    pub(super) fn last_below(&self, key: u64) -> Option<usize> {
        // Searches follow each other in the same block, and a search through all blocks misses the cache.
        if let Some(&last) = self.open.last()
            && self.blocks[last].key() < key
            && self.blocks.get(last + 1).is_none_or(|next| next.key() >= key)
        {
            return Some(last);
        }
        self.blocks.partition_point(|block| block.key() < key).checked_sub(1)
    }

    /// The items of a block, to look at and to change.
    #[inline]
    pub(super) fn open(&mut self, block: usize) -> &mut VecDeque<T> {
        if block > 0 && self.open.last() != Some(&block) {
            self.look_at(block);
        }
        self.blocks[block].open()
    }

    /// Notes that a block is looked at. If it was not open, the one is packed that was not looked at longest.
    #[inline(never)]
    fn look_at(&mut self, block: usize) {
        if let Some(place) = self.open.iter().position(|open| *open == block) {
            self.open.remove(place);
        } else if self.open.len() == OPEN {
            let oldest = self.open.remove(0);
            let items = std::mem::take(self.blocks[oldest].open());
            self.blocks[oldest] = Block::pack(items, &mut self.scratch);
        }
        self.open.push(block);
    }

    /// Adds a block of the last items.
    pub(super) fn append(&mut self, items: impl Iterator<Item = T>) {
        let items: VecDeque<T> = items.collect();
        self.count += items.len();
        let is_first = self.blocks.is_empty();
        let block = if is_first { Block::Open(items) } else { Block::pack(items, &mut self.scratch) };
        self.blocks.push_back(block);
    }

    /// Puts an item where another is. Answers where it is then.
    pub(super) fn insert(&mut self, place: Place, item: T) -> Place {
        self.count += 1;
        self.open(place.block).insert(place.at, item);
        let is_split = self.split(place.block);
        match place.at.checked_sub(BLOCK).filter(|_| is_split) {
            Some(at) => Place { block: place.block + 1, at },
            None => place,
        }
    }

    /// Makes two of an open block that has become too long.
    fn split(&mut self, block: usize) -> bool {
        let items = self.blocks[block].open();
        if items.len() < 2 * BLOCK {
            return false;
        }
        let rest = items.split_off(BLOCK);
        self.blocks.insert(block + 1, Block::Open(rest));
        self.open.iter_mut().filter(|open| **open > block).for_each(|open| *open += 1);
        self.look_at(block + 1);
        true
    }

    /// Takes an item out, and its block if it was the only one of that.
    pub(super) fn remove(&mut self, place: Place) -> Option<T> {
        let items = self.open(place.block);
        let removed = items.remove(place.at)?;
        let is_last = items.is_empty();
        self.count -= 1;
        if is_last {
            self.blocks.remove(place.block);
            self.note_removal(place.block);
        }
        Some(removed)
    }

    /// Takes the items of the last block.
    pub(super) fn take_last(&mut self) -> VecDeque<T> {
        let Some(mut last) = self.blocks.pop_back() else { return VecDeque::new() };
        self.note_removal(self.blocks.len());
        self.count -= last.count();
        std::mem::take(last.open())
    }

    fn note_removal(&mut self, block: usize) {
        self.open.retain(|open| *open != block);
        self.open.iter_mut().filter(|open| **open > block).for_each(|open| *open -= 1);
        // The first is open without being noted.
        self.open.retain(|open| *open != 0);
        if let Some(first) = self.blocks.front_mut() {
            first.open();
        }
    }

    pub(super) fn each(&self, see: &mut impl FnMut(&T)) {
        for block in &self.blocks {
            match block {
                Block::Open(items) => items.iter().for_each(&mut *see),
                Block::Packed { count, bytes, .. } => unpack(*count, bytes, |item| see(&item)),
            }
        }
    }
}

#[cfg(test)]
impl<T: Pack> Rest<T> {
    /// Memory of the blocks, but for how they are kept.
    pub(super) fn bytes(&self) -> usize {
        let of = |block: &Block<T>| match block {
            Block::Open(items) => items.capacity() * size_of::<T>(),
            Block::Packed { bytes, .. } => bytes.len(),
        };
        self.blocks.iter().map(of).sum()
    }
}
