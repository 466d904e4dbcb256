//! Quantiles of many values in little memory.

use serde::Serialize;

/// So many values are kept as they are; more of them are counted in buckets.
const EXACT: usize = 64;
/// Buckets of each power of two. A quantile is exact to half of 1/32.
const PARTS: u32 = 32;

/// Values that are not negative, such as times in nanoseconds or sizes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Distribution {
    count: u64,
    sum: f64,
    min: i64,
    max: i64,
    exact: Vec<i64>,
    buckets: Vec<u32>,
}

/// A distribution in a few numbers, in the unit of its values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub min: i64,
    /// Median. Of more than 64 values it is exact to 1.6 %.
    pub median: i64,
    /// Quantile 0.95, as exact as the median.
    pub p95: i64,
    /// Largest value.
    pub max: i64,
    /// Arithmetic mean.
    pub mean: f64,
}

/// Values of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Smallest value of the range.
    pub from: i64,
    /// Largest value of the range.
    pub to: i64,
    /// Values in it.
    pub count: u64,
}

impl Distribution {
    /// Adds a value; one below 0 counts as 0.
    pub(crate) fn add(&mut self, value: i64) {
        let value = value.max(0);
        (self.min, self.max) = match self.count {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.count += 1;
        self.sum += value as f64;
        if self.exact.len() < EXACT && self.buckets.is_empty() {
            self.exact.push(value);
            return;
        }
        for value in std::mem::take(&mut self.exact) {
            self.put(value);
        }
        self.put(value);
    }

    fn put(&mut self, value: i64) {
        let bucket = bucket(value as u64);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value, if there is one.
    pub(crate) fn min(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min)
    }

    /// The value below which `share` of all values are, from 0 to 1; `None` without a value.
    pub(crate) fn quantile(&self, share: f64) -> Option<i64> {
        let last = self.count.checked_sub(1)?;
        let rank = (share.clamp(0.0, 1.0) * last as f64).round() as u64;
        if self.buckets.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            return sorted.get(rank as usize).copied();
        }
        let mut below = 0;
        for (bucket, &count) in self.buckets.iter().enumerate() {
            below += u64::from(count);
            if below > rank {
                return Some((middle(bucket) as i64).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Share of values from `low` to `high`, as exact as a quantile; 0 without a value.
    pub(crate) fn share_between(&self, low: i64, high: i64) -> f64 {
        let is_within = |value: i64| (low..=high).contains(&value);
        let exact = self.exact.iter().filter(|&&value| is_within(value)).count() as u64;
        let counted = self.buckets.iter().enumerate().filter(|&(bucket, _)| is_within(middle(bucket) as i64));
        let within = exact + counted.map(|(_, &count)| u64::from(count)).sum::<u64>();
        within as f64 / self.count.max(1) as f64
    }

    /// All values in ranges that are not empty, in order. A range is a value, or 1/16 to 1/32 of its values wide.
    pub(crate) fn histogram(&self) -> Vec<Bucket> {
        let mut exact = self.exact.clone();
        exact.sort_unstable();
        let singly = exact.chunk_by(|one, other| one == other);
        let singly = singly.map(|same| Bucket { from: same[0], to: same[0], count: same.len() as u64 });
        let counted = self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0);
        let counted = counted.map(|(bucket, &count)| {
            let (from, to) = limits(bucket);
            let within = |value: u64| (value as i64).clamp(self.min, self.max);
            Bucket { from: within(from), to: within(to), count: count.into() }
        });
        singly.chain(counted).collect()
    }

    /// The distribution in numbers; `None` without a value.
    pub(crate) fn quantiles(&self) -> Option<Quantiles> {
        Some(Quantiles {
            count: self.count,
            min: self.min()?,
            median: self.quantile(0.5)?,
            p95: self.quantile(0.95)?,
            max: self.max,
            mean: self.sum / self.count as f64,
        })
    }
}

/// Values below twice [`PARTS`] have a bucket each; above, each power of two has [`PARTS`].
fn bucket(value: u64) -> usize {
    let parts = u64::from(PARTS);
    if value < 2 * parts {
        return value as usize;
    }
    let shift = value.ilog2() - PARTS.ilog2();
    (u64::from(shift) * parts + (value >> shift)) as usize
}

/// Smallest and largest value of a bucket.
fn limits(bucket: usize) -> (u64, u64) {
    let (bucket, parts) = (bucket as u64, u64::from(PARTS));
    if bucket < 2 * parts {
        return (bucket, bucket);
    }
    let shift = bucket / parts - 1;
    let low = (bucket - shift * parts) << shift;
    (low, low + ((1 << shift) - 1))
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let (low, high) = limits(bucket);
    low + (high - low).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_contains_its_middle_and_buckets_rise() {
        let mut last = 0;
        for value in (0..100_000).chain((20..60).map(|bits| 1u64 << bits)) {
            let bucket = bucket(value);
            assert!(bucket >= last, "{value}");
            last = bucket;
            let middle = middle(bucket);
            assert_eq!(super::bucket(middle), bucket, "{value}");
            assert!(value.abs_diff(middle) * 50 <= value.max(1), "{value} is not near {middle}");
        }
    }

    #[test]
    fn quantiles_of_few_values_are_exact_and_of_many_near() {
        let mut few = Distribution::default();
        assert_eq!(few.quantiles(), None);
        for value in [5, 1, 9] {
            few.add(value);
        }
        let numbers = few.quantiles().unwrap();
        assert_eq!((numbers.min, numbers.median, numbers.max), (1, 5, 9));
        let mut many = Distribution::default();
        for value in 0..=100_000 {
            many.add(value);
        }
        let numbers = many.quantiles().unwrap();
        assert!((numbers.median - 50_000).abs() < 1_000, "{numbers:?}");
        assert!((numbers.p95 - 95_000).abs() < 2_000, "{numbers:?}");
        assert_eq!((numbers.min, numbers.max, numbers.count), (0, 100_000, 100_001));
    }

    #[test]
    fn histogram_has_every_value_in_one_range() {
        let mut few = Distribution::default();
        for value in [5, 1, 5] {
            few.add(value);
        }
        let single = |value, count| Bucket { from: value, to: value, count };
        assert_eq!(few.histogram(), [single(1, 1), single(5, 2)]);
        let mut many = Distribution::default();
        for value in 0..100_000 {
            many.add(value);
        }
        let histogram = many.histogram();
        assert_eq!(histogram.iter().map(|bucket| bucket.count).sum::<u64>(), 100_000);
        for bucket in &histogram {
            assert_eq!(bucket.to - bucket.from + 1, bucket.count as i64, "{bucket:?}");
        }
    }
}
