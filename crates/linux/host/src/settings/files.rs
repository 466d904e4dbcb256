//! Files of /proc and /sys that hold one value.

use super::{Place, SettingError};
use std::fs::OpenOptions;
use std::io::Write;

/// The text of a file.
pub fn read(place: &Place, path: &str) -> Result<String, SettingError> {
    std::fs::read_to_string(path).map_err(|error| SettingError::of(place, path, None, error))
}

/// Writes a value with one call, as the kernel requires.
pub fn write(place: &Place, path: &str, value: &str) -> Result<(), SettingError> {
    let file = OpenOptions::new().write(true).open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{value}\n").as_bytes()));
    written.map_err(|error| SettingError::of(place, path, Some(value), error))
}
