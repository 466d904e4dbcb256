//! Registrations of ours that this kernel has, whoever made them; and their removal.

use crate::control::{PREFIX, control};
use crate::kernel::{Reason, available, permitted};
use libbpf_rs::MapType;
use libbpf_rs::query::MapInfoIter;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A control of ours that is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The name that sockets choose.
    pub name: String,
    /// The kernel's number of the map that describes it (`bpftool struct_ops`).
    pub map: u32,
    /// The process that holds it; `None`: nobody, it was left behind.
    pub holder: Option<u32>,
    /// It goes with its process.
    pub vanishes: bool,
}

/// Why a control was not removed.
#[derive(Debug, Error)]
pub enum UnloadError {
    /// There is none.
    #[error("{name} is not registered by wirespeed; see `wirespeed cc status`")]
    None {
        /// What was asked for.
        name: String,
    },
    /// Somebody works with it.
    #[error("{name} is held by process {pid}; end that process (Ctrl-C, or kill {pid}), and it is gone")]
    Held {
        /// What was asked for.
        name: String,
        /// Who holds it.
        pid: u32,
    },
    /// The kernel does not let go of it.
    #[error("{name} cannot be removed: {source}")]
    Refused {
        /// What was asked for.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// This process may not.
    #[error(transparent)]
    Cannot(#[from] Reason),
}

/// The registrations of ours, those of other processes and those left behind too.
///
/// # Errors
/// If this process may not look.
pub fn registered() -> Result<Vec<Registered>, Reason> {
    // Walking the kernel's list of maps is CAP_SYS_ADMIN's.
    const SYS_ADMIN: u32 = 21;
    permitted(&[SYS_ADMIN])?;
    let available = available();
    let mut found = Vec::new();
    for map in MapInfoIter::default().filter(|map| map.ty == MapType::StructOps) {
        let Some(name) = map.name.to_str().ok().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        if control(name).is_none() {
            continue;
        }
        let vanishes = map.map_flags & libbpf_sys::BPF_F_LINK != 0;
        let Some(name) = name_of(map.id, name, map.value_size as usize) else { continue };
        // An object that is being loaded or taken apart has a map, but no socket can choose it.
        if available.contains(&name) {
            found.push(Registered { name, map: map.id, holder: holder(map.id), vanishes });
        }
    }
    Ok(found)
}

/// Removes a registration that nobody holds.
///
/// # Errors
/// If there is none, a process holds it, or the kernel refuses.
pub fn unload(name: &str) -> Result<(), UnloadError> {
    let found = registered()?.into_iter().find(|found| found.name == name);
    let found = found.ok_or_else(|| UnloadError::None { name: name.to_owned() })?;
    if let Some(pid) = found.holder {
        return Err(UnloadError::Held { name: name.to_owned(), pid });
    }
    let refused = |source| UnloadError::Refused { name: name.to_owned(), source };
    let map = open(found.map).map_err(refused)?;
    let key = 0_u32;
    // SAFETY: the map is open, and its key is 32 bits.
    let result = unsafe { libbpf_sys::bpf_map_delete_elem(map.as_raw_fd(), (&raw const key).cast()) };
    if result < 0 {
        return Err(refused(std::io::Error::from_raw_os_error(-result)));
    }
    let deadline = Instant::now() + Duration::from_secs(2);
    while available().iter().any(|other| other == name) {
        if Instant::now() > deadline {
            return Err(refused(std::io::Error::other("it is still registered")));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn open(map: u32) -> std::io::Result<OwnedFd> {
    // SAFETY: a call without pointers.
    let fd = unsafe { libbpf_sys::bpf_map_get_fd_by_id(map) };
    if fd < 0 {
        return Err(std::io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: the descriptor was just made, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The name under which a map's control is registered: its own or that with the prefix, as the map's value has it.
fn name_of(map: u32, control: &str, value_size: usize) -> Option<String> {
    let map = open(map).ok()?;
    let mut value = vec![0_u8; value_size];
    let key = 0_u32;
    // SAFETY: the map is open, its key is 32 bits, and the kernel fills as many bytes as it said its value has.
    let result = unsafe {
        libbpf_sys::bpf_map_lookup_elem(map.as_raw_fd(), (&raw const key).cast(), value.as_mut_ptr().cast())
    };
    let beside = format!("{PREFIX}{control}");
    let is_beside = value.windows(beside.len()).any(|window| window == beside.as_bytes());
    (result == 0).then(|| if is_beside { beside } else { control.to_owned() })
}

/// The process that has this map open.
fn holder(map: u32) -> Option<u32> {
    let wanted = format!("map_id:\t{map}");
    let process = |entry: fs::DirEntry| -> Option<u32> {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let mut files = fs::read_dir(entry.path().join("fdinfo")).ok()?.flatten();
        let has = |file: fs::DirEntry| {
            fs::read_to_string(file.path()).is_ok_and(|text| text.lines().any(|line| line == wanted))
        };
        files.any(has).then_some(pid)
    };
    fs::read_dir("/proc").ok()?.flatten().find_map(process)
}
