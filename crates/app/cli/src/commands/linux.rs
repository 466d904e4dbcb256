//! The substrates, in a build that has those on Linux.

use super::run::On;
use crate::failure::Failure;
use std::path::PathBuf;
use wirespeed_kernel::{BuildOptions, KernelError, find};
use wirespeed_scenario::Run;
use wirespeed_substrates::{Hosts, Kernels, Model, Namespaces, Substrate, VirtualTime};
use wirespeed_transport::remote::Program;

/// The substrate for these runs, with the user's own congestion controls (C files) in it.
pub(crate) fn substrate(
    on: On,
    own_controls: &[PathBuf],
    runs: &[Run],
) -> Result<Box<dyn Substrate>, Failure> {
    match on {
        On::Model => Ok(Box::new(Model)),
        On::Kernel => Ok(Box::new(VirtualTime::new(kernels(own_controls, runs)?, own_program()?))),
        On::Netns => Ok(Box::new(Namespaces::new(own_program()?))),
        On::Hosts => Ok(Box::new(Hosts::new(Program::new(own_program()?), crate::VERSION))),
    }
}

/// The cached kernels that the runs choose; the default if there are no runs.
fn kernels(own_controls: &[PathBuf], runs: &[Run]) -> Result<Kernels, Failure> {
    let mut kernels = Kernels::new();
    let default = runs.is_empty().then_some(&None);
    for choice in runs.iter().map(|run| &run.kernel).chain(default) {
        if kernels.contains_key(choice) {
            continue;
        }
        let options = BuildOptions { extra_cc: own_controls.to_vec(), ..BuildOptions::of(choice.as_ref()) };
        let kernel = match find(&options) {
            Err(KernelError::NotBuilt { cache, command, .. }) if !own_controls.is_empty() => {
                return Err(Failure::OwnKernel { cache, command });
            }
            found => found?,
        };
        kernels.insert(choice.clone(), kernel);
    }
    Ok(kernels)
}

/// The file of this program.
pub(crate) fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|source| Failure::Output { what: "own executable".into(), source })
}
