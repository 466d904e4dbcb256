//! The agent's side: a process that makes the namespaces it works in.

use super::features;
use std::io::{self, Read};
use std::path::PathBuf;
use std::thread;
use wirespeed_agent::Abandon;
use wirespeed_agent::one_kernel::run_planned;
use wirespeed_topology::namespace::enter_own;
use wirespeed_topology::world::Ground;

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// Try what the kernel has; the answer goes to standard output.
    Survey,
    /// Carry out the run planned in a folder.
    Run(PathBuf),
}

/// Does it, in namespaces that only this process has. A run ends by `abandon` when standard input ends.
///
/// # Errors
/// The failure, which is in the stream as well, if it could be written.
pub fn serve(task: &Task, abandon: Abandon) -> io::Result<()> {
    enter_own()?;
    match task {
        Task::Survey => features::answer(),
        Task::Run(folder) => {
            end_with_input(abandon);
            run_planned(folder, Ground::Machine)
        }
    }
}

/// The controller holds the other end of standard input.
fn end_with_input(abandon: Abandon) {
    thread::spawn(move || {
        let mut nothing = [0; 64];
        while let Ok(1..) = io::stdin().read(&mut nothing) {}
        abandon();
    });
}
