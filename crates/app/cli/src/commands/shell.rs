//! `wirespeed completions` and `wirespeed man`: what shells and `man` know of the command line.

use super::folder::create;
use crate::failure::Failure;
use crate::print;
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// Arguments of `wirespeed completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed completions bash > ~/.local/share/bash-completion/completions/wirespeed
  wirespeed completions zsh > ~/.zfunc/_wirespeed
  wirespeed completions fish > ~/.config/fish/completions/wirespeed.fish")]
pub struct Completions {
    /// Shell that the completions are for.
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `wirespeed man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed man ~/.local/share/man/man1   # then: man wirespeed-probe
  wirespeed man pages                     # then: man -l pages/wirespeed.1")]
pub struct Man {
    /// Folder that the pages are written to, one for each command.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// `wirespeed completions`.
pub fn completions(arguments: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command(), "wirespeed", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// `wirespeed man`.
pub fn man(arguments: &Man) -> Result<(), Failure> {
    create(&arguments.folder)?;
    clap_mangen::generate_to(crate::command(), &arguments.folder).map_err(|source| Failure::Output {
        what: format!("a page in {}", arguments.folder.display()),
        source,
    })?;
    print(&format!("Pages: {}\n", arguments.folder.join("wirespeed*.1").display()))
}
