//! Where the rows of a row group wait: packed, column by column, in memory while they are few and then in a file
//! without a name.
//!
//! Parquet wants a row group column after column, rows come one after the other. To feed all of its column writers
//! at once costs some 200 kB for each of them, whatever the rows are; here waiting rows take 1 to 4 bytes a value.

use crate::platform::{read_exact_at, write_all_at};
use parquet::data_type::ByteArray;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Rows of a part. Parts are what is packed and encoded at once, so that a table's bytes do not depend on how its
/// rows came. All but the last part of a table have as many.
pub const PART: usize = 256;

/// Packed bytes that a table keeps in memory; with more it spools to its file.
const IN_MEMORY: usize = 192 << 10;

/// The values of one column in one part.
#[derive(Debug, Default)]
pub struct Scratch {
    /// By row: 1 for a value, 0 for a null.
    pub(crate) levels: Vec<i16>,
    /// Of numbers: the values that are there, as bits.
    pub(crate) bits: Vec<i64>,
    /// Of words: all after each other, and where each ends.
    text: Vec<u8>,
    ends: Vec<u32>,
}

impl Scratch {
    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        self.levels.clear();
        self.bits.clear();
        self.text.clear();
        self.ends.clear();
    }

    /// Numbers, none of which is missing.
    #[inline]
    pub(crate) fn put_bits(&mut self, numbers: impl Iterator<Item = i64>) {
        self.bits.extend(numbers);
        self.levels.resize(self.bits.len(), 1);
    }

    /// Numbers, some of which may be missing.
    #[inline]
    pub(crate) fn put_some_bits(&mut self, numbers: impl Iterator<Item = Option<i64>> + Clone) {
        self.levels.extend(numbers.clone().map(|number| i16::from(number.is_some())));
        self.bits.extend(numbers.flatten());
    }

    pub(crate) fn put_text(&mut self, word: Option<&str>) {
        self.levels.push(i16::from(word.is_some()));
        let Some(word) = word else { return };
        self.text.extend_from_slice(word.as_bytes());
        // A part has 256 words: 16 MiB each before this could overflow.
        self.ends.push(self.text.len() as u32);
    }

    /// The words, sharing one buffer.
    pub(crate) fn words(&mut self) -> impl Iterator<Item = ByteArray> + '_ {
        let all = ByteArray::from(std::mem::take(&mut self.text));
        let mut from = 0;
        self.ends.iter().map(move |&end| {
            let start = std::mem::replace(&mut from, end as usize);
            all.slice(start, end as usize - start)
        })
    }

    /// Appends the values to `out`: rows, nulls, of numbers the lowest bytes, as few as they differ in, words.
    fn pack(&self, out: &mut Vec<u8>) {
        let is_present = self.levels.iter().filter(|level| **level != 0).count();
        put_u32(out, self.levels.len() as u32);
        put_u32(out, is_present as u32);
        if is_present != 0 && is_present != self.levels.len() {
            out.extend(self.levels.iter().map(|level| *level as u8));
        }
        let first = self.bits.first().copied().unwrap_or(0);
        let differing = self.bits.iter().fold(0, |differing, bits| differing | (bits ^ first));
        let width = 8 - differing.leading_zeros() / 8;
        put_u32(out, self.bits.len() as u32);
        out.push(width as u8);
        out.extend_from_slice(&first.to_le_bytes());
        match width {
            0 => {}
            1 => out.extend(self.bits.iter().map(|bits| *bits as u8)),
            2 => out.extend(self.bits.iter().flat_map(|bits| (*bits as u16).to_le_bytes())),
            3 | 4 => out.extend(self.bits.iter().flat_map(|bits| (*bits as u32).to_le_bytes())),
            _ => out.extend(self.bits.iter().flat_map(|bits| bits.to_le_bytes())),
        }
        put_u32(out, self.ends.len() as u32);
        out.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        out.extend_from_slice(&self.text);
    }

    /// Takes the values that [`Scratch::pack`] appended from the front of `packed`.
    fn unpack(&mut self, packed: &mut &[u8]) {
        self.clear();
        let rows = take_u32(packed) as usize;
        let is_present = take_u32(packed) as usize;
        if is_present != 0 && is_present != rows {
            self.levels.extend(take(packed, rows).iter().map(|level| i16::from(*level)));
        } else {
            self.levels.resize(rows, i16::from(is_present != 0));
        }
        let numbers = take_u32(packed) as usize;
        let width = take(packed, 1)[0];
        let first = i64::from_le_bytes(array(take(packed, 8)));
        let bits = &mut self.bits;
        match width {
            0 => bits.resize(numbers, first),
            1 => bits.extend(take(packed, numbers).iter().map(|low| first & !0xff | i64::from(*low))),
            2 => bits.extend(
                take(packed, numbers * 2)
                    .chunks_exact(2)
                    .map(|low| first & !0xffff | i64::from(u16::from_le_bytes(array(low)))),
            ),
            3 | 4 => bits.extend(
                take(packed, numbers * 4)
                    .chunks_exact(4)
                    .map(|low| first & !0xffff_ffff | i64::from(u32::from_le_bytes(array(low)))),
            ),
            _ => bits
                .extend(take(packed, numbers * 8).chunks_exact(8).map(|all| i64::from_le_bytes(array(all)))),
        }
        let words = take_u32(packed) as usize;
        let ends = take(packed, words * 4).chunks_exact(4);
        self.ends.extend(ends.map(|end| u32::from_le_bytes(array(end))));
        let length = self.ends.last().map_or(0, |end| *end as usize);
        self.text.extend_from_slice(take(packed, length));
    }
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = from.split_at(length);
    *from = rest;
    taken
}

