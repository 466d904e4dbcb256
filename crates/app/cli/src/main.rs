//! The command line of wirespeed.

#![cfg_attr(
    not(feature = "linux"),
    allow(dead_code, reason = "the commands that need Linux use the rest of the shared modules")
)]

mod absent;
#[cfg(feature = "linux")]
mod build_progress;
mod commands;
mod failure;
mod interrupt;
mod progress;
#[cfg(all(test, feature = "linux"))]
mod reference;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

/// Find out what limits TCP on fast networks and where packets are lost; predict it on a model.
#[derive(Debug, Parser)]
#[command(name = "wirespeed", version = VERSION, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WIRESPEED_GIT"), ")");

const AFTER_HELP: &str = "\
Examples:
  wirespeed run scenarios/first-look.toml   # a scenario on the model: table and report
  wirespeed probe dtn1 dtn2                 # a test between two hosts that ssh reaches
  wirespeed run --help                      # the options and examples of a command

Exit codes:
  0    good
  1    an expectation or threshold was missed
  2    usage or scenario error
  3    something is missing, unreachable or unreadable; the message names it and the remedy
  124  the time of --budget is over; completed runs are kept
  130  interrupted; completed runs are kept";

#[derive(Debug, Subcommand)]
enum Command {
    /// Test two hosts: rate, limiting factor, losses.
    #[cfg(feature = "linux")]
    Probe(commands::probe::Arguments),
    /// Test every pair of several hosts with datagrams, repeatedly.
    #[cfg(feature = "linux")]
    Mesh(commands::mesh::Arguments),
    /// Accept tests from controllers without ssh access (`agent serve`).
    #[cfg(feature = "linux")]
    Agent(commands::agent::Arguments),
    /// Change settings of this host as a transaction: plan, apply, confirm, revert.
    #[cfg(feature = "linux")]
    #[command(subcommand, after_help = commands::tune::EXAMPLES)]
    Tune(commands::tune::Action),
    /// Compare hosts with the needs of a path, and print the changes to make.
    Doctor(commands::doctor::Arguments),
    /// Describe a host: cores, memory, interfaces and their settings.
    #[cfg(feature = "linux")]
    Inventory(commands::inventory::Arguments),
    /// Run a scenario or every setting of its sweep: table and report.
    Run(commands::run::Arguments),
    /// Workers, state and end of a campaign on a cluster.
    #[command(subcommand, after_help = commands::campaign::EXAMPLES)]
    Campaign(commands::campaign::Action),
    /// Compare result folders: model and kernel, before and after.
    Compare(commands::compare::Arguments),
    /// Write the report of recorded runs again, also of several folders.
    Report(commands::report::Arguments),
    /// Show result folders as web pages on this machine: runs, figures, comparisons, progress.
    Serve(commands::serve::Arguments),
    /// Explain the TCP connections and UDP streams of a packet capture or an interface: losses, limits, jitter.
    Trace(commands::trace::Arguments),
    /// Import a result of iperf3, flent, ss or pScheduler as a run.
    Import(commands::import::Arguments),
    /// Export runs as CSV, iperf3 JSON or data files of flent.
    Export(commands::export::Arguments),
    /// Pack a folder of results as one file that others can repeat.
    Bundle(commands::bundle::Arguments),
    /// Execute one resolved run, in a job of a batch system.
    Execute(commands::execute::Arguments),
    /// Measure what work costs on this host, for the model.
    #[cfg(feature = "linux")]
    Calibrate(commands::calibrate::Arguments),
    /// Predict on the model what a path will give: rates, needs of the hosts, budgets of loss and buffer.
    Plan(commands::plan::Arguments),
    /// Rerun a published study and check its claims.
    Reproduce(commands::reproduce::Arguments),
    /// Compare the model with the kernel over the validation grid.
    Validate(commands::validate::Arguments),
    /// List congestion controls, metrics, presets, rules, tables, scenarios, studies or runs.
    #[command(subcommand, after_help = commands::list::EXAMPLES)]
    List(commands::list::What),
    /// Explain a metric, congestion control, preset, audit rule, column or term.
    Explain(commands::explain::Arguments),
    /// Print the JSON Schema of scenario files.
    #[command(after_help = commands::SCHEMA_EXAMPLES)]
    Schema,
    /// Build or describe the virtual-time kernel.
    #[cfg(feature = "linux")]
    #[command(subcommand, after_help = commands::kernel::EXAMPLES)]
    Kernel(commands::kernel::Action),
    /// Load congestion controls into this machine's kernel, for a limited time.
    #[cfg(feature = "linux")]
    #[command(subcommand, after_help = commands::cc::EXAMPLES)]
    Cc(commands::cc::Action),
    /// Print the completions of a shell.
    Completions(commands::shell::Completions),
    /// Write the manual pages.
    Man(commands::shell::Man),
    /// The name of `agent serve` in earlier versions.
    #[cfg(feature = "linux")]
    #[command(hide = true)]
    ServeAgent(commands::serve_agent::Arguments),
}

