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

    /// Takes all out.
    pub fn clear(&mut self) {
        self.filled = 0;
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
        assert_eq!(*rows, [0, 1, 2, 3, 4]);
        rows.clear();
        assert!(rows.is_empty());
        assert_eq!(*rows.next(|| -1), 0, "its memory is used again");
        *rows.next(|| -1) = 7;
        assert_eq!(rows.into_vec(), [0, 7]);
    }
}
