//! Sequences that may be long, in little memory: what a slow start that overshot leaves on its way, in a scoreboard and at a
//! receiver are hundreds of thousands of items that hardly differ.
//!
//! Few items are a plain queue. Of many, only the last and what was looked at lately are kept as they are. The others are
//! bytes, block by block, each item as what the one before it does not let expect.

mod expected;
mod rest;
pub(crate) mod varint;

#[cfg(test)]
mod tests;

pub(crate) use expected::Expected;
use rest::Rest;
use std::collections::VecDeque;

/// Items at the back that are as they are where those before are packed.
const LITTLE: usize = 256;
/// Items that another may move when it comes or goes in the middle, while none is packed: of segments 32 KiB. With 64 flows of
/// BBR, a short buffer and thousands of segments each, a quarter of a run was spent on moving them.
const MOVED: usize = 512;

/// What can be packed.
pub(crate) trait Pack: Sized {
    /// Fewer are not packed, unless one that comes or goes would move more than [`MOVED`]; more than [`LITTLE`].
    const FEW: usize;
    /// Room that the first item asks for: what most sequences never outgrow. There may be one for each of thousands of flows.
    const FIRST: usize = 4;
    /// What the items so far let expect of the next.
    type Packer: Default;

    /// What they are ordered by; of two the second has no less.
    fn key(&self) -> u64;
    /// Appends it to `bytes`.
    fn put(&self, packer: &mut Self::Packer, bytes: &mut Vec<u8>);
    /// Takes one off `bytes`.
    fn take(packer: &mut Self::Packer, bytes: &mut &[u8]) -> Self;
}

/// Where an item is, until another comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of its block; the last ones are in none, which is the number after all blocks.
    block: usize,
    at: usize,
}

/// Items in the order of their keys.
#[derive(Debug, Clone)]
pub(crate) struct Long<T> {
    /// The last ones, at least one if there is any; all of them, as long as they are few.
    back: VecDeque<T>,
    /// Those before.
    rest: Option<Box<Rest<T>>>,
}

impl<T> Default for Long<T> {
    fn default() -> Self {
        Long { back: VecDeque::new(), rest: None }
    }
}

