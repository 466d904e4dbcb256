//! The Linux that substrate `kernel` runs: `run.kernel`.

use super::KernelVersion;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The key that chooses the kernel, as factors and messages name it.
pub const KERNEL_KEY: &str = "run.kernel";

/// Endings of the tarballs that a kernel is built from.
const TARBALLS: [&str; 5] = [".tar", ".tar.xz", ".tar.gz", ".tar.bz2", ".tar.zst"];

/// The kernel of a run on substrate `kernel`. Its text is that of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KernelChoice {
    /// A line of versions such as "6.1": any patch level of it.
    Line(KernelVersion),
    /// One version, such as "6.1.192".
    Exact(KernelVersion),
    /// The kernel that was built from this tarball or tree.
    Source(PathBuf),
}

impl KernelChoice {
    /// Whether a kernel of this version is a kernel of this choice. That of a source has any version.
    pub fn admits(&self, version: KernelVersion) -> bool {
        match self {
            KernelChoice::Line(line) => version.line() == *line,
            KernelChoice::Exact(exact) => version == *exact,
            KernelChoice::Source(_) => true,
        }
    }

    /// The line of versions that it names, unless it names a source.
    pub fn line(&self) -> Option<KernelVersion> {
        match self {
            KernelChoice::Line(version) | KernelChoice::Exact(version) => Some(version.line()),
            KernelChoice::Source(_) => None,
        }
    }

    /// The same with the path of a source found from `folder`.
    #[must_use]
    pub fn below(self, folder: &Path) -> KernelChoice {
        match self {
            KernelChoice::Source(path) => KernelChoice::Source(folder.join(path)),
            version => version,
        }
    }
}

impl FromStr for KernelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains('/') || TARBALLS.iter().any(|ending| text.ends_with(ending)) {
            return Ok(KernelChoice::Source(text.into()));
        }
        let version: KernelVersion = text.parse().map_err(|_| {
            format!(
                "`{text}` is not a kernel: write a version of Linux, such as \"6.1\" or \"6.1.192\", or the path of a \
                 tarball or tree, such as \"./linux-6.1\""
            )
        })?;
        Ok(match text.matches('.').count() {
            1 => KernelChoice::Line(version),
            _ => KernelChoice::Exact(version),
        })
    }
}

impl TryFrom<String> for KernelChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<KernelChoice> for String {
    fn from(choice: KernelChoice) -> String {
        choice.to_string()
    }
}

impl fmt::Display for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelChoice::Line(version) => version.fmt(f),
            KernelChoice::Exact(version) => write!(f, "{}", version.in_full()),
            KernelChoice::Source(path) => path.display().fmt(f),
        }
    }
}

impl JsonSchema for KernelChoice {
    fn schema_name() -> Cow<'static, str> {
        "KernelChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A version of Linux, such as \"6.1\" or \"6.1.192\", or the path of a tarball or tree.",
            "minLength": 3
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> KernelChoice {
        text.parse().unwrap()
    }

    #[test]
    fn versions_and_sources_are_read_and_written() {
        for text in ["6.1", "6.12", "6.1.0", "6.12.117", "./linux", "/usr/src/linux-6.1.tar.xz", "mine.tar"] {
            assert_eq!(choice(text).to_string(), text);
        }
        assert!(matches!(choice("6.1"), KernelChoice::Line(_)));
        assert!(matches!(choice("6.1.0"), KernelChoice::Exact(_)));
        assert!(matches!(choice("mine.tar.zst"), KernelChoice::Source(_)));
    }

    #[test]
    fn text_that_is_neither_is_refused_with_both_forms() {
        for wrong in ["", "6", "linux", "6.1-rc1", "latest"] {
            let message = wrong.parse::<KernelChoice>().unwrap_err();
            assert!(message.contains("\"6.1\"") && message.contains("tarball or tree"), "{message}");
        }
    }

    #[test]
    fn a_line_admits_its_patch_levels_and_no_other_line() {
        let version = |text: &str| text.parse::<KernelVersion>().unwrap();
        assert!(choice("6.1").admits(version("6.1.192")) && choice("6.1").admits(version("6.1")));
        assert!(!choice("6.1").admits(version("6.12.117")) && !choice("6.12").admits(version("6.1.12")));
        assert!(
            choice("6.1.192").admits(version("6.1.192")) && !choice("6.1.192").admits(version("6.1.191"))
        );
        assert!(!choice("6.1.0").admits(version("6.1.192")));
    }

    #[test]
    fn a_source_is_found_from_a_folder_and_a_version_is_not() {
        assert_eq!(choice("./linux").below(Path::new("study")).to_string(), "study/./linux");
        assert_eq!(choice("/linux/").below(Path::new("study")).to_string(), "/linux/");
        assert_eq!(choice("6.1").below(Path::new("study")), choice("6.1"));
    }
}
