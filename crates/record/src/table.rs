//! One declaration per table gives the row struct, the documented columns, and the way to and from Parquet.

use arrow_array::{Array, ArrayRef, RecordBatch, builder::*, cast::AsArray, types::*};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;

/// A column as `wirespeed explain` and the docs show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name, with its unit as suffix.
    pub name: &'static str,
    /// What it holds, with the kernel's name for it.
    pub doc: &'static str,
}

/// A row type of a table.
pub trait Row: Sized + Clone {
    /// File name without extension, and the table's name everywhere.
    const TABLE: &'static str;
    /// What a row is.
    const DOC: &'static str;
    /// The columns in order.
    const COLUMNS: &'static [Column];

    /// The Arrow schema.
    fn schema() -> Arc<Schema>;
    /// Rows as one batch.
    fn to_batch(rows: &[Self]) -> RecordBatch;
    /// A batch as rows, or the name of the column that is missing or has another type.
    fn from_batch(batch: &RecordBatch, into: &mut Vec<Self>) -> Result<(), String>;
}

/// A value that a column can hold.
pub(crate) trait Cell: Sized {
    const TYPE: DataType;
    const NULLABLE: bool = false;
    fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
    /// Reads every value of an array of `TYPE`; `None` if a null stands where there can be none.
    fn from_array(array: &dyn Array) -> Option<Vec<Self>>;
}

macro_rules! primitive_cell {
    ($($rust:ty => $arrow:ty, $builder:ty, $data:expr;)+) => {$(
        impl Cell for $rust {
            const TYPE: DataType = $data;
            fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                let mut builder = <$builder>::new();
                values.for_each(|v| builder.append_value(*v));
                Arc::new(builder.finish())
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                let array = array.as_primitive::<$arrow>();
                (array.null_count() == 0).then(|| array.values().to_vec())
            }
        }

        impl Cell for Option<$rust> {
            const TYPE: DataType = $data;
            const NULLABLE: bool = true;
            fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                let mut builder = <$builder>::new();
                values.for_each(|v| builder.append_option(*v));
                Arc::new(builder.finish())
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                Some(array.as_primitive::<$arrow>().iter().collect())
            }
        }
    )+};
}

primitive_cell! {
    i64 => Int64Type, Int64Builder, DataType::Int64;
    u64 => UInt64Type, UInt64Builder, DataType::UInt64;
    u32 => UInt32Type, UInt32Builder, DataType::UInt32;
    f64 => Float64Type, Float64Builder, DataType::Float64;
}

impl Cell for bool {
    const TYPE: DataType = DataType::Boolean;
    fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let mut builder = BooleanBuilder::new();
        values.for_each(|v| builder.append_value(*v));
        Arc::new(builder.finish())
    }
    fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
        array.as_boolean().iter().collect()
    }
}

impl Cell for Option<bool> {
    const TYPE: DataType = DataType::Boolean;
    const NULLABLE: bool = true;
    fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let mut builder = BooleanBuilder::new();
        values.for_each(|v| builder.append_option(*v));
        Arc::new(builder.finish())
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
    fn from_word(word: &str) -> Option<Self> {
        Some(word.into())
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
enum_word!(crate::stage::Stage, crate::stage::Direction);

macro_rules! word_cell {
    ($($rust:ty),+) => {$(
        impl Cell for $rust {
            const TYPE: DataType = DataType::Utf8;
            fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                let mut builder = StringBuilder::new();
                values.for_each(|v| builder.append_value(Word::word(v)));
                Arc::new(builder.finish())
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                array.as_string::<i32>().iter().map(|v| v.and_then(Word::from_word)).collect()
            }
        }

        impl Cell for Option<$rust> {
            const TYPE: DataType = DataType::Utf8;
            const NULLABLE: bool = true;
            fn to_array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                let mut builder = StringBuilder::new();
                values.for_each(|v| builder.append_option(v.as_ref().map(Word::word)));
                Arc::new(builder.finish())
            }
            fn from_array(array: &dyn Array) -> Option<Vec<Self>> {
                let strings = array.as_string::<i32>();
                strings.iter().map(|v| v.map_or(Some(None), |w| Word::from_word(w).map(Some))).collect()
            }
        }
    )+};
}
word_cell!(String, crate::stage::Stage, crate::stage::Direction);

pub(crate) fn field<C: Cell>(column: Column) -> Field {
    let doc = std::collections::HashMap::from([("doc".to_string(), column.doc.to_string())]);
    Field::new(column.name, C::TYPE, C::NULLABLE).with_metadata(doc)
}

pub(crate) fn read<C: Cell>(batch: &RecordBatch, name: &str) -> Result<Vec<C>, String> {
    let column = batch.column_by_name(name).ok_or_else(|| format!("column `{name}` is missing"))?;
    if *column.data_type() != C::TYPE {
        return Err(format!("column `{name}` holds {} where {} is due", column.data_type(), C::TYPE));
    }
    C::from_array(column).ok_or_else(|| format!("column `{name}` has a value that cannot be there"))
}

macro_rules! table {
    ($(#[doc = $doc:literal])* $table:literal $name:ident {
        $($(#[doc = $cdoc:literal])* $column:ident: $type:ty,)+
    }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name { $($(#[doc = $cdoc])* pub $column: $type,)+ }

        impl $crate::table::Row for $name {
            const TABLE: &'static str = $table;
            const DOC: &'static str = concat!($($doc,)*).trim_ascii();
            const COLUMNS: &'static [$crate::table::Column] =
                &[$($crate::table::Column { name: stringify!($column), doc: concat!($($cdoc,)*).trim_ascii() },)+];

            fn schema() -> std::sync::Arc<arrow_schema::Schema> {
                let mut columns = Self::COLUMNS.iter().copied();
                let fields: Vec<arrow_schema::Field> =
                    vec![$($crate::table::field::<$type>(columns.next().expect(stringify!($column))),)+];
                std::sync::Arc::new(arrow_schema::Schema::new(fields))
            }

            fn to_batch(rows: &[Self]) -> arrow_array::RecordBatch {
                let columns =
                    vec![$(<$type as $crate::table::Cell>::to_array(rows.iter().map(|r| &r.$column)),)+];
                arrow_array::RecordBatch::try_new(Self::schema(), columns).expect("columns follow the schema")
            }

            fn from_batch(batch: &arrow_array::RecordBatch, into: &mut Vec<Self>) -> Result<(), String> {
                $(let mut $column = $crate::table::read::<$type>(batch, stringify!($column))?.into_iter();)+
                for _ in 0..batch.num_rows() {
                    into.push($name { $($column: $column.next().expect("every column has every row"),)+ });
                }
                Ok(())
            }
        }
    };
}
pub(crate) use table;
