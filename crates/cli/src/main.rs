//! The command line of wirespeed.

mod commands;
mod failure;
mod interrupt;
mod progress;

use clap::{Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// A laboratory for fast TCP: where do my packets go, what should I change, what would happen if.
#[derive(Debug, Parser)]
#[command(name = "wirespeed", version = VERSION, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 good, 1 an expectation failed, 2 usage or scenario error, 3 the environment \
                        lacks something, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WIRESPEED_GIT"), ")");

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scenario, or every combination of its sweep; print the table, write the report.
    Run(commands::run::Arguments),
    /// Test the path between two real machines: rate, what limits it, and where packets are lost.
    Probe(commands::probe::Arguments),
    /// Make the report of recorded runs again, or of runs from several folders together.
    Report(commands::report::Arguments),
    /// Hold folders of results against each other: another substrate, kernel, or setting.
    Compare(commands::compare::Arguments),
    /// Run a published study again and hold its claims against what comes out.
    Reproduce(commands::reproduce::Arguments),
    /// List what there is.
    #[command(subcommand)]
    List(commands::list::What),
    /// Explain a metric, a congestion control, a preset or a column of a table.
    Explain(commands::explain::Arguments),
    /// Print the JSON Schema of scenario files.
    Schema,
    /// Compare the model with the kernel over the validation grid; or extend the kernel's data.
    Validate(commands::validate::Arguments),
    /// Load congestion controls into this machine's kernel, for as long as they are needed.
    #[command(subcommand)]
    Cc(commands::cc::Action),
    /// Build or describe the virtual-time kernel.
    #[command(subcommand)]
    Kernel(commands::kernel::Action),
    /// One host's part of a run: requests on standard input, records on standard output.
    #[command(hide = true)]
    Agent,
}

fn main() -> ExitCode {
    // In a virtual-time guest this program is process 1; it does not return from here then.
    wirespeed_lab::run_as_init();
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(arguments) => commands::run::run(arguments),
        Command::Probe(arguments) => commands::probe::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::List(what) => commands::list::run(&what),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Validate(arguments) => commands::validate::run(&arguments),
        Command::Cc(action) => commands::cc::run(&action),
        Command::Schema => commands::schema(),
        Command::Kernel(action) => commands::kernel::run(action),
        // What went wrong has been said to whoever controls it.
        Command::Agent => wirespeed_lab::serve_agent(VERSION).map_err(|_| Failure::Agent),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.show(),
    }
}

/// What this program calls itself in recordings and reports.
fn tool() -> wirespeed_record::ToolInfo {
    wirespeed_record::ToolInfo {
        version: env!("CARGO_PKG_VERSION").into(),
        git: env!("WIRESPEED_GIT").into(),
    }
}

/// Standard output may be closed early (`wirespeed list cc | head`): that is no error of ours.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|source| Failure::Output { what: "standard output".into(), source }),
    }
}