/// The commands by what they are for. A test checks that none is missing.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Measure", &["probe", "mesh", "agent"]),
    ("Fix", &["doctor", "inventory", "tune"]),
    (
        "Experiment",
        &["run", "campaign", "compare", "report", "serve", "import", "export", "bundle", "execute"],
    ),
    ("Foresee", &["plan", "calibrate"]),
    ("Evidence", &["trace", "reproduce", "validate"]),
    ("Look up", &["list", "explain", "schema"]),
    ("Set up", &["kernel", "cc", "completions", "man"]),
];

/// The command line, with the commands in groups.
fn command() -> clap::Command {
    let command = Cli::command();
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut groups = String::new();
    for (group, names) in GROUPS {
        // A build without the substrates on Linux lacks some commands.
        let found: Vec<_> = names.iter().filter_map(|name| command.find_subcommand(name)).collect();
        if found.is_empty() {
            continue;
        }
        groups += &format!("{header}{group}:{header:#}\n");
        for command in found {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            groups += &format!("  {literal}{:<12}{literal:#} {about}\n", command.get_name());
        }
        groups.push('\n');
    }
    let command = absent::with_own_examples(with_examples(command));
    let options = format!("{header}Options:{header:#}\n{{options}}");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{after-help}}"
    ))
}

/// Gives commands of commands the examples of their parent that are theirs.
fn with_examples(command: clap::Command) -> clap::Command {
    let parents: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    parents.into_iter().fold(command, |command, parent| {
        command.mut_subcommand(&parent, |parent| {
            let (name, examples) =
                (parent.get_name().to_owned(), parent.get_after_help().map(ToString::to_string));
            parent.mut_subcommands(|sub| {
                let own = format!(" {name} {}", sub.get_name());
                let lines: Vec<&str> = examples
                    .iter()
                    .flat_map(|text| text.lines())
                    .filter(|line| line.contains(&own))
                    .collect();
                match sub.get_after_help() {
                    None if !lines.is_empty() => sub.after_help(format!("Examples:\n{}", lines.join("\n"))),
                    _ => sub,
                }
            })
        })
    })
}

/// A damaged file is reported as an error with its name. The panic of the library that read it is not printed.
fn keep_caught_panics_silent() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !wirespeed_record::panics_are_caught() {
            default(info);
        }
    }));
}

