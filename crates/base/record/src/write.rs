//! A table on its way into a Parquet file.

use crate::rows::Rows;
use crate::spool::{PART, Scratch, Spool};
use crate::store::{StoreError, io_error};
use crate::table::Row;
use arrow_schema::DataType;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{BoolType, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group. What Parquet notes of each row group stays in memory until the end (some 20 kB for the flow
/// table), so they must not be many; rows of an unfinished one wait in the [`Spool`].
const ROW_GROUP: usize = 512 * PART;
/// Bytes of different values after which a column gives up listing them, in a row group.
const DICTIONARY: usize = 64 << 10;
/// Bytes of a page, which is held until it is whole.
const PAGE: usize = 128 << 10;

/// A table that is being written, some rows at a time. Its bytes do not depend on how many at a time.
#[derive(Debug)]
pub struct TableWriter<R> {
    path: PathBuf,
    writer: SerializedFileWriter<Gathered<File>>,
    /// The values of the part that has begun, by column.
    columns: Vec<Scratch>,
    /// Rows of that part.
    begun: usize,
    spool: Spool,
    /// Rows in the spool.
    waiting: usize,
    rows: PhantomData<R>,
}

impl<R: Row> TableWriter<R> {
    pub(crate) fn create(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(format!("{}.parquet", R::TABLE));
        let file = File::create(&path).map_err(io_error("write", &path))?;
        let schema = R::schema();
        let parquet =
            ArrowSchemaConverter::new().convert(&schema).expect("every type of a cell has its equal");
        let mut properties = properties::<R>();
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let file = Gathered::new(file);
        let writer = SerializedFileWriter::new(file, parquet.root_schema_ptr(), Arc::new(properties))
            .map_err(|e| cannot_write(&path, e))?;
        let columns = (0..R::COLUMNS.len()).map(|_| Scratch::default()).collect();
        let spool = Spool::new(R::COLUMNS.len());
        Ok(TableWriter { path, writer, columns, begun: 0, spool, waiting: 0, rows: PhantomData })
    }

    /// Writes the `rows` and takes them out.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn drain(&mut self, rows: &mut Vec<R>) -> Result<(), StoreError> {
        self.write(rows)?;
        rows.clear();
        Ok(())
    }

    /// The same for rows whose memory is used again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn drain_rows(&mut self, rows: &mut Rows<R>) -> Result<(), StoreError> {
        self.write(rows)?;
        rows.clear();
        Ok(())
    }

    /// Writes further rows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, rows: &[R]) -> Result<(), StoreError> {
        let mut left = rows;
        while !left.is_empty() {
            let (taken, rest) = left.split_at(left.len().min(PART - self.begun));
            R::gather(taken, &mut self.columns);
            self.begun += taken.len();
            left = rest;
            if self.begun == PART {
                self.end_part()?;
            }
        }
        Ok(())
    }

    /// What has been gathered is a part.
    fn end_part(&mut self) -> Result<(), StoreError> {
        for (column, values) in self.columns.iter_mut().enumerate() {
            self.spool.push(column, values);
            values.clear();
        }
        self.spool.settle(&self.path).map_err(io_error("write", &self.path))?;
        self.waiting += std::mem::take(&mut self.begun);
        if self.waiting >= ROW_GROUP {
            self.write_row_group().map_err(|e| cannot_write(&self.path, e))?;
        }
        Ok(())
    }

    /// Encodes what waits, one column after the other.
    fn write_row_group(&mut self) -> Result<(), ParquetError> {
        let spool = &self.spool;
        let (mut buffer, mut values, mut room) = (Vec::new(), Scratch::default(), Room::default());
        let mut group = self.writer.next_row_group()?;
        let mut column = 0;
        while let Some(mut writer) = group.next_column()? {
            let writing = writer.untyped();
            spool.read(column, &mut buffer, &mut values, |values| room.write(values, writing))?;
            writer.close()?;
            column += 1;
        }
        group.close()?;
        self.spool.clear();
        self.waiting = 0;
        Ok(())
    }

    /// Writes what waits and what ends a Parquet file.
    pub(crate) fn close(mut self) -> Result<(), StoreError> {
        if self.begun > 0 {
            self.end_part()?;
        }
        if self.waiting > 0 {
            self.write_row_group().map_err(|e| cannot_write(&self.path, e))?;
        }
        let file = self.writer.into_inner().map_err(|e| cannot_write(&self.path, e))?;
        file.close().map_err(io_error("write", &self.path))
    }
}

