//! The help of every command, as it was last read by somebody. `INSTA_UPDATE=always` writes the snapshots.

mod support;

use std::path::Path;
use support::{errors, wirespeed};

/// The help of a command at the width that programs without a terminal get.
fn help(words: &[&str]) -> String {
    let output = wirespeed(Path::new("."), &[words, &["--help"]].concat());
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_of_every_command_is_as_reviewed() {
    for command in [
        "",
        "probe",
        "mesh",
        "agent",
        "agent serve",
        "doctor",
        "inventory",
        "run",
        "compare",
        "report",
        "import",
        "execute",
        "reproduce",
        "validate",
        "list",
        "list runs",
        "explain",
        "schema",
        "kernel",
        "kernel build",
        "cc",
        "cc status",
        "cc load",
        "cc unload",
        "tune",
        "tune plan",
        "tune apply",
        "tune revert",
        "tune confirm",
        "tune status",
        "completions",
        "man",
    ] {
        let words: Vec<&str> = command.split_whitespace().collect();
        let name = if command.is_empty() { "wirespeed".into() } else { words.join("-") };
        insta::assert_snapshot!(name, help(&words));
    }
}

#[test]
fn no_line_of_help_is_wider_than_the_terminal() {
    for command in ["probe", "run", "validate", "mesh", "cc"] {
        let text = help(&[command]);
        let wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{command}");
    }
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = wirespeed(Path::new("."), &["completions", shell]);
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && script.contains("probe") && script.contains("zero-copy"),
            "{shell}"
        );
    }
}

#[test]
fn manual_has_a_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let output = wirespeed(folder.path(), &["man", "pages"]);
    assert!(output.status.success(), "{}", errors(&output));
    for page in ["wirespeed.1", "wirespeed-probe.1", "wirespeed-agent-serve.1", "wirespeed-cc-load.1"] {
        let text = std::fs::read_to_string(folder.path().join("pages").join(page));
        let text = text.unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.starts_with(".") && text.contains("Examples"), "{page}: {text}");
    }
    let hidden = folder.path().join("pages/wirespeed-serve-agent.1");
    assert!(!hidden.exists(), "{} is an earlier name", hidden.display());
}
