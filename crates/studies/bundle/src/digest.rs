//! SHA-256 as text.

use sha2::{Digest as _, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A sum that grows with the bytes it gets.
#[derive(Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// 64 hexadecimal digits, as `sha256sum` prints them.
    pub fn text(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// The sum of some bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.add(bytes);
    digest.text()
}

/// Length in bytes and sum of a file.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn of_file(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, mut digest, mut length) = (File::open(path)?, Digest::default(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((length, digest.text())),
            count => {
                digest.add(&buffer[..count]);
                length += count as u64;
            }
        }
    }
}
