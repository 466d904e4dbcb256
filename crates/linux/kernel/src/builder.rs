//! From source to a kernel in the cache. A build happens in a folder of its own and enters the cache by one
//! rename: what is in the cache is complete, and what was interrupted is gone.

use crate::cache::{self, CONFIG, IMAGE, Kernel, MANIFEST, Manifest};
use crate::error::KernelError;
use crate::fragment;
use crate::make::{Job, cancelled};
use crate::options::BuildOptions;
use crate::process::free_space;
use crate::recipe::{Recipe, hash};
use crate::source::{FOLDER, Source};
use crate::tools;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};
use wirespeed_units::Bytes;

/// What a build needs on disk while it lasts: 1.6 GB of source and its objects.
const NEEDED: Bytes = Bytes::mib(2_500);
/// Compiled files of Linux 6.12 with our fragment, for the progress of a first build.
const OBJECTS: u64 = 751;
/// Folders of builds under way or killed; only the holder of the cache's lock makes or removes them.
const BUILDING: &str = "building-";

/// The steps of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Another build has the cache.
    Wait,
    /// Identifying the source.
    Check,
    /// Unpacking or copying the source: compressed bytes, or files.
    Unpack,
    /// Editing and configuring.
    Configure,
    /// Compiling and linking: files compiled.
    Compile,
}

impl Phase {
    /// The step in words.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Wait => "waiting for another build",
            Phase::Check => "reading the source",
            Phase::Unpack => "unpacking",
            Phase::Configure => "configuring",
            Phase::Compile => "compiling",
        }
    }
}

/// How far a build is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub phase: Phase,
    /// How much of it is done, in units of the step.
    pub done: u64,
    /// All of it; an estimate, never below `done`. 0: not known.
    pub total: u64,
    /// What the compiler says it does.
    pub line: String,
}

/// Builds the kernel, or returns it from the cache if it is there. `cancel` may be set at any time.
///
/// # Errors
/// See [`KernelError`]. Whatever the error, nothing half-done is left, but the log of a step that failed.
pub fn build(
    options: &BuildOptions,
    progress: &mut dyn FnMut(Progress),
    cancel: &AtomicBool,
) -> Result<Kernel, KernelError> {
    // A file that cannot be compiled in is an error before anything is read.
    Recipe::new(options.line(), &options.extra_cc)?;
    let source = Source::locate(options.source.as_deref(), options.line(), Path::new(FOLDER))?;
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    tools::check(&path, &source.tools())?;
    let compiler = compiler_version()?;

    let cache = options.cache_folder()?;
    let mut tell = |phase| progress(Progress { phase, done: 0, total: 0, line: String::new() });
    let _lock = cache::lock(&cache, cancel, &mut || tell(Phase::Wait))?;
    tell(Phase::Check);
    let stamp = source.stamp()?;
    let known = cache::list(&cache).into_iter().map(|(_, m)| m).find(|m| m.source == stamp);
    let source_identity = match (&source, &known) {
        (Source::Tarball(_), Some(manifest)) => manifest.source_identity.clone(),
        _ => source.identity(cancel)?,
    };
    let version = match (&source, known.as_ref().and_then(cache::version)) {
        (Source::Tarball(_), Some(version)) => version,
        _ => source.version()?,
    };
    if !options.admit(version) {
        let wanted = options.wanted();
        let reason = format!(
            "is Linux {}, but a kernel{wanted} is wanted: give its source with --source",
            version.in_full()
        );
        return Err(KernelError::Source { path: source.path().to_owned(), reason });
    }
    let recipe = Recipe::new(version, &options.extra_cc)?;
    let key = hash([recipe.hash().as_str(), &source_identity, &compiler]);
    let folder = cache.join(&key[..16]);
    if let Some(manifest) = cache::manifest(&folder)
        && manifest.build == key
    {
        return cache::load(&folder, manifest);
    }

    remove_interrupted(&cache)?;
    let free = free_space(&cache).map_err(KernelError::io("examine", &cache))?;
    if free < NEEDED {
        return Err(KernelError::NoSpace { folder: cache, needed: NEEDED, free });
    }
    let scratch = tempfile::Builder::new().prefix(BUILDING).tempdir_in(&cache);
    let scratch = scratch.map_err(KernelError::io("create a folder in", &cache))?;
    let tree = scratch.path().join("source");
    fs::create_dir(&tree).map_err(KernelError::io("create", &tree))?;
    let log = cache.join(format!("{}.log", &key[..16]));
    remove_if_there(&log)?;
    let mut job = Job { log: log.clone(), cancel, phase: Phase::Unpack, progress };
    source.unpack(&tree, &mut job)?;
    job.phase = Phase::Configure;
    configure(&tree, &recipe, &source, &mut job)?;
    job.phase = Phase::Compile;
    let jobs = match options.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let estimate = known.map_or(OBJECTS, |m| m.objects);
    let arguments = ["ARCH=um".to_owned(), format!("-j{jobs}"), "linux".to_owned()];
    let objects = job.make(&tree, &arguments, "compiling the kernel", compiles, estimate)?;

    let built = scratch.path().join("built");
    fs::create_dir(&built).map_err(KernelError::io("create", &built))?;
    for name in [IMAGE, CONFIG] {
        let from = tree.join(name);
        fs::copy(&from, built.join(name)).map_err(KernelError::io("copy", &from))?;
    }
    let image = built.join(IMAGE);
    let manifest = Manifest {
        build: key,
        recipe: recipe.hash(),
        source: stamp,
        source_identity,
        compiler,
        release: text(&tree.join("include/config/kernel.release"))?.trim().to_owned(),
        version: quoted(&text(&tree.join("include/generated/utsversion.h"))?),
        edits: recipe.edits.iter().map(|e| e.summary()).collect(),
        added: recipe.added.iter().map(|a| format!("{}/{}", a.folder, a.name)).collect(),
        objects,
        image_bytes: image.metadata().map_err(KernelError::io("read", &image))?.len(),
        // A clock before 1970 only makes this build look old.
        built_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        wirespeed: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let json = serde_json::to_string_pretty(&manifest).expect("strings and numbers serialise");
    let path = built.join(MANIFEST);
    fs::write(&path, json + "\n").map_err(KernelError::io("write", &path))?;
    cancelled(cancel)?;
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(KernelError::io("remove the damaged build", &folder))?;
    }
    fs::rename(&built, &folder).map_err(KernelError::io("move the build to", &folder))?;
    remove_if_there(&log)?;
    cache::load(&folder, manifest)
}

