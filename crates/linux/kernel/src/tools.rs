//! The programs a build needs. All that are missing are named at once, with the packages that provide them.

use crate::error::KernelError;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Programs and the Debian packages they are in.
const COMPILING: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
];

/// The C library's headers, without which gcc runs but compiles nothing of user-mode Linux.
const HEADERS: (&str, &str) = ("stdio.h", "libc6-dev");

/// Checks that the programs are on `path` (the value of `PATH`); `unpacking` are those for the tarball.
pub fn check(path: &OsStr, unpacking: &[(&str, &str)]) -> Result<(), KernelError> {
    let mut missing: Vec<(&str, &str)> =
        COMPILING.iter().chain(unpacking).filter(|(tool, _)| which(path, tool).is_none()).copied().collect();
    if let Some(gcc) = which(path, "gcc")
        && !has_headers(&gcc)
    {
        missing.push(HEADERS);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (tools, packages) = missing.iter().map(|(t, p)| (t.to_string(), p.to_string())).unzip();
    Err(KernelError::MissingTools { tools, packages })
}

/// The first executable file of that name on `path`.
fn which(path: &OsStr, tool: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(tool))
        .find(|file| file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0))
}

/// Whether gcc finds the C library's headers.
fn has_headers(gcc: &std::path::Path) -> bool {
    let header = format!("-include{}", HEADERS.0);
    let mut command = std::process::Command::new(gcc);
    command.args(["-E", "-x", "c", "-o", "/dev/null", &header, "/dev/null"]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    command.stderr(std::process::Stdio::null()).status().is_ok_and(|s| s.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with executables of these names; they succeed at everything.
    fn path_with(tools: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for tool in tools {
            let file = folder.path().join(tool);
            fs::write(&file, "#!/bin/sh\nexit 0\n").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn all_there_is_good() {
        let folder = path_with(&["make", "gcc", "ld", "flex", "bison", "bc", "tar", "xz"]);
        check(folder.path().as_os_str(), &[("tar", "tar"), ("xz", "xz-utils")]).unwrap();
    }

    #[test]
    fn everything_missing_is_named_at_once_with_its_package() {
        let folder = path_with(&["make", "gcc", "ld", "bison", "tar"]);
        let error = check(folder.path().as_os_str(), &[("tar", "tar"), ("xz", "xz-utils")]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("flex, bc, xz"), "{message}");
        assert!(message.ends_with("apt-get install flex bc xz-utils"), "{message}");
    }

    #[test]
    fn a_file_that_is_not_executable_does_not_count() {
        let folder = path_with(&["make", "gcc", "ld", "flex", "bison"]);
        fs::write(folder.path().join("bc"), "").unwrap();
        let error = check(folder.path().as_os_str(), &[]).unwrap_err();
        assert!(matches!(error, KernelError::MissingTools { tools, .. } if tools == ["bc"]));
    }

    #[test]
    fn a_compiler_without_the_c_library_is_not_enough() {
        let folder = path_with(&["make", "gcc", "ld", "flex", "bison", "bc"]);
        fs::write(folder.path().join("gcc"), "#!/bin/sh\nexit 1\n").unwrap();
        let error = check(folder.path().as_os_str(), &[]).unwrap_err();
        assert!(error.to_string().ends_with("apt-get install libc6-dev"), "{error}");
    }
}
