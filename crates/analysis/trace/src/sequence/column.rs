//! Numbers of many packets in few bytes.

/// Numbers in the order of their packets, each stored as its difference from the number before.
///
/// A difference is a variable-length integer: groups of seven bits, least first, where the eighth bit marks that more follow.
/// Its lowest bit is the sign (zigzag), so that small differences of either sign take one byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    bytes: Vec<u8>,
    last: i64,
    count: usize,
}

impl Column {
    /// Adds a number.
    pub fn push(&mut self, number: i64) {
        let difference = number.wrapping_sub(self.last);
        let mut rest = ((difference << 1) ^ (difference >> 63)) as u64;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
        self.last = number;
        self.count += 1;
    }

    /// How many numbers it has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The newest number; 0 if there is none.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// The numbers.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        let (mut at, mut number) = (0, 0_i64);
        (0..self.count).map(move |_| {
            let (mut rest, mut shift) = (0_u64, 0);
            loop {
                let byte = self.bytes[at];
                at += 1;
                rest |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            number = number.wrapping_add((rest >> 1) as i64 ^ -((rest & 1) as i64));
            number
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_return_as_they_were() {
        let numbers = [0, 1, -1, 64, -65, 1 << 40, 5, i64::MAX, i64::MIN, 0, i64::MIN, i64::MAX];
        let mut column = Column::default();
        numbers.iter().for_each(|&number| column.push(number));
        assert_eq!(column.iter().collect::<Vec<_>>(), numbers);
        assert_eq!((column.len(), column.last()), (numbers.len(), i64::MAX));
    }

    #[test]
    fn even_steps_take_a_byte_each_after_the_first() {
        let mut column = Column::default();
        (0..1_000).for_each(|number| column.push(1_000_000 + number));
        assert_eq!(column.bytes().len(), 999 + 3);
    }
}
