//! A set of logical CPUs in the kernel's list format.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Logical CPUs. Its text is the kernel's list format, `0-3,8` (Documentation/admin-guide/cputopology.rst).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<u32>);

/// The text is not a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of CPUs; write one like `0-3,8`, with CPU numbers up to 8191")]
pub struct CpuSetError(String);

/// The largest NR_CPUS that the kernel can be configured with on x86-64.
const MAX_CPUS: u32 = 8192;

impl CpuSet {
    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some CPU is in both sets.
    pub fn intersects(&self, other: &CpuSet) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// The CPUs of `self` that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.difference(&other.0).copied().collect())
    }

    /// The CPUs of either set.
    #[must_use]
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.union(&other.0).copied().collect())
    }

    /// The CPUs of both sets.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.intersection(&other.0).copied().collect())
    }

    /// The kernel's mask format, 32 bits a word, most significant first: `00000001,00000000` is CPU 32.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |at: u32| {
            self.iter().filter(|cpu| cpu / 32 == at).fold(0_u32, |word, cpu| word | 1 << (cpu % 32))
        };
        let words: Vec<String> = (0..words).rev().map(|at| format!("{:08x}", word(at))).collect();
        words.join(",")
    }

    /// Reads the kernel's mask format.
    ///
    /// # Errors
    /// If a word is not hexadecimal or has more than 32 bits.
    pub fn from_mask(text: &str) -> Result<CpuSet, CpuSetError> {
        let mut cpus = BTreeSet::new();
        for (at, word) in (0..MAX_CPUS / 32).zip(text.trim().rsplit(',')) {
            let word = u32::from_str_radix(word.trim(), 16).map_err(|_| CpuSetError(text.to_owned()))?;
            cpus.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| at * 32 + bit));
        }
        Ok(CpuSet(cpus))
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> CpuSet {
        CpuSet(cpus.into_iter().collect())
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(text: &str) -> Result<CpuSet, CpuSetError> {
        let wrong = || CpuSetError(text.to_owned());
        let number =
            |word: &str| word.trim().parse::<u32>().ok().filter(|cpu| *cpu < MAX_CPUS).ok_or_else(wrong);
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.trim().is_empty()) {
            match part.split_once('-') {
                None => _ = cpus.insert(number(part)?),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(wrong());
                    }
                    cpus.extend(first..=last);
                }
            }
        }
        Ok(CpuSet(cpus))
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;

    fn try_from(text: String) -> Result<CpuSet, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        set.to_string()
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (at, (first, last)) in ranges.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    #[test]
    fn lists_are_those_of_the_kernel() {
        assert_eq!(set("0-3,8").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(set("3,0,1,2").to_string(), "0-3");
        assert_eq!((set("\n").to_string(), set("").len()), (String::new(), 0));
        for wrong in ["a", "3-1", "0-", "-1", "8192", "0-99999999999"] {
            assert!(wrong.parse::<CpuSet>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn masks_are_those_of_the_kernel() {
        assert_eq!(set("0,4").mask(), "00000011");
        assert_eq!(set("32").mask(), "00000001,00000000");
        assert_eq!(CpuSet::from_mask("00000001,00000000\n").unwrap(), set("32"));
        assert_eq!(CpuSet::from_mask("ff").unwrap(), set("0-7"));
        assert_eq!(CpuSet::default().mask(), "00000000");
        assert!(CpuSet::from_mask("xyz").is_err() && CpuSet::from_mask("1ffffffff").is_err());
    }

    proptest! {
        #[test]
        fn text_and_mask_give_the_set_back(cpus in proptest::collection::btree_set(0_u32..512, 0..40)) {
            let original = CpuSet(cpus);
            prop_assert_eq!(original.to_string().parse::<CpuSet>().unwrap(), original.clone());
            prop_assert_eq!(CpuSet::from_mask(&original.mask()).unwrap(), original);
        }
    }
}
