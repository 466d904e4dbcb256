//! Rows that come and go many at a time.

use std::ops::Deref;

/// Rows whose memory is used again and again: each is filled in where it stays, which costs a fraction of what making
/// and moving it does.
#[derive(Debug, Clone)]
pub struct Rows<R> {
    rows: Vec<R>,
    /// Those before this one are in use.
    filled: usize,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Rows { rows: Vec::new(), filled: 0 }
    }
}

impl<R> Rows<R> {
    /// The next row, to fill in. It may still hold what an earlier one held; `blank` makes one where there is none.
    #[inline]
    pub fn next(&mut self, blank: impl FnOnce() -> R) -> &mut R {
        if self.filled == self.rows.len() {
            self.rows.push(blank());
        }
        self.filled += 1;
        &mut self.rows[self.filled - 1]
    }

    /// Makes room for `more` rows, and not for as many again.
    pub fn reserve(&mut self, more: usize) {
        let unused = self.rows.len() - self.filled;
        self.rows.reserve_exact(more.saturating_sub(unused));
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Takes the first `count` out.
    pub(crate) fn remove_first(&mut self, count: usize) {
        self.rows[..self.filled].rotate_left(count);
        self.filled -= count;
    }

    /// The rows alone.
    pub fn into_vec(mut self) -> Vec<R> {
        self.rows.truncate(self.filled);
        self.rows
    }
}

impl<R> Deref for Rows<R> {
    type Target = [R];
    fn deref(&self) -> &[R] {
        &self.rows[..self.filled]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_used_again_and_stay_in_order() {
        let mut rows = Rows::default();
        for n in 0..5 {
            *rows.next(|| -1) = n;
        }
        rows.remove_first(3);
        assert_eq!(*rows, [3, 4]);
        assert!((0..3).contains(rows.next(|| -1)), "its memory is used again");
        *rows.next(|| -1) = 6;
        assert_eq!(rows.len(), 4);
        rows.remove_first(4);
        assert!(rows.is_empty());
        *rows.next(|| -1) = 7;
        assert_eq!(rows.into_vec(), [7]);
    }
}
