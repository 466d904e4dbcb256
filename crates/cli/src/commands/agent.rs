//! `wirespeed agent`: this program at work for another of its kind. Nobody types it.

use crate::VERSION;
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use wirespeed_lab::{Secret, Task, connect_sealed, serve_agent, serve_namespaces};

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
    /// Be the way to an agent that listens at this address, in the place of ssh.
    #[arg(long, value_name = "tcp://HOST:PORT", conflicts_with_all = ["netns", "netns_survey"])]
    connect: Option<String>,
}

/// Environment variable with the file that has the token for agents without ssh.
const TOKEN_VARIABLE: &str = "WIRESPEED_TOKEN_FILE";

/// The way to an agent that listens.
fn connect(address: &str) -> Result<(), Failure> {
    let file = std::env::var_os(TOKEN_VARIABLE).ok_or_else(|| {
        Failure::Environment(format!(
            "{address}: set {TOKEN_VARIABLE} to the file with the token that its agent has"
        ))
    })?;
    let told = |error: std::io::Error| Failure::Environment(error.to_string());
    let secret = Secret::read(file.as_ref()).map_err(told)?;
    connect_sealed(address, &secret).map_err(told)
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(address) = &arguments.connect {
        return connect(address);
    }
    let task = match &arguments.netns {
        Some(folder) => Task::Run(folder.clone()),
        None if arguments.netns_survey => Task::Survey,
        // What went wrong has been said to whoever controls it.
        None => return serve_agent(VERSION).map_err(|_| Failure::Agent),
    };
    serve_namespaces(&task).map_err(|error| Failure::Environment(error.to_string()))
}
