//! Built kernels, kept per user: a folder each, named by what they were built from.

use crate::error::KernelError;
use crate::make::cancelled;
use crate::options::BuildOptions;
use crate::recipe::Recipe;
use crate::source::{FOLDER, Source, Stamp};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wirespeed_scenario::run::KernelVersion;

/// A kernel that is built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The executable to boot.
    pub image: PathBuf,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// SHA-256 of source, configuration, edits, added sources and compiler version.
    pub build: String,
    /// What was changed in the kernel's own sources, one line each: where and why.
    pub edits: Vec<String>,
    /// Sources that were added, by path in the kernel's tree.
    pub added: Vec<String>,
    /// The whole configuration (`.config`).
    pub config: String,
    /// First line of `gcc --version`.
    pub built_with: String,
    /// The tarball or tree it was built from.
    pub source: PathBuf,
    /// When, in seconds since 1970.
    pub built_s: u64,
}

/// `build.json` beside an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub build: String,
    pub recipe: String,
    pub source: Stamp,
    pub source_identity: String,
    pub compiler: String,
    pub release: String,
    pub version: String,
    pub edits: Vec<String>,
    pub added: Vec<String>,
    pub objects: u64,
    pub image_bytes: u64,
    pub built_s: u64,
    pub wirespeed: String,
}

pub const IMAGE: &str = "linux";
pub const CONFIG: &str = ".config";
pub const MANIFEST: &str = "build.json";

/// `$XDG_CACHE_HOME/wirespeed/kernels`, or the same in `~/.cache`; `None` if neither variable is set.
pub fn default_cache() -> Option<PathBuf> {
    // The specification has relative paths ignored (XDG Base Directory 0.8).
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("wirespeed/kernels"))
}

/// A kernel of the cache, for a list of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// The kernel.
    pub kernel: Kernel,
    /// Whether it was built by the recipe of this program, without congestion controls of the user's own. Runs use no other.
    pub is_current: bool,
}

/// The kernels of the cache, those of the newest version first.
///
/// # Errors
/// If no folder is known, or the recipe cannot be read.
pub fn cached(options: &BuildOptions) -> Result<Vec<Cached>, KernelError> {
    let mut builds = list(&options.cache_folder()?);
    builds.sort_by_key(|(_, m)| std::cmp::Reverse((version(m), m.built_s)));
    let mut all = Vec::new();
    for (folder, manifest) in builds {
        let is_current = is_of_recipe(&manifest, &options.extra_cc)?;
        all.push(Cached { kernel: load(&folder, manifest)?, is_current });
    }
    Ok(all)
}

/// The version of Linux of a build.
pub fn version(manifest: &Manifest) -> Option<KernelVersion> {
    KernelVersion::of_release(&manifest.release)
}

/// Whether this program would build its version of Linux in the same way, with these congestion controls.
fn is_of_recipe(manifest: &Manifest, extra_cc: &[PathBuf]) -> Result<bool, KernelError> {
    let Some(version) = version(manifest) else { return Ok(false) };
    Ok(manifest.recipe == Recipe::new(version, extra_cc)?.hash())
}

/// The cached kernel of the version and recipe wanted: of the source named, or else of the source installed now, or else the
/// newest - a source or compiler that was upgraded or removed since does not make a built kernel unusable.
///
/// # Errors
/// [`KernelError::NotBuilt`] if there is none; others if the options cannot be used.
pub fn find(options: &BuildOptions) -> Result<Kernel, KernelError> {
    let cache = options.cache_folder()?;
    // A file that cannot be compiled in is an error whatever is in the cache.
    Recipe::new(options.line(), &options.extra_cc)?;
    let mut builds = Vec::new();
    for (folder, manifest) in list(&cache) {
        if version(&manifest).is_some_and(|version| options.admit(version))
            && is_of_recipe(&manifest, &options.extra_cc)?
        {
            builds.push((folder, manifest));
        }
    }
    if let Some(named) = &options.source {
        let source = Source::locate(Some(named), options.line(), Path::new(FOLDER))?;
        let stamp = source.stamp()?;
        if !builds.iter().any(|(_, m)| m.source == stamp) && !builds.is_empty() {
            let identity = source.identity(&AtomicBool::new(false))?;
            builds.retain(|(_, m)| m.source_identity == identity);
        } else {
            builds.retain(|(_, m)| m.source == stamp);
        }
    }
    let installed = Source::locate(None, options.line(), Path::new(FOLDER)).and_then(|s| s.stamp()).ok();
    let best = builds.iter().max_by_key(|(_, m)| (Some(&m.source) == installed.as_ref(), m.built_s));
    match best {
        Some((folder, manifest)) => load(folder, manifest.clone()),
        None => Err(KernelError::NotBuilt { wanted: options.wanted(), command: options.command(), cache }),
    }
}

