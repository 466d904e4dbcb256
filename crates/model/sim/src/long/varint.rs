//! Numbers in as few bytes as they need: seven bits in each, the eighth says that more follow (LEB128).

/// Appends `value`.
#[inline]
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a byte off the front of `bytes`.
///
/// # Panics
/// If none stands there.
#[inline]
pub(crate) fn take_byte(bytes: &mut &[u8]) -> u8 {
    let (first, rest) = bytes.split_first().expect("what was put can be taken");
    *bytes = rest;
    *first
}

/// Takes a number.
///
/// # Panics
/// If none stands there.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let first = take_byte(bytes);
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
        shift += 7;
    }
}

/// A difference modulo 2^64 as a number that is small if the difference is, whatever its sign.
#[inline]
pub(crate) fn fold(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

/// The difference that became `folded`.
#[inline]
pub(crate) fn unfold(folded: u64) -> u64 {
    folded >> 1 ^ (folded & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_read_in_the_order_in_which_they_were_written(
            values in prop::collection::vec((any::<u64>(), 0..64_u32), 1..50),
        ) {
            let values: Vec<u64> = values.iter().map(|(value, shift)| value >> shift).collect();
            let mut bytes = Vec::new();
            values.iter().for_each(|value| put(&mut bytes, *value));
            let mut left = &bytes[..];
            for value in values {
                prop_assert_eq!(take(&mut left), value);
                prop_assert_eq!(unfold(fold(value)), value);
            }
            prop_assert!(left.is_empty());
        }
    }

    #[test]
    fn small_differences_take_a_byte() {
        for difference in -64..64_i64 {
            let mut bytes = Vec::new();
            put(&mut bytes, fold(difference as u64));
            assert_eq!(bytes.len(), 1);
        }
    }
}
