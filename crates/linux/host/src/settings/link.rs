//! MTU and length of the transmit queue, by ioctl (netdevice(7)).

use super::{Place, SettingError};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// IPv6 leaves an interface with a smaller MTU, and its addresses are lost (RFC 8200, section 5).
const IPV6_MINIMUM_MTU: i32 = 1280;

/// Calls an ioctl whose argument is one number of an interface; returns the number after the call.
fn call(interface: &str, request: libc::c_ulong, number: i32) -> io::Result<i32> {
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: an all-zero ifreq is valid and outlives the calls; these requests use only its number.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(fd);
        let mut argument: libc::ifreq = std::mem::zeroed();
        for (to, from) in argument.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        argument.ifr_ifru.ifru_mtu = number;
        if libc::ioctl(socket.as_raw_fd(), request as _, &mut argument) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(argument.ifr_ifru.ifru_mtu)
    }
}

fn get(place: &Place, interface: &str, request: libc::c_ulong) -> Result<String, SettingError> {
    let number =
        call(interface, request, 0).map_err(|error| SettingError::of(place, interface, None, error))?;
    Ok(number.to_string())
}

fn set(place: &Place, interface: &str, request: libc::c_ulong, value: &str) -> Result<(), SettingError> {
    let number = parse(place, value)?;
    call(interface, request, number)
        .map(drop)
        .map_err(|error| SettingError::of(place, interface, Some(value), error))
}

fn parse(place: &Place, value: &str) -> Result<i32, SettingError> {
    value.parse().ok().filter(|number| *number >= 0).ok_or_else(|| SettingError::Invalid {
        place: place.clone(),
        value: value.to_owned(),
        remedy: "write a whole number".into(),
    })
}

/// MTU in bytes.
pub fn mtu(place: &Place, interface: &str) -> Result<String, SettingError> {
    get(place, interface, libc::SIOCGIFMTU as _)
}

/// Changes the MTU.
pub fn set_mtu(place: &Place, interface: &str, value: &str) -> Result<(), SettingError> {
    if parse(place, value)? < IPV6_MINIMUM_MTU {
        return Err(SettingError::Invalid {
            place: place.clone(),
            value: value.to_owned(),
            remedy: format!("below {IPV6_MINIMUM_MTU} bytes the interface loses its IPv6 addresses"),
        });
    }
    set(place, interface, libc::SIOCSIFMTU as _, value)
}

/// Length of the transmit queue in packets.
pub fn tx_queue_length(place: &Place, interface: &str) -> Result<String, SettingError> {
    get(place, interface, libc::SIOCGIFTXQLEN as _)
}

/// Changes the length of the transmit queue.
pub fn set_tx_queue_length(place: &Place, interface: &str, value: &str) -> Result<(), SettingError> {
    set(place, interface, libc::SIOCSIFTXQLEN as _, value)
}