fn main() -> ExitCode {
    // In a virtual-time guest this program is process 1; it does not return from here then.
    #[cfg(feature = "linux")]
    wirespeed_substrates::run_as_init();
    keep_caught_panics_silent();
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => match absent::failure(&error) {
            Some(failure) => return failure.show(),
            None => error.exit(),
        },
    };
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command()).exit());
    let result = match cli.command {
        Command::Run(arguments) => commands::run::run(arguments),
        #[cfg(feature = "linux")]
        Command::Probe(arguments) => commands::probe::run(&arguments),
        #[cfg(feature = "linux")]
        Command::Mesh(arguments) => commands::mesh::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Campaign(action) => commands::campaign::run(&action),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::Bundle(arguments) => commands::bundle::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Execute(arguments) => commands::execute::run(&arguments),
        #[cfg(feature = "linux")]
        Command::Calibrate(arguments) => commands::calibrate::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::run(&arguments),
        Command::List(what) => commands::list::run(&what),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Validate(arguments) => commands::validate::run(&arguments),
        #[cfg(feature = "linux")]
        Command::Inventory(arguments) => commands::inventory::run(&arguments),
        #[cfg(feature = "linux")]
        Command::Cc(action) => commands::cc::run(&action),
        #[cfg(feature = "linux")]
        Command::Tune(action) => commands::tune::run(&action),
        Command::Schema => commands::schema(),
        #[cfg(feature = "linux")]
        Command::Kernel(action) => commands::kernel::run(action),
        Command::Completions(arguments) => commands::shell::completions(&arguments),
        Command::Man(arguments) => commands::shell::man(&arguments),
        #[cfg(feature = "linux")]
        Command::ServeAgent(arguments) => commands::serve_agent::run(&arguments),
        #[cfg(feature = "linux")]
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

#[cfg(feature = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a line as a shell takes it: quotes, and a comment at its end.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for c in line.chars() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('"' | '\'', None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                ('#', None) if word.is_none() => break,
                (' ', None) => words.extend(word.take()),
                (c, _) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    /// A command and all below it, with their names from the beginning. Hidden ones are left out.
    fn visible(command: &clap::Command, path: &str, into: &mut Vec<(String, clap::Command)>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let path = format!("{path}{} ", sub.get_name());
            visible(sub, &path, into);
            into.push((path.trim_end().to_owned(), sub.clone()));
        }
    }

    fn all() -> Vec<(String, clap::Command)> {
        let mut found = Vec::new();
        visible(&command(), "", &mut found);
        found
    }

    fn examples(command: &clap::Command) -> Vec<String> {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = text.lines().map(str::trim);
        lines.filter(|line| line.contains("wirespeed ")).map(str::to_owned).collect()
    }

    /// Why a line is not a command line of wirespeed.
    fn refused(line: &str) -> Option<String> {
        let words = words(line);
        let start = words.iter().position(|word| word.ends_with("wirespeed"))?;
        let end = words.iter().skip(start).position(|word| ["|", ">", "&&"].contains(&word.as_str()));
        let words = &words[start..end.map_or(words.len(), |end| start + end)];
        let error = command().try_get_matches_from(words).err()?;
        let shown = [clap::error::ErrorKind::DisplayHelp, clap::error::ErrorKind::DisplayVersion];
        (!shown.contains(&error.kind())).then(|| format!("{line}: {error}"))
    }

    #[test]
    fn definition_of_the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let command = command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn every_command_has_examples_and_every_example_parses() {
        for (path, command) in all() {
            let own = examples(&command);
            assert!(!own.is_empty(), "wirespeed {path} --help has no example");
            let wrong: Vec<String> = own.iter().filter_map(|line| refused(line)).collect();
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
        assert!(examples(&command()).iter().all(|line| refused(line).is_none()));
    }

    #[test]
    fn every_option_and_argument_is_described() {
        for (path, command) in all() {
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                assert!(argument.get_help().is_some(), "wirespeed {path}: {argument}");
            }
        }
    }

    #[test]
    fn earlier_names_of_commands_and_options_still_parse() {
        for line in [
            "wirespeed mesh a b --for \"1 s\" --rate \"1 Mbit/s\"",
            "wirespeed cc load bic --for \"1 s\"",
            "wirespeed serve-agent --listen 10.0.0.1:5000 --token-file t --for \"1 h\"",
            "wirespeed validate --cell 7 --print",
        ] {
            assert_eq!(refused(line), None);
        }
    }

    #[test]
    fn command_lines_of_the_documentation_parse() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let mut pages = vec![root.join("README.md")];
        for folder in ["docs/how-to", "docs/tutorial"] {
            let entries = std::fs::read_dir(root.join(folder)).expect("the documentation is there");
            pages.extend(entries.map(|entry| entry.expect("it can be listed").path()));
        }
        let (mut wrong, mut seen) = (Vec::new(), 0);
        for page in pages {
            let text = std::fs::read_to_string(&page).expect("a page is text");
            // Blocks of commands; an ellipsis or a word of brackets stands for something else.
            let lines =
                text.lines().filter_map(|line| line.strip_prefix("    ").or_else(|| line.strip_prefix("$ ")));
            for line in lines.filter(|line| !line.contains("...") && !line.contains('[')) {
                let first = words(line).into_iter().find(|word| !word.contains('=') && word != "sudo");
                if first.is_some_and(|word| word == "wirespeed" || word == "target/release/wirespeed") {
                    seen += 1;
                    wrong.extend(refused(line).map(|why| format!("{}: {why}", page.display())));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 40, "only {seen} were found");
    }
}
