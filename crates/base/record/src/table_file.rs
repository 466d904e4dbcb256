//! A Parquet file of a run directory, opened once: its footer is parsed and checked, and a small file is in memory.

use crate::foreign::open_file;
use crate::guarded::guarded;
use crate::store::StoreError;
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::reader::ChunkReader;
use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Rows that are decoded at once.
const AT_ONCE: usize = 8192;

/// Files of at most so many bytes are kept in memory: metrics and figures read some 60 columns of a run.
const IN_MEMORY: u64 = 1 << 22;

/// Rows that a byte of a file may stand for. In the emptiest table of a run, in which nothing but time goes on, in even steps,
/// a page of 128 KiB becomes some hundred bytes: 200 rows a byte. A file with a higher count is crafted, to fill the memory of
/// the reader.
const ROWS_A_BYTE: u64 = 1000;

/// An opened file.
#[derive(Debug)]
pub(crate) struct TableFile {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// The whole file, if it is small.
    content: Option<Bytes>,
    rows: usize,
}

impl TableFile {
    /// Opens a file and checks that its bytes can hold the number of rows in its footer.
    pub fn open(path: &Path) -> Result<TableFile, StoreError> {
        let broken = |e: std::io::Error| damaged(path, e.to_string());
        let mut file = open_file(path).map_err(broken)?;
        let bytes = file.metadata().map_err(broken)?.len();
        let (metadata, content) = if bytes <= IN_MEMORY {
            let mut content = Vec::with_capacity(bytes as usize);
            file.by_ref().take(IN_MEMORY).read_to_end(&mut content).map_err(broken)?;
            let content = Bytes::from(content);
            (footer(path, &content)?, Some(content))
        } else {
            (footer(path, &file)?, None)
        };
        let mut groups =
            metadata.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let rows = groups.try_fold(0u64, |sum, rows| sum.checked_add(rows?));
        match rows {
            Some(rows) if !can_hold(bytes, rows) => {
                Err(damaged(path, format!("{rows} rows in {bytes} bytes cannot be")))
            }
            Some(rows) if i64::try_from(rows) == Ok(metadata.metadata().file_metadata().num_rows()) => {
                let rows = usize::try_from(rows).map_err(|e| damaged(path, e.to_string()))?;
                Ok(TableFile { path: path.into(), metadata, content, rows })
            }
            _ => Err(damaged(path, "it does not have as many rows as it says".into())),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Names and types of its columns.
    pub fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rows, some at a time: all columns, or one.
    pub fn batches(&self, column: Option<&str>) -> Result<Batches<'_>, StoreError> {
        let reader = match &self.content {
            Some(content) => self.reader(content.clone(), column),
            None => {
                self.reader(open_file(&self.path).map_err(|e| damaged(&self.path, e.to_string()))?, column)
            }
        }?;
        Ok(Batches { path: &self.path, reader: Some(reader) })
    }

    fn reader<T: ChunkReader + 'static>(
        &self,
        from: T,
        column: Option<&str>,
    ) -> Result<ParquetRecordBatchReader, StoreError> {
        let build = || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(from, self.metadata.clone());
            let only = column.map(|name| ProjectionMask::columns(builder.parquet_schema(), [name]));
            let builder = match only {
                Some(only) => builder.with_projection(only),
                None => builder,
            };
            builder.with_batch_size(AT_ONCE.min(self.rows.max(1))).build()
        };
        checked(&self.path, guarded(build))
    }
}

fn footer<T: ChunkReader>(path: &Path, from: &T) -> Result<ArrowReaderMetadata, StoreError> {
    // The types follow from those of Parquet. The copy of Arrow's schema would take a third of the time.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    checked(path, guarded(|| ArrowReaderMetadata::load(from, options)))
}

/// Whether a file of so many bytes can be a table of so many rows.
pub(crate) fn can_hold(bytes: u64, rows: u64) -> bool {
    rows <= bytes.saturating_mul(ROWS_A_BYTE)
}

/// The rows of a file, some at a time, up to its end or where it is damaged.
pub(crate) struct Batches<'a> {
    path: &'a Path,
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let batch = checked(self.path, guarded(|| reader.next().transpose())).transpose();
        if !matches!(batch, Some(Ok(_))) {
            self.reader = None;
        }
        batch
    }
}

/// The result of the Parquet reader as an error of the file; `None` is a panic of the reader.
fn checked<T, E: Display>(path: &Path, said: Option<Result<T, E>>) -> Result<T, StoreError> {
    match said {
        Some(result) => result.map_err(|e| damaged(path, e.to_string())),
        None => Err(damaged(path, "its pages do not fit what it says of them".into())),
    }
}

pub(crate) fn damaged(path: &Path, reason: String) -> StoreError {
    StoreError::Damaged { path: path.into(), reason }
}
