//! Where the kernel's source comes from: the distribution's tarball, or a tarball or tree that was named.

use crate::error::KernelError;
use crate::make::{Job, cancelled};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use wirespeed_scenario::run::KernelVersion;

/// Where Debian's source packages put the tarball.
pub const FOLDER: &str = "/usr/src";

/// A source that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A compressed tarball with one folder at its top.
    Tarball(PathBuf),
    /// An unpacked tree; it is copied, never written to.
    Tree(PathBuf),
}

/// What tells one source from another at a glance: enough to see that a build was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Full path.
    pub path: PathBuf,
    /// Size in bytes (of a tree: 0).
    pub size: u64,
    /// Modification time in seconds since 1970 (of a tree: of its Makefile).
    pub modified_s: i64,
}

impl Source {
    /// The source named, or the distribution's newest of this line of versions in `folder`.
    pub fn locate(named: Option<&Path>, line: KernelVersion, folder: &Path) -> Result<Self, KernelError> {
        let Some(path) = named else {
            return newest(line, folder)
                .map(Source::Tarball)
                .ok_or_else(|| KernelError::MissingSource { folder: folder.to_owned(), line });
        };
        let path = fs::canonicalize(path).map_err(KernelError::io("open kernel source", path))?;
        if path.is_dir() {
            check_tree(&path, &path)?;
            return Ok(Source::Tree(path));
        }
        match decompression(&path) {
            Some(_) => Ok(Source::Tarball(path)),
            None => Err(KernelError::Source {
                path,
                reason: "is neither a folder nor a .tar, .tar.xz, .tar.gz, .tar.bz2 or .tar.zst file".into(),
            }),
        }
    }

    /// The tarball or the tree's folder.
    pub fn path(&self) -> &Path {
        match self {
            Source::Tarball(path) | Source::Tree(path) => path,
        }
    }

    /// Programs that unpack it, with their Debian packages.
    pub fn tools(&self) -> Vec<(&'static str, &'static str)> {
        match self {
            Source::Tree(_) => Vec::new(),
            Source::Tarball(path) => {
                let tool = decompression(path).and_then(|(_, tool)| tool);
                [("tar", "tar")].into_iter().chain(tool).collect()
            }
        }
    }

    /// Its version of Linux, from the Makefile at its top.
    pub fn version(&self) -> Result<KernelVersion, KernelError> {
        let text = match self {
            Source::Tree(path) => {
                let makefile = path.join("Makefile");
                fs::read(&makefile).map_err(KernelError::io("read", &makefile))?
            }
            Source::Tarball(path) => {
                let mut command = Command::new("tar");
                // Only the file at the top: there are hundreds of that name.
                command.args(["--extract", "--to-stdout", "--occurrence=1", "--wildcards"]);
                command.arg("--no-wildcards-match-slash").arg("--file").arg(path).arg("*/Makefile");
                let output = command.stderr(Stdio::null()).output();
                output.map_err(KernelError::io("start", Path::new("tar")))?.stdout
            }
        };
        version_of_makefile(&String::from_utf8_lossy(&text)).ok_or_else(|| KernelError::Source {
            path: self.path().to_owned(),
            reason: "is not a Linux source (no version in a Makefile at its top)".into(),
        })
    }

    /// Its stamp, from file attributes only.
    pub fn stamp(&self) -> Result<Stamp, KernelError> {
        let file = match self {
            Source::Tarball(path) => path.clone(),
            Source::Tree(path) => path.join("Makefile"),
        };
        let meta = file.metadata().map_err(KernelError::io("read", &file))?;
        let size = if matches!(self, Source::Tarball(_)) { meta.len() } else { 0 };
        Ok(Stamp { path: self.path().to_owned(), size, modified_s: meta.mtime() })
    }

    /// What it is, whatever its name and place: of a tarball the SHA-256 of its bytes, of a tree that of the
    /// names, sizes and modification times of its source files (its bytes are 1.5 GB).
    pub fn identity(&self, cancel: &AtomicBool) -> Result<String, KernelError> {
        let mut hash = Sha256::new();
        match self {
            Source::Tarball(path) => {
                let mut file = File::open(path).map_err(KernelError::io("open", path))?;
                let mut buffer = vec![0; 1 << 20];
                loop {
                    cancelled(cancel)?;
                    match file.read(&mut buffer).map_err(KernelError::io("read", path))? {
                        0 => break,
                        n => hash.update(&buffer[..n]),
                    }
                }
                Ok(format!("tarball sha256:{:x}", hash.finalize()))
            }
            Source::Tree(root) => {
                walk(root, Path::new(""), &mut |path, meta| {
                    cancelled(cancel)?;
                    hash.update(format!("{}\0{}\0{}\n", path.display(), meta.len(), meta.mtime()));
                    Ok(())
                })?;
                Ok(format!("tree sha256:{:x}", hash.finalize()))
            }
        }
    }

