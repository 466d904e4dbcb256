//! Buckets of times in a queue, as the table of delays has them.

/// Parts of an octave of delays, as bits: a bound is at most 1/16 above any delay below it.
const PARTS_BITS: u32 = 4;

/// Number of the bucket of a delay. Below 2^4 each nanosecond has its own; above, an octave has 2^4.
pub fn delay_bucket(ns: u64) -> u32 {
    let Some(octave) = ns.checked_ilog2().filter(|octave| *octave > PARTS_BITS) else { return ns as u32 };
    let shift = octave - PARTS_BITS;
    (shift << PARTS_BITS) + (ns >> shift) as u32
}

/// The longest delay of a bucket, in nanoseconds. Buckets that no delay is in have that of the last one.
pub fn longest_of_bucket(bucket: u32) -> u64 {
    let part = 1 << PARTS_BITS;
    if bucket < 2 * part {
        return bucket.into();
    }
    let shift = bucket / part - 1;
    let ns = u128::from(bucket - shift * part + 1).checked_shl(shift).unwrap_or(u128::MAX) - 1;
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_at_most_a_sixteenth_above_the_delay() {
        for ns in (0..5_000).chain((0..60).map(|bits| (1_u64 << bits) - 1)).chain([1_000_000, 15_000_000]) {
            let bound = longest_of_bucket(delay_bucket(ns));
            assert!(bound >= ns && bound - ns <= ns / 16, "{ns}: {bound}");
            assert_eq!(delay_bucket(bound), delay_bucket(ns), "{ns}");
            assert_ne!(delay_bucket(bound + 1), delay_bucket(ns), "{ns}");
        }
    }

    #[test]
    fn a_bucket_of_no_delay_has_the_longest() {
        assert_eq!(longest_of_bucket(u32::MAX), u64::MAX);
    }
}
