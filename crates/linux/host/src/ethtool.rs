//! ethtool: names and values of a driver's own statistics, and who the driver is, by ioctl or from recorded text.

mod knob;

pub use knob::{Knob, parse_settings, print_settings, read_knob};

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What `ethtool -S` puts before a name. Spaces beyond that are the driver's.
const INDENT: &str = "     ";

/// Parses what `ethtool -S` prints. Lines that are no counter are left out, so a fixture may begin with a comment.
pub fn parse_statistics(text: &str) -> Vec<(String, u64)> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        // A name may hold a colon itself ("[0]: rx_discards"): the value follows the last one.
        .filter_map(|line| line.rsplit_once(':'))
        .map(|(name, value)| (name.strip_prefix(INDENT).unwrap_or(name.trim_start()).trim_end(), value))
        .filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)))
        .filter(|(name, _)| !name.trim().is_empty())
        .collect()
}

/// Prints statistics as `ethtool -S` does.
pub fn print_statistics(statistics: &[(String, u64)]) -> String {
    let lines = statistics.iter().map(|(name, value)| format!("{INDENT}{name}: {value}\n"));
    std::iter::once("NIC statistics:\n".to_owned()).chain(lines).collect()
}

/// The value of a line `KEY: VALUE` in what `ethtool -i` prints.
pub fn parse_driver(text: &str, key: &str) -> Option<String> {
    let mut pairs = text.lines().filter(|l| !l.starts_with('#')).filter_map(|line| line.split_once(':'));
    pairs.find(|(found, _)| found.trim() == key).map(|(_, value)| value.trim().to_owned())
}

/// Text of a driver's description as `ethtool -i` prints it, from the kernel (ETHTOOL_GDRVINFO).
///
/// # Errors
/// What the kernel answered; `EOPNOTSUPP` for an interface without a driver of its own, such as `lo`.
pub fn driver(device: &str) -> io::Result<String> {
    let info = Info::of(device)?;
    let names = ["driver", "version", "firmware-version", "bus-info"];
    let values = [info.field(4), info.field(36), info.field(68), info.field(100)];
    Ok(names.iter().zip(values).map(|(name, value)| format!("{name}: {value}\n")).collect())
}

