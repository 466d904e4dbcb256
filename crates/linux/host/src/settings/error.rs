//! Errors of settings, each with its place and a remedy.

use std::fmt;
use std::io;
use wirespeed_inventory::Setting;

/// A setting in an error: its description for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// The place of a setting.
    pub fn of(setting: &Setting) -> Place {
        Place(setting.to_string())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A setting that cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// The kernel, the driver or the host has no such setting.
    #[error("{place}: not supported here: {reason}; {remedy}")]
    Unsupported {
        /// The setting.
        place: Place,
        /// The kernel's answer.
        reason: String,
        /// The step that makes it available.
        remedy: String,
    },
    /// This process may not do it.
    #[error("{place}: not permitted: {reason}; {remedy}")]
    Denied {
        /// The setting.
        place: Place,
        /// The kernel's answer.
        reason: String,
        /// The step that permits it.
        remedy: String,
    },
    /// The interface, interrupt, queue, file or service does not exist.
    #[error("{place}: {missing} does not exist; {remedy}")]
    NotFound {
        /// The setting.
        place: Place,
        /// The thing that does not exist.
        missing: String,
        /// The command that lists those that exist.
        remedy: String,
    },
    /// The value cannot be one of the setting.
    #[error("{place}: `{value}` is not a valid value; {remedy}")]
    Invalid {
        /// The setting.
        place: Place,
        /// The value.
        value: String,
        /// A valid form.
        remedy: String,
    },
    /// The kernel accepted the value, and then reads another one.
    #[error("{place}: set to `{wanted}`, but reads `{found}`; the kernel or driver changed the value")]
    Differs {
        /// The setting.
        place: Place,
        /// The value that was set.
        wanted: String,
        /// The value that was read back.
        found: String,
    },
    /// Another error of the operating system.
    #[error("{place}: {source}; `dmesg` may have the driver's reason")]
    Io {
        /// The setting.
        place: Place,
        /// The operating system's reason.
        source: io::Error,
    },
}

impl SettingError {
    /// The error of a system call that reads or changes `place`; `object` is the thing that it named.
    pub(super) fn of(place: &Place, object: &str, value: Option<&str>, source: io::Error) -> SettingError {
        let place = place.clone();
        let reason = source.to_string();
        match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => SettingError::Denied {
                place,
                reason,
                remedy: "run the command as root (CAP_NET_ADMIN) of this network namespace".into(),
            },
            Some(libc::EROFS) => SettingError::Denied {
                place,
                reason,
                remedy: "/proc/sys or /sys is read-only, as in a container; run it on the host itself".into(),
            },
            Some(libc::EOPNOTSUPP) => SettingError::Unsupported {
                place,
                reason,
                remedy: "the driver does not have this setting; leave it out".into(),
            },
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => SettingError::NotFound {
                place,
                missing: object.to_owned(),
                remedy: "list the interfaces with `ip link`, and the rest with `wirespeed inventory`".into(),
            },
            Some(libc::EINVAL | libc::ERANGE | libc::EOVERFLOW) if value.is_some() => SettingError::Invalid {
                place,
                value: value.unwrap_or_default().to_owned(),
                remedy: format!("the kernel answered: {reason}"),
            },
            _ => SettingError::Io { place, source },
        }
    }
}
