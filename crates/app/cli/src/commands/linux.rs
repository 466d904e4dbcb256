//! The substrates, in a build that has those on Linux.

use super::run::{On, quoted};
use crate::failure::Failure;
use std::path::PathBuf;
use wirespeed_kernel::{BuildOptions, KernelError, find};
use wirespeed_substrates::{Hosts, Model, Namespaces, Substrate, VirtualTime};
use wirespeed_transport::remote::Program;

/// The substrate, with the user's own congestion controls (C files) in it.
pub(crate) fn substrate(on: On, own_controls: &[PathBuf]) -> Result<Box<dyn Substrate>, Failure> {
    match on {
        On::Model => Ok(Box::new(Model)),
        On::Kernel => {
            let kernel = match find(&BuildOptions { extra_cc: own_controls.to_vec(), ..Default::default() }) {
                Err(KernelError::NotBuilt { cache }) if !own_controls.is_empty() => {
                    return Err(Failure::OwnKernel { cache, command: build_command(own_controls) });
                }
                found => found?,
            };
            Ok(Box::new(VirtualTime::new(kernel, own_program()?)))
        }
        On::Netns => Ok(Box::new(Namespaces::new(own_program()?))),
        On::Hosts => Ok(Box::new(Hosts::new(Program::new(own_program()?), crate::VERSION))),
    }
}

/// The file of this program.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|source| Failure::Output { what: "own executable".into(), source })
}

fn build_command(own_controls: &[PathBuf]) -> String {
    let files: String =
        own_controls.iter().map(|file| format!(" --cc {}", quoted(&file.display().to_string()))).collect();
    format!("wirespeed kernel build{files}")
}
