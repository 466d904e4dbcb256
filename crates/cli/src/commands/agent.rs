//! `wirespeed agent`: this program at work for another of its kind. Nobody types it.

use crate::VERSION;
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use wirespeed_lab::{Task, serve_agent, serve_namespaces};

/// Arguments of `wirespeed agent`: none for one host's part, with requests on standard input and records on standard
/// output.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Carry out the run planned in this folder, in namespaces of this machine.
    #[arg(long, value_name = "DIR")]
    netns: Option<PathBuf>,
    /// Try what this machine's kernel has for that.
    #[arg(long, conflicts_with = "netns")]
    netns_survey: bool,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let task = match &arguments.netns {
        Some(folder) => Task::Run(folder.clone()),
        None if arguments.netns_survey => Task::Survey,
        // What went wrong has been said to whoever controls it.
        None => return serve_agent(VERSION).map_err(|_| Failure::Agent),
    };
    serve_namespaces(&task).map_err(|error| Failure::Environment(error.to_string()))
}