/// Puts our part into the source and configures it; an error if the configuration did not keep the fragment.
fn configure(tree: &Path, recipe: &Recipe, source: &Source, job: &mut Job<'_>) -> Result<(), KernelError> {
    let total = 1;
    if matches!(source, Source::Tree(_)) {
        // A tree may have been built in; what that left would be taken for ours.
        let arguments = ["ARCH=um".to_owned(), "mrproper".to_owned()];
        job.make(tree, &arguments, "cleaning the copied tree", |_| false, total)?;
    }
    recipe.apply(tree)?;
    let fragment = tree.join("wirespeed.config");
    fs::write(&fragment, &recipe.fragment).map_err(KernelError::io("write", &fragment))?;
    let arguments = ["ARCH=um", "KCONFIG_ALLCONFIG=wirespeed.config", "allnoconfig"].map(str::to_owned);
    job.make(tree, &arguments, "configuring the kernel", |_| false, total)?;
    let dropped = fragment::dropped(&recipe.fragment, &text(&tree.join(CONFIG))?);
    if dropped.is_empty() { Ok(()) } else { Err(KernelError::OptionsDropped(dropped)) }
}

/// Whether a line of make's output stands for a compiled file.
fn compiles(line: &str) -> bool {
    line.starts_with("  CC ") || line.starts_with("  AS ")
}

/// Removes what a killed build left. The lock is held, so no build is under way.
fn remove_interrupted(cache: &Path) -> Result<(), KernelError> {
    let entries = fs::read_dir(cache).map_err(KernelError::io("list", cache))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(BUILDING) {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(KernelError::io("remove the interrupted build", &path))?;
        }
    }
    Ok(())
}

fn remove_if_there(file: &Path) -> Result<(), KernelError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(KernelError::io("remove", file)(error))
        }
        _ => Ok(()),
    }
}

fn compiler_version() -> Result<String, KernelError> {
    let output = Command::new("gcc").arg("--version").env("LC_ALL", "C").output();
    let output = output.map_err(KernelError::io("start", Path::new("gcc")))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

fn text(file: &Path) -> Result<String, KernelError> {
    fs::read_to_string(file).map_err(KernelError::io("read", file))
}

/// What stands between the first two quotation marks.
fn quoted(text: &str) -> String {
    text.split('"').nth(1).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_files_are_told_from_other_lines() {
        let log = "  HOSTCC  scripts/x.o\n  CC      init/main.o\n  AR      a.a\n  AS      b.o\n  LD      c.o\nCC is gcc";
        assert_eq!(log.lines().filter(|l| compiles(l)).count(), 2);
    }

    #[test]
    fn the_version_is_read_from_its_header() {
        assert_eq!(quoted("#define UTS_VERSION \"#1 Thu Jan\"\n"), "#1 Thu Jan");
    }

    #[test]
    fn leftovers_of_a_killed_build_are_removed_and_builds_stay() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir_all(cache.path().join("building-x/source")).unwrap();
        fs::create_dir_all(cache.path().join("0123456789abcdef")).unwrap();
        remove_interrupted(cache.path()).unwrap();
        assert!(!cache.path().join("building-x").exists());
        assert!(cache.path().join("0123456789abcdef").exists());
    }

    #[test]
    fn a_build_that_fails_leaves_its_log_and_nothing_else() {
        let cache = tempfile::tempdir().unwrap();
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("arch/um")).unwrap();
        fs::write(tree.path().join("arch/um/Kconfig"), "").unwrap();
        let makefile = "VERSION = 6\nPATCHLEVEL = 12\nmrproper:\n\t@echo broken here >&2; false\n";
        fs::write(tree.path().join("Makefile"), makefile).unwrap();
        let options = BuildOptions {
            source: Some(tree.path().to_owned()),
            cache: Some(cache.path().to_owned()),
            ..BuildOptions::default()
        };
        let error = match build(&options, &mut |_| (), &AtomicBool::new(false)) {
            // A machine without flex or without room cannot come as far; those errors have their own tests.
            Err(KernelError::MissingTools { .. } | KernelError::NoSpace { .. }) => return,
            other => other.unwrap_err(),
        };
        let KernelError::Failed { log, tail, .. } = &error else { panic!("{error}") };
        assert!(tail.contains("broken here"), "{tail}");
        let mut left: Vec<_> = fs::read_dir(cache.path()).unwrap().flatten().map(|e| e.path()).collect();
        left.sort();
        let mut expected = vec![log.clone(), cache.path().join("lock")];
        expected.sort();
        assert_eq!(left, expected);
    }
}
