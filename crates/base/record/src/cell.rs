//! What a column can hold: its Arrow type, how a value is spooled, and how an array is read.

use crate::spool::Scratch;
use arrow_array::{Array, cast::AsArray, types::*};
use arrow_schema::DataType;

/// A value that a column can hold.
pub trait Cell: Sized + Clone {
    /// The column's type.
    const TYPE: DataType;
    /// Whether values may be missing.
    const NULLABLE: bool = false;
    /// Adds values to those that are spooled together.
    fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch)
    where
        Self: 'a;
    /// Reads every value of an array of `TYPE`; `None` if a null stands where there can be none.
    fn from_array(array: &dyn Array) -> Option<Vec<Self>>;
}

macro_rules! primitive_cell {
    ($($rust:ty => $arrow:ty, $data:expr, $bits:expr;)+) => {$(
        impl Cell for $rust {
            const TYPE: DataType = $data;
            fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch) {
                let bits: fn($rust) -> i64 = $bits;
                scratch.put_bits(values.map(|value| bits(*value)));
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                let array = array.as_primitive::<$arrow>();
                (array.null_count() == 0).then(|| array.values().to_vec())
            }
        }

        impl Cell for Option<$rust> {
            const TYPE: DataType = $data;
            const NULLABLE: bool = true;
            fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch) {
                let bits: fn($rust) -> i64 = $bits;
                scratch.put_some_bits(values.map(|value| value.map(bits)));
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                Some(array.as_primitive::<$arrow>().iter().collect())
            }
        }
    )+};
}

primitive_cell! {
    i64 => Int64Type, DataType::Int64, |v| v;
    u64 => UInt64Type, DataType::UInt64, |v| v as i64;
    u32 => UInt32Type, DataType::UInt32, i64::from;
    f64 => Float64Type, DataType::Float64, |v| v.to_bits() as i64;
}

impl Cell for bool {
    const TYPE: DataType = DataType::Boolean;
    fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch) {
        scratch.put_bits(values.map(|value| i64::from(*value)));
    }
    fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
        array.as_boolean().iter().collect()
    }
}

impl Cell for Option<bool> {
    const TYPE: DataType = DataType::Boolean;
    const NULLABLE: bool = true;
    fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch) {
        scratch.put_some_bits(values.map(|value| value.map(i64::from)));
    }
    fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
        Some(array.as_boolean().iter().collect())
    }
}

/// Types that are stored as their word.
pub(crate) trait Word: Sized {
    fn word(&self) -> &str;
    fn from_word(word: &str) -> Option<Self>;
}

impl Word for String {
    fn word(&self) -> &str {
        self
    }
    /// Longer words nobody has written: a dictionary with one would take its length again for every row.
    fn from_word(word: &str) -> Option<Self> {
        const LONGEST: usize = 1 << 16;
        (word.len() <= LONGEST).then(|| word.into())
    }
}

macro_rules! enum_word {
    ($($name:ty),+) => {$(
        impl Word for $name {
            fn word(&self) -> &str {
                <$name>::word(*self)
            }
            fn from_word(word: &str) -> Option<Self> {
                word.parse().ok()
            }
        }
    )+};
}
enum_word!(
    crate::cause::Cause,
    crate::stage::Stage,
    crate::stage::Direction,
    crate::stage::Entry,
    crate::event_kind::EventKind,
    crate::queue_class::QueueClass
);

macro_rules! word_cell {
    ($($rust:ty),+) => {$(
        impl Cell for $rust {
            const TYPE: DataType = DataType::Utf8;
            fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch) {
                values.for_each(|value| scratch.put_text(Some(Word::word(value))));
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                array.as_string::<i32>().iter().map(|v| v.and_then(Word::from_word)).collect()
            }
        }

        impl Cell for Option<$rust> {
            const TYPE: DataType = DataType::Utf8;
            const NULLABLE: bool = true;
            fn put<'a>(values: impl Iterator<Item = &'a Self> + Clone, scratch: &mut Scratch) {
                values.for_each(|value| scratch.put_text(value.as_ref().map(Word::word)));
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                let strings = array.as_string::<i32>();
                strings.iter().map(|v| v.map_or(Some(None), |w| Word::from_word(w).map(Some))).collect()
            }
        }
    )+};
}
word_cell!(
    String,
    crate::cause::Cause,
    crate::stage::Stage,
    crate::stage::Direction,
    crate::stage::Entry,
    crate::event_kind::EventKind,
    crate::queue_class::QueueClass
);
