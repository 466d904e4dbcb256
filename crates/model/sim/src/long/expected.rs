//! Numbers as what the ones before them do not let expect.

use super::varint;

/// What is expected of numbers: that the first, `ADVANCE` of them, go on growing as they did last, and the others stay.
#[derive(Debug)]
pub(crate) struct Expected<const ALL: usize, const ADVANCE: usize> {
    last: [u64; ALL],
    steps: [u64; ADVANCE],
}

impl<const ALL: usize, const ADVANCE: usize> Default for Expected<ALL, ADVANCE> {
    fn default() -> Self {
        Expected { last: [0; ALL], steps: [0; ADVANCE] }
    }
}

impl<const ALL: usize, const ADVANCE: usize> Expected<ALL, ADVANCE> {
    /// Appends to `bytes` which numbers are others than expected, and by how much.
    pub(crate) fn put(&mut self, numbers: &[u64; ALL], bytes: &mut Vec<u8>) {
        let expected = self.next();
        let mut changed = 0;
        for i in 0..ALL {
            changed |= u64::from(numbers[i] != expected[i]) << i;
        }
        varint::put(bytes, changed);
        while changed != 0 {
            let i = changed.trailing_zeros() as usize;
            varint::put(bytes, varint::fold(numbers[i].wrapping_sub(expected[i])));
            changed &= changed - 1;
        }
        self.follow(numbers);
    }

    /// Takes numbers off `bytes`.
    pub(crate) fn take(&mut self, bytes: &mut &[u8]) -> [u64; ALL] {
        let mut numbers = self.next();
        let mut changed = varint::take(bytes);
        while changed != 0 {
            let i = changed.trailing_zeros() as usize;
            numbers[i] = numbers[i].wrapping_add(varint::unfold(varint::take(bytes)));
            changed &= changed - 1;
        }
        self.follow(&numbers);
        numbers
    }

    /// The last numbers; at first zeros.
    pub(crate) fn last(&self) -> [u64; ALL] {
        self.last
    }

    fn next(&self) -> [u64; ALL] {
        let mut next = self.last;
        for (next, step) in next.iter_mut().zip(&self.steps) {
            *next = next.wrapping_add(*step);
        }
        next
    }

    fn follow(&mut self, numbers: &[u64; ALL]) {
        for (step, (number, last)) in self.steps.iter_mut().zip(numbers.iter().zip(&self.last)) {
            *step = number.wrapping_sub(*last);
        }
        self.last = *numbers;
    }
}
