//! Offloads by their ethtool names (ETHTOOL_GFEATURES, linux/ethtool.h).

use super::ethtool::{on_or_off, switch};
use super::{Place, SettingError};
use crate::ethtool::ioctl;
use crate::netlink::{text, u32_at};

const GET_STRINGS: u32 = 0x1b;
const GET_SET_INFO: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
/// ETH_SS_FEATURES.
const SET_OF_FEATURES: u32 = 4;
/// ETH_GSTRING_LEN.
const NAME: usize = 32;

/// State of an offload.
struct State {
    /// Its number among the names.
    number: usize,
    /// How many names there are.
    count: usize,
    is_changeable: bool,
    is_requested: bool,
    is_active: bool,
}

fn call(place: &Place, interface: &str, bytes: &mut [u8]) -> Result<(), SettingError> {
    ioctl(interface, bytes).map_err(|error| SettingError::of(place, interface, None, error))
}

fn put(bytes: &mut [u8], words: &[u32]) {
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
}

/// Names of all offloads that this kernel has.
fn names(place: &Place, interface: &str) -> Result<Vec<String>, SettingError> {
    // `struct ethtool_sset_info`: command, reserved, mask of 64 bits, one number.
    let mut info = vec![0_u8; 20];
    put(&mut info, &[GET_SET_INFO]);
    info[8..16].copy_from_slice(&(1_u64 << SET_OF_FEATURES).to_ne_bytes());
    call(place, interface, &mut info)?;
    let count = u32_at(&info, 16).unwrap_or(0) as usize;
    let mut strings = vec![0_u8; 12 + count * NAME];
    put(&mut strings, &[GET_STRINGS, SET_OF_FEATURES, count as u32]);
    call(place, interface, &mut strings)?;
    Ok(strings[12..].chunks_exact(NAME).map(text).collect())
}

fn state(place: &Place, interface: &str, name: &str) -> Result<State, SettingError> {
    let names = names(place, interface)?;
    let number = names.iter().position(|found| found == name).ok_or_else(|| SettingError::NotFound {
        place: place.clone(),
        missing: format!("offload `{name}`"),
        remedy: format!("list the names with `ethtool -k {interface}`"),
    })?;
    let blocks = names.len().div_ceil(32);
    let mut bytes = vec![0_u8; 8 + blocks * 16];
    put(&mut bytes, &[GET_FEATURES, blocks as u32]);
    call(place, interface, &mut bytes)?;
    // A block has 32 bits each of: available, requested, active, never changed.
    let bit =
        |word: usize| u32_at(&bytes, 8 + number / 32 * 16 + word * 4).unwrap_or(0) >> (number % 32) & 1 == 1;
    Ok(State {
        number,
        count: names.len(),
        is_changeable: bit(0) && !bit(3),
        is_requested: bit(1),
        is_active: bit(2),
    })
}

/// `on` or `off`.
pub fn read(place: &Place, interface: &str, name: &str) -> Result<String, SettingError> {
    Ok(on_or_off(state(place, interface, name)?.is_active))
}

/// Whether it is asked for, active or not.
pub fn is_requested(place: &Place, interface: &str, name: &str) -> Result<bool, SettingError> {
    Ok(state(place, interface, name)?.is_requested)
}

/// Switches it.
pub fn write(place: &Place, interface: &str, name: &str, value: &str) -> Result<(), SettingError> {
    request(place, interface, name, switch(place, value)?)
}

/// Asks for it, or no longer. The kernel keeps the wish if another offload does not allow it now.
pub fn request(place: &Place, interface: &str, name: &str, wanted: bool) -> Result<(), SettingError> {
    let state = state(place, interface, name)?;
    if state.is_requested == wanted && state.is_active == wanted {
        return Ok(());
    }
    if !state.is_changeable {
        return Err(SettingError::Unsupported {
            place: place.clone(),
            reason: "the driver fixes this offload".into(),
            remedy: "leave it out".into(),
        });
    }
    let blocks = state.count.div_ceil(32);
    let mut bytes = vec![0_u8; 8 + blocks * 8];
    put(&mut bytes, &[SET_FEATURES, blocks as u32]);
    let bit = 1_u32 << (state.number % 32);
    // A block has the bits to change, and their values.
    put(&mut bytes[8 + state.number / 32 * 8..], &[bit, if wanted { bit } else { 0 }]);
    call(place, interface, &mut bytes)
}
