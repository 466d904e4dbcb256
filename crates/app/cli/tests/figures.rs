//! `--figures` as a user calls it.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;
use support::recordings::write_run;
use support::{errors, wirespeed};

/// Folder `a` with runs of reno and bic, and `b` with slower ones.
fn results() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, rate) in [("a", 800_000_000), ("b", 720_000_000)] {
        for control in ["reno", "bic"] {
            write_run(&folder.path().join(name), control, "kernel", rate);
        }
    }
    folder
}

fn succeeds(folder: &Path, arguments: &[&str]) -> Output {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    output
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("figures are written");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn figures_have_each_format_once_and_characters_that_the_fonts_have() {
    let folder = results();
    let output = succeeds(
        folder.path(),
        &["report", "a", "--figures", "svg,pdf,png,svg", "--png-dpi", "50", "--out", "out"],
    );
    assert!(errors(&output).is_empty(), "{}", errors(&output));
    let written = folder.path().join("out/figures");
    let names = names(&written);
    let stems = |extension: &str| -> Vec<String> {
        names.iter().filter_map(|name| Some(name.strip_suffix(extension)?.to_string())).collect()
    };
    assert!(stems(".svg").len() > 4, "{names:?}");
    assert_eq!(stems(".svg"), stems(".png"));
    assert_eq!(stems(".svg"), stems(".pdf"));
    for name in &names {
        let bytes = fs::read(written.join(name)).unwrap();
        match Path::new(name).extension().and_then(|e| e.to_str()) {
            Some("png") => {
                assert!(bytes.starts_with(b"\x89PNG"), "{name}");
                let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
                assert_eq!(width, 480, "{name}: 920 of 96 pixels an inch");
            }
            Some("pdf") => assert!(bytes.starts_with(b"%PDF-"), "{name}"),
            _ => assert!(bytes.starts_with(b"<svg"), "{name}"),
        }
    }
}

#[test]
fn figure_names_choose_by_figure_by_file_and_by_star() {
    let folder = results();
    let chosen = |patterns: &str, out: &str| {
        succeeds(
            folder.path(),
            &["report", "a", "--figures", "svg", "--figure-names", patterns, "--out", out],
        );
        names(&folder.path().join(out).join("figures"))
    };
    let cwnd = chosen("cwnd", "by-figure");
    assert_eq!(cwnd.len(), 2, "one for each run: {cwnd:?}");
    assert!(cwnd.iter().all(|name| name.ends_with("-cwnd.svg")), "{cwnd:?}");
    let one = cwnd.iter().next().unwrap();
    assert_eq!(chosen(one.trim_end_matches(".svg"), "by-file"), BTreeSet::from([one.clone()]));
    let study = chosen("study-*", "by-star");
    assert!(!study.is_empty() && study.iter().all(|name| name.starts_with("study-")), "{study:?}");
}

#[test]
fn unknown_figure_name_lists_the_names_after_the_report_is_written() {
    let folder = results();
    let output = wirespeed(
        folder.path(),
        &["report", "a", "--figures", "pdf", "--figure-names", "cwnd,window", "--out", "out"],
    );
    assert_eq!(output.status.code(), Some(2));
    let text = errors(&output);
    for word in ["--figure-names window", "cwnd", "goodput"] {
        assert!(text.contains(word), "`{word}` is missing in {text}");
    }
    assert!(folder.path().join("out/report.html").is_file());
    assert!(!folder.path().join("out/figures").exists(), "nothing is written by halves");
}

#[test]
fn options_without_formats_and_resolutions_out_of_range_are_refused() {
    let folder = results();
    for arguments in [
        ["--figure-names", "cwnd"].as_slice(),
        &["--png-dpi", "600"],
        &["--figures", "jpeg"],
        &["--figures", "png", "--png-dpi", "20"],
    ] {
        let output = wirespeed(folder.path(), &[&["report", "a"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(!folder.path().join("a/figures").exists());
    }
}

#[test]
fn compare_writes_figures_beside_its_page() {
    let folder = results();
    fs::create_dir(folder.path().join("both")).unwrap();
    let arguments = ["compare", "a", "b", "--out", "both", "--figures", "pdf"];
    succeeds(folder.path(), &arguments);
    let names = names(&folder.path().join("both/figures"));
    assert!(names.contains("compare-settings.pdf"), "{names:?}");
    assert!(names.contains("compare-bic-r0-cwnd.pdf"), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("compare-")), "{names:?}");
}
