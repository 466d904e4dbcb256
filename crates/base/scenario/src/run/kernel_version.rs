//! Which Linux a host runs, where its rules differ from version to version.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A version of Linux, as `uname -r` begins: "2.6.24", "4.15". Later ones compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KernelVersion([u16; 3]);

impl KernelVersion {
    /// What a host runs that does not say: today's rules.
    pub const TODAY: KernelVersion = KernelVersion([6, 12, 0]);

    /// The first one that runs L4S here. DualPI2 is in Linux since 6.17 and Accurate ECN since 6.18. In 7.2 an
    /// algorithm can ask for ECT(1) (`TCP_CONG_ECT_1_NEGOTIATION` in include/net/tcp.h). No version between was tried.
    pub const L4S: KernelVersion = KernelVersion([7, 2, 0]);

    /// Version `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> KernelVersion {
        KernelVersion([major, minor, patch])
    }

    /// Whether `tcp_adv_win_scale` decides how much of a receive buffer is offered as window. Since Linux 6.6 it is the share of
    /// payload that packets turn out to have (commit dfa2f0483360, "tcp: get rid of sysctl_tcp_adv_win_scale").
    pub fn shares_buffers_by_scale(self) -> bool {
        self < KernelVersion([6, 6, 0])
    }

    /// Whether it has DualPI2, Accurate ECN and algorithms that send ECT(1).
    pub fn has_l4s(self) -> bool {
        self >= KernelVersion::L4S
    }

    /// The line of versions that it belongs to: 6.12 of 6.12.117.
    pub const fn line(self) -> KernelVersion {
        let [major, minor, _] = self.0;
        KernelVersion([major, minor, 0])
    }

    /// With all three numbers, as `uname -r` begins also where the last is 0.
    pub fn in_full(self) -> String {
        let [major, minor, patch] = self.0;
        format!("{major}.{minor}.{patch}")
    }

    /// The version of a release such as `6.12.117-amd64` or `6.1.0-rc1`.
    pub fn of_release(release: &str) -> Option<KernelVersion> {
        let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
        release[..end].trim_end_matches('.').parse().ok()
    }
}

impl Default for KernelVersion {
    fn default() -> Self {
        KernelVersion::TODAY
    }
}

impl FromStr for KernelVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a version of Linux: write two or three numbers, such as \"4.15\"");
        let mut parts = [0; 3];
        let mut count = 0;
        for word in text.trim().split('.') {
            let part = parts.get_mut(count).ok_or_else(wrong)?;
            *part = word.parse().map_err(|_| wrong())?;
            count += 1;
        }
        if count < 2 { Err(wrong()) } else { Ok(KernelVersion(parts)) }
    }
}

impl TryFrom<String> for KernelVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<KernelVersion> for String {
    fn from(version: KernelVersion) -> String {
        version.to_string()
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}")?;
        if patch > 0 { write!(f, ".{patch}") } else { Ok(()) }
    }
}

impl JsonSchema for KernelVersion {
    fn schema_name() -> Cow<'static, str> {
        "KernelVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "description": "A version of Linux, such as \"4.15\".", "pattern": r"^\d+\.\d+(\.\d+)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_releases_leave_out_what_follows_the_numbers() {
        let of = |release: &str| KernelVersion::of_release(release).map(KernelVersion::in_full);
        assert_eq!(of("6.12.117").as_deref(), Some("6.12.117"));
        assert_eq!(of("6.1.0-rc1").as_deref(), Some("6.1.0"));
        assert_eq!(of("6.4+").as_deref(), Some("6.4.0"));
        assert_eq!(of("next"), None);
        assert_eq!(
            KernelVersion::of_release("6.12.117").map(KernelVersion::line),
            Some(KernelVersion::TODAY)
        );
    }

    #[test]
    fn versions_are_read_written_and_compared_by_number() {
        let version = |text: &str| text.parse::<KernelVersion>().unwrap();
        assert!(version("2.6.24") < version("3.9") && version("4.9") < version("4.15"));
        assert_eq!(
            (version("4.15").to_string(), version("2.6.24").to_string()),
            ("4.15".into(), "2.6.24".into())
        );
        for wrong in ["4", "4.15.0.1", "4.x", "", "4.15-generic"] {
            assert!(wrong.parse::<KernelVersion>().unwrap_err().contains("two or three numbers"), "{wrong}");
        }
    }
}
