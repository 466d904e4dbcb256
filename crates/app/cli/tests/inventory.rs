//! `wirespeed inventory` on this host, from a snapshot, and over ssh, in whose place a script starts the program here.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use support::{command, errors, wirespeed};

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn snapshot_of_this_host_is_drawn_as_the_host_itself() {
    let folder = tempfile::tempdir().unwrap();
    let output = wirespeed(folder.path(), &["inventory", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(text(&output).contains("\"format_version\": 1"), "{}", text(&output));
    fs::write(folder.path().join("host.json"), &output.stdout).unwrap();
    let drawn = wirespeed(folder.path(), &["inventory", "--from", "host.json"]);
    assert_eq!(drawn.status.code(), Some(0), "{}", errors(&drawn));
    let drawn = text(&drawn);
    assert!(
        drawn.contains("┌─ Socket 0") && drawn.contains("interface  ") && drawn.contains("lo"),
        "{drawn}"
    );
}

#[test]
fn redacted_snapshot_has_no_name_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = r#"{"format_version": 1, "host": "secret-name", "routes": [{"destination": "10.9.8.0/24", "interface": "eth0"}]}"#;
    fs::write(folder.path().join("host.json"), snapshot).unwrap();
    let output = wirespeed(folder.path(), &["inventory", "--from", "host.json", "--json", "--redact"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let redacted = text(&output);
    assert!(redacted.contains("host-1") && redacted.contains("eth0"), "{redacted}");
    assert!(!redacted.contains("secret-name") && !redacted.contains("10.9.8"), "{redacted}");
}

#[test]
fn picture_is_written_to_a_new_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let draw = || wirespeed(folder.path(), &["inventory", "--svg", "host.svg"]);
    let output = draw();
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let picture = fs::read_to_string(folder.path().join("host.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    let again = draw();
    assert_eq!(again.status.code(), Some(2));
    assert!(errors(&again).contains("host.svg exists already"), "{}", errors(&again));
    assert_eq!(fs::read_to_string(folder.path().join("host.svg")).unwrap(), picture);
}

#[test]
fn file_that_is_not_a_snapshot_is_rejected_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("other.json"), "{}").unwrap();
    for file in ["other.json", "absent.json"] {
        let output = wirespeed(folder.path(), &["inventory", "--from", file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        let message = errors(&output);
        assert!(message.contains(file) && message.contains("wirespeed inventory --json"), "{message}");
    }
}

/// A program in the place of ssh: it runs the command on this machine, with a home of its own, or fails for host `gone`.
fn local_ssh(folder: &Path) -> String {
    let script = folder.join("ssh");
    let home = folder.join("home");
    fs::create_dir_all(&home).unwrap();
    let lines = "#!/bin/sh\nfor word; do case \"$word\" in gone) echo 'no route to host gone' >&2; exit 255;; esac; last=$word; done\n";
    fs::write(&script, format!("{lines}HOME='{}' exec sh -c \"$last\"\n", home.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[test]
fn far_hosts_are_read_by_a_copy_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = local_ssh(folder.path());
    let read = |words: &[&str]| command(folder.path(), words).env("WIRESPEED_SSH", &ssh).output().unwrap();
    let output = read(&["inventory", "dtn1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let own = wirespeed(folder.path(), &["inventory", "--json"]);
    let kernel =
        |output: &Output| text(output).lines().find(|line| line.contains("\"kernel\"")).map(str::to_owned);
    assert_eq!(kernel(&output), kernel(&own));
    let copies = fs::read_dir(folder.path().join("home/.cache/wirespeed")).unwrap().count();
    assert_eq!(copies, 1);
    let output = read(&["inventory", "dtn1", "gone"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output).contains("┌─ Socket 0"), "the other host is drawn");
    let message = errors(&output);
    assert!(message.contains("host gone: no route to host gone"), "{message}");
    assert!(message.contains("1 of 2 hosts could not be read"), "{message}");
}
