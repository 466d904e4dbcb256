//! One declaration per table gives the row struct, the documented columns, and the way to and from Parquet.

#[cfg(feature = "files")]
use crate::cell::Cell;
#[cfg(feature = "files")]
use crate::spool::Scratch;
#[cfg(feature = "files")]
use arrow_array::{Array, RecordBatch, new_null_array};
#[cfg(feature = "files")]
use arrow_schema::{Field, Schema};
#[cfg(feature = "files")]
use std::sync::Arc;

/// A column as `wirespeed explain` and the docs show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name, with its unit as suffix.
    pub name: &'static str,
    /// What it holds, with the kernel's name for it.
    pub doc: &'static str,
}

/// A column of the table of `R` that holds `T`. Every table has one constant by the name of each of its columns,
/// e.g. `FlowSample::rtt_ns`.
#[derive(Debug)]
pub struct ColumnOf<R, T> {
    /// Its name.
    pub name: &'static str,
    /// The value of a row.
    pub get: fn(&R) -> &T,
}

impl<R, T> Clone for ColumnOf<R, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, T> Copy for ColumnOf<R, T> {}

/// A row type of a table.
pub trait Row: Sized + Clone {
    /// File name without extension, and the table's name everywhere.
    const TABLE: &'static str;
    /// What a row is.
    const DOC: &'static str;
    /// The columns in order.
    const COLUMNS: &'static [Column];

    /// The Arrow schema.
    #[cfg(feature = "files")]
    fn schema() -> Arc<Schema>;
    /// Adds the values of `rows` to those of each column.
    #[cfg(feature = "files")]
    fn gather(rows: &[Self], columns: &mut [Scratch]);
    /// A batch as rows, or the name of the column that is missing or has another type.
    #[cfg(feature = "files")]
    fn from_batch(batch: &RecordBatch, into: &mut Vec<Self>) -> Result<(), String>;
}

#[cfg(feature = "files")]
pub(crate) fn field<C: Cell>(column: Column) -> Field {
    let doc = std::collections::HashMap::from([("doc".to_string(), column.doc.to_string())]);
    Field::new(column.name, C::TYPE, C::NULLABLE).with_metadata(doc)
}

/// The values of the column `name` of a batch.
#[cfg(feature = "files")]
pub(crate) fn read<C: Cell>(batch: &RecordBatch, name: &str) -> Result<Vec<C>, String> {
    let column = match batch.column_by_name(name) {
        Some(column) => column,
        // A recording made before the column was: nothing was measured.
        None if C::NULLABLE => &new_null_array(&C::TYPE, batch.num_rows()),
        None => return Err(format!("column `{name}` is missing")),
    };
    if *column.data_type() != C::TYPE {
        return Err(format!("column `{name}` holds {} where {} is due", column.data_type(), C::TYPE));
    }
    C::from_array(column).ok_or_else(|| format!("column `{name}` has a value that cannot be there"))
}

macro_rules! table {
    ($(#[doc = $doc:literal])* $(#[derive($derive:ident)])? $table:literal $name:ident {
        $($(#[doc = $cdoc:literal])* $column:ident: $type:ty,)+
    }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, $($derive,)? serde::Serialize, serde::Deserialize)]
        pub struct $name { $($(#[doc = $cdoc])* pub $column: $type,)+ }

        #[expect(non_upper_case_globals, reason = "a column is called the same everywhere")]
        impl $name {
            $($(#[doc = $cdoc])*
            pub const $column: $crate::table::ColumnOf<$name, $type> =
                $crate::table::ColumnOf { name: stringify!($column), get: |row| &row.$column };)+
        }

        impl $crate::table::Row for $name {
            const TABLE: &'static str = $table;
            const DOC: &'static str = concat!($($doc,)*).trim_ascii();
            const COLUMNS: &'static [$crate::table::Column] =
                &[$($crate::table::Column { name: stringify!($column), doc: concat!($($cdoc,)*).trim_ascii() },)+];

            #[cfg(feature = "files")]
            fn schema() -> std::sync::Arc<arrow_schema::Schema> {
                let mut columns = Self::COLUMNS.iter().copied();
                let fields: Vec<arrow_schema::Field> =
                    vec![$($crate::table::field::<$type>(columns.next().expect(stringify!($column))),)+];
                std::sync::Arc::new(arrow_schema::Schema::new(fields))
            }

            #[cfg(feature = "files")]
            fn gather(rows: &[Self], columns: &mut [$crate::spool::Scratch]) {
                let mut columns = columns.iter_mut();
                $(
                    let values = columns.next().expect(stringify!($column));
                    $crate::cell::Cell::put(rows.iter().map(|row| &row.$column), values);
                )+
            }

            #[cfg(feature = "files")]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use arrow_array::StringArray;
    use arrow_schema::DataType;

    #[test]
    fn a_recording_made_before_a_nullable_column_was_has_nulls_there() {
        let schema = Schema::new(vec![Field::new("place", DataType::Utf8, false)]);
        let places = Arc::new(StringArray::from(vec!["a", "b"]));
        let batch = RecordBatch::try_new(Arc::new(schema), vec![places]).unwrap();
        assert_eq!(read::<Option<Cause>>(&batch, "cause"), Ok(vec![None, None]));
        assert_eq!(read::<String>(&batch, "entry"), Err("column `entry` is missing".into()));
    }
}