/// A file that gets its bytes in large parts. The Parquet writer flushes after each page, and most pages of a short run have some 50
/// bytes: each would be a system call.
#[derive(Debug)]
struct Gathered<W: Write>(BufWriter<W>);

impl<W: Write> Gathered<W> {
    fn new(file: W) -> Self {
        Gathered(BufWriter::new(file))
    }

    /// Writes the rest.
    fn close(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> Write for Gathered<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// Leaves the bytes where they are.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Values of a part as the column writers want them.
#[derive(Default)]
struct Room {
    int32: Vec<i32>,
    double: Vec<f64>,
    boolean: Vec<bool>,
    words: Vec<parquet::data_type::ByteArray>,
}

impl Room {
    fn write(&mut self, values: &mut Scratch, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        fn fill<T>(room: &mut Vec<T>, values: &Scratch, of: impl Fn(i64) -> T) {
            room.clear();
            room.extend(values.bits.iter().map(|bits| of(*bits)));
        }
        match writer {
            ColumnWriter::Int64ColumnWriter(writer) => {
                write::<Int64Type>(writer, &values.bits, &values.levels)
            }
            ColumnWriter::Int32ColumnWriter(writer) => {
                fill(&mut self.int32, values, |bits| bits as i32);
                write::<Int32Type>(writer, &self.int32, &values.levels)
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                fill(&mut self.double, values, |bits| f64::from_bits(bits as u64));
                write::<DoubleType>(writer, &self.double, &values.levels)
            }
            ColumnWriter::BoolColumnWriter(writer) => {
                fill(&mut self.boolean, values, |bits| bits != 0);
                write::<BoolType>(writer, &self.boolean, &values.levels)
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                self.words.clear();
                self.words.extend(values.words());
                write::<ByteArrayType>(writer, &self.words, &values.levels)
            }
            _ => unreachable!("no cell has such a type"),
        }
    }
}

fn write<T: parquet::data_type::DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &[T::T],
    levels: &[i16],
) -> Result<(), ParquetError> {
    let levels = (writer.get_descriptor().max_def_level() > 0).then_some(levels);
    writer.write_batch(values, levels, None).map(drop)
}

/// No creation time or other wall-clock value goes in: the same rows give the same bytes.
fn properties<R: Row>() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_write_batch_size(PART)
        .set_data_page_size_limit(PAGE)
        .set_dictionary_page_size_limit(DICTIONARY)
        // Of every page they would be kept until the end, and no reader of ours looks for rows by their values.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by("wirespeed".into());
    for field in R::schema().fields() {
        if matches!(field.data_type(), DataType::Int64 | DataType::UInt64 | DataType::UInt32) {
            // Counters and times hardly repeat: to look each up in a list costs more than its difference does.
            let path = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

pub(crate) fn cannot_write(path: &Path, error: ParquetError) -> StoreError {
    let source = match error {
        // As the operating system says it, e.g. that no space is left.
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    };
    StoreError::Io { doing: "write", path: path.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes the length of each part that it gets.
    #[derive(Debug, Default)]
    struct Parts(Vec<usize>);

    impl Write for &mut Parts {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn small_pages_are_written_together() {
        let mut parts = Parts::default();
        let mut file = Gathered::new(&mut parts);
        for _ in 0..100 {
            file.write_all(&[7; 50]).unwrap();
            file.flush().unwrap();
        }
        file.close().unwrap();
        assert_eq!(parts.0, [5000]);
    }
}