    /// Puts the source into the empty folder `into`, reporting compressed bytes done of total.
    pub fn unpack(&self, into: &Path, job: &mut Job<'_>) -> Result<(), KernelError> {
        match self {
            Source::Tree(root) => {
                let mut done = 0;
                walk(root, Path::new(""), &mut |path, _| {
                    cancelled(job.cancel)?;
                    copy(&root.join(path), &into.join(path))?;
                    done += 1;
                    if done % 1000 == 0 {
                        job.report(done, TREE_FILES.max(done), String::new());
                    }
                    Ok(())
                })?;
            }
            Source::Tarball(path) => untar(path, into, job)?,
        }
        check_tree(into, self.path())
    }
}

/// Files in the tree of Linux 6.12, for progress only.
const TREE_FILES: u64 = 86_000;

fn check_tree(tree: &Path, named: &Path) -> Result<(), KernelError> {
    if tree.join("Makefile").is_file() && tree.join("arch/um/Kconfig").is_file() {
        return Ok(());
    }
    Err(KernelError::Source {
        path: named.to_owned(),
        reason: "is not a Linux source (no arch/um/Kconfig in it)".into(),
    })
}

/// The version that the first lines of a kernel's Makefile set.
fn version_of_makefile(text: &str) -> Option<KernelVersion> {
    let number = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| key.trim() == name)?.1.trim().parse().ok()
    };
    Some(KernelVersion::new(number("VERSION")?, number("PATCHLEVEL")?, number("SUBLEVEL").unwrap_or(0)))
}

fn newest(line: KernelVersion, folder: &Path) -> Option<PathBuf> {
    let prefix = format!("linux-source-{line}");
    let entries = fs::read_dir(folder).ok()?;
    let tarballs = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // 6.12 is not a patch level of 6.1.
        let rest = name.strip_prefix(&prefix).filter(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        rest.is_some_and(|rest| rest.ends_with(".tar.xz"))
    });
    // Name decides between files of one age, so that the choice does not depend on the folder's order.
    let dated = tarballs.filter_map(|e| Some((e.metadata().ok()?.modified().ok()?, e.path())));
    dated.max().map(|(_, path)| path)
}

/// tar's option for this file name, and the program it calls with its package.
#[expect(clippy::type_complexity, reason = "a row of a table used twice")]
fn decompression(path: &Path) -> Option<(Option<&'static str>, Option<(&'static str, &'static str)>)> {
    let name = path.file_name()?.to_str()?;
    let rows = [
        (".tar.xz", Some("--xz"), Some(("xz", "xz-utils"))),
        (".tar.gz", Some("--gzip"), Some(("gzip", "gzip"))),
        (".tar.bz2", Some("--bzip2"), Some(("bzip2", "bzip2"))),
        (".tar.zst", Some("--zstd"), Some(("zstd", "zstd"))),
        (".tar", None, None),
    ];
    rows.into_iter().find(|(end, ..)| name.ends_with(end)).map(|(_, option, tool)| (option, tool))
}

/// Feeds the tarball to tar, so that progress is known and a request to stop is seen.
fn untar(tarball: &Path, into: &Path, job: &mut Job<'_>) -> Result<(), KernelError> {
    let mut file = File::open(tarball).map_err(KernelError::io("open", tarball))?;
    let total = file.metadata().map_err(KernelError::io("read", tarball))?.len();
    let mut command = Command::new("tar");
    command.args(["--extract", "--file=-", "--strip-components=1", "--no-same-owner"]);
    command.args(decompression(tarball).and_then(|(option, _)| option)).arg("--directory").arg(into);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = job.spawn(command)?;
    let mut stdin = child.take_stdin();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        cancelled(job.cancel)?;
        let n = file.read(&mut buffer).map_err(KernelError::io("read", tarball))?;
        if n == 0 {
            break;
        }
        match stdin.write_all(&buffer[..n]) {
            Ok(()) => {}
            // tar gave up; its own message, in the log, says why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            Err(error) => return Err(KernelError::io("feed tar with", tarball)(error)),
        }
        done += n as u64;
        job.report(done, total, String::new());
    }
    drop(stdin);
    job.wait(child, &format!("unpacking {}", tarball.display()))
}

