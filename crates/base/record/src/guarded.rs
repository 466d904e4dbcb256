//! The Parquet reader on files that may be anybody's. It panics at some damage where it should say so: at a dictionary that
//! says it has no values, for one, it divides by their number (parquet 60.1, `ByteArrayDecoderPlain::read`).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// A panic of this thread is caught, and reported as an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught now, and reported as an error. A program's panic hook asks, so that it
/// prints no backtrace of a damaged file.
pub fn panics_are_caught() -> bool {
    IS_GUARDED.get()
}

/// The result of `work`, or `None` if it panics. Discard everything that `work` changed before it panicked.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let outer = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(outer);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_nothing_and_what_comes_after_is_not_guarded() {
        assert_eq!(guarded(|| 7), Some(7));
        let none: Vec<u32> = Vec::new();
        assert_eq!(guarded(|| 1 / none.len()), None);
        assert!(!IS_GUARDED.get());
        assert_eq!(guarded(|| guarded(|| 1 / none.len()).is_none() && IS_GUARDED.get()), Some(true));
    }
}
