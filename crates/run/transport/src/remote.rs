//! A connection to a machine: ssh as the user has set it up, and the agent at its other end.

use crate::TransportError;
use crate::sealed::SCHEME;
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use wirespeed_record::plain_line;

/// The agent's program: this one.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    copy: OnceLock<Copy>,
}

/// The program that is copied to machines.
#[derive(Debug)]
struct Copy {
    content: Vec<u8>,
    /// The first hexadecimal digits of its SHA-256.
    digest: String,
}

impl Program {
    /// The program in a file.
    pub fn new(path: PathBuf) -> Program {
        Program { path, copy: OnceLock::new() }
    }

    /// What is copied: the program without what only debuggers read. Its digest names it, so that another version has another
    /// name on the machines it was copied to.
    fn copy(&self) -> io::Result<&Copy> {
        if let Some(known) = self.copy.get() {
            return Ok(known);
        }
        let mut content = std::fs::read(&self.path)?;
        strip(&mut content);
        let digest: String =
            Sha256::digest(&content).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(self.copy.get_or_init(|| Copy { content, digest }))
    }

    /// Where it is on a machine, for its shell.
    fn remote_path(&self) -> io::Result<String> {
        Ok(format!("\"$HOME\"/.cache/wirespeed/agent-{}", self.copy()?.digest))
    }
}

/// Cuts off of an ELF file what no segment has: names and lines for debuggers, most of its size. Any other file stays.
fn strip(file: &mut Vec<u8>) {
    /// Of a 64-bit little-endian file (elf(5)).
    const MAGIC: &[u8] = b"\x7fELF\x02\x01";
    const SECTION_HEADERS: std::ops::Range<usize> = 0x28..0x30;
    const SECTION_COUNTS: std::ops::Range<usize> = 0x3c..0x40;
    let number = |file: &[u8], at: usize, bytes: usize| -> Option<u64> {
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(file.get(at..at.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(word))
    };
    let end = |file: &[u8]| -> Option<usize> {
        let is_elf = file.starts_with(MAGIC);
        let (table, size, count) = (number(file, 0x20, 8)?, number(file, 0x36, 2)?, number(file, 0x38, 2)?);
        let mut end = table.checked_add(size.checked_mul(count)?)?.max(0x40);
        for index in 0..count {
            let at = usize::try_from(table.checked_add(index * size)?).ok()?;
            end = end.max(number(file, at.checked_add(8)?, 8)?.checked_add(number(
                file,
                at.checked_add(32)?,
                8,
            )?)?);
        }
        usize::try_from(end).ok().filter(|end| is_elf && *end <= file.len())
    };
    if let Some(end) = end(file) {
        file.truncate(end);
        file[SECTION_HEADERS].fill(0);
        // Their size stays; how many there are, and which has the names.
        file[SECTION_COUNTS].fill(0);
    }
}

/// A file that is nowhere but in memory.
fn in_memory(content: &[u8]) -> io::Result<File> {
    // SAFETY: the name is a string with a closing zero.
    let fd = unsafe { libc::memfd_create(c"agent".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

/// Environment variable with another program and its options in place of `ssh`, as git's GIT_SSH_COMMAND.
pub const SSH_VARIABLE: &str = "WIRESPEED_SSH";

/// What the shell of a machine says if there is no such program, or it cannot be run (POSIX, 2.8.2).
const NOT_THERE: [i32; 2] = [126, 127];

/// So much of what a machine says beside the agent's messages is kept, in bytes.
const MOST_SAID: u64 = 1 << 16;

/// A program that runs on a machine.
pub struct Remote {
    child: Child,
    /// What it has said on standard error.
    complaints: Arc<Mutex<String>>,
}

impl Remote {
    /// Starts the agent of `program` on machine `name`, or lets one that listens at an address begin.
    ///
    /// # Errors
    /// If ssh cannot be started.
    pub fn agent(name: &str, program: &Program) -> Result<Remote, TransportError> {
        if name.starts_with(SCHEME) {
            let mut command = Command::new(&program.path);
            command.args(["agent", "--connect", name]).process_group(0).stdin(Stdio::piped());
            return Remote::spawn(command).map_err(TransportError::io("run", &program.path));
        }
        Remote::run(name, program, "agent", Stdio::piped())
    }

    /// Runs `program` on machine `name` with `words`, if an undamaged copy of it is there.
    ///
    /// # Errors
    /// If ssh cannot be started.
    pub(crate) fn run(
        name: &str,
        program: &Program,
        words: &str,
        input: Stdio,
    ) -> Result<Remote, TransportError> {
        let path = program.remote_path().map_err(TransportError::io("read", &program.path))?;
        let Copy { content, digest } = program.copy().map_err(TransportError::io("read", &program.path))?;
        // One that is damaged is as good as none. Where nothing computes digests its size has to do.
        let (size, length) = (content.len(), digest.len());
        let script = format!(
            "test -x {path} || exit 127; if command -v sha256sum > /dev/null; then \
             test \"$(sha256sum < {path} | cut -c 1-{length})\" = {digest} || exit 127; \
             else test \"$(wc -c < {path})\" -eq {size} || exit 127; fi; exec {path} {words}"
        );
        Remote::start(name, &[], &script, input)
    }

    /// Copies `program` to machine `name`, whole or not at all.
    ///
    /// # Errors
    /// What ssh or the machine said.
    pub fn install(name: &str, program: &Program) -> Result<(), TransportError> {
        let path = program.remote_path().map_err(TransportError::io("read", &program.path))?;
        let content = &program.copy().map_err(TransportError::io("read", &program.path))?.content;
        let file = in_memory(content).map_err(TransportError::io("read", &program.path))?;
        let size = content.len();
        // A connection that breaks is to `cat` an end like any other, hence the count. Copies of versions that were long ago go.
        let script = format!(
            "umask 077 && mkdir -p \"$HOME\"/.cache/wirespeed && cat > {path}.$$ && \
             [ \"$(wc -c < {path}.$$)\" -eq {size} ] && chmod 700 {path}.$$ && mv {path}.$$ {path} || \
             {{ rm -f {path}.$$; echo the upload was truncated, check the disk space there and try again >&2; exit 1; }}; \
             find \"$HOME\"/.cache/wirespeed -name 'agent-*' -mtime +30 -exec rm -f {{}} + 2> /dev/null; true"
        );
        // Compressed it is a quarter.
        let mut remote = Remote::start(name, &["-C"], &script, file.into())?;
        let mut said = String::new();
        if let Some(mut out) = remote.child.stdout.take() {
            let _ = out.by_ref().take(MOST_SAID).read_to_string(&mut said);
        }
        match remote.wait() {
            Ok(()) => Ok(()),
            Err(End { reason, .. }) => Err(TransportError::Copy {
                machine: name.to_owned(),
                reason: plain_line(&reason).into_owned(),
            }),
        }
    }

    fn start(name: &str, options: &[&str], script: &str, input: Stdio) -> Result<Remote, TransportError> {
        let mut words = ssh();
        let first = words.remove(0);
        let mut command = Command::new(&first);
        command.args(words).args(options);
        // Ctrl-C is for us, who then end what we have begun.
        command.process_group(0);
        command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]);
        command.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
        // The user's own shell may be any.
        command.args(["--", name, &format!("sh -c '{}'", script.replace('\'', "'\\''"))]);
        command.stdin(input);
        let program = first.to_string_lossy().into_owned();
        Remote::spawn(command).map_err(|source| TransportError::Ssh { program, source })
    }

    /// Starts a command, and listens to what it complains about.
    fn spawn(mut command: Command) -> io::Result<Remote> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let complaints = Arc::new(Mutex::new(String::new()));
        if let Some(mut errors) = child.stderr.take() {
            let complaints = Arc::clone(&complaints);
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(got @ 1..) = errors.read(&mut piece) {
                    let mut kept = complaints.lock().expect("nobody panics holding it");
                    // A machine that talks without end is not listened to without end.
                    if (kept.len() as u64) < MOST_SAID {
                        kept.push_str(&String::from_utf8_lossy(&piece[..got]));
                    }
                }
            });
        }
        Ok(Remote { child, complaints })
    }

    /// Its standard input and output, once.
    pub fn pipes(&mut self) -> Option<(std::process::ChildStdin, std::process::ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Why it did not end well.
    pub fn wait(&mut self) -> Result<(), End> {
        let status = match self.child.wait() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => status,
            Err(error) => return Err(End { not_there: false, reason: error.to_string() }),
        };
        // What was said last may still be on its way to us.
        thread::sleep(std::time::Duration::from_millis(50));
        let said = self.complaints.lock().expect("nobody panics holding it").clone();
        let last: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let not_there = status.code().is_some_and(|code| NOT_THERE.contains(&code));
        let words = last[last.len().saturating_sub(3)..].join("; ");
        let reason = if words.is_empty() { status.to_string() } else { format!("{words} ({status})") };
        Err(End { not_there, reason })
    }
}

