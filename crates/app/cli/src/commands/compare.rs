//! `wirespeed compare`: folders of results beside each other.

use crate::commands::figures::FigureArguments;
use crate::commands::folder::create;
use crate::commands::report::{colour, runs_in, width};
use crate::failure::Failure;
use crate::print;
use clap::Args;
use std::path::{Path, PathBuf};
use wirespeed_campaign::judge_run;
use wirespeed_record::{RunState, open, replace_file};
use wirespeed_report::{Comparer, Comparison};

const PAGE: &str = "compare.html";

/// Arguments of `wirespeed compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed compare out/kernel out/model
  wirespeed compare before after --metric goodput_bps --metric rtt_mean_ns
  wirespeed compare before after --out both/page.html --figures pdf --figure-names compare-settings")]
pub struct Arguments {
    /// Folders that `wirespeed run` wrote; each is compared with the first.
    #[arg(required = true, num_args = 2.., value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Page to write, or a folder for it [default: compare.html in the first DIR].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Compare this metric instead of the main ones; may be repeated. The answer is about the first.
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    #[command(flatten)]
    figures: FigureArguments,
    /// Print the comparison as JSON instead of the table.
    #[arg(long)]
    json: bool,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    check_metrics(&arguments.metrics)?;
    check_folders(&arguments.folders)?;
    let mut comparer = Comparer::new(format!("wirespeed {}", crate::VERSION), command(arguments));
    for folder in &arguments.folders {
        comparer.folder(folder.display().to_string());
        add(&mut comparer, folder)?;
    }
    let comparison = comparer.finish(&arguments.metrics);
    if let Some(reason) = comparison.mismatch() {
        return Err(Failure::Usage {
            message: reason,
            remedy: "compare folders that the same scenario was run into: \
                     `wirespeed run FILE --out a`, again with another `--on` or `--set` and `--out b`"
                .into(),
        });
    }
    for warning in comparison.warnings() {
        crate::tell(&format!("warning: {warning}"));
    }
    conclude(arguments, &comparison)
}

fn check_metrics(names: &[String]) -> Result<(), Failure> {
    let Some(unknown) = names.iter().find(|name| wirespeed_metrics::find(name).is_none()) else {
        return Ok(());
    };
    let near = wirespeed_metrics::suggest(unknown).join(", ");
    let near = if near.is_empty() { String::new() } else { format!("near it: {near}; ") };
    Err(Failure::Usage {
        message: format!("--metric {unknown}: there is no such metric"),
        remedy: format!("{near}`wirespeed list metrics` shows all"),
    })
}

/// A folder against itself has no difference, and names could not tell the two apart.
fn check_folders(folders: &[PathBuf]) -> Result<(), Failure> {
    let place = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    for (index, folder) in folders.iter().enumerate() {
        if folders[..index].iter().any(|before| place(before) == place(folder)) {
            return Err(Failure::Usage {
                message: format!("{} is given twice", folder.display()),
                remedy: "give folders of different runs".into(),
            });
        }
    }
    Ok(())
}

/// Adds the runs of a folder, of which one at least is complete.
fn add(comparer: &mut Comparer, folder: &Path) -> Result<(), Failure> {
    let runs = runs_in(folder)?;
    let mut reasons = Vec::new();
    for path in &runs {
        let id = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        match open(path)? {
            RunState::Incomplete(reason) => {
                comparer.add_incomplete(id, reason.clone());
                reasons.push(reason);
            }
            RunState::Complete(_) => {
                judge_run(path)?.add_to(comparer, path.display().to_string())?;
            }
        }
    }
    match reasons.first().filter(|_| reasons.len() == runs.len()) {
        None => Ok(()),
        Some(reason) => Err(Failure::Usage {
            message: format!("{}: none of its runs is complete ({reason})", folder.display()),
            remedy: "run the command that wrote it again; it completes what is missing".into(),
        }),
    }
}

fn conclude(arguments: &Arguments, comparison: &Comparison) -> Result<(), Failure> {
    let page = match &arguments.out {
        Some(path) if path.is_dir() => path.join(PAGE),
        Some(path) => path.clone(),
        None => arguments.folders[0].join(PAGE),
    };
    let folder = match page.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    create(folder)?;
    replace_file(&page, comparison.html().as_bytes())
        .map_err(|source| Failure::Output { what: page.display().to_string(), source })?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&comparison.json()).expect("a comparison is plain data");
        print(&format!("{text}\n"))?;
    } else {
        print(&comparison.terminal(width(), colour()))?;
        print(&format!("\nPage: {}\n", page.display()))?;
    }
    arguments.figures.write(folder, &comparison.figure_files())
}

fn command(arguments: &Arguments) -> String {
    let folders = arguments.folders.iter().map(|folder| folder.display().to_string());
    let metrics = arguments.metrics.iter().map(|name| format!("--metric {name}"));
    let words: Vec<String> = folders.chain(metrics).collect();
    format!("wirespeed compare {}", words.join(" "))
}
