//! Reads a bundle, which may be hostile.
//!
//! The entries are checked in the order of the archive, and written only below a fresh folder beside the target, which gets
//! its name after the last check. Memory and disk are bounded by what `bundle.json` states, and that by the limits below and
//! by what so many compressed bytes can hold.

use crate::digest::{self, Digest};
use crate::entry_path;
use crate::error::{BundleError, Problem, io_error};
use crate::manifest::{FORMAT_VERSION, Manifest};
use crate::pack::{MANIFEST, SUMS};
use crate::{RESULTS, SCENARIO};
use flate2::bufread::GzDecoder;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tar::{Archive, EntryType};

/// Bytes of `bundle.json`, at most: 10,000 runs have some 40 MB.
const MOST_MANIFEST_BYTES: u64 = 256 << 20;
/// Bytes of `SHA256SUMS`, at most.
const MOST_SUMS_BYTES: u64 = 256 << 20;
/// Files of a bundle, at most.
const MOST_FILES: u64 = 1_000_000;
/// Bytes of all its files, at most: 1 TiB.
const MOST_BYTES: u64 = 1 << 40;
/// Bytes that a byte of deflate can stand for, at most (RFC 1951: 258 bytes by two codes of one bit).
const MOST_RATIO: u64 = 1032;
/// Blocks of the archive for a file besides its content: two headers, a long name, the rest of the last block.
const BLOCKS_A_FILE: u64 = 6 * 512;
/// Zeros at the end of an archive: tar writes records of 10 KiB.
const MOST_PADDING: u64 = 1 << 16;

/// Whether a file looks like a bundle: it is compressed by gzip (RFC 1952), as no scenario is.
pub fn is_bundle(path: &Path) -> bool {
    let mut start = [0; 2];
    // A pipe may be a scenario, of which nothing must be taken.
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == [0x1f, 0x8b]
}

/// Reads a bundle to its end and checks everything; nothing is written.
///
/// # Errors
/// The first entry that is refused, or why the file is not a whole bundle.
pub fn verify(path: &Path) -> Result<Manifest, BundleError> {
    walk(path, None)
}

/// Unpacks a bundle as the folder `target`, which must not exist. Its content is that of the bundle's only folder.
///
/// # Errors
/// As [`verify`], or if something cannot be written. Nothing is left behind then.
pub fn unpack(path: &Path, target: &Path) -> Result<Manifest, BundleError> {
    if target.symlink_metadata().is_ok() {
        return Err(BundleError::Occupied(target.into()));
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(io_error("create", parent))?;
    let fresh = Fresh::create(target)?;
    let manifest = walk(path, Some(&fresh.path))?;
    fs::rename(&fresh.path, target).map_err(io_error("write", target))?;
    Ok(manifest)
}

/// A folder that is removed unless it got another name.
struct Fresh {
    path: PathBuf,
}

impl Fresh {
    fn create(target: &Path) -> Result<Fresh, BundleError> {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let path = target.with_file_name(name);
        fs::create_dir(&path).map_err(io_error("create", &path))?;
        Ok(Fresh { path })
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // After success there is nothing under this name. Nothing can be done about a failure.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Counts decompressed bytes, and ends them at a limit that is raised when more is known.
struct Ceiling<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Ceiling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left.get()).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 && !buffer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds more than bundle.json states"));
        }
        let count = self.inner.read(&mut buffer[..most])?;
        self.left.set(self.left.get() - count as u64);
        Ok(count)
    }
}

/// The checks of one bundle.
struct Walk<'a> {
    path: &'a Path,
    into: Option<&'a Path>,
    /// Name of the only folder, known from the first entry on.
    name: String,
    seen: BTreeSet<String>,
}

