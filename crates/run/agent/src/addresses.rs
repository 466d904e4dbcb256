//! Addresses of this host that can carry a test, and the interfaces that have them.

use super::message::Interface;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

/// Addresses of this host beside the loopback's, and the interfaces that have them. Of IPv6 without link-local addresses, and
/// without those that are gone tomorrow or not there yet.
///
/// # Errors
/// As `getifaddrs(3)`.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let unsteady = unsteady(&fs::read_to_string("/proc/self/net/if_inet6").unwrap_or_default());
    let is_usable = |address: &IpAddr| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_unicast_link_local() && !unsteady.contains(address),
    };
    let all = addresses()?.into_iter().filter(|(_, address)| is_usable(address));
    Ok(all.map(|(device, address)| interface(device, address)).collect())
}

/// All addresses of interfaces other than the loopback.
fn addresses() -> io::Result<Vec<(String, IpAddr)>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is a valid place for the answer.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the list is the C library's until it is freed below; an address of family AF_INET is a sockaddr_in, one of
    // AF_INET6 a sockaddr_in6.
    unsafe {
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let Some(address) = entry.ifa_addr.as_ref() else { continue };
            if entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0 {
                continue;
            }
            let address = match i32::from(address.sa_family) {
                libc::AF_INET => {
                    let address = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                    IpAddr::V4(u32::from_be(address.sin_addr.s_addr).into())
                }
                libc::AF_INET6 => {
                    let address = entry.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                    IpAddr::V6(address.sin6_addr.s6_addr.into())
                }
                _ => continue,
            };
            let device = CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned();
            found.push((device, address));
        }
        libc::freeifaddrs(first);
    }
    Ok(found)
}

/// IPv6 addresses that no test should use, of `/proc/net/if_inet6`: those that are temporary (RFC 8981), deprecated (RFC 4862,
/// 5.5.4), or not known to be this host's alone.
fn unsteady(table: &str) -> BTreeSet<Ipv6Addr> {
    // linux/if_addr.h
    const IFA_F_TEMPORARY: u32 = 0x01;
    const IFA_F_DADFAILED: u32 = 0x08;
    const IFA_F_DEPRECATED: u32 = 0x20;
    const IFA_F_TENTATIVE: u32 = 0x40;
    const UNSTEADY: u32 = IFA_F_TEMPORARY | IFA_F_DADFAILED | IFA_F_DEPRECATED | IFA_F_TENTATIVE;
    // Address, index, length of the prefix, scope, flags and name (net/ipv6/addrconf.c, if6_seq_show).
    let unsteady = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let flags = u32::from_str_radix(fields.get(4)?, 16).ok()?;
        let address = u128::from_str_radix(fields.first()?, 16).ok()?;
        (flags & UNSTEADY != 0).then_some(Ipv6Addr::from(address))
    };
    table.lines().filter_map(unsteady).collect()
}

/// Documentation/ABI/testing/sysfs-class-net of the kernel.
fn interface(device: String, address: IpAddr) -> Interface {
    let folder = Path::new("/sys/class/net").join(&device);
    let mtu = number(&folder, "mtu").and_then(|mtu| u32::try_from(mtu).ok());
    Interface { device, address, rate_bps: rate_bps(&folder), mtu }
}

fn number(folder: &Path, name: &str) -> Option<i64> {
    fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
}

/// The rate of the interface whose attributes are in `folder`, if it is a limit: that of a device on a bus, or of one that
/// sends through others, as bonds and VLANs do. A veth states 10 Gbit/s (drivers/net/veth.c) and carries what it can.
fn rate_bps(folder: &Path) -> Option<u64> {
    let is_lower = |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"lower_");
    let is_limit = folder.join("device").exists() || fs::read_dir(folder).ok()?.flatten().any(is_lower);
    // In Mbit/s; -1 where it is unknown.
    let speed = number(folder, "speed").filter(|speed| is_limit && *speed > 0)?;
    Some(speed as u64 * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_and_tentative_addresses_are_left_out() {
        let table = "fd000000000000000000000000000001 02 40 00 80     eth0\n\
                     fd000000000000000000000000000002 02 40 00 01     eth0\n\
                     fd000000000000000000000000000003 02 40 00 c0     eth0\n\
                     nonsense\n";
        let found: Vec<String> = unsteady(table).into_iter().map(|address| address.to_string()).collect();
        assert_eq!(found, ["fd00::2", "fd00::3"]);
    }

    #[test]
    fn the_speed_of_a_virtual_interface_is_no_rate() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join("speed"), "10000\n").unwrap();
        assert_eq!(rate_bps(folder), None, "a veth");
        fs::create_dir(folder.join("lower_eth0")).unwrap();
        assert_eq!(rate_bps(folder), Some(10_000_000_000), "a VLAN or a bond");
        fs::remove_dir(folder.join("lower_eth0")).unwrap();
        fs::create_dir(folder.join("device")).unwrap();
        assert_eq!(rate_bps(folder), Some(10_000_000_000), "a NIC");
        fs::write(folder.join("speed"), "-1\n").unwrap();
        assert_eq!(rate_bps(folder), None, "a NIC that does not know it");
        assert_eq!(rate_bps(&folder.join("gone")), None);
    }
}
