//! The guest's process may read the host and write two folders, and the host's kernel holds it to that
//! (Landlock), whatever the guest does.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// How far the host's kernel held the guest's process to its folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// Files, TCP sockets, abstract sockets and signals: all of it.
    Full,
    /// Files only; the text names what the host's kernel is too old for.
    Partial(String),
    /// Not at all, and why. The root mount in the guest is read-only all the same.
    None(String),
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Confinement::Full => write!(f, "the guest was confined by Landlock"),
            Confinement::Partial(what) => {
                write!(
                    f,
                    "the guest was confined by Landlock, but for {what}: this host's kernel is too old for that"
                )
            }
            Confinement::None(why) => {
                write!(
                    f,
                    "the guest was not confined by Landlock ({why}): only its read-only root kept it from writing"
                )
            }
        }
    }
}

/// Rules that are ready to be put on a process.
pub struct Rules {
    ruleset: Option<OwnedFd>,
    confinement: Confinement,
}

/// What is asked for: all of Landlock up to signals and abstract sockets (Linux 6.12).
const WANTED: ABI = ABI::V6;

impl Rules {
    /// Reading and executing anywhere, writing below `writable` only. Never an error: where Landlock cannot
    /// be had the rules are empty and say so.
    pub fn new(writable: &[&Path]) -> Self {
        let supported = supported();
        let confinement = match supported {
            Err(why) => Confinement::None(why.to_owned()),
            Ok(abi) if abi >= 6 => Confinement::Full,
            Ok(abi) if abi >= 4 => Confinement::Partial("abstract sockets and signals".to_owned()),
            Ok(abi) if abi >= 3 => Confinement::Partial("sockets and signals".to_owned()),
            Ok(_) => Confinement::Partial("truncating files, sockets and signals".to_owned()),
        };
        if matches!(confinement, Confinement::None(_)) {
            return Rules { ruleset: None, confinement };
        }
        match ruleset(writable) {
            Ok(Some(fd)) => Rules { ruleset: Some(fd), confinement },
            Ok(None) => {
                Rules { ruleset: None, confinement: Confinement::None("no rule applies here".into()) }
            }
            Err(error) => Rules { ruleset: None, confinement: Confinement::None(error.to_string()) },
        }
    }

    /// What they amount to, once put on a process.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The rules as [`put_on`] takes them.
    pub fn descriptor(&self) -> Option<i32> {
        self.ruleset.as_ref().map(AsRawFd::as_raw_fd)
    }
}

/// Puts rules on the calling thread and what it starts. Only system calls: fit for between fork and exec.
pub fn put_on(descriptor: i32) -> std::io::Result<()> {
    // SAFETY: two system calls without memory arguments.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::syscall(libc::SYS_landlock_restrict_self, descriptor, 0) != 0
    };
    if refused { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

fn ruleset(writable: &[&Path]) -> Result<Option<OwnedFd>, Box<dyn std::error::Error>> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(WANTED))?
        .handle_access(AccessNet::from_all(WANTED))?
        .scope(Scope::from_all(WANTED))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(WANTED)))?;
    let null = AccessFs::ReadFile | AccessFs::WriteFile;
    rules = rules.add_rule(PathBeneath::new(PathFd::new("/dev/null")?, null))?;
    for folder in writable {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(folder)?, AccessFs::from_all(WANTED)))?;
    }
    Ok(rules.into())
}

/// Version of Landlock in the running kernel.
fn supported() -> Result<i64, &'static str> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call takes no structure and only returns a number (landlock(7)).
    let abi = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION)
    };
    match (abi, std::io::Error::last_os_error().raw_os_error()) {
        (1.., _) => Ok(abi),
        (_, Some(libc::EOPNOTSUPP)) => Err("Landlock is switched off in this host's kernel"),
        (_, Some(libc::ENOSYS)) => Err("this host's kernel has no Landlock"),
        _ => Err("Landlock is not allowed here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// Runs a shell command under rules that allow writing to `folder`.
    fn confined(folder: &Path, script: &str) -> Option<bool> {
        let rules = Rules::new(&[folder]);
        let descriptor = rules.descriptor()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stderr(std::process::Stdio::null());
        // SAFETY: only system calls.
        unsafe { command.pre_exec(move || put_on(descriptor)) };
        Some(command.status().unwrap().success())
    }

    #[test]
    fn writing_is_possible_in_the_folder_and_nowhere_else() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |folder: &Path| format!("echo x > '{}'", folder.join("file").display());
        let Some(allowed) = confined(inside.path(), &write(inside.path())) else {
            // Past libtest's capture, which hides what a passing test prints.
            let why = Rules::new(&[inside.path()]).confinement().clone();
            let _ = writeln!(std::io::stderr(), "test of confinement skipped: {why}");
            return;
        };
        assert!(allowed);
        assert_eq!(confined(inside.path(), &write(outside.path())), Some(false));
        assert!(!outside.path().join("file").exists());
        assert_eq!(confined(inside.path(), "cat /etc/passwd > /dev/null"), Some(true));
    }

    #[test]
    fn a_folder_that_is_not_there_leaves_no_rules_and_says_so() {
        let rules = Rules::new(&[Path::new("/nonexistent-for-this-test")]);
        assert!(rules.descriptor().is_none());
        assert!(matches!(rules.confinement(), Confinement::None(_)));
    }
}