fn walk(path: &Path, into: Option<&Path>) -> Result<Manifest, BundleError> {
    let not_a_bundle = |reason: &str| BundleError::NotABundle { path: path.into(), reason: reason.into() };
    if !fs::metadata(path).map_err(io_error("read", path))?.is_file() {
        return Err(not_a_bundle("it is not a regular file"));
    }
    if !is_bundle(path) {
        return Err(not_a_bundle("it is not compressed by gzip"));
    }
    let file = File::open(path).map_err(io_error("read", path))?;
    let packed_bytes = file.metadata().map_err(io_error("read", path))?.len();
    let left = Rc::new(Cell::new(MOST_MANIFEST_BYTES + MOST_SUMS_BYTES + 4 * BLOCKS_A_FILE));
    let decoder = GzDecoder::new(BufReader::new(file));
    let mut archive = Archive::new(Ceiling { inner: decoder, left: Rc::clone(&left) });
    let mut walk = Walk { path, into, name: String::new(), seen: BTreeSet::new() };
    let damaged = |error: io::Error| walk_damaged(path, &error);

    // Extended headers are not interpreted by the library, which would read them into memory whatever their size.
    let entries = archive.entries().map_err(damaged)?.raw(true);
    let mut long_name: Option<String> = None;
    let (mut manifest, mut manifest_sum) = (None::<Manifest>, String::new());
    let mut sums: Option<BTreeMap<String, String>> = None;
    for entry in entries {
        let mut entry = entry.map_err(damaged)?;
        let size = entry.header().entry_size().map_err(damaged)?;
        let kind = entry.header().entry_type();
        if kind == EntryType::GNULongName {
            long_name = Some(walk.long_name(&mut entry, size)?);
            continue;
        }
        let full = match long_name.take() {
            Some(name) => name,
            None => String::from_utf8_lossy(&entry.header().path_bytes()).into_owned(),
        };
        walk.check_kind(&full, kind)?;
        let inner = walk.inner(&full)?;
        match (&manifest, &sums) {
            (None, _) => {
                if inner != MANIFEST {
                    return Err(not_a_bundle("its first entry is not bundle.json"));
                }
                let text = walk.text(&mut entry, &full, size, MOST_MANIFEST_BYTES)?;
                let read = walk.manifest(&text, packed_bytes)?;
                walk.keep(MANIFEST, &text)?;
                manifest_sum = digest::of_bytes(&text);
                manifest = Some(read);
            }
            (Some(stated), None) => {
                if inner != SUMS {
                    return Err(not_a_bundle("its second entry is not SHA256SUMS"));
                }
                let text = walk.text(&mut entry, &full, size, MOST_SUMS_BYTES)?;
                let read = walk.sums(&text, stated)?;
                if read.get(MANIFEST) != Some(&manifest_sum) {
                    return Err(walk.refuse(MANIFEST, Problem::Checksum));
                }
                walk.keep(SUMS, &text)?;
                let bytes: u64 = stated.files.values().sum();
                left.set(bytes + stated.files.len() as u64 * BLOCKS_A_FILE + MOST_PADDING);
                sums = Some(read);
            }
            (Some(stated), Some(sums)) => {
                let refuse = |problem| walk.refuse(&inner, problem);
                let expected = *stated.files.get(&inner).ok_or_else(|| refuse(Problem::NotListed))?;
                if size != expected {
                    return Err(refuse(Problem::Size { stated: expected, found: size }));
                }
                let sum = sums.get(&inner).ok_or_else(|| refuse(Problem::WithoutSum))?;
                walk.file(&mut entry, &inner, size, sum)?;
            }
        }
    }
    let manifest = manifest.ok_or_else(|| not_a_bundle("it is empty"))?;
    if sums.is_none() {
        return Err(walk.refuse(SUMS, Problem::Missing));
    }
    // The end of the compressed data is read before files are reported as missing: a truncated file has none.
    walk.end(archive.into_inner())?;
    if let Some(missing) = manifest.files.keys().find(|file| !walk.seen.contains(*file)) {
        return Err(walk.refuse(missing, Problem::Missing));
    }
    Ok(manifest)
}