/// The complete builds of a cache.
pub fn list(cache: &Path) -> Vec<(PathBuf, Manifest)> {
    // No folder yet: nothing was built. What cannot be read is not a build.
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), manifest(&entry.path())?))).collect()
}

/// The manifest of a complete build, or `None`.
pub fn manifest(folder: &Path) -> Option<Manifest> {
    let text = fs::read_to_string(folder.join(MANIFEST)).ok()?;
    let manifest: Manifest = serde_json::from_str(&text).ok()?;
    let image = folder.join(IMAGE).metadata().ok()?;
    (image.len() == manifest.image_bytes).then_some(manifest)
}

/// The kernel in a cache's folder.
pub fn load(folder: &Path, manifest: Manifest) -> Result<Kernel, KernelError> {
    let config = folder.join(CONFIG);
    Ok(Kernel {
        image: folder.join(IMAGE),
        release: manifest.release,
        version: manifest.version,
        build: manifest.build,
        edits: manifest.edits,
        added: manifest.added,
        config: fs::read_to_string(&config).map_err(KernelError::io("read", &config))?,
        built_with: manifest.compiler,
        source: manifest.source.path,
        built_s: manifest.built_s,
    })
}

/// Holds the cache against other builders; the kernel releases it however the process ends.
pub struct Lock {
    _file: File,
}

