//! `wirespeed report`: the report of runs that are there.

use super::figures::FigureArguments;
use super::folder::create;
use super::results::Said;
use super::run::{cores, write_report, write_tables};
use crate::failure::Failure;
use crate::print;
use clap::Args;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use wirespeed_campaign::{StudyReport, in_order, judge_run};
use wirespeed_record::{StoreError, find_runs};
use wirespeed_report::{FigureRequest, Report, StudyInfo};

/// Arguments of `wirespeed report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed report wirespeed-out/first-look
  wirespeed report wirespeed-out/probe-dtn1-dtn2      # all measurements of a pair in one report
  wirespeed report a b --out both --figures svg
  wirespeed report wirespeed-out/sweep --figures pdf --figure-names \"study-*,cwnd\"
  wirespeed report wirespeed-out/sweep --figure \"scatter against=loss_fraction by=congestion\"")]
pub struct Arguments {
    /// Folders of runs: a single run, or the output folder of a study.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder for report.html [default: the first DIR].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    figures: FigureArguments,
    /// Add a figure across runs, for example "line metric=rtt_q95_ns x=buffer"; may be repeated.
    #[arg(long, value_name = "REQUEST")]
    figure: Vec<String>,
    /// Print the results as JSON instead of the table, in the form of `wirespeed run --json`.
    #[arg(long)]
    json: bool,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut paths = Vec::new();
    let mut factors = BTreeSet::new();
    for folder in &arguments.folders {
        paths.extend(runs_in(folder)?);
    }
    let (total, mut unreadable) = (paths.len(), 0);
    let mut said = Said::new(arguments.json, total);
    let words: Vec<String> = arguments.folders.iter().map(|folder| folder.display().to_string()).collect();
    let mut study = StudyInfo {
        generated_by: format!("wirespeed {}", crate::VERSION),
        command: format!("wirespeed report {}", words.join(" ")),
        ..Default::default()
    };
    let mut results = StudyReport::new(StudyInfo::default());
    in_order(
        &paths,
        cores(),
        |path| judge_run(path),
        |path, judged| {
            let reason = match judged {
                Ok(judged) => {
                    let info = &judged.recording.info;
                    study.name.clone_from(&info.study);
                    study.about.clone_from(&info.about);
                    factors.extend(info.factors.keys().cloned());
                    said.add(&judged)?;
                    return Ok(results.add(judged)?);
                }
                Err(StoreError::Incomplete { reason, .. }) => reason,
                // One that is damaged takes nothing from the others.
                Err(error) if total > 1 => {
                    unreadable += 1;
                    error.to_string()
                }
                Err(error) => return Err(Failure::from(error)),
            };
            let id = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            said.add_incomplete(&id, None, &reason);
            results.add_incomplete(id, reason);
            Ok(())
        },
    )?;
    study.figures = requests(&arguments.figure, &factors.iter().map(String::as_str).collect::<Vec<_>>())?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.folders[0].clone());
    create(&out)?;
    let name = study.name.clone();
    let (report, tables) = results.about(study).finish();
    write_report(&out, &report)?;
    write_tables(&out, &tables)?;
    said.print(&name, &report, Some(&out))?;
    arguments.figures.write(&out, &report.figure_files())?;
    match unreadable {
        0 => Ok(()),
        failed => Err(Failure::Unreadable { failed, total }),
    }
}

/// The figures that `--figure` asks for, over runs with these factors.
pub(crate) fn requests(texts: &[String], factors: &[&str]) -> Result<Vec<FigureRequest>, Failure> {
    let metrics: Vec<(&str, &str)> = wirespeed_metrics::all().iter().map(|m| (m.name, m.unit)).collect();
    let request = |text: &String| Ok(FigureRequest::parse(text, factors, &metrics)?);
    texts.iter().map(request).collect()
}

/// The runs in a folder, at least one.
pub fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let missing = |what| Failure::Usage {
        message: format!("{} {what}", folder.display()),
        remedy: "give the folder that `wirespeed run` wrote, or one of its runs".into(),
    };
    if !folder.is_dir() {
        return Err(missing("is not a folder that is there"));
    }
    let runs = find_runs(folder)?;
    if runs.is_empty() { Err(missing("holds no runs")) } else { Ok(runs) }
}

/// Prints the table, and where the report is if it is somewhere.
pub fn show(report: &Report, out: Option<&Path>) -> Result<(), Failure> {
    print(&report.terminal(width(), colour()))?;
    match out {
        Some(out) => print(&format!("\nReport: {}\n", out.join("report.html").display())),
        None => Ok(()),
    }
}

/// Columns of the table: the terminal's, but at most 100 without one.
pub fn width() -> usize {
    const WITHOUT_TERMINAL: usize = 100;
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns.unwrap_or(WITHOUT_TERMINAL).clamp(60, 200)
}

/// Whether to colour (<https://no-color.org>).
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
