//! Parquet files whose columns are known only when they are written, such as one for each factor of a study.

use crate::store::{StoreError, io_error};
use crate::write::cannot_write;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// Version of such files, in their metadata as `wirespeed.format_version`.
const FORMAT_VERSION: &str = "1";

/// A column and its values, one for each row.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetColumn {
    /// Unique name.
    pub name: String,
    /// Unit of the values; empty for text and plain numbers.
    pub unit: &'static str,
    /// Definition, which is stored with the column.
    pub doc: &'static str,
    /// The values.
    pub values: SheetValues,
}

/// The values of a column. `None` becomes null.
#[derive(Debug, Clone, PartialEq)]
pub enum SheetValues {
    /// UTF-8 text.
    Text(Vec<Option<String>>),
    /// 64-bit floating-point numbers.
    Real(Vec<Option<f64>>),
    /// Whole numbers, never null.
    Whole(Vec<u64>),
}

impl SheetValues {
    fn field(&self) -> (DataType, bool) {
        match self {
            SheetValues::Text(_) => (DataType::Utf8, true),
            SheetValues::Real(_) => (DataType::Float64, true),
            SheetValues::Whole(_) => (DataType::UInt64, false),
        }
    }

    fn write(&self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        match (self, writer) {
            (SheetValues::Text(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                let present: Vec<ByteArray> =
                    values.iter().flatten().map(|text| ByteArray::from(text.as_str())).collect();
                writer.write_batch(&present, Some(&levels(values)), None).map(drop)
            }
            (SheetValues::Real(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                let present: Vec<f64> = values.iter().flatten().copied().collect();
                writer.write_batch(&present, Some(&levels(values)), None).map(drop)
            }
            (SheetValues::Whole(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                // Parquet stores an unsigned number by its bits.
                let bits: Vec<i64> = values.iter().map(|value| *value as i64).collect();
                writer.write_batch(&bits, None, None).map(drop)
            }
            _ => unreachable!("the schema is made of the same values"),
        }
    }
}

/// Definition levels: 1 for a value, 0 for a null.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

/// Writes the columns to `path` as a Parquet file that replaces an earlier one as a whole. All columns have as many values. The
/// same values give the same bytes.
///
/// # Errors
/// If the file cannot be written.
pub fn write_sheet(path: &Path, columns: &[SheetColumn]) -> Result<(), StoreError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let result =
        write(partial, columns).and_then(|()| fs::rename(partial, path).map_err(io_error("write", path)));
    if result.is_err() {
        // An incomplete file is of no use; that it cannot be removed either changes nothing.
        let _ = fs::remove_file(partial);
    }
    result
}

fn write(path: &Path, columns: &[SheetColumn]) -> Result<(), StoreError> {
    let file = File::create(path).map_err(io_error("write", path))?;
    encode(file, columns).map_err(|error| cannot_write(path, error))
}

fn encode(file: File, columns: &[SheetColumn]) -> Result<(), ParquetError> {
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let notes = HashMap::from([("wirespeed.format_version".to_owned(), FORMAT_VERSION.to_owned())]);
    let schema = Schema::new(fields).with_metadata(notes);
    let converted = ArrowSchemaConverter::new().convert(&schema)?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("wirespeed".into())
        .build();
    add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
    let mut writer = SerializedFileWriter::new(file, converted.root_schema_ptr(), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        let Some(mut writer) = group.next_column()? else { break };
        column.values.write(writer.untyped())?;
        writer.close()?;
    }
    group.close()?;
    writer.close().map(drop)
}

fn field(column: &SheetColumn) -> Field {
    let notes = [("doc", column.doc), ("unit", column.unit)].into_iter().filter(|(_, text)| !text.is_empty());
    let notes: HashMap<String, String> = notes.map(|(key, text)| (key.into(), text.into())).collect();
    let (kind, may_be_null) = column.values.field();
    Field::new(&column.name, kind, may_be_null).with_metadata(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt64Type};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    fn columns() -> Vec<SheetColumn> {
        let column =
            |name: &str, unit, values| SheetColumn { name: name.into(), unit, doc: "a test", values };
        vec![
            column("id", "", SheetValues::Text(vec![Some("a".into()), None, Some("ü".into())])),
            column("goodput_bps", "bit/s", SheetValues::Real(vec![None, Some(1.5), Some(-0.0)])),
            column("seed", "", SheetValues::Whole(vec![0, u64::MAX, 7])),
        ]
    }

    #[test]
    fn values_nulls_and_units_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.parquet");
        write_sheet(&path, &columns()).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let schema = reader.schema().clone();
        assert_eq!(schema.metadata()["wirespeed.format_version"], "1");
        assert_eq!(schema.field(1).metadata()["unit"], "bit/s");
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let ids: Vec<Option<&str>> = batch.column(0).as_string::<i32>().iter().collect();
        assert_eq!(ids, [Some("a"), None, Some("ü")]);
        let rates: Vec<Option<f64>> = batch.column(1).as_primitive::<Float64Type>().iter().collect();
        assert_eq!(rates, [None, Some(1.5), Some(-0.0)]);
        let seeds: Vec<Option<u64>> = batch.column(2).as_primitive::<UInt64Type>().iter().collect();
        assert_eq!(seeds, [Some(0), Some(u64::MAX), Some(7)]);
    }

    #[test]
    fn failed_write_leaves_the_earlier_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.parquet");
        write_sheet(&path, &columns()).unwrap();
        let before = fs::read(&path).unwrap();
        fs::create_dir(folder.path().join("results.parquet.partial")).unwrap();
        assert!(write_sheet(&path, &columns()[..1]).is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
