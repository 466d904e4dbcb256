//! The host that is read: this machine, or a folder in which one was recorded.

mod facts;

use crate::ethtool;
use crate::netlink::{Connection, Request};
use crate::pattern::matches;
use crate::reading::{Device, Row};
use crate::sources::link;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::sources::link::Interface;
pub use facts::Facts;

/// When something was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// CLOCK_MONOTONIC, in nanoseconds: for differences on one host.
    pub monotonic_ns: i64,
    /// CLOCK_REALTIME, in nanoseconds since 1970: for comparison between hosts. It may be set.
    pub realtime_ns: i64,
}

/// A host that can be read. Sources cannot tell a live one from a recorded one.
///
/// A recorded host is a folder: `proc/...` and `sys/...` hold copies of files, `netlink/NAME.bin` answers of the
/// kernel byte for byte, `ethtool/DEVICE/statistics` and `ethtool/DEVICE/driver` what `ethtool -S` and `ethtool -i`
/// print, `ethtool/DEVICE/rings` and its like the settings of the device ([`ethtool::Knob`]), `clock` two numbers,
/// `facts` the name of the kernel and such, `processes` numbers and names of some processes. Beside any of them,
/// `NAME.errno` holds the number of the error that was given instead, `NAME.link` the folder that a link leads to.
///
/// A live root reads the network namespace of the thread that calls it, but connections stay in the one they were
/// opened in: use one root per namespace.
#[derive(Debug)]
pub struct Root {
    side: Side,
    /// Where everything that is read is kept, if it is to be recorded.
    copy: Option<PathBuf>,
    /// Answers of this round, so that two sources do not ask for the same.
    round: BTreeMap<String, Vec<u8>>,
    drivers: BTreeMap<(u32, String), Option<String>>,
    /// What names were found to mean, by the address of the table.
    meanings: HashMap<usize, HashMap<String, Meant>>,
}

