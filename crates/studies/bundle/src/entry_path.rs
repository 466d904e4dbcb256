//! Paths of entries: relative, below one folder, and harmless on a terminal.

use crate::error::Problem;
use wirespeed_record::is_command;

/// Bytes of a path, at most: what common file systems accept with room for the folder that it is unpacked to.
pub(crate) const LONGEST_PATH: usize = 1024;
/// Bytes of a component, at most (`NAME_MAX` of Linux).
const LONGEST_NAME: usize = 255;

/// Checks a path within the bundle, whose components are joined by `/`.
///
/// # Errors
/// The first problem.
pub(crate) fn check(path: &str) -> Result<(), Problem> {
    if path.starts_with('/') {
        return Err(Problem::Absolute);
    }
    if path.len() > LONGEST_PATH {
        return Err(Problem::TooLong);
    }
    if path.contains('\\') || path.contains(is_command) {
        return Err(Problem::NotPlain);
    }
    for name in path.split('/') {
        match name {
            ".." => return Err(Problem::LeavesTheFolder),
            "" | "." => return Err(Problem::NotPlain),
            name if name.len() > LONGEST_NAME => return Err(Problem::TooLong),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a text can be the name of a bundle: letters of ASCII, digits, and some signs, not at the start.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-=,~".contains(c);
    text.len() <= 100 && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        for (path, expected) in [
            ("results/runs/a=1,r0/run.json", Ok(())),
            ("/etc/passwd", Err(Problem::Absolute)),
            ("a/../../b", Err(Problem::LeavesTheFolder)),
            ("..", Err(Problem::LeavesTheFolder)),
            ("a//b", Err(Problem::NotPlain)),
            ("a/./b", Err(Problem::NotPlain)),
            ("a/", Err(Problem::NotPlain)),
            ("", Err(Problem::NotPlain)),
            ("a\\..\\b", Err(Problem::NotPlain)),
            ("a\u{1b}[2J", Err(Problem::NotPlain)),
            ("a\u{202e}b", Err(Problem::NotPlain)),
        ] {
            assert_eq!(check(path), expected, "{path:?}");
        }
        assert_eq!(check(&"a".repeat(256)), Err(Problem::TooLong));
        assert_eq!(check(&"a/".repeat(600)), Err(Problem::TooLong));
    }

    #[test]
    fn names_of_bundles_are_plain() {
        assert!(is_name("first-look") && is_name("a=1,r0"));
        assert!(["", "..", ".a", "a/b", "a b", "-a"].iter().all(|name| !is_name(name)));
    }
}