impl<T: Pack> Long<T> {
    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.back.len() + self.rest.as_deref().map_or(0, Rest::len)
    }

    /// Whether there is exactly one.
    #[inline]
    pub(crate) fn is_one(&self) -> bool {
        self.back.len() == 1 && self.rest.is_none()
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.back.is_empty()
    }

    /// The first.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        match &self.rest {
            None => self.back.front(),
            Some(rest) => rest.first(),
        }
    }

    /// The first, to change it.
    #[inline]
    pub(crate) fn front_mut(&mut self) -> Option<&mut T> {
        match &mut self.rest {
            None => self.back.front_mut(),
            Some(rest) => rest.first_mut(),
        }
    }

    /// The one after `before` others, a few, if it is at hand.
    pub(crate) fn near_front(&self, before: usize) -> Option<&T> {
        match &self.rest {
            None => self.back.get(before),
            Some(rest) => rest.front().get(before),
        }
    }

    /// The last.
    #[inline]
    pub(crate) fn back(&self) -> Option<&T> {
        self.back.back()
    }

    /// The last, to change it.
    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        self.back.back_mut()
    }

    /// Appends an item.
    #[inline]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.back.len() == self.back.capacity() {
            self.make_room();
        }
        self.back.push_back(item);
    }

    /// How many there may be at the back before they are packed.
    fn most(&self) -> usize {
        if self.rest.is_some() { LITTLE } else { T::FEW }
    }

    /// What is at the back has filled its memory, which is never larger than [`Long::most`] needs.
    #[cold]
    fn make_room(&mut self) {
        if self.back.len() >= self.most() { self.pack() } else { self.widen() }
    }

    /// Takes a quarter more memory: of twice as much, most would stay empty.
    #[cold]
    fn widen(&mut self) {
        let before = self.back.len();
        let more = if before == 0 { T::FIRST } else { (before / 4).max(2) };
        self.back.reserve_exact(more.min(self.most().saturating_sub(before)).max(1));
    }

    /// Takes the first.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        if self.rest.is_some() { self.pop_rest() } else { self.back.pop_front() }
    }

    #[inline(never)]
    fn pop_rest(&mut self) -> Option<T> {
        let first = self.rest.as_deref_mut()?.remove(Place { block: 0, at: 0 });
        self.forget_blocks();
        first
    }

    /// Drops the first. Answers which is the first then.
    #[inline]
    pub(crate) fn drop_front(&mut self) -> Option<&T> {
        // To move it out of either place into one would be most of the work.
        if self.rest.is_some() {
            drop(self.pop_rest());
            self.front()
        } else {
            drop(self.back.pop_front());
            self.back.front()
        }
    }

    /// Takes the last.
    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let last = self.back.pop_back();
        self.refill();
        last
    }

    /// Takes all out.
    pub(crate) fn clear(&mut self) {
        self.back.clear();
        self.rest = None;
    }

    /// What many needed is given back, down to room for `least`.
    #[inline]
    pub(crate) fn shrink(&mut self, least: usize) {
        let room = self.back.capacity();
        if room > least && self.back.len() < room / 8 {
            self.back.shrink_to(room / 4);
        }
    }

    /// Where the last ones are.
    #[inline]
    fn blocks(&self) -> usize {
        self.rest.as_deref().map_or(0, Rest::blocks)
    }

    /// Where the first is, or would be.
    #[inline]
    pub(crate) fn begin(&self) -> Place {
        Place { block: 0, at: 0 }
    }

    /// The place after all.
    #[inline]
    pub(crate) fn end(&self) -> Place {
        Place { block: self.blocks(), at: self.back.len() }
    }

    /// The place after that of an item.
    #[inline]
    pub(crate) fn after(&self, place: Place) -> Place {
        match &self.rest {
            Some(rest) => rest.after(place),
            None => Place { at: place.at + 1, ..place },
        }
    }

    /// The place before another; `None` before the first.
    #[inline]
    pub(crate) fn before(&self, place: Place) -> Option<Place> {
        match &self.rest {
            Some(rest) => rest.before(place),
            None => place.at.checked_sub(1).map(|at| Place { at, ..place }),
        }
    }

    /// The last item whose key is less.
    #[inline]
    pub(crate) fn last_below(&mut self, key: u64) -> Option<Place> {
        if self.rest.is_some() && self.back.front().is_none_or(|first| first.key() >= key) {
            return self.last_of_rest(key);
        }
        let at = below(&self.back, key)?;
        Some(Place { block: self.blocks(), at })
    }

    #[inline(never)]
    fn last_of_rest(&mut self, key: u64) -> Option<Place> {
        let rest = self.rest.as_deref_mut()?;
        let block = rest.last_below(key)?;
        let at = below(rest.open(block), key)?;
        Some(Place { block, at })
    }

    /// An item.
    #[inline]
    pub(crate) fn get(&mut self, place: Place) -> Option<&T> {
        self.get_mut(place).map(|item| &*item)
    }

    /// An item, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        match &mut self.rest {
            Some(rest) if place.block < rest.blocks() => rest.get_mut(place),
            _ => self.back.get_mut(place.at),
        }
    }

    /// Puts an item where another is, which is then behind it. Answers where it is.
    pub(crate) fn insert(&mut self, place: Place, item: T) -> Place {
        let place = self.limit_moves(place);
        if let Some(rest) = &mut self.rest
            && place.block < rest.blocks()
        {
            return rest.insert(place, item);
        }
        if self.back.len() == self.back.capacity() {
            self.widen();
        }
        self.back.insert(place.at, item);
        if self.back.len() <= LITTLE || !self.is_full() { place } else { self.pack_around(place) }
    }

    /// Takes an item out. Answers where the one behind it is then.
    pub(crate) fn remove(&mut self, place: Place) -> Place {
        let place = self.limit_moves(place);
        match &mut self.rest {
            Some(rest) if place.block < rest.blocks() => {
                rest.remove(place);
                self.forget_blocks();
            }
            _ => {
                self.back.remove(place.at);
                if self.back.is_empty() {
                    self.refill();
                    return self.end();
                }
            }
        }
        self.rest.as_deref().map_or(place, |rest| rest.item_at(place))
    }

    /// An item that comes or goes at a place moves those on one side of it. If they are too many, they become blocks first,
    /// within which few are moved. Answers where the place is then.
    #[inline]
    fn limit_moves(&mut self, place: Place) -> Place {
        let moved = place.at.min(self.back.len().saturating_sub(place.at));
        if self.rest.is_some() || moved <= MOVED { place } else { self.pack_around(place) }
    }

    /// Packs what is at the back. Answers where a place at the back is then.
    fn pack_around(&mut self, place: Place) -> Place {
        self.pack();
        let (blocks, at) = (self.blocks(), place.at);
        let packed = (blocks - place.block) * rest::BLOCK;
        match at.checked_sub(packed) {
            Some(at) => Place { block: blocks, at },
            None => Place { block: place.block + at / rest::BLOCK, at: at % rest::BLOCK },
        }
    }

    /// Shows each in order.
    pub(crate) fn each(&self, mut see: impl FnMut(&T)) {
        if let Some(rest) = &self.rest {
            rest.each(&mut see);
        }
        self.back.iter().for_each(see);
    }

    /// Lets each be changed, in order.
    pub(crate) fn each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        if let Some(rest) = &mut self.rest {
            (0..rest.blocks()).for_each(|block| rest.open(block).iter_mut().for_each(&mut change));
        }
        self.back.iter_mut().for_each(change);
    }

    /// Whether more than a little at the back are too many.
    #[inline]
    fn is_full(&self) -> bool {
        self.back.len() >= self.most()
    }

    /// Packs what is at the back but for a little.
    #[inline(never)]
    fn pack(&mut self) {
        let rest = self.rest.get_or_insert_with(Default::default);
        while self.back.len() > LITTLE / 2 {
            rest.append(self.back.drain(..rest::BLOCK));
        }
        self.back.shrink_to(LITTLE);
    }

    /// The last ones have gone: those of the last block are the last now.
    fn refill(&mut self) {
        if self.back.is_empty()
            && let Some(rest) = &mut self.rest
        {
            self.back = rest.take_last();
            self.forget_blocks();
        }
    }

    fn forget_blocks(&mut self) {
        if self.blocks() == 0 {
            self.rest = None;
        }
    }
}

/// The last of some items whose key is less.
#[inline]
fn below<T: Pack>(items: &VecDeque<T>, key: u64) -> Option<usize> {
    items.partition_point(|item| item.key() < key).checked_sub(1)
}
