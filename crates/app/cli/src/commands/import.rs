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
use wirespeed_campaign::{StudyReport, judge};
use wirespeed_iperf3::{ImportError, MergeError, Source, parse, recording};
use wirespeed_record::{RunDirectory, read_lazily};
use wirespeed_report::StudyInfo;

/// Arguments of `wirespeed import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed import client.json
  wirespeed import client.json server.json --out imported

With both files, or with that of a client that ran with --get-server-output, goodput is what the server received. With \
the file of a sending client alone it is what the client wrote. The JSON has no TCP packets, no queues and no counters of \
the hosts; these are not recorded.")]
pub struct Arguments {
    /// JSON of iperf3 (-J or --json-stream): of the client, the server, or both of one test.
    #[arg(required = true, num_args = 1..=2, value_name = "FILE.json")]
    files: Vec<PathBuf>,
    /// Folder for the results [default: wirespeed-out/import-FILE].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The largest file taken, 64 MiB: a day of seconds of one stream is 40. In memory it is ten times as much.
const MOST_BYTES: u64 = 64 << 20;

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let texts: Vec<String> = arguments.files.iter().map(|file| text(file)).collect::<Result<_, _>>()?;
    let read = |(file, text): (&PathBuf, &String)| -> Result<Source, Failure> {
        let report = parse(text).map_err(|error| refused(file, &error))?;
        Ok(Source { name: file_name(file), report })
    };
    let sources = arguments.files.iter().zip(&texts).map(read).collect::<Result<Vec<_>, _>>()?;
    let mut recording = recording(sources).map_err(|error| unfit(&error))?;
    let words: Vec<String> = arguments.files.iter().map(|file| quoted(&file.display().to_string())).collect();
    let command = format!("wirespeed import {}", words.join(" "));
    recording.info.tool = crate::tool();
    recording.info.command.clone_from(&command);
    let out = arguments.out.clone().unwrap_or_else(|| default_folder(&arguments.files[0]));
    let runs = out.join("runs");
    create(&runs)?;
    let path = runs.join(&recording.info.id);
    let directory = RunDirectory::create(&path)?;
    for (file, text) in arguments.files.iter().zip(&texts) {
        let kept = directory.raw().join(file_name(file));
        std::fs::write(&kept, text)
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
    let judged = judge(read_lazily(&path)?, None, &[])?;
    let mut results = StudyReport::new(study);
    results.add(judged)?;
    let (report, tables) = results.finish();
    write_report(&out, &report, None)?;
    write_tables(&out, &tables)?;
    show(&report, Some(&out))?;
    let told: String = recording.info.warnings.iter().map(|warning| format!("note: {warning}\n")).collect();
    print_plain(&told)
}

fn text(file: &Path) -> Result<String, Failure> {
    let cannot = |reason: String| Failure::Usage {
        message: format!("cannot read {}: {reason}", file.display()),
        remedy: "give a file that `iperf3 -J --logfile FILE` or `iperf3 -J > FILE` wrote".into(),
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| cannot(error.to_string()))?;
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(cannot(format!("it is larger than {} MiB", MOST_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| cannot("it is no text".into()))
}

fn refused(file: &Path, error: &ImportError) -> Failure {
    Failure::Usage {
        message: format!("{}: {error}", file.display()),
        remedy: "`iperf3 -c SERVER -J --logfile FILE` writes what can be imported".into(),
    }
}

fn unfit(error: &MergeError) -> Failure {
    Failure::Usage {
        message: error.to_string(),
        remedy: "`wirespeed import CLIENT.json SERVER.json` takes the two sides of one test".into(),
    }
}

fn file_name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn default_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
    Path::new("wirespeed-out").join(format!("import-{stem}"))
}
