//! `wirespeed agent`: this program as the agent of another. Users type `agent serve`; the rest is for programs.

use super::serve_agent;
use crate::VERSION;
use crate::failure::Failure;
use clap::{Args, Subcommand};
use std::io::IsTerminal;
use std::path::PathBuf;
use wirespeed_agent::ABANDONED;
use wirespeed_agent::session::serve as serve_agent;
use wirespeed_substrates::{Task, serve_namespaces};
use wirespeed_transport::sealed::{Secret, connect_sealed};

/// Arguments of `wirespeed agent`: none for one host's part, with requests on standard input and records on standard
/// output.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "wirespeed agent <COMMAND>",
    after_help = serve_agent::EXAMPLES
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Carry out the run planned in this folder, in namespaces of this machine.
    #[arg(long, value_name = "DIR", hide = true)]
    netns: Option<PathBuf>,
    /// Report which features this machine's kernel has for that.
    #[arg(long, conflicts_with = "netns", hide = true)]
    netns_survey: bool,
    /// Measure the costs of this host's work, as requested on standard input.
    #[arg(long, conflicts_with_all = ["netns", "netns_survey"], hide = true)]
    calibrate: bool,
    /// Forward to an agent that listens at this address, in the place of ssh.
    #[arg(long, value_name = "tcp://HOST:PORT", conflicts_with_all = ["netns", "netns_survey"], hide = true)]
    connect: Option<String>,
}

/// Subcommands of `wirespeed agent`.
#[derive(Debug, Subcommand)]
enum Action {
    /// Accept tests from controllers that share a secret, on one address, for a limited time.
    Serve(serve_agent::Arguments),
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

/// Ends this process, whatever its threads do: nothing of an agent is left when its controller is gone.
fn abandon() -> ! {
    std::process::exit(ABANDONED)
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(Action::Serve(arguments)) = &arguments.action {
        return serve_agent::run(arguments);
    }
    if let Some(address) = &arguments.connect {
        return connect(address);
    }
    if arguments.calibrate {
        return wirespeed_calibrate::serve(abandon).map_err(|error| Failure::Environment(error.to_string()));
    }
    let task = match &arguments.netns {
        Some(folder) => Task::Run(folder.clone()),
        None if arguments.netns_survey => Task::Survey,
        None if std::io::stdin().is_terminal() => {
            return Err(Failure::Usage {
                message: "`wirespeed agent` without a command takes requests of another wirespeed, not of a terminal".into(),
                remedy: "to accept tests, type `wirespeed agent serve --listen ADDRESS:PORT --token-file FILE`".into(),
            });
        }
        // The controller has been given the reason.
        None => return serve_agent(VERSION, abandon).map_err(|_| Failure::Agent),
    };
    serve_namespaces(&task, abandon).map_err(|error| Failure::Environment(error.to_string()))
}