/// Errors of the disk stay errors of the disk. All others are those of the data.
fn walk_damaged(path: &Path, error: &io::Error) -> BundleError {
    let reason = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is truncated".to_owned(),
        _ => error.to_string(),
    };
    BundleError::Damaged { path: path.into(), reason }
}

impl Walk<'_> {
    fn refuse(&self, entry: &str, problem: Problem) -> BundleError {
        BundleError::Entry { path: self.path.into(), entry: entry.into(), problem }
    }

    fn damaged(&self, reason: impl Into<String>) -> BundleError {
        BundleError::Damaged { path: self.path.into(), reason: reason.into() }
    }

    /// The name of the next entry, which is too long for its header.
    fn long_name(&self, entry: &mut impl Read, size: u64) -> Result<String, BundleError> {
        let longest = 2 * entry_path::LONGEST_PATH as u64;
        if size > longest {
            return Err(self.refuse("with a long name", Problem::TooLong));
        }
        let mut bytes = Vec::new();
        entry.take(longest).read_to_end(&mut bytes).map_err(|e| walk_damaged(self.path, &e))?;
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn check_kind(&self, full: &str, kind: EntryType) -> Result<(), BundleError> {
        let problem = match kind {
            EntryType::Regular => return Ok(()),
            EntryType::Symlink | EntryType::Link => Problem::Link,
            EntryType::Char | EntryType::Block | EntryType::Fifo => Problem::Device,
            _ => Problem::NotAFile,
        };
        Err(self.refuse(full, problem))
    }

    /// The path within the bundle's folder. The first entry names the folder.
    fn inner(&mut self, full: &str) -> Result<String, BundleError> {
        entry_path::check(full).map_err(|problem| self.refuse(full, problem))?;
        let (folder, inner) = full.split_once('/').ok_or_else(|| self.refuse(full, Problem::Outside))?;
        if self.name.is_empty() && entry_path::is_name(folder) {
            self.name = folder.to_owned();
        }
        if folder != self.name {
            return Err(self.refuse(full, Problem::Outside));
        }
        if !self.seen.insert(inner.to_owned()) {
            return Err(self.refuse(inner, Problem::Duplicate));
        }
        Ok(inner.to_owned())
    }

    fn text(&self, entry: &mut impl Read, full: &str, size: u64, most: u64) -> Result<Vec<u8>, BundleError> {
        if size > most {
            let reason = format!("{full} has more than {} MiB", most >> 20);
            return Err(BundleError::TooLarge { path: self.path.into(), reason });
        }
        let mut bytes = Vec::new();
        entry.take(size).read_to_end(&mut bytes).map_err(|e| walk_damaged(self.path, &e))?;
        if bytes.len() as u64 == size { Ok(bytes) } else { Err(self.damaged("it is truncated")) }
    }

    /// `bundle.json`, with sizes that can be.
    fn manifest(&self, text: &[u8], packed_bytes: u64) -> Result<Manifest, BundleError> {
        let unreadable = |e: serde_json::Error| self.damaged(format!("{MANIFEST}: {e}"));
        let value: serde_json::Value = serde_json::from_slice(text).map_err(unreadable)?;
        let found = value.get("bundle_version").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if found > u64::from(FORMAT_VERSION) {
            return Err(BundleError::Newer { path: self.path.into(), found });
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(unreadable)?;
        let too_large = |reason: String| BundleError::TooLarge { path: self.path.into(), reason };
        if manifest.files.len() as u64 > MOST_FILES {
            return Err(too_large(format!(
                "it states {} files, of {MOST_FILES} at most",
                manifest.files.len()
            )));
        }
        let bytes = manifest.files.values().try_fold(0u64, |sum, bytes| sum.checked_add(*bytes));
        let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES);
        let bytes =
            bytes.ok_or_else(|| too_large(format!("it states more than {} GiB", MOST_BYTES >> 30)))?;
        if bytes > packed_bytes.saturating_mul(MOST_RATIO) {
            let reason =
                format!("it states {bytes} bytes, which {packed_bytes} compressed bytes cannot hold");
            return Err(too_large(reason));
        }
        if manifest.name != self.name {
            return Err(self.damaged(format!("{MANIFEST} has a name that differs from that of the folder")));
        }
        for file in manifest.files.keys() {
            entry_path::check(file).map_err(|problem| self.refuse(file, problem))?;
        }
        let folders = manifest.runs.iter().map(|run| (&run.folder, RESULTS));
        let inputs = manifest.inputs.iter().map(|input| (input, SCENARIO));
        for (path, room) in folders.chain(inputs) {
            entry_path::check(path).map_err(|problem| self.refuse(path, problem))?;
            if path.split('/').next() != Some(room) {
                return Err(self.refuse(path, Problem::Outside));
            }
        }
        Ok(manifest)
    }

    /// The sums of the files, by path.
    fn sums(&self, text: &[u8], manifest: &Manifest) -> Result<BTreeMap<String, String>, BundleError> {
        let text = std::str::from_utf8(text).map_err(|_| self.damaged(format!("{SUMS} is not text")))?;
        let mut sums = BTreeMap::new();
        for line in text.lines() {
            let (sum, file) = line
                .split_once("  ")
                .ok_or_else(|| self.damaged(format!("{SUMS} has a line that sha256sum does not write")))?;
            if file != MANIFEST && !manifest.files.contains_key(file) {
                return Err(self.refuse(file, Problem::NotListed));
            }
            sums.insert(file.to_owned(), sum.to_owned());
        }
        Ok(sums)
    }

    /// Writes a text that was read, if something is unpacked.
    fn keep(&self, inner: &str, text: &[u8]) -> Result<(), BundleError> {
        let Some(folder) = self.into else { return Ok(()) };
        let path = folder.join(inner);
        fs::write(&path, text).map_err(io_error("write", &path))
    }

    /// Reads a file, writes it if something is unpacked, and compares its sum.
    fn file(&self, entry: &mut impl Read, inner: &str, size: u64, sum: &str) -> Result<(), BundleError> {
        let mut into = match self.into {
            None => None,
            Some(folder) => {
                let path = folder.join(inner);
                let parent = path.parent().unwrap_or(folder);
                fs::create_dir_all(parent).map_err(io_error("create", parent))?;
                let file = File::create_new(&path).map_err(io_error("create", &path))?;
                Some((path, file))
            }
        };
        let (mut digest, mut buffer, mut found) = (Digest::default(), vec![0; 1 << 16], 0);
        loop {
            match entry.read(&mut buffer).map_err(|e| walk_damaged(self.path, &e))? {
                0 => break,
                count => {
                    digest.add(&buffer[..count]);
                    found += count as u64;
                    if let Some((path, file)) = &mut into {
                        file.write_all(&buffer[..count]).map_err(io_error("write", path))?;
                    }
                }
            }
        }
        if found != size {
            return Err(self.damaged("it is truncated"));
        }
        if digest.text() == sum { Ok(()) } else { Err(self.refuse(inner, Problem::Checksum)) }
    }

    /// After the last entry there are zeros, the end of the compressed data with its own checksum, and nothing else.
    fn end(&self, mut rest: Ceiling<GzDecoder<BufReader<File>>>) -> Result<(), BundleError> {
        let mut buffer = [0; 4096];
        loop {
            match rest.read(&mut buffer).map_err(|e| walk_damaged(self.path, &e))? {
                0 => break,
                count if buffer[..count].iter().all(|byte| *byte == 0) => {}
                _ => return Err(self.damaged("something follows the end of the archive")),
            }
        }
        let mut file = rest.inner.into_inner();
        match file.read(&mut buffer).map_err(io_error("read", self.path))? {
            0 => Ok(()),
            _ => Err(self.damaged("something follows the end of the compressed data")),
        }
    }
}