fn take_u32(from: &mut &[u8]) -> u32 {
    u32::from_le_bytes(array(take(from, 4)))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("as many bytes were taken")
}

/// Packed columns of a table.
#[derive(Debug)]
pub(crate) struct Spool {
    /// The newest parts, by column.
    pending: Vec<Vec<u8>>,
    /// Bytes in them.
    held: usize,
    /// The parts before those, in pieces of [`IN_MEMORY`] bytes.
    file: Option<File>,
    stripes: Vec<Stripe>,
}

/// What was pending at one time.
#[derive(Debug)]
struct Stripe {
    /// Where the columns are in the file: column `i` in `bounds[i]..bounds[i + 1]`.
    bounds: Vec<u64>,
}

impl Spool {
    /// For a table of so many columns.
    pub fn new(columns: usize) -> Spool {
        Spool { pending: vec![Vec::new(); columns], held: 0, file: None, stripes: Vec::new() }
    }

    /// Adds the values of a column.
    pub fn push(&mut self, column: usize, values: &Scratch) {
        let pending = &mut self.pending[column];
        let before = pending.len();
        values.pack(pending);
        self.held += pending.len() - before;
    }

    /// To be called between parts: moves what is too much for the memory into the file, which is made beside `path`
    /// and has lost its name before anything is in it, so that nobody ever has to remove it.
    pub fn settle(&mut self, path: &Path) -> io::Result<()> {
        if self.held < IN_MEMORY {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(nameless(&path.with_extension("spool"))?),
        };
        let mut end = self.stripes.last().map_or(0, |stripe| stripe.bounds[self.pending.len()]);
        let mut bounds = Vec::with_capacity(self.pending.len() + 1);
        bounds.push(end);
        for column in &mut self.pending {
            write_all_at(file, column, end)?;
            end += column.len() as u64;
            bounds.push(end);
            column.clear();
        }
        self.stripes.push(Stripe { bounds });
        self.held = 0;
        Ok(())
    }

    /// Calls `each` with every part of a column, in their order; `buffer` and `values` are room for it.
    pub fn read<E: From<io::Error>>(
        &self,
        column: usize,
        buffer: &mut Vec<u8>,
        values: &mut Scratch,
        mut each: impl FnMut(&mut Scratch) -> Result<(), E>,
    ) -> Result<(), E> {
        for stripe in &self.stripes {
            let (from, to) = (stripe.bounds[column], stripe.bounds[column + 1]);
            buffer.resize((to - from) as usize, 0);
            read_exact_at(self.file.as_ref().expect("stripes are in a file"), buffer, from)?;
            let mut packed = &buffer[..];
            while !packed.is_empty() {
                values.unpack(&mut packed);
                each(values)?;
            }
        }
        let mut packed = &self.pending[column][..];
        while !packed.is_empty() {
            values.unpack(&mut packed);
            each(values)?;
        }
        Ok(())
    }

    /// Forgets everything; the file is used again from its start.
    pub fn clear(&mut self) {
        self.stripes.clear();
        self.pending.iter_mut().for_each(Vec::clear);
        self.held = 0;
    }
}

fn nameless(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed_and_back(values: &Scratch) -> Scratch {
        let mut bytes = Vec::new();
        values.pack(&mut bytes);
        let (mut found, mut rest) = (Scratch::default(), &bytes[..]);
        found.unpack(&mut rest);
        assert!(rest.is_empty());
        found
    }

    #[test]
    fn numbers_of_every_width_come_back() {
        for spread in
            [0, 1, 0xff, 0x100, 0xffff, 0x1_0000, 0xff_ffff, i64::from(u32::MAX), 1 << 32, i64::MAX - 7]
        {
            for first in [7, -7] {
                let mut values = Scratch::default();
                let numbers = [Some(first), None, Some(first + spread), None, Some(first + spread / 2)];
                values.put_some_bits(numbers.into_iter());
                let found = packed_and_back(&values);
                assert_eq!((&found.bits, &found.levels), (&values.bits, &values.levels), "{spread}");
            }
        }
    }

    #[test]
    fn words_and_nothing_come_back() {
        let mut values = Scratch::default();
        ["", "queue", "ü"].iter().for_each(|word| values.put_text(Some(word)));
        let words: Vec<_> = packed_and_back(&values).words().collect();
        assert_eq!(words, ["", "queue", "ü"].map(|word| ByteArray::from(word.as_bytes())));
        let mut nothing = Scratch::default();
        nothing.put_text(None);
        assert_eq!(packed_and_back(&nothing).levels, [0]);
    }

    #[test]
    fn rows_beyond_memory_are_read_back_from_an_unnamed_file() {
        let folder = tempfile::tempdir().unwrap();
        let (mut spool, mut values) = (Spool::new(2), Scratch::default());
        for round in 0..2 {
            for part in 0..100 {
                for column in 0..2 {
                    values.clear();
                    values.put_bits((0..1000).map(|i| round + part + i * i * 1000 * column));
                    spool.push(column as usize, &values);
                }
                spool.settle(&folder.path().join("t.parquet")).unwrap();
            }
            assert!(!spool.stripes.is_empty());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
            let mut expected = round;
            let check = |values: &mut Scratch| {
                assert_eq!((values.bits[0], values.bits[999]), (expected, expected + 999 * 999 * 1000));
                expected += 1;
                Ok::<_, io::Error>(())
            };
            spool.read(1, &mut Vec::new(), &mut values, check).unwrap();
            assert_eq!(expected, round + 100);
            spool.clear();
        }
    }
}