impl Drop for Remote {
    /// The connection goes, and the agent with it: it ends when its input does.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why a program on a machine ended.
#[derive(Debug)]
pub struct End {
    /// The machine does not have the program.
    pub not_there: bool,
    /// In words, its own where it had some.
    pub reason: String,
}

fn ssh() -> Vec<OsString> {
    let own = std::env::var(SSH_VARIABLE).unwrap_or_default();
    let words: Vec<OsString> = own.split_whitespace().map(OsString::from).collect();
    if words.is_empty() { vec!["ssh".into()] } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn program_without_what_debuggers_read_runs_and_is_smaller() {
        let own = std::env::current_exe().unwrap();
        let mut program = std::fs::read(&own).unwrap();
        let whole = program.len();
        strip(&mut program);
        assert!(program.len() < whole, "{} of {whole} bytes", program.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stripped");
        std::fs::write(&path, &program).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let output = Command::new(&path).arg("--list").output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty());
    }

    #[test]
    fn damaged_or_foreign_files_stay_as_they_are() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut far = own[..4096].to_vec();
        far[0x20..0x28].fill(0xff);
        for file in [b"#!/bin/sh\n".to_vec(), own[..0x30].to_vec(), own[..4096].to_vec(), far] {
            let mut stripped = file.clone();
            strip(&mut stripped);
            assert_eq!(stripped, file);
        }
    }
}
