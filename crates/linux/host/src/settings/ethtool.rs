//! Rings, channels, interrupt moderation and flow control of a driver, by SIOCETHTOOL (linux/ethtool.h).

use super::{Place, SettingError};
use crate::ethtool::{Knob, ioctl, read_knob};
use crate::netlink::u32_at;
use wirespeed_inventory::{CoalescingParameter, Way};

const GET_COALESCE: u32 = 0x0e;
const SET_COALESCE: u32 = 0x0f;
const GET_RING: u32 = 0x10;
const SET_RING: u32 = 0x11;
const GET_PAUSE: u32 = 0x12;
const SET_PAUSE: u32 = 0x13;
const GET_CHANNELS: u32 = 0x3c;
const SET_CHANNELS: u32 = 0x3d;

/// Numbers of a structure after its command.
struct Numbers<const N: usize>([u32; N]);

impl<const N: usize> Numbers<N> {
    fn get(place: &Place, interface: &str, command: u32) -> Result<Self, SettingError> {
        let mut bytes = vec![0_u8; 4 * (N + 1)];
        bytes[..4].copy_from_slice(&command.to_ne_bytes());
        ioctl(interface, &mut bytes).map_err(|error| SettingError::of(place, interface, None, error))?;
        Ok(Numbers(std::array::from_fn(|at| u32_at(&bytes, 4 * (at + 1)).unwrap_or(0))))
    }

    /// Reads the structure, changes one number, and writes it if that makes a difference.
    fn change(
        place: &Place,
        interface: &str,
        [get, set]: [u32; 2],
        at: usize,
        (number, text): (u32, &str),
    ) -> Result<(), SettingError> {
        let mut numbers = Self::get(place, interface, get)?;
        if numbers.0[at] == number {
            return Ok(());
        }
        numbers.0[at] = number;
        let words = std::iter::once(set).chain(numbers.0);
        let mut bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
        ioctl(interface, &mut bytes).map_err(|error| SettingError::of(place, interface, Some(text), error))
    }
}

fn number(place: &Place, value: &str) -> Result<u32, SettingError> {
    value.parse().map_err(|_| SettingError::Invalid {
        place: place.clone(),
        value: value.to_owned(),
        remedy: "write a whole number".into(),
    })
}

/// `on` or `off` as a truth value.
pub fn switch(place: &Place, value: &str) -> Result<bool, SettingError> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(SettingError::Invalid {
            place: place.clone(),
            value: value.to_owned(),
            remedy: "write `on` or `off`".into(),
        }),
    }
}

/// A truth value as `on` or `off`.
pub fn on_or_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// `struct ethtool_ringparam`: four maxima, then the present numbers of rx, mini, jumbo and tx.
fn ring_place(way: Way) -> usize {
    match way {
        Way::Rx => 4,
        Way::Tx => 7,
    }
}

/// Descriptors of a ring.
pub fn ring(place: &Place, interface: &str, way: Way) -> Result<String, SettingError> {
    Ok(Numbers::<8>::get(place, interface, GET_RING)?.0[ring_place(way)].to_string())
}

/// Changes the descriptors of a ring.
pub fn set_ring(place: &Place, interface: &str, way: Way, value: &str) -> Result<(), SettingError> {
    let wanted = (number(place, value)?, value);
    Numbers::<8>::change(place, interface, [GET_RING, SET_RING], ring_place(way), wanted)
}

/// Place of `combined_count` in `struct ethtool_channels`.
const COMBINED: usize = 7;

/// Combined channels.
pub fn channels(place: &Place, interface: &str) -> Result<String, SettingError> {
    Ok(Numbers::<8>::get(place, interface, GET_CHANNELS)?.0[COMBINED].to_string())
}

/// Changes the combined channels.
pub fn set_channels(place: &Place, interface: &str, value: &str) -> Result<(), SettingError> {
    let wanted = number(place, value)?;
    let changed =
        Numbers::<8>::change(place, interface, [GET_CHANNELS, SET_CHANNELS], COMBINED, (wanted, value));
    let Err(SettingError::Invalid { place, value, .. }) = changed else { return changed };
    // The kernel rejects fewer channels than an indirection table that was set by hand names (ethtool(8), -X).
    let remedy = match last_queue(interface) {
        Some(last) if last >= wanted => format!(
            "the RSS indirection table names queue {last} (`ethtool -x {interface}`); if it was set by hand, \
             `ethtool -X {interface} default` resets it"
        ),
        _ => format!("`ethtool -l {interface}` prints how many there can be"),
    };
    Err(SettingError::Invalid { place, value, remedy })
}

/// The last receive queue that the RSS indirection table names; `None` if the device has no such table.
fn last_queue(interface: &str) -> Option<u32> {
    let table = read_knob(interface, Knob::Rss).ok()?;
    table.iter().filter_map(|(name, _)| name.strip_prefix("queue-")?.parse().ok()).max()
}

/// Place of a parameter in `struct ethtool_coalesce`, and whether it is a switch.
fn coalescing_place(parameter: CoalescingParameter) -> (usize, bool) {
    match parameter {
        CoalescingParameter::RxUsecs => (0, false),
        CoalescingParameter::RxFrames => (1, false),
        CoalescingParameter::TxUsecs => (4, false),
        CoalescingParameter::TxFrames => (5, false),
        CoalescingParameter::AdaptiveRx => (9, true),
        CoalescingParameter::AdaptiveTx => (10, true),
    }
}

/// A parameter of interrupt moderation.
pub fn coalescing(
    place: &Place,
    interface: &str,
    parameter: CoalescingParameter,
) -> Result<String, SettingError> {
    let (at, is_switch) = coalescing_place(parameter);
    let value = Numbers::<22>::get(place, interface, GET_COALESCE)?.0[at];
    Ok(if is_switch { on_or_off(value != 0) } else { value.to_string() })
}

/// Changes a parameter of interrupt moderation.
pub fn set_coalescing(
    place: &Place,
    interface: &str,
    parameter: CoalescingParameter,
    value: &str,
) -> Result<(), SettingError> {
    let (at, is_switch) = coalescing_place(parameter);
    let wanted = if is_switch { u32::from(switch(place, value)?) } else { number(place, value)? };
    Numbers::<22>::change(place, interface, [GET_COALESCE, SET_COALESCE], at, (wanted, value))
}

/// `struct ethtool_pauseparam`: autonegotiation, rx, tx.
fn pause_place(way: Way) -> usize {
    match way {
        Way::Rx => 1,
        Way::Tx => 2,
    }
}

/// Flow control.
pub fn pause(place: &Place, interface: &str, way: Way) -> Result<String, SettingError> {
    Ok(on_or_off(Numbers::<3>::get(place, interface, GET_PAUSE)?.0[pause_place(way)] != 0))
}

/// Changes flow control.
pub fn set_pause(place: &Place, interface: &str, way: Way, value: &str) -> Result<(), SettingError> {
    let wanted = (u32::from(switch(place, value)?), value);
    Numbers::<3>::change(place, interface, [GET_PAUSE, SET_PAUSE], pause_place(way), wanted)
}
