//! Services of systemd.

use super::{Place, SettingError};
use std::path::Path;
use std::process::Command;

/// Runs systemctl; returns what it printed.
fn systemctl(place: &Place, arguments: &[&str]) -> Result<String, SettingError> {
    // As sd_booted(3): the folder exists where systemd is process 1.
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(SettingError::Unsupported {
            place: place.clone(),
            reason: "systemd does not manage this host".into(),
            remedy: "stop or start the program by its own means".into(),
        });
    }
    let output = Command::new("systemctl")
        .args(arguments)
        .output()
        .map_err(|error| SettingError::of(place, "systemctl", None, error))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(SettingError::Denied {
            place: place.clone(),
            reason,
            remedy: "`systemctl status` has the details".into(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `active`, `inactive`, `failed`, ...
pub fn read(place: &Place, name: &str) -> Result<String, SettingError> {
    let unit = format!("{name}.service");
    let text = systemctl(place, &["show", "--property=LoadState,ActiveState", "--", &unit])?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    if value("LoadState") == Some("not-found") {
        return Err(SettingError::NotFound {
            place: place.clone(),
            missing: format!("unit {unit}"),
            remedy: "list the units with `systemctl list-units --type=service`".into(),
        });
    }
    Ok(value("ActiveState").unwrap_or("unknown").to_owned())
}

/// Starts or stops it.
pub fn write(place: &Place, name: &str, value: &str) -> Result<(), SettingError> {
    let verb = match value {
        "active" => "start",
        "inactive" | "failed" => "stop",
        _ => {
            return Err(SettingError::Invalid {
                place: place.clone(),
                value: value.to_owned(),
                remedy: "write `active` or `inactive`".into(),
            });
        }
    };
    systemctl(place, &[verb, "--", &format!("{name}.service")]).map(drop)
}