/// Calls `visit` with every source file below `root`, in order of path; leaves out what a build or git left.
fn walk(
    root: &Path,
    below: &Path,
    visit: &mut dyn FnMut(&Path, &fs::Metadata) -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    let folder = root.join(below);
    let entries = fs::read_dir(&folder).map_err(KernelError::io("list", &folder))?;
    let mut names = entries
        .map(|entry| entry.map(|e| e.file_name()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(KernelError::io("list", &folder))?;
    names.sort();
    for name in names {
        let path = below.join(&name);
        let full = root.join(&path);
        let meta = full.symlink_metadata().map_err(KernelError::io("read", &full))?;
        if is_left_over(&name.to_string_lossy(), meta.is_dir()) {
            continue;
        }
        if meta.is_dir() { walk(root, &path, visit)? } else { visit(&path, &meta)? }
    }
    Ok(())
}

/// Objects and git's folder; what else a build left is removed by `make mrproper` in the copy.
fn is_left_over(name: &str, folder: bool) -> bool {
    if folder {
        return name == ".git";
    }
    name.ends_with(".cmd")
        || name.ends_with(".o")
        || name.ends_with(".a")
        || name == "linux"
        || name == "vmlinux"
}

fn copy(from: &Path, to: &Path) -> Result<(), KernelError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(KernelError::io("create", folder))?;
    }
    if from.is_symlink() {
        let target = fs::read_link(from).map_err(KernelError::io("read", from))?;
        return std::os::unix::fs::symlink(target, to).map_err(KernelError::io("create", to));
    }
    fs::copy(from, to).map(drop).map_err(KernelError::io("copy", from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    const LINE: KernelVersion = KernelVersion::TODAY;

    #[test]
    fn the_version_is_that_of_the_makefile_at_the_top() {
        let makefile =
            "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\nNAME = Curry Ramen\n";
        let version = version_of_makefile(makefile).map(KernelVersion::in_full);
        assert_eq!(version.as_deref(), Some("6.1.192"));
        assert_eq!(version_of_makefile("all:\n\techo\n"), None);
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("linux-mine");
        fs::create_dir_all(tree.join("Documentation")).unwrap();
        fs::write(tree.join("Documentation/Makefile"), "VERSION = 1\nPATCHLEVEL = 0\n").unwrap();
        fs::write(tree.join("Makefile"), makefile).unwrap();
        let tarball = folder.path().join("mine.tar");
        let mut tar = Command::new("tar");
        tar.arg("--create").arg("--file").arg(&tarball).arg("--directory").arg(folder.path());
        assert!(tar.args(["linux-mine/Documentation", "linux-mine/Makefile"]).status().unwrap().success());
        for source in [Source::Tree(tree), Source::Tarball(tarball)] {
            assert_eq!(source.version().unwrap(), KernelVersion::new(6, 1, 192), "{source:?}");
        }
        let empty = folder.path().join("empty.tar");
        fs::write(&empty, "").unwrap();
        assert!(
            Source::Tarball(empty).version().unwrap_err().to_string().contains("no version in a Makefile")
        );
    }

    #[test]
    fn the_newest_tarball_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for (age_s, name) in [
            (10, "linux-source-6.12.tar.xz"),
            (500, "linux-source-6.12.9.tar.xz"),
            (0, "linux-source-6.1.tar.xz"),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
        }
        let source = Source::locate(None, LINE, folder.path()).unwrap();
        assert_eq!(source.path(), folder.path().join("linux-source-6.12.tar.xz"));
        let source = Source::locate(None, KernelVersion::new(6, 1, 0), folder.path()).unwrap();
        assert_eq!(source.path(), folder.path().join("linux-source-6.1.tar.xz"));
    }

    #[test]
    fn no_tarball_names_the_package() {
        let folder = tempfile::tempdir().unwrap();
        let error = Source::locate(None, LINE, folder.path()).unwrap_err();
        assert!(error.to_string().contains("apt-get install linux-source-6.12"), "{error}");
    }

    #[test]
    fn a_folder_without_a_kernel_and_a_file_of_another_kind_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Source::locate(Some(folder.path()), LINE, folder.path()).unwrap_err();
        assert!(error.to_string().contains("is not a Linux source"), "{error}");
        let text = folder.path().join("linux.txt");
        fs::write(&text, "").unwrap();
        let error = Source::locate(Some(&text), LINE, folder.path()).unwrap_err();
        assert!(error.to_string().contains(".tar.xz"), "{error}");
        let error = Source::locate(Some(&folder.path().join("none")), LINE, folder.path()).unwrap_err();
        assert!(matches!(error, KernelError::Io { .. }), "{error}");
    }

    #[test]
    fn identity_follows_content_not_name() {
        let folder = tempfile::tempdir().unwrap();
        let never = AtomicBool::new(false);
        let id = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            Source::Tarball(path).identity(&never).unwrap()
        };
        assert_eq!(id("a.tar", "same"), id("b.tar", "same"));
        assert_ne!(id("a.tar", "same"), id("b.tar", "other"));
    }
}
