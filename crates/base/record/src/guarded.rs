//! The Parquet reader on files that may be anybody's. It panics at some damage where it should say so: at a dictionary that
//! says it has no values, for one, it divides by their number (parquet 60.1, `ByteArrayDecoderPlain::read`).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// What panics on this thread is caught, and said by whoever caught it.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, or `None` if it panics, of which nothing is printed. The process's panic hook is wrapped once, for
/// that; other threads, and this one outside of `work`, panic as before.
///
/// What `work` changes is as it was left when it panics: to be given up.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static WRAPPED: Once = Once::new();
    WRAPPED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                before(info);
            }
        }));
    });
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