/// Names and values of a driver's statistics, from the kernel (ETHTOOL_GSTRINGS, ETHTOOL_GSTATS).
///
/// # Errors
/// What the kernel answered; `EOPNOTSUPP` if the driver has none.
pub fn statistics(device: &str) -> io::Result<Vec<(String, u64)>> {
    const GSTRINGS: u32 = 0x1b;
    const GSTATS: u32 = 0x1d;
    const SS_STATS: u32 = 1;
    /// Statistics that may be added between two questions. The kernel writes as many as there are when it is asked,
    /// and does not look at the room it is given; 128 more channels of mlx5 are 13,000.
    const ROOM: usize = 1 << 14;
    const NAME: usize = 32; // ETH_GSTRING_LEN
    let count = Info::of(device)?.statistics();
    if count == 0 {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    let room = count + ROOM;
    let header = |command: u32, second: u32| [command, second, count as u32];
    let mut names = vec![0u8; 12 + room * NAME];
    put(&mut names, &header(GSTRINGS, SS_STATS));
    ioctl(device, &mut names)?;
    let named = word(&names, 8).min(room);
    let mut values = vec![0u8; 8 + room * 8];
    put(&mut values, &header(GSTATS, count as u32)[..2]);
    ioctl(device, &mut values)?;
    let valued = word(&values, 4).min(room);
    if named != valued {
        return Err(io::Error::new(
            io::ErrorKind::Interrupted,
            "the driver changed its list of statistics while it was read",
        ));
    }
    let names = names[12..].chunks_exact(NAME).map(crate::netlink::text);
    let values = values[8..].chunks_exact(8).filter_map(|bytes| crate::netlink::u64_at(bytes, 0));
    Ok(names.zip(values).take(named).collect())
}

/// What an interface is set to, as far as its driver tells: offloads, rings, channels, pause frames and interrupt moderation,
/// each by a name and a value in words.
pub fn settings(device: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
    // `struct ethtool_value`; commands and numbers are those of linux/ethtool.h throughout.
    for (name, command) in [
        ("tso", 0x1e),
        ("gso", 0x23),
        ("gro", 0x2b),
        ("scatter_gather", 0x18),
        ("rx_checksum", 0x14),
        ("tx_checksum", 0x16),
    ] {
        if let Some([value]) = ask(device, command) {
            found.push((name, switch(value != 0)));
        }
    }
    /// ETH_FLAG_LRO.
    const LRO: u32 = 1 << 15;
    if let Some([flags]) = ask(device, 0x25) {
        found.push(("lro", switch(flags & LRO != 0)));
    }
    // `struct ethtool_ringparam`.
    if let Some([rx_most, _, _, tx_most, rx, _, _, tx]) = ask(device, 0x10) {
        found.push(("rx_ring", format!("{rx} of {rx_most}")));
        found.push(("tx_ring", format!("{tx} of {tx_most}")));
    }
    // `struct ethtool_channels`.
    if let Some([rx_most, tx_most, _, combined_most, rx, tx, _, combined]) = ask(device, 0x3c) {
        let channels = [("rx", rx, rx_most), ("tx", tx, tx_most), ("combined", combined, combined_most)];
        let words = channels.iter().filter(|(_, _, most)| *most > 0);
        let words: Vec<String> = words.map(|(name, now, most)| format!("{now} of {most} {name}")).collect();
        if !words.is_empty() {
            found.push(("channels", words.join(", ")));
        }
    }
    // `struct ethtool_pauseparam`.
    if let Some([automatic, rx, tx]) = ask(device, 0x12) {
        let negotiated = if automatic != 0 { ", negotiated" } else { "" };
        found.push(("pause_frames", format!("rx {}, tx {}{negotiated}", switch(rx != 0), switch(tx != 0))));
    }
    // The first of `struct ethtool_coalesce`, which has 22 numbers.
    if let Some(all) = ask::<22>(device, 0x0e) {
        let adaptive = |on: u32| if on != 0 { ", adaptive" } else { "" };
        let [rx_us, rx_frames, tx_us, tx_frames] = [all[0], all[1], all[4], all[5]];
        let words = format!("{rx_us} us, {rx_frames} frames{}", adaptive(all[9]));
        found.push(("rx_coalescing", words));
        found.push(("tx_coalescing", format!("{tx_us} us, {tx_frames} frames{}", adaptive(all[10]))));
    }
    found
}

/// The numbers after the command in what the kernel answers to it.
fn ask<const N: usize>(device: &str, command: u32) -> Option<[u32; N]> {
    let mut bytes = vec![0u8; 4 * (N + 1)];
    put(&mut bytes, &[command]);
    ioctl(device, &mut bytes).ok()?;
    Some(std::array::from_fn(|index| crate::netlink::u32_at(&bytes, 4 * (index + 1)).unwrap_or(0)))
}

/// `struct ethtool_drvinfo` (linux/ethtool.h): 196 bytes.
struct Info(Vec<u8>);

impl Info {
    fn of(device: &str) -> io::Result<Info> {
        const GDRVINFO: u32 = 3;
        let mut bytes = vec![0u8; 196];
        put(&mut bytes, &[GDRVINFO]);
        ioctl(device, &mut bytes)?;
        Ok(Info(bytes))
    }

    fn field(&self, at: usize) -> String {
        crate::netlink::text(&self.0[at..at + 32])
    }

    fn statistics(&self) -> usize {
        word(&self.0, 180)
    }
}

fn put(bytes: &mut [u8], words: &[u32]) {
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    crate::netlink::u32_at(bytes, at).map_or(0, |word| word as usize)
}

/// SIOCETHTOOL with an argument that begins with its command and is large enough for the answer.
///
/// # Errors
/// What the kernel answered; `InvalidInput` for a name that no interface can have.
pub fn ioctl(device: &str, argument: &mut [u8]) -> io::Result<()> {
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    if device.len() >= libc::IFNAMSIZ || argument.len() < 4 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: an all-zero ifreq is valid; `argument` outlives the call; each caller has made it large enough for what
    // its command writes.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(fd);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = argument.as_mut_ptr().cast();
        if libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_statistics_are_read_again() {
        let names = ["rx_packets", "[0]: rx_discards", "  pkts rx OOB"];
        let statistics: Vec<_> =
            names.iter().zip([7, u64::MAX, 3]).map(|(n, v)| (n.to_string(), v)).collect();
        assert_eq!(parse_statistics(&print_statistics(&statistics)), statistics);
        assert_eq!(parse_statistics("# from: somewhere: 3\nNIC statistics:\n  a: b\n"), []);
    }

    #[test]
    fn a_driver_is_read_from_what_ethtool_prints() {
        let text = "# note\ndriver: mlx5_core\nversion: 6.1.0\nbus-info: 0000:3b:00.0\n";
        assert_eq!(parse_driver(text, "driver").as_deref(), Some("mlx5_core"));
        assert_eq!(parse_driver(text, "bus-info").as_deref(), Some("0000:3b:00.0"));
        assert_eq!(parse_driver(text, "expansion-rom-version"), None);
    }
}