/// Waits for the lock of a cache; `waiting` is called while another build holds it.
pub fn lock(cache: &Path, cancel: &AtomicBool, waiting: &mut dyn FnMut()) -> Result<Lock, KernelError> {
    fs::create_dir_all(cache).map_err(KernelError::io("create", cache))?;
    let path = cache.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(KernelError::io("open", &path))?;
    loop {
        // SAFETY: a system call on a descriptor that is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(Lock { _file: file });
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock => waiting(),
            io::ErrorKind::Interrupted => {}
            _ => return Err(KernelError::io("lock", &path)(error)),
        }
        cancelled(cancel)?;
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn options(cache: &Path) -> BuildOptions {
        BuildOptions { cache: Some(cache.to_owned()), ..BuildOptions::default() }
    }

    /// Puts a build of our own recipe, of a source that is not installed, into the cache.
    fn put(cache: &Path, name: &str, built_s: u64, change: impl FnOnce(&mut Manifest)) {
        let folder = cache.join(name);
        fs::create_dir_all(&folder).unwrap();
        let source = Stamp { path: "/nowhere.tar.xz".into(), size: 1, modified_s: 1 };
        let mut manifest = Manifest {
            build: name.into(),
            recipe: Recipe::new(KernelVersion::TODAY, &[]).unwrap().hash(),
            source,
            source_identity: "tarball".into(),
            compiler: "gcc".into(),
            release: "6.12.1".into(),
            version: "#1".into(),
            edits: vec![],
            added: vec![],
            objects: 1,
            image_bytes: 5,
            built_s,
            wirespeed: "0".into(),
        };
        change(&mut manifest);
        fs::write(folder.join(IMAGE), "image").unwrap();
        fs::write(folder.join(CONFIG), "CONFIG_NET=y\n").unwrap();
        fs::write(folder.join(MANIFEST), serde_json::to_string(&manifest).unwrap()).unwrap();
    }

    #[test]
    fn an_empty_cache_says_what_to_do() {
        let cache = tempfile::tempdir().unwrap();
        let error = find(&options(&cache.path().join("none"))).unwrap_err();
        assert!(error.to_string().contains("run `wirespeed kernel build`"), "{error}");
    }

    #[test]
    fn the_newest_of_this_recipe_is_found() {
        let cache = tempfile::tempdir().unwrap();
        put(cache.path(), "old", 1, |_| ());
        put(cache.path(), "new", 2, |_| ());
        put(cache.path(), "other", 3, |m| m.recipe = "another".into());
        let kernel = find(&options(cache.path())).unwrap();
        assert_eq!((kernel.build.as_str(), kernel.config.as_str()), ("new", "CONFIG_NET=y\n"));
        assert_eq!(kernel.image, cache.path().join("new/linux"));
    }

    #[test]
    fn kernels_of_other_versions_are_found_only_where_they_are_wanted() {
        let cache = tempfile::tempdir().unwrap();
        let of = |release: &str| {
            let version = KernelVersion::of_release(release).unwrap();
            let recipe = Recipe::new(version, &[]).unwrap().hash();
            let release = release.to_owned();
            move |m: &mut Manifest| (m.recipe, m.release) = (recipe, release)
        };
        put(cache.path(), "today", 1, |_| ());
        put(cache.path(), "older", 2, of("6.1.192"));
        put(cache.path(), "patched", 3, of("6.1.193"));
        let find = |kernel: Option<&str>| {
            let kernel = kernel.map(|text| text.parse().unwrap());
            find(&BuildOptions { cache: Some(cache.path().to_owned()), ..BuildOptions::of(kernel.as_ref()) })
        };
        assert_eq!(find(None).unwrap().build, "today");
        assert_eq!(find(Some("6.12")).unwrap().build, "today");
        assert_eq!(find(Some("6.1")).unwrap().build, "patched");
        assert_eq!(find(Some("6.1.192")).unwrap().build, "older");
        let error = find(Some("6.6")).unwrap_err().to_string();
        assert!(error.contains("no virtual-time kernel of Linux 6.6 built"), "{error}");
        assert!(error.contains("run `wirespeed kernel build --version 6.6`"), "{error}");
        let all = cached(&options(cache.path())).unwrap();
        let all: Vec<_> = all.iter().map(|c| (c.kernel.build.as_str(), c.is_current)).collect();
        assert_eq!(all, [("today", true), ("patched", true), ("older", true)]);
    }

    #[test]
    fn a_damaged_build_is_not_found() {
        let cache = tempfile::tempdir().unwrap();
        put(cache.path(), "short", 1, |m| m.image_bytes = 6);
        put(cache.path(), "broken", 2, |_| ());
        fs::write(cache.path().join("broken").join(MANIFEST), "{").unwrap();
        assert!(matches!(find(&options(cache.path())), Err(KernelError::NotBuilt { .. })));
    }

    #[test]
    fn a_named_source_is_matched_by_content() {
        let cache = tempfile::tempdir().unwrap();
        let tarball = cache.path().join("mine.tar");
        fs::write(&tarball, "source").unwrap();
        let identity = Source::Tarball(tarball.clone()).identity(&AtomicBool::new(false)).unwrap();
        put(cache.path(), "theirs", 2, |_| ());
        let named = BuildOptions { source: Some(tarball), ..options(cache.path()) };
        assert!(matches!(find(&named), Err(KernelError::NotBuilt { .. })));
        put(cache.path(), "mine", 1, |m| m.source_identity = identity);
        assert_eq!(find(&named).unwrap().build, "mine");
    }

    #[test]
    fn a_second_builder_waits_and_can_be_stopped() {
        let cache = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let first = lock(cache.path(), &cancel, &mut || panic!("nobody else is here")).unwrap();
        let second = lock(cache.path(), &cancel, &mut || cancel.store(true, Ordering::Relaxed));
        assert!(matches!(second, Err(KernelError::Cancelled)));
        drop(first);
        cancel.store(false, Ordering::Relaxed);
        lock(cache.path(), &cancel, &mut || panic!("the first is gone")).unwrap();
    }
}
