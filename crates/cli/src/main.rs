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
    after_help = "Exit codes: 0 good, 1 an expectation or threshold was missed, 2 usage or scenario error, 3 the environment \
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
    /// Probe every pair of several machines with datagrams, again and again: who loses, and what has changed.
    Mesh(commands::mesh::Arguments),
    /// Make a recording of the JSON of iperf3, of one side of a test or of both.
    Import(commands::import::Arguments),
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
    /// Let controllers that have no ssh to this machine use it for tests: they must know a secret, and only for a time.
    ServeAgent(commands::serve_agent::Arguments),
    /// A part of a run: of a real host, or in namespaces of this machine.
    #[command(hide = true)]
    Agent(commands::agent::Arguments),
}

fn main() -> ExitCode {
    // In a virtual-time guest this program is process 1; it does not return from here then.
    wirespeed_lab::run_as_init();
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(arguments) => commands::run::run(arguments),
        Command::Probe(arguments) => commands::probe::run(&arguments),
        Command::Mesh(arguments) => commands::mesh::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::List(what) => commands::list::run(&what),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Validate(arguments) => commands::validate::run(&arguments),
        Command::Cc(action) => commands::cc::run(&action),
        Command::Schema => commands::schema(),
        Command::Kernel(action) => commands::kernel::run(action),
        Command::ServeAgent(arguments) => commands::serve_agent::run(&arguments),
        Command::Agent(arguments) => commands::agent::run(&arguments),
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
        // Which that is, the substrate knows.
        program: None,
    }
}

/// Tells of something on standard error, in a line; others' words may be in it.
fn tell(text: &str) {
    eprintln!("{}", wirespeed_record::plain_line(text));
}

/// Prints text that others' words may be in.
fn print_plain(text: &str) -> Result<(), Failure> {
    print(&wirespeed_record::plain(text))
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
