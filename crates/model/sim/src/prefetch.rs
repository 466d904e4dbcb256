//! Asks for memory before it is needed.

/// Has the processor bring `value` near, whatever it goes on with meanwhile. Only a hint: it changes no result.
#[inline]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        let ask = |offset: usize| {
            // SAFETY: the address lies within `value`; the instruction is part of every x86-64 and never faults.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        };
        let (size, mut offset) = (size_of_val(value), 0);
        // Four at a time: otherwise most of the instructions would be the loop's.
        while offset + 3 * LINE < size {
            [0, LINE, 2 * LINE, 3 * LINE].into_iter().for_each(|line| ask(offset + line));
            offset += 4 * LINE;
        }
        while offset < size {
            ask(offset);
            offset += LINE;
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;
