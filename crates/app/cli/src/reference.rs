//! The pages of reference that follow from the command line. The committed ones are compared; `WIRESPEED_BLESS=1` writes them.

use crate::{GROUPS, command};
use clap::{Arg, ArgAction, Command};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Command line

<!-- Generated from crates/app/cli by `WIRESPEED_BLESS=1 cargo test -p wirespeed reference`. Do not edit. -->

Look up here every command, with its options and examples. `wirespeed COMMAND --help` prints the same, and
`wirespeed man DIR` writes it as manual pages. [Environment and exit codes](environment.md) applies to all commands.

Quantities have units, such as `\"10 s\"` or `\"2 Gbit/s\"`. Every command also has `-h` and `--help`.
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// One sentence with its full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let end = if text.is_empty() || text.ends_with(['.', '?', ':', ']']) { "" } else { "." };
    format!("{text}{end}")
}

/// An option or an argument as a user types it.
fn spelled(argument: &Arg) -> String {
    let names =
        [argument.get_short().map(|c| format!("-{c}")), argument.get_long().map(|name| format!("--{name}"))];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let takes_values = argument.get_action().takes_values();
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(|name| format!("<{name}>")).collect();
    match names.is_empty() {
        true if values.is_empty() => format!("`<{}>`", argument.get_id().as_str().to_uppercase()),
        true => format!("`{}`", values.join(" ")),
        false if takes_values && !values.is_empty() => {
            format!("`{} {}`", names.join("`, `"), values.join(" "))
        }
        false => format!("`{}`", names.join("`, `")),
    }
}

fn argument(out: &mut String, place: &str, argument: &Arg) {
    let name = argument.get_long().unwrap_or(argument.get_id().as_str());
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let _ = write!(out, "- <a id=\"{place}.{name}\"></a>{}: {}", spelled(argument), sentence(&help));
    let values = argument.get_possible_values();
    let values: Vec<String> = values
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if argument.get_action().takes_values() && !values.is_empty() {
        let _ = write!(out, " One of {}.", values.join(", "));
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    if argument.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(out, " Default: `{}`.", defaults.join(" "));
    }
    out.push('\n');
}

/// Lines below a heading such as `Examples:` are shown as they are; other paragraphs are text.
fn after_help(out: &mut String, text: &str) {
    for paragraph in text.trim().split("\n\n") {
        match paragraph.split_once(":\n") {
            Some((heading, lines)) if !heading.contains('\n') => {
                let lines: Vec<&str> =
                    lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
                let _ = write!(out, "\n{heading}:\n\n```console\n{}\n```\n", lines.join("\n"));
            }
            _ => {
                let _ = write!(out, "\n{paragraph}\n");
            }
        }
    }
}

/// A command, and below it its own commands.
fn section(out: &mut String, path: &str, command: &mut Command) {
    let place = path.replace(' ', "-");
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = write!(out, "\n<a id=\"{place}\"></a>\n### `wirespeed {path}`\n\n{}\n\n", sentence(&about));
    let _ = write!(out, "```console\n{usage}\n```\n");
    let visible = |argument: &&Arg| {
        !argument.is_hide_set()
            && !matches!(
                argument.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            )
    };
    let positional: Vec<&Arg> = command.get_positionals().filter(visible).collect();
    let options: Vec<&Arg> =
        command.get_arguments().filter(|argument| !argument.is_positional()).filter(visible).collect();
    let mut headings: Vec<&str> = Vec::new();
    for option in &options {
        let heading = option.get_help_heading().unwrap_or("Options");
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    let mut list = |heading: &str, arguments: &mut dyn Iterator<Item = &&Arg>| {
        let _ = write!(out, "\n{heading}:\n\n");
        arguments.for_each(|found| argument(out, &place, found));
    };
    if !positional.is_empty() {
        list("Arguments", &mut positional.iter());
    }
    for heading in headings {
        let of_heading = |option: &&&Arg| option.get_help_heading().unwrap_or("Options") == heading;
        list(heading, &mut options.iter().filter(of_heading));
    }
    if let Some(text) = command.get_after_help() {
        after_help(out, &text.to_string());
    }
    for below in
        command.get_subcommands_mut().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        let path = format!("{path} {}", below.get_name());
        section(out, &path, below);
    }
}

/// The page of the commands.
fn page() -> String {
    let mut all = command();
    all.build();
    let mut out = String::from(HEAD);
    for (group, names) in GROUPS {
        let _ = write!(out, "\n## {group}\n");
        for name in names {
            let found = all.find_subcommand_mut(name).unwrap_or_else(|| panic!("{name} is a command"));
            section(&mut out, name, found);
        }
    }
    out
}

#[test]
fn page_of_commands_is_up_to_date() {
    let path = root().join("docs/reference/cli.md");
    let page = page();
    if std::env::var_os("WIRESPEED_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, &page).expect("the page can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/cli.md differs from the command line; write it with\n  \
         WIRESPEED_BLESS=1 cargo test -p wirespeed reference"
    );
}
