//! `wirespeed import`: a recording made of what another program measured.

use super::folder::create;
use super::report::show;
use super::run::{quoted, write_report, write_tables};
use crate::failure::Failure;
use crate::print_plain;
use clap::Args;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use wirespeed_campaign::{StudyReport, judge_run};
use wirespeed_exchange::{Content, ImportError, MOST_BYTES, Source, recording};
use wirespeed_record::RunDirectory;
use wirespeed_report::StudyInfo;

/// Arguments of `wirespeed import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed import client.json
  wirespeed import client.json server.json --out imported
  wirespeed import tcp_nup-2026-11-24T180116.dtn1.flent.gz
  wirespeed import ss.log                    # `ss -tin` again and again, each with the time before it (date +%s.%N)
  wirespeed import pscheduler-result.json    # of: pscheduler result --format json RUN

The format is recognised from the content. With both files of iperf3, or with that of a client that ran with \
--get-server-output, goodput is what the server received. With the file of a sending client alone it is what the client wrote. \
Queues, counters of the hosts and other things that a format does not have are not recorded.")]
pub struct Arguments {
    /// File of iperf3 (-J or --json-stream), flent, ss (with times) or pScheduler. Of an iperf3 test, the client's, the
    /// server's, or both.
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder for the results [default: wirespeed-out/import-FILE].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (mut sources, mut originals) = (Vec::new(), Vec::new());
    for file in &arguments.files {
        let bytes = bytes(file)?;
        originals.push(bytes.clone());
        let content = Content::new(bytes).map_err(|error| refused(&[file], &error))?;
        sources.push(Source { name: file_name(file), content });
    }
    let mut recording = recording(&sources).map_err(|error| {
        let files: Vec<&PathBuf> = arguments.files.iter().collect();
        refused(&files, &error)
    })?;
    drop(sources);
    let words: Vec<String> = arguments.files.iter().map(|file| quoted(&file.display().to_string())).collect();
    let command = format!("wirespeed import {}", words.join(" "));
    recording.info.tool = crate::tool();
    recording.info.command.clone_from(&command);
    let out = arguments.out.clone().unwrap_or_else(|| default_folder(&arguments.files[0]));
    let runs = out.join("runs");
    create(&runs)?;
    let path = runs.join(&recording.info.id);
    let directory = RunDirectory::create(&path)?;
    for (file, bytes) in arguments.files.iter().zip(&originals) {
        let kept = directory.raw().join(file_name(file));
        std::fs::write(&kept, bytes)
            .map_err(|source| Failure::Output { what: kept.display().to_string(), source })?;
    }
    directory.finish(&recording)?;
    let study = StudyInfo {
        name: recording.info.study.clone(),
        about: recording.info.about.clone(),
        command,
        generated_by: format!("wirespeed {}", crate::VERSION),
        ..StudyInfo::default()
    };
    let judged = judge_run(&path)?;
    let mut results = StudyReport::new(study);
    results.add(judged)?;
    let (report, tables) = results.finish();
    write_report(&out, &report)?;
    write_tables(&out, &tables)?;
    show(&report, Some(&out))?;
    let told: String = recording.info.warnings.iter().map(|warning| format!("note: {warning}\n")).collect();
    print_plain(&told)
}

fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |reason: String| Failure::Usage {
        message: format!("cannot read {}: {reason}", file.display()),
        remedy: "`wirespeed import --help` lists the files that can be imported".into(),
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| cannot(error.to_string()))?;
    // One byte more than is imported shows that the file is too large.
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    Ok(bytes)
}

fn refused(files: &[&PathBuf], error: &ImportError) -> Failure {
    let message = match (files, error) {
        // These name the files themselves.
        (_, ImportError::Iperf3 { .. } | ImportError::Merge(_) | ImportError::SeveralFormats { .. }) => {
            error.to_string()
        }
        ([file], _) => format!("{}: {error}", file.display()),
        _ => error.to_string(),
    };
    let remedy = match error {
        ImportError::Merge(_) | ImportError::OneFile { .. } => {
            "`wirespeed import CLIENT.json SERVER.json` takes the two sides of one iperf3 test, and one file of any other program"
        }
        ImportError::Iperf3 { .. } => "`iperf3 -c SERVER -J --logfile FILE` writes what can be imported",
        ImportError::Newer { .. } => "use a newer wirespeed, or export the file again in an older version",
        _ => "`wirespeed import --help` has an example for each format",
    };
    Failure::Usage { message, remedy: remedy.into() }
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn default_folder(file: &Path) -> PathBuf {
    let name = file_name(file);
    let stem =
        name.strip_suffix(".flent.gz").map(Path::new).or_else(|| Path::new(&name).file_stem().map(Path::new));
    let stem = stem.unwrap_or(Path::new(&name)).display();
    Path::new("wirespeed-out").join(format!("import-{stem}"))
}
