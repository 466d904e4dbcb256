//! Edits to the kernel's own sources are data, so that what was changed and why can be shown and recorded.

use crate::error::KernelError;
use serde::Deserialize;
use std::fs;
use std::path::Path;

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

    /// The text after the edit.
    fn edited(&self, text: &str) -> Result<String, KernelError> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(KernelError::Edit {
                file: self.file.clone(),
                find: self.find.trim().lines().next().unwrap_or_default().to_owned(),
                count,
            }),
        }
    }
}

/// Applies the edits, in order, to the source at `tree`.
pub fn apply(edits: &[Edit], tree: &Path) -> Result<(), KernelError> {
    for edit in edits {
        let path = tree.join(&edit.file);
        let text = fs::read_to_string(&path).map_err(KernelError::io("read", &path))?;
        let text = edit.edited(&text)?;
        fs::write(&path, text).map_err(KernelError::io("write", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str, replace: &str) -> Edit {
        Edit { file: "a.h".into(), find: find.into(), replace: replace.into(), why: "test".into() }
    }

    #[test]
    fn replaces_in_order_and_leaves_the_rest() {
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("a.h"), "one\ntwo\nthree\n").unwrap();
        apply(&[edit("two", "2"), edit("2\nthree", "2 3")], tree.path()).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("a.h")).unwrap(), "one\n2 3\n");
    }

    #[test]
    fn text_that_is_absent_or_repeated_is_an_error_that_names_the_file() {
        for (text, times) in [("nothing", 0), ("x x", 2)] {
            let error = edit("x", "y").edited(text).unwrap_err();
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
        let error = apply(&[edit("x", "y")], tree.path()).unwrap_err();
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
