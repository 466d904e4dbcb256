//! The wanted kernel: its version, its source and its added files, to build it or to find it in the cache.

use crate::cache::default_cache;
use crate::error::KernelError;
use std::io;
use std::path::{Path, PathBuf};
use wirespeed_scenario::run::{KernelChoice, KernelVersion};

/// The kernel to build, and the folder that keeps it.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// The version of Linux. `None`: that of `source`, or else any of [`KernelVersion::TODAY`].
    pub version: Option<KernelChoice>,
    /// Tarball or tree of Linux. `None`: the newest `/usr/src/linux-source-VERSION*.tar.xz`.
    pub source: Option<PathBuf>,
    /// The user's congestion controls, C files compiled in `net/ipv4`.
    pub extra_cc: Vec<PathBuf>,
    /// Compilers at once; 0: one per processor.
    pub jobs: usize,
    /// Folder of built kernels. `None`: [`default_cache`].
    pub cache: Option<PathBuf>,
}

impl BuildOptions {
    /// Those of a run's choice, `run.kernel`.
    pub fn of(kernel: Option<&KernelChoice>) -> Self {
        match kernel {
            Some(KernelChoice::Source(path)) => {
                BuildOptions { source: Some(path.clone()), ..BuildOptions::default() }
            }
            version => BuildOptions { version: version.cloned(), ..BuildOptions::default() },
        }
    }

    /// The command that builds it.
    pub fn command(&self) -> String {
        let mut command = "wirespeed kernel build".to_owned();
        let mut option = |name: &str, value: &str| command.push_str(&format!(" {name} {}", quoted(value)));
        if let Some(version) = &self.version {
            option("--version", &version.to_string());
        }
        if let Some(source) = &self.source {
            option("--source", &source.display().to_string());
        }
        for file in &self.extra_cc {
            option("--cc", &file.display().to_string());
        }
        command
    }

    /// The wanted kernel in words, after a blank; empty for the default.
    pub(crate) fn wanted(&self) -> String {
        match (&self.version, &self.source) {
            (Some(version), _) => format!(" of Linux {version}"),
            (None, Some(source)) => format!(" of {}", source.display()),
            (None, None) => String::new(),
        }
    }

    /// The line of versions whose source the distribution has.
    pub(crate) fn line(&self) -> KernelVersion {
        self.version.as_ref().and_then(KernelChoice::line).unwrap_or(KernelVersion::TODAY)
    }

    /// Whether a kernel of this version is wanted.
    pub(crate) fn admit(&self, version: KernelVersion) -> bool {
        match (&self.version, &self.source) {
            (Some(wanted), _) => wanted.admits(version),
            (None, Some(_)) => true,
            (None, None) => version.line() == KernelVersion::TODAY,
        }
    }

    /// The cache's folder, which need not exist.
    pub(crate) fn cache_folder(&self) -> Result<PathBuf, KernelError> {
        let none = || io::Error::other("neither XDG_CACHE_HOME nor HOME is set to a full path");
        let named = self.cache.clone().or_else(default_cache);
        named.ok_or_else(|| KernelError::io("find a folder to keep", Path::new("built kernels"))(none()))
    }
}

/// An argument as a shell's command line has it.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+=:,@~".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kernel: &str) -> BuildOptions {
        BuildOptions::of(Some(&kernel.parse().unwrap()))
    }

    #[test]
    fn the_command_builds_what_the_run_chose() {
        assert_eq!(BuildOptions::of(None).command(), "wirespeed kernel build");
        assert_eq!(of("6.1").command(), "wirespeed kernel build --version 6.1");
        let own = BuildOptions { extra_cc: vec!["my cc/tcp_a.c".into()], ..of("./linux") };
        assert_eq!(own.command(), "wirespeed kernel build --source ./linux --cc 'my cc/tcp_a.c'");
    }

    #[test]
    fn the_default_is_any_kernel_of_today() {
        let version = |text: &str| text.parse().unwrap();
        let default = BuildOptions::of(None);
        assert!(default.admit(version("6.12.117")) && !default.admit(version("6.1.192")));
        assert!(of("6.1").admit(version("6.1.192")) && !of("6.1").admit(version("6.12.117")));
        assert!(of("./bbr3").admit(version("6.4")));
        assert_eq!((of("6.1.192").line(), of("./bbr3").line()), (version("6.1"), KernelVersion::TODAY));
    }
}
