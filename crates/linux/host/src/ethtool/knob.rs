//! Settings of a device that ethtool reads, by ioctl, as names and values in text. None needs privileges.

use super::{ioctl, put};
use crate::netlink::{text, u32_at};
use std::collections::BTreeMap;
use std::io;

/// A group of settings of a device. In a fixture it is the file `ethtool/DEVICE/NAME` with lines `NAME: VALUE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    /// Descriptors of the rings (`ethtool -g`): `rx`, `rx-max`, `tx`, `tx-max`.
    Rings,
    /// Channels (`ethtool -l`): `combined`, `combined-max`, and the same of `rx` and `tx`.
    Channels,
    /// Interrupt moderation (`ethtool -c`), by the names of ethtool(8): `rx-usecs`, `adaptive-rx`, ...
    Coalescing,
    /// Flow control (`ethtool -a`): `autoneg`, `rx` and `tx`, each `on` or `off`.
    Pause,
    /// Offloads (`ethtool -k`): `on` or `off`, with ` [fixed]` if it cannot be changed.
    Features,
    /// Forward error correction (`ethtool --show-fec`): `active`.
    Fec,
    /// Receive side scaling (`ethtool -x`): `queue-N` has the number of its entries, `key` is hexadecimal.
    Rss,
    /// The link (`ethtool DEVICE`): `speed` in Mbit/s.
    Link,
}

impl Knob {
    /// Name of the file in a fixture.
    pub fn name(self) -> &'static str {
        match self {
            Knob::Rings => "rings",
            Knob::Channels => "channels",
            Knob::Coalescing => "coalescing",
            Knob::Pause => "pause",
            Knob::Features => "features",
            Knob::Fec => "fec",
            Knob::Rss => "rss",
            Knob::Link => "link",
        }
    }
}

