//! Substrates and commands that need Linux are cargo features. A build without them rejects their names with a remedy.

use crate::failure::Failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Whether this build has them.
const HAS_LINUX: bool = cfg!(feature = "linux");

/// Substrates that need Linux; each is the name of its feature, too.
const SUBSTRATES: [&str; 3] = ["kernel", "netns", "hosts"];

/// Commands that need Linux, with a feature that brings them.
const COMMANDS: [(&str, &str); 9] = [
    ("probe", "hosts"),
    ("mesh", "hosts"),
    ("agent", "hosts"),
    ("serve-agent", "hosts"),
    ("kernel", "kernel"),
    ("cc", "hosts"),
    ("tune", "hosts"),
    ("inventory", "hosts"),
    ("calibrate", "hosts"),
];

/// A substrate that was asked for.
pub fn substrate(name: &str) -> Failure {
    absent(&format!("substrate `{name}`"), name)
}

fn absent(what: &str, feature: &str) -> Failure {
    Failure::Usage {
        message: format!("{what} is not part of this build; build with `--features {feature}`"),
        remedy: "on Linux `make build` builds the program with every substrate and command".into(),
    }
}

/// An error of the command line that asks for what another build has.
pub fn failure(error: &clap::Error) -> Option<Failure> {
    if HAS_LINUX { None } else { asked_for(error) }
}

fn asked_for(error: &clap::Error) -> Option<Failure> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let wanted = text(ContextKind::InvalidSubcommand)?;
            let (name, feature) = COMMANDS.iter().find(|(name, _)| *name == wanted)?;
            Some(absent(&format!("command `{name}`"), feature))
        }
        ErrorKind::InvalidValue => {
            let wanted = text(ContextKind::InvalidValue)?;
            let is_substrate = text(ContextKind::InvalidArg)?.starts_with("--on ");
            (is_substrate && SUBSTRATES.contains(&wanted)).then(|| substrate(wanted))
        }
        _ => None,
    }
}

/// The command line with examples of what this build has only.
pub fn with_own_examples(command: clap::Command) -> clap::Command {
    if HAS_LINUX { command } else { of_model(command) }
}

fn of_model(command: clap::Command) -> clap::Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(text) => {
            let lines: Vec<&str> = text.lines().filter(|line| !needs_linux(line)).collect();
            command.after_help(lines.join("\n"))
        }
        None => command,
    };
    command.mut_subcommands(of_model)
}

/// Whether a line is an example of such a command or substrate.
fn needs_linux(line: &str) -> bool {
    let mut words = line.split_whitespace();
    if words.next() != Some("wirespeed") {
        return false;
    }
    let words: Vec<&str> = words.collect();
    let has_command = COMMANDS.iter().any(|(name, _)| words.first() == Some(name));
    let mut values = words.windows(2).filter(|pair| pair[0] == "--on").flat_map(|pair| pair[1].split(','));
    has_command || values.any(|value| SUBSTRATES.contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    /// The command line of a build with the model only.
    fn command() -> Command {
        let on =
            Arg::new("on").long("on").value_name("SUBSTRATE").value_delimiter(',').value_parser(["model"]);
        let examples = "Examples:\n  wirespeed run a.toml\n  wirespeed run a.toml --on model,kernel\n  wirespeed probe a b";
        Command::new("wirespeed").subcommand(Command::new("run").arg(on).after_help(examples))
    }

    fn message(words: &[&str]) -> Option<String> {
        let words = ["wirespeed"].iter().chain(words);
        let error = command().try_get_matches_from(words).unwrap_err();
        asked_for(&error).map(|failure| failure.to_string())
    }

    #[test]
    fn absent_substrates_and_commands_are_rejected_with_their_feature() {
        for (words, expected) in [
            (
                ["run", "--on", "hosts"],
                "substrate `hosts` is not part of this build; build with `--features hosts`",
            ),
            (
                ["run", "--on", "model,netns"],
                "substrate `netns` is not part of this build; build with `--features netns`",
            ),
            (["probe", "a", "b"], "command `probe` is not part of this build; build with `--features hosts`"),
            (
                ["kernel", "build", "--help"],
                "command `kernel` is not part of this build; build with `--features kernel`",
            ),
        ] {
            assert_eq!(message(&words).as_deref(), Some(expected));
        }
        assert_eq!(message(&["run", "--on", "moon"]), None);
        assert_eq!(message(&["prob"]), None);
    }

    #[test]
    fn examples_that_need_linux_are_left_out() {
        let command = of_model(command());
        let run = command.find_subcommand("run").unwrap();
        assert_eq!(run.get_after_help().unwrap().to_string(), "Examples:\n  wirespeed run a.toml");
    }
}
