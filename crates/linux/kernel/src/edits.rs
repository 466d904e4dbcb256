//! Edits to the kernel's own sources are data, so that what was changed and why can be shown and recorded.

use crate::error::KernelError;
use serde::Deserialize;
use std::fmt;
use std::fs;
use std::path::Path;
use wirespeed_scenario::run::KernelVersion;

/// One exact replacement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Path in the source.
    pub file: String,
    /// What is replaced; must occur exactly once.
    pub find: String,
    /// By what.
    pub replace: String,
    /// What for.
    pub why: String,
    /// The versions that need it; all if left out.
    #[serde(default)]
    pub kernels: Versions,
}

/// A range of versions, as text `FIRST..`, `..BEFORE` or `FIRST..BEFORE`: from the first on, and before the last. All by
/// default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Versions {
    first: Option<KernelVersion>,
    before: Option<KernelVersion>,
}

impl Versions {
    /// Whether a version is in the range.
    pub fn contain(self, version: KernelVersion) -> bool {
        self.first.is_none_or(|first| version >= first) && self.before.is_none_or(|before| version < before)
    }
}

impl TryFrom<String> for Versions {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a range of versions: write \"6.5..\", \"..6.5\" or \"5.10..6.5\"");
        let (first, before) = text.split_once("..").ok_or_else(wrong)?;
        let read = |end: &str| match end.is_empty() {
            true => Ok(None),
            false => end.parse().map(Some).map_err(|_| wrong()),
        };
        let range = Versions { first: read(first)?, before: read(before)? };
        match range {
            Versions { first: None, before: None } => Err(wrong()),
            Versions { first: Some(first), before: Some(before) } if first >= before => Err(wrong()),
            range => Ok(range),
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.before) {
            (None, None) => f.write_str("all versions"),
            (Some(first), None) => write!(f, "from {first} on"),
            (None, Some(before)) => write!(f, "before {before}"),
            (Some(first), Some(before)) => write!(f, "from {first} on, before {before}"),
        }
    }
}

/// Reads the text of `edits.toml`.
pub fn parse(text: &str) -> Result<Vec<Edit>, KernelError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        edit: Vec<Edit>,
    }
    Ok(toml::from_str::<File>(text)?.edit)
}

impl Edit {
    /// One line for people: where and why.
    pub fn summary(&self) -> String {
        format!("{}: {}", self.file, self.why)
    }

    /// The text after the edit, of a source of that version.
    fn edited(&self, text: &str, version: KernelVersion) -> Result<String, KernelError> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(KernelError::Edit {
                file: self.file.clone(),
                find: self.find.trim().lines().next().unwrap_or_default().to_owned(),
                count,
                version: version.in_full(),
            }),
        }
    }
}

/// Applies the edits, in order, to the source of that version at `tree`.
pub fn apply(edits: &[Edit], version: KernelVersion, tree: &Path) -> Result<(), KernelError> {
    for edit in edits {
        let path = tree.join(&edit.file);
        let text = fs::read_to_string(&path).map_err(KernelError::io("read", &path))?;
        let text = edit.edited(&text, version)?;
        fs::write(&path, text).map_err(KernelError::io("write", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod excerpts;
#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str, replace: &str) -> Edit {
        let kernels = Versions::default();
        Edit { file: "a.h".into(), find: find.into(), replace: replace.into(), why: "test".into(), kernels }
    }

    const TODAY: KernelVersion = KernelVersion::TODAY;

    #[test]
    fn ranges_contain_the_first_version_and_not_the_last() {
        let version = |text: &str| text.parse::<KernelVersion>().unwrap();
        let contained = |range: &str| {
            let range = Versions::try_from(range.to_owned()).unwrap();
            ["5.10", "6.1.192", "6.5", "6.12.117"].map(|text| range.contain(version(text)))
        };
        assert_eq!(contained("6.5.."), [false, false, true, true]);
        assert_eq!(contained("..6.5"), [true, true, false, false]);
        assert_eq!(contained("6.1..6.12"), [false, true, true, false]);
        assert!(Versions::default().contain(version("5.10")));
        for wrong in ["6.5", "..", "6.5..6.1", "six..", "6.5..6.5"] {
            let message = Versions::try_from(wrong.to_owned()).unwrap_err();
            assert!(message.contains("is not a range of versions"), "{message}");
        }
    }

    #[test]
    fn replaces_in_order_and_leaves_the_rest() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("a.h"), "one\ntwo\nthree\n").unwrap();
        apply(&[edit("two", "2"), edit("2\nthree", "2 3")], TODAY, tree.path()).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("a.h")).unwrap(), "one\n2 3\n");
    }

    #[test]
    fn text_that_is_absent_or_repeated_is_an_error_that_names_the_file() {
        for (text, times) in [("nothing", 0), ("x x", 2)] {
            let error = edit("x", "y").edited(text, TODAY).unwrap_err();
            assert!(
                matches!(&error, KernelError::Edit { file, count, .. } if file == "a.h" && *count == times),
                "{error}"
            );
            assert!(error.to_string().contains(&format!("occurs {times} times")), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let tree = tempfile::tempdir().unwrap();
        let error = apply(&[edit("x", "y")], TODAY, tree.path()).unwrap_err();
        assert!(error.to_string().contains("a.h"), "{error}");
    }

    #[test]
    fn ours_are_well_formed() {
        let edits = parse(crate::assets::EDITS).unwrap();
        assert!(!edits.is_empty());
        for edit in edits {
            assert!(
                !edit.find.is_empty() && edit.find != edit.replace && !edit.why.contains('\n'),
                "{edit:?}"
            );
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(parse("[[edit]]\nfile='a'\nfind='b'\nreplace='c'\nwhy='d'\nhow='e'\n").is_err());
    }
}
