//! Reads the files that [`crate::write_sheet`] writes.

use crate::sheet::SheetValues;
use crate::store::StoreError;
use crate::table_file::{TableFile, damaged};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::collections::BTreeMap;
use std::path::Path;

/// The columns of a file of [`crate::write_sheet`], by their names. Columns of other types are left out.
///
/// # Errors
/// If the file is missing or damaged.
pub fn read_sheet(path: &Path) -> Result<BTreeMap<String, SheetValues>, StoreError> {
    let file = TableFile::open(path)?;
    let fields = file.schema().fields().clone();
    let mut columns: Vec<Option<SheetValues>> = fields.iter().map(|field| empty(field.data_type())).collect();
    for batch in file.batches(None)? {
        let batch = batch?;
        for (column, values) in columns.iter_mut().zip(batch.columns()) {
            if let Some(column) = column {
                append(column, values).ok_or_else(|| damaged(path, "a column has another type".into()))?;
            }
        }
    }
    let named = fields.iter().map(|field| field.name().clone()).zip(columns);
    Ok(named.filter_map(|(name, column)| Some((name, column?))).collect())
}

fn empty(kind: &DataType) -> Option<SheetValues> {
    match kind {
        DataType::Utf8 => Some(SheetValues::Text(Vec::new())),
        DataType::Float64 => Some(SheetValues::Real(Vec::new())),
        DataType::UInt64 => Some(SheetValues::Whole(Vec::new())),
        _ => None,
    }
}

/// Appends values to a column; `None` if they are of another type.
fn append(column: &mut SheetValues, values: &ArrayRef) -> Option<()> {
    match column {
        SheetValues::Text(column) => {
            column.extend(values.as_string_opt::<i32>()?.iter().map(|text| text.map(str::to_owned)));
        }
        SheetValues::Real(column) => column.extend(values.as_primitive_opt::<Float64Type>()?.iter()),
        SheetValues::Whole(column) => {
            let values = values.as_primitive_opt::<UInt64Type>()?;
            if values.null_count() > 0 {
                return None;
            }
            column.extend(values.values());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SheetColumn, write_sheet};
    use std::fs;

    fn written(path: &Path) -> BTreeMap<String, SheetValues> {
        let values = [
            ("id", SheetValues::Text(vec![Some("a".into()), None])),
            ("goodput_bps", SheetValues::Real(vec![None, Some(1.5)])),
            ("seed", SheetValues::Whole(vec![0, u64::MAX])),
        ];
        let column = |(name, values): &(&str, SheetValues)| SheetColumn {
            name: (*name).into(),
            unit: "",
            doc: "a test",
            values: values.clone(),
        };
        write_sheet(path, &values.iter().map(column).collect::<Vec<_>>()).unwrap();
        values.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
    }

    #[test]
    fn columns_are_those_that_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.parquet");
        let expected = written(&path);
        assert_eq!(read_sheet(&path).unwrap(), expected);
    }

    #[test]
    fn damaged_file_is_an_error_at_every_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.parquet");
        written(&path);
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(7) {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read_sheet(&path).is_err(), "{length} bytes");
        }
    }
}
