//! Settings below /proc/sys (sysctl).

use super::{Place, SettingError, files};

/// Writes of these reset many other settings of the kernel, which could not be put back.
const RESETS_OTHERS: [&str; 2] = ["net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"];

/// Words separated by one space.
pub fn canonical(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The file of a dotted name. As in sysctl(8), a slash in the name stands for a dot, as in `net.ipv4.conf.eth0/5.mtu`.
fn path(place: &Place, name: &str) -> Result<String, SettingError> {
    let swap = |letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    let below: String = name.chars().map(swap).collect();
    let valid = below.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if !valid || below.contains('\0') {
        return Err(SettingError::Invalid {
            place: place.clone(),
            value: name.to_owned(),
            remedy: "write a dotted name such as `net.core.rmem_max`".into(),
        });
    }
    Ok(format!("/proc/sys/{below}"))
}

/// The present value.
pub fn read(place: &Place, name: &str) -> Result<String, SettingError> {
    Ok(canonical(&files::read(place, &path(place, name)?)?))
}

/// Writes a value.
pub fn write(place: &Place, name: &str, value: &str) -> Result<(), SettingError> {
    if RESETS_OTHERS.contains(&name) {
        return Err(SettingError::Unsupported {
            place: place.clone(),
            reason: "a change of forwarding resets other settings of all interfaces".into(),
            remedy: "set it by hand".into(),
        });
    }
    files::write(place, &path(place, name)?, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_inventory::Setting;

    fn place() -> Place {
        Place::of(&Setting::Sysctl { name: "x".into() })
    }

    #[test]
    fn names_become_files_as_in_sysctl() {
        assert_eq!(path(&place(), "net.ipv4.tcp_rmem").unwrap(), "/proc/sys/net/ipv4/tcp_rmem");
        assert_eq!(path(&place(), "net.ipv4.conf.eth0/5.mtu").unwrap(), "/proc/sys/net/ipv4/conf/eth0.5/mtu");
    }

    #[test]
    fn names_that_leave_the_folder_are_rejected() {
        for name in ["", "net..x", "net.//.x", ".net", "/.x", "net.x."] {
            assert!(matches!(path(&place(), name), Err(SettingError::Invalid { .. })), "{name}");
        }
    }

    #[test]
    fn tabs_become_one_space() {
        assert_eq!(canonical("4096\t131072  6291456\n"), "4096 131072 6291456");
    }

    #[test]
    fn a_setting_that_is_missing_is_not_found() {
        assert!(matches!(read(&place(), "net.no.such"), Err(SettingError::NotFound { .. })));
    }
}
