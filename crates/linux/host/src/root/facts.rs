//! Facts of a host that no file has as text: names of the kernel, links, processes, and settings of devices.

use super::{Root, Side, live_path, recorded};
use crate::ethtool::{Knob, parse_settings, print_settings, read_knob};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::path::Path;

/// Names of kernel and host, and the size of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// `uname -n`.
    pub host: String,
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Bytes of a page; `None` in a fixture without it.
    pub page_bytes: Option<u64>,
}

impl Root {
    /// Names of kernel and host. A fixture has them in `facts`, or in files of /proc/sys/kernel.
    pub fn facts(&mut self) -> Facts {
        let found = match &self.side {
            Side::Live(_) => Ok(live_facts().into_bytes()),
            Side::Recorded(folder) => recorded(folder, "facts"),
        };
        let text = self.keep("facts", found).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let facts = parse_settings(&text.unwrap_or_default());
        let mut word = |key: &str, file: &str| match facts.get(key) {
            Some(value) => value.clone(),
            None => {
                self.text(&format!("proc/sys/kernel/{file}")).map_or(String::new(), |text| text.trim().into())
            }
        };
        Facts {
            host: word("host", "hostname"),
            kernel: word("kernel", "osrelease"),
            architecture: word("architecture", "arch"),
            page_bytes: facts.get("page_bytes").and_then(|value| value.parse().ok()),
        }
    }

    /// The folder that a path leads to after all links, without the first `/`. `sys/class/net/eth0/device` leads to
    /// `sys/devices/pci0000:00/0000:00:03.0`.
    ///
    /// # Errors
    /// As `realpath(3)`.
    pub fn target(&mut self, path: &str) -> io::Result<String> {
        let link = format!("{path}.link");
        let found = match &self.side {
            Side::Live(_) => fs::canonicalize(live_path(path)).map(|target| below(&target, Path::new("/"))),
            Side::Recorded(folder) => match recorded(folder, &link) {
                Ok(text) => return Ok(String::from_utf8_lossy(&text).trim().to_owned()),
                // A copy of the file system itself has links.
                Err(error) if fs::symlink_metadata(folder.join(path)).is_err() => Err(error),
                Err(_) => fs::canonicalize(folder.join(path))
                    .and_then(|target| Ok(below(&target, &fs::canonicalize(folder)?))),
            },
        };
        let found = self.keep(&link, found.map(String::into_bytes))?;
        Ok(String::from_utf8_lossy(&found).into_owned())
    }

    /// Number and name of each process that has one of `names`. The kernel cuts names to 15 characters.
    ///
    /// # Errors
    /// As `opendir(3)` of /proc; `NotFound` if a fixture has no file `processes`.
    pub fn processes(&mut self, names: &[&str]) -> io::Result<Vec<(u32, String)>> {
        let found = match &self.side {
            Side::Live(_) => live_processes(names),
            Side::Recorded(folder) => recorded(folder, "processes"),
        };
        let bytes = self.keep("processes", found)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let process = |line: &str| {
            let (pid, name) = line.trim().split_once(' ')?;
            Some((pid.parse().ok()?, name.to_owned()))
        };
        Ok(text.lines().filter_map(process).filter(|(_, name)| names.contains(&name.as_str())).collect())
    }

    /// Settings of a device by their ethtool names.
    ///
    /// # Errors
    /// As [`read_knob`]; `NotFound` if a fixture does not have them.
    pub fn knob(
        &mut self,
        device: &str,
        knob: Knob,
    ) -> io::Result<std::collections::BTreeMap<String, String>> {
        let path = format!("ethtool/{device}/{}", knob.name());
        let found = match &self.side {
            Side::Live(_) => read_knob(device, knob).map(|settings| print_settings(&settings).into_bytes()),
            Side::Recorded(folder) => recorded(folder, &path),
        };
        let bytes = self.keep(&path, found)?;
        Ok(parse_settings(&String::from_utf8_lossy(&bytes)))
    }

    /// A line of what `ethtool -i` prints for an interface, such as `bus-info`.
    ///
    /// # Errors
    /// The kernel's answer; `EOPNOTSUPP` for an interface without a driver of its own.
    pub fn driver_text(&mut self, device: &str) -> io::Result<String> {
        let path = format!("ethtool/{device}/driver");
        let found = match &self.side {
            Side::Live(_) => crate::ethtool::driver(device).map(String::into_bytes),
            Side::Recorded(folder) => recorded(folder, &path),
        };
        self.keep(&path, found).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn below(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}

fn live_facts() -> String {
    // SAFETY: an all-zero utsname is valid, and the pointer is to one that outlives the call.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        libc::uname(&mut name);
        name
    };
    // SAFETY: the kernel ends each field with a zero byte (uname(2)).
    let word =
        |field: &[libc::c_char]| unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned();
    // SAFETY: sysconf takes no pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    format!(
        "host: {}\nkernel: {}\narchitecture: {}\npage_bytes: {page}\n",
        word(&name.nodename),
        word(&name.release),
        word(&name.machine)
    )
}

fn live_processes(names: &[&str]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let pid = entry?.file_name().to_string_lossy().into_owned();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // A process that ended between the two calls has no name.
        let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) else { continue };
        if names.contains(&name.trim_end()) {
            lines.push(format!("{pid} {}\n", name.trim_end()));
        }
    }
    Ok(lines.concat().into_bytes())
}