/// Reads `NAME: VALUE` of each line. Lines that begin with `#` are comments.
pub fn parse_settings(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// Prints settings so that [`parse_settings`] reads them again.
pub fn print_settings(settings: &[(String, String)]) -> String {
    settings.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

type Settings = Vec<(String, String)>;

/// Settings of a device, from the kernel. Commands and structures are those of linux/ethtool.h.
///
/// # Errors
/// The kernel's answer: `EOPNOTSUPP` if the device has no such setting, `ENODEV` if there is no such device.
pub fn read_knob(device: &str, knob: Knob) -> io::Result<Settings> {
    match knob {
        Knob::Rings => rings(device),
        Knob::Channels => channels(device),
        Knob::Coalescing => coalescing(device),
        Knob::Pause => pause(device),
        Knob::Features => features(device),
        Knob::Fec => fec(device),
        Knob::Rss => rss(device),
        Knob::Link => link(device),
    }
}

fn named<const N: usize>(pairs: [(&str, u32); N]) -> Settings {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect()
}

fn on_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

/// The numbers after the command in the kernel's answer.
fn numbers<const N: usize>(device: &str, command: u32) -> io::Result<[u32; N]> {
    let mut bytes = vec![0; 4 * (N + 1)];
    put(&mut bytes, &[command]);
    ioctl(device, &mut bytes)?;
    Ok(std::array::from_fn(|index| u32_at(&bytes, 4 * (index + 1)).unwrap_or(0)))
}

/// `struct ethtool_ringparam` (ETHTOOL_GRINGPARAM).
fn rings(device: &str) -> io::Result<Settings> {
    let [rx_max, _, _, tx_max, rx, _, _, tx] = numbers(device, 0x10)?;
    Ok(named([("rx", rx), ("rx-max", rx_max), ("tx", tx), ("tx-max", tx_max)]))
}

/// `struct ethtool_channels` (ETHTOOL_GCHANNELS).
fn channels(device: &str) -> io::Result<Settings> {
    let [rx_max, tx_max, _, combined_max, rx, tx, _, combined] = numbers(device, 0x3c)?;
    Ok(named([
        ("combined", combined),
        ("combined-max", combined_max),
        ("rx", rx),
        ("rx-max", rx_max),
        ("tx", tx),
        ("tx-max", tx_max),
    ]))
}

/// The first half of `struct ethtool_coalesce` (ETHTOOL_GCOALESCE), which has 22 numbers.
fn coalescing(device: &str) -> io::Result<Settings> {
    let all: [u32; 22] = numbers(device, 0x0e)?;
    let [rx_usecs, rx_frames, _, _, tx_usecs, tx_frames, ..] = all;
    let mut found = named([
        ("rx-usecs", rx_usecs),
        ("rx-frames", rx_frames),
        ("tx-usecs", tx_usecs),
        ("tx-frames", tx_frames),
    ]);
    found.push(("adaptive-rx".to_owned(), on_off(all[9] != 0)));
    found.push(("adaptive-tx".to_owned(), on_off(all[10] != 0)));
    Ok(found)
}

/// `struct ethtool_pauseparam` (ETHTOOL_GPAUSEPARAM).
fn pause(device: &str) -> io::Result<Settings> {
    let [autoneg, rx, tx] = numbers(device, 0x12)?;
    let pairs = [("autoneg", autoneg), ("rx", rx), ("tx", tx)];
    Ok(pairs.map(|(name, value)| (name.to_owned(), on_off(value != 0))).into())
}

/// Names of all features (ETH_SS_FEATURES), and `struct ethtool_gfeatures` with their bits, 32 a block.
fn features(device: &str) -> io::Result<Settings> {
    const GSTRINGS: u32 = 0x1b;
    const GSSET_INFO: u32 = 0x37;
    const GFEATURES: u32 = 0x3a;
    const SS_FEATURES: u32 = 4;
    const NAME: usize = 32; // ETH_GSTRING_LEN
    /// More than any kernel has; the number is below 100 today.
    const MOST: usize = 1024;
    // struct ethtool_sset_info: command, reserved, mask of 64 bits, then one count.
    let mut counts = vec![0; 20];
    put(&mut counts, &[GSSET_INFO, 0, 1 << SS_FEATURES, 0]);
    ioctl(device, &mut counts)?;
    let count = (u32_at(&counts, 16).unwrap_or(0) as usize).min(MOST);
    let mut names = vec![0; 12 + MOST * NAME];
    put(&mut names, &[GSTRINGS, SS_FEATURES, count as u32]);
    ioctl(device, &mut names)?;
    let blocks = count.div_ceil(32);
    let mut bits = vec![0; 8 + MOST / 32 * 16];
    put(&mut bits, &[GFEATURES, blocks as u32]);
    ioctl(device, &mut bits)?;
    let feature = |index: usize| {
        // available, requested, active, never changed
        let block = 8 + index / 32 * 16;
        let is = |word: usize| u32_at(&bits, block + 4 * word).is_some_and(|w| w >> (index % 32) & 1 == 1);
        let fixed = if !is(0) || is(3) { " [fixed]" } else { "" };
        let start = 12 + index * NAME;
        (text(&names[start..start + NAME]), on_off(is(2)) + fixed)
    };
    Ok((0..count).map(feature).filter(|(name, _)| !name.is_empty()).collect())
}

/// `struct ethtool_fecparam` (ETHTOOL_GFECPARAM).
fn fec(device: &str) -> io::Result<Settings> {
    const NAMES: [&str; 6] = ["None", "Auto", "Off", "RS", "BaseR", "LLRS"];
    let [active, _, _] = numbers(device, 0x50)?;
    let names = NAMES.iter().enumerate().filter(|(bit, _)| active >> bit & 1 == 1);
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    Ok(vec![("active".to_owned(), names.join(" "))])
}

/// `struct ethtool_rxfh` (ETHTOOL_GRSSH): asked once for the sizes of table and key, once for both.
fn rss(device: &str) -> io::Result<Settings> {
    const GRSSH: u32 = 0x46;
    const HEADER: usize = 24;
    /// Entries of a table, and bytes of a key: at most 8192 and 256 in drivers of Linux 6.12.
    const MOST: u32 = 1 << 16;
    let mut sizes = vec![0; HEADER];
    put(&mut sizes, &[GRSSH]);
    ioctl(device, &mut sizes)?;
    let size = |at: usize| u32_at(&sizes, at).unwrap_or(0).min(MOST);
    let (entries, key) = (size(8), size(12));
    let table_end = HEADER + 4 * entries as usize;
    let mut all = vec![0; table_end + key as usize];
    put(&mut all, &[GRSSH, 0, entries, key]);
    ioctl(device, &mut all)?;
    let mut by_queue: BTreeMap<u32, u32> = BTreeMap::new();
    for index in 0..entries as usize {
        *by_queue.entry(u32_at(&all, HEADER + 4 * index).unwrap_or(0)).or_default() += 1;
    }
    let queues = by_queue.into_iter().map(|(queue, count)| (format!("queue-{queue}"), count.to_string()));
    let mut found: Settings = queues.collect();
    if key > 0 {
        let bytes: Vec<String> = all[table_end..].iter().map(|byte| format!("{byte:02x}")).collect();
        found.push(("key".to_owned(), bytes.concat()));
    }
    Ok(found)
}

/// `struct ethtool_link_settings` (ETHTOOL_GLINKSETTINGS): the first answer has minus the number of words of a mask.
fn link(device: &str) -> io::Result<Settings> {
    const GLINKSETTINGS: u32 = 0x4c;
    const HEADER: usize = 48;
    const WORDS_AT: usize = 15;
    let mut asked = vec![0; HEADER];
    put(&mut asked, &[GLINKSETTINGS]);
    ioctl(device, &mut asked)?;
    let words = (asked[WORDS_AT] as i8).unsigned_abs();
    // Three masks: supported, advertised, of the link partner.
    let mut all = vec![0; HEADER + 3 * 4 * usize::from(words)];
    put(&mut all, &[GLINKSETTINGS]);
    all[WORDS_AT] = words;
    ioctl(device, &mut all)?;
    const UNKNOWN: u32 = u32::MAX; // SPEED_UNKNOWN
    let speed = u32_at(&all, 4).filter(|speed| *speed != UNKNOWN && *speed != 0);
    Ok(speed.map(|speed| ("speed".to_owned(), speed.to_string())).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_settings_are_read_again() {
        let settings = [("rx".to_owned(), "1024".to_owned()), ("rx-gro".to_owned(), "on [fixed]".to_owned())];
        let read = parse_settings(&format!("# from a host\n{}", print_settings(&settings)));
        assert_eq!(read.into_iter().collect::<Vec<_>>(), settings);
    }

    #[test]
    fn loopback_has_features_and_no_rings() {
        let features = read_knob("lo", Knob::Features).unwrap();
        let gso = features.iter().find(|(name, _)| name == "tx-generic-segmentation");
        assert!(gso.is_some(), "{features:?}");
        let rings = read_knob("lo", Knob::Rings).unwrap_err();
        assert_eq!(rings.raw_os_error(), Some(libc::EOPNOTSUPP));
        let absent = read_knob("no-such-device", Knob::Rings).unwrap_err();
        assert_eq!(absent.raw_os_error(), Some(libc::ENODEV));
    }
}
