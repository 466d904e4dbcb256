//! `wirespeed kernel`: the virtual-time kernel.

use crate::build_progress::BuildDisplay;
use crate::failure::Failure;
use crate::{interrupt, print};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use wirespeed_kernel::{BuildOptions, Kernel, build, find};
use wirespeed_scenario::run::KernelChoice;

pub const EXAMPLES: &str = "\
Examples:
  wirespeed kernel build                                # from the distribution's source; some minutes, once
  wirespeed kernel build --version 6.1                  # another version, for runs with run.kernel = \"6.1\"
  wirespeed kernel build --source linux-6.12.tar.xz
  wirespeed kernel build --cc tcp_my_cc.c               # with a congestion control of your own
  wirespeed kernel info
  wirespeed kernel info --version 6.1
  wirespeed list kernels                                # all in the cache";

/// Subcommands of `wirespeed kernel`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Build the kernel, unless it is in the cache.
    Build(Options),
    /// Print which kernel is in the cache and what it is made of.
    Info(Options),
}

/// What a kernel is made from.
#[derive(Debug, Args)]
pub struct Options {
    /// Version of Linux, such as 6.1 or 6.1.192 [default: that of --source, or else 6.12].
    #[arg(long, value_name = "VERSION", value_parser = version)]
    version: Option<KernelChoice>,
    /// Tarball or tree of Linux [default: the distribution's, below /usr/src].
    #[arg(long, value_name = "PATH")]
    source: Option<PathBuf>,
    /// C file of a congestion control of your own to compile in; may be repeated.
    #[arg(long = "cc", value_name = "FILE.c")]
    congestion: Vec<PathBuf>,
    /// Compiler processes at a time [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

impl Options {
    fn build_options(self) -> BuildOptions {
        let defaults = BuildOptions::default();
        BuildOptions {
            version: self.version,
            source: self.source,
            extra_cc: self.congestion,
            jobs: self.jobs.unwrap_or(defaults.jobs),
            ..defaults
        }
    }
}

/// A version of the command line; a path is for `--source`.
fn version(text: &str) -> Result<KernelChoice, String> {
    match text.parse() {
        Ok(KernelChoice::Source(_)) => Err("give the path of a tarball or tree with --source".into()),
        parsed => parsed,
    }
}

/// Carries the command out.
pub fn run(action: Action) -> Result<(), Failure> {
    let kernel = match action {
        Action::Info(options) => find(&options.build_options())?,
        Action::Build(options) => {
            let mut display = BuildDisplay::new();
            let built =
                build(&options.build_options(), &mut |progress| display.show(&progress), interrupt::flag());
            display.finish();
            built?
        }
    };
    print(&describe(&kernel))
}

fn describe(kernel: &Kernel) -> String {
    let mut text = format!(
        "Linux {} for virtual time\n  image     {}\n  build     {}\n  compiler  {}\n",
        kernel.release,
        kernel.image.display(),
        kernel.build,
        kernel.built_with
    );
    text.push_str("  changes to the kernel's own sources and sources added:\n");
    for edit in &kernel.edits {
        text.push_str(&format!("    - {edit}\n"));
    }
    for source in &kernel.added {
        text.push_str(&format!("    - {source}: added\n"));
    }
    text
}