/// A row, and the number of the queue in the name.
type Meant = Option<(&'static Row, Option<u32>)>;

#[derive(Debug)]
enum Side {
    Live(BTreeMap<i32, Connection>),
    Recorded(PathBuf),
}

impl Root {
    /// This machine.
    pub fn live() -> Root {
        Root::on(Side::Live(BTreeMap::new()))
    }

    /// A host recorded in a folder.
    pub fn recorded(folder: impl Into<PathBuf>) -> Root {
        Root::on(Side::Recorded(folder.into()))
    }

    fn on(side: Side) -> Root {
        Root { side, copy: None, round: BTreeMap::new(), drivers: BTreeMap::new(), meanings: HashMap::new() }
    }

    /// Keeps a copy of all that is read from now on in a folder; `None` ends it.
    pub(crate) fn copy_to(&mut self, folder: Option<&Path>) {
        self.copy = folder.map(Path::to_owned);
        self.refresh();
        self.drivers.clear();
    }

    /// Begins a new round: answers are asked for again.
    pub fn refresh(&mut self) {
        self.round.clear();
    }

    /// The text of a file, by its path without the first `/`, e.g. `proc/net/softnet_stat`. Bytes that are no UTF-8 are
    /// replaced.
    ///
    /// # Errors
    /// As `open(2)` and `read(2)`.
    pub fn text(&mut self, path: &str) -> io::Result<String> {
        self.bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The content of a file, by its path as in [`Root::text`].
    ///
    /// # Errors
    /// As `open(2)` and `read(2)`.
    pub fn bytes(&mut self, path: &str) -> io::Result<Vec<u8>> {
        let found = match &self.side {
            Side::Live(_) => fs::read(live_path(path)),
            Side::Recorded(folder) => recorded(folder, path),
        };
        self.keep(path, found)
    }

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// As `opendir(3)`.
    pub fn names(&mut self, path: &str) -> io::Result<Vec<String>> {
        let folder = match &self.side {
            Side::Live(_) => live_path(path),
            Side::Recorded(folder) => folder.join(path),
        };
        let names = fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<String>>>()?;
        if matches!(self.side, Side::Recorded(_)) {
            names.retain(|name| !name.ends_with(".errno") && !name.ends_with(".link"));
        }
        names.sort();
        if let Some(copy) = &self.copy {
            let to = copy.join(path);
            fs::create_dir_all(&to)?;
            // Files of the same name that were read before keep their content.
            names.iter().try_for_each(|name| match folder.join(name).is_dir() {
                true => fs::create_dir_all(to.join(name)),
                false => fs::OpenOptions::new().append(true).create(true).open(to.join(name)).map(drop),
            })?;
        }
        Ok(names)
    }

    /// The kernel's answer to a netlink request: whole messages, one after the other. Asked for once a round.
    ///
    /// # Errors
    /// What the kernel answered; `NotFound` if a fixture has no answer.
    pub fn ask(&mut self, request: &Request) -> io::Result<Vec<u8>> {
        if let Some(answer) = self.round.get(&request.name) {
            return Ok(answer.clone());
        }
        let path = format!("netlink/{}.bin", request.name);
        let found = match &mut self.side {
            Side::Live(connections) => connection(connections, request.protocol)
                .and_then(|c| c.ask(request.kind, request.flags, &request.payload)),
            Side::Recorded(folder) => recorded(folder, &path),
        };
        let answer = self.keep(&path, found)?;
        self.round.insert(request.name.clone(), answer.clone());
        Ok(answer)
    }

    /// Names and values of a driver's own statistics.
    ///
    /// # Errors
    /// As [`ethtool::statistics`].
    pub fn statistics(&mut self, device: &str) -> io::Result<Vec<(String, u64)>> {
        let path = format!("ethtool/{device}/statistics");
        let found = match &self.side {
            Side::Live(_) => ethtool::statistics(device),
            Side::Recorded(folder) => recorded(folder, &path)
                .map(|bytes| ethtool::parse_statistics(&String::from_utf8_lossy(&bytes))),
        };
        if self.copy.is_some() {
            let text = found.as_ref().map(|s| ethtool::print_statistics(s).into_bytes());
            self.keep(&path, text.map_err(again))?;
        }
        found
    }

    /// Name of the driver of an interface, e.g. `mlx5_core`; `None` if it has none. Asked for once per interface.
    pub fn driver(&mut self, index: u32, device: &str) -> Option<String> {
        let key = (index, device.to_owned());
        if let Some(known) = self.drivers.get(&key) {
            return known.clone();
        }
        let path = format!("ethtool/{device}/driver");
        let found = match &self.side {
            Side::Live(_) => ethtool::driver(device).map(String::into_bytes),
            Side::Recorded(folder) => recorded(folder, &path),
        };
        let text = self.keep(&path, found).ok();
        let name = text.and_then(|text| ethtool::parse_driver(&String::from_utf8_lossy(&text), "driver"));
        self.drivers.insert(key, name.clone());
        name
    }

    /// The first row of a table whose pattern matches a name, and the number of the queue in it. Remembered, as the
    /// same names come with every sample.
    pub fn meaning(&mut self, rows: &'static [Row], name: &str) -> Option<(&'static Row, Option<u32>)> {
        let known = self.meanings.entry(rows.as_ptr().addr()).or_default();
        if let Some(meant) = known.get(name) {
            return *meant;
        }
        let meant = rows.iter().find_map(|row| Some((row, matches(row.pattern, name)?)));
        known.insert(name.to_owned(), meant);
        meant
    }

    /// The interfaces of the namespace, with their statistics.
    ///
    /// # Errors
    /// What the kernel answered.
    pub fn interfaces(&mut self) -> io::Result<Vec<Interface>> {
        match (self.ask(&link::request()), &self.side) {
            (Ok(answer), _) => Ok(link::parse(&answer)),
            (Err(error), Side::Recorded(folder)) if error.kind() == io::ErrorKind::NotFound => {
                from_text(&folder.join("ethtool"), &folder.join("sys/class/net"))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The time, by this host's clocks.
    ///
    /// # Errors
    /// If a fixture has none.
    pub fn clock(&mut self) -> io::Result<Clock> {
        let found = match &self.side {
            Side::Live(_) => {
                Ok(format!("{} {}\n", read_clock(libc::CLOCK_MONOTONIC), read_clock(libc::CLOCK_REALTIME)))
            }
            Side::Recorded(folder) => {
                recorded(folder, "clock").map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        let bytes = self.keep("clock", found.map(String::into_bytes))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut words = text.split_whitespace().map(str::parse);
        match (words.next(), words.next()) {
            (Some(Ok(monotonic_ns)), Some(Ok(realtime_ns))) => Ok(Clock { monotonic_ns, realtime_ns }),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "`clock` holds two numbers of nanoseconds")),
        }
    }

    /// Ticks a second in which /proc/stat counts (USER_HZ): 100 on every architecture but alpha.
    pub fn ticks_per_second(&self) -> u64 {
        match self.side {
            // SAFETY: sysconf takes no pointers.
            Side::Live(_) => u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100).max(1),
            Side::Recorded(_) => 100,
        }
    }

    /// Writes what was found, or the number of the error, to the copy.
    fn keep(&self, path: &str, found: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        let Some(copy) = &self.copy else { return found };
        let file = copy.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        match &found {
            Ok(bytes) => fs::write(&file, bytes)?,
            Err(error) => {
                if let Some(number) = error.raw_os_error() {
                    fs::write(copy.join(errno_path(path)), format!("{number}\n"))?;
                }
            }
        }
        found
    }
}

/// An error without its text, to be written down while the first is returned.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

fn connection(connections: &mut BTreeMap<i32, Connection>, protocol: i32) -> io::Result<&mut Connection> {
    use std::collections::btree_map::Entry;
    match connections.entry(protocol) {
        Entry::Occupied(open) => Ok(open.into_mut()),
        Entry::Vacant(none) => Ok(none.insert(Connection::open(protocol)?)),
    }
}

/// /proc/net is that of the process's first thread; a thread may be in another namespace.
fn live_path(path: &str) -> PathBuf {
    let rest = path.strip_prefix("proc/net/").map(|rest| format!("proc/thread-self/net/{rest}"));
    Path::new("/").join(rest.as_deref().unwrap_or(path))
}

fn errno_path(path: &str) -> String {
    format!("{path}.errno")
}

fn recorded(folder: &Path, path: &str) -> io::Result<Vec<u8>> {
    fs::read(folder.join(path)).map_err(|error| {
        let number = fs::read_to_string(folder.join(errno_path(path))).ok();
        match number.and_then(|text| text.trim().parse().ok()) {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(error.kind(), format!("{path} is not in the fixture: {error}")),
        }
    })
}

/// The interfaces of a fixture that somebody made by hand: one per folder of `ethtool/`, with the statistics in
/// `sys/class/net/DEVICE/statistics/`, if there are any.
fn from_text(ethtool: &Path, sysfs: &Path) -> io::Result<Vec<Interface>> {
    let names = fs::read_dir(ethtool)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<String>>>()?;
    names.sort();
    let interface = |(at, name): (usize, String)| {
        let folder = sysfs.join(&name).join("statistics");
        let value = |counter: &str| -> Option<u64> {
            fs::read_to_string(folder.join(counter)).ok()?.trim().parse().ok()
        };
        let known = folder.is_dir();
        let statistics = link::names().map(|counter| value(counter).unwrap_or(0));
        Interface {
            device: Device { index: at as u32 + 1, name: name.into() },
            parent: None,
            statistics: if known { statistics.collect() } else { Vec::new() },
        }
    };
    Ok(names.into_iter().enumerate().map(interface).collect())
}

fn read_clock(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that outlives the call; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
