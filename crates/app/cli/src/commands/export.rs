//! `wirespeed export`: recordings for other programs.

use super::folder::{cannot_write, create};
use super::report::runs_in;
use crate::failure::Failure;
use crate::{print_plain, tell};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use wirespeed_exchange::{Export, Planned, exports};
use wirespeed_record::{Recording, RunState, open, read};

/// Stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// Arguments of `wirespeed export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed export wirespeed-out/first-look --format csv --out tables
  wirespeed export wirespeed-out/first-look --format flent --out data   # then: flent-gui data/*.flent.gz
  wirespeed export wirespeed-out/probe-dtn1-dtn2 --format iperf3 --out json
  wirespeed export wirespeed-out/probe-dtn1-dtn2 --format iperf3 --out - | jq .end.sum_received

Values that were not recorded are left out, or null where other programs need the key. Files that are there already are not \
overwritten.")]
pub struct Arguments {
    /// Folder of runs: a single run, or the output folder of a study.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Format of the files.
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    format: Format,
    /// Folder for the files, or - to print the file of a single run.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// A format of the registry.
#[derive(Clone, Copy)]
struct Format(&'static dyn Export);

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let values = exports().iter().map(|format| PossibleValue::new(format.name()).help(format.about()));
    PossibleValuesParser::new(values).try_map(|name| {
        let found = exports().iter().find(|format| format.name() == name);
        found.map(|format| Format(*format)).ok_or_else(|| format!("`{name}` is not a format"))
    })
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Format(format) = arguments.format;
    let paths = runs_in(&arguments.folder)?;
    let mut runs = Vec::new();
    for path in paths {
        match open(&path)? {
            RunState::Complete(info) => runs.push((path, info.id)),
            RunState::Incomplete(reason) => {
                tell(&format!("note: {} is left out, since it is incomplete: {reason}", path.display()));
            }
        }
    }
    if runs.is_empty() {
        return Err(Failure::Usage {
            message: format!("{} holds no complete run", arguments.folder.display()),
            remedy: "complete its runs with the command that began them".into(),
        });
    }
    if arguments.out == Path::new(STANDARD_OUTPUT) {
        return to_standard_output(format, &runs);
    }
    // Files that exist are found before anything is written. One run is in memory at a time.
    let mut in_the_way = Vec::new();
    for (path, _) in &runs {
        let recording = read(path)?;
        let files = planned(format, &recording)?;
        in_the_way
            .extend(files.into_iter().map(|file| arguments.out.join(file.name)).filter(|path| path.exists()));
    }
    if !in_the_way.is_empty() {
        return Err(occupied(&in_the_way));
    }
    create(&arguments.out)?;
    let (mut written, mut reduced, total) = (0, 0, runs.len());
    for (path, _) in &runs {
        let recording = read(path)?;
        reduced += usize::from(!recording.info.series.is_all());
        for file in planned(format, &recording)? {
            let path = arguments.out.join(&file.name);
            write_new(file, &path).map_err(|source| cannot_write(&path, source))?;
            written += 1;
        }
    }
    if reduced > 0 {
        let of = counted(reduced, "run");
        tell(&format!(
            "note: not all series of {of} were kept (run.series); files have the rows that were kept"
        ));
    }
    let (runs, files) = (counted(total, "run"), counted(written, "file"));
    print_plain(&format!("Exported {runs} as {} to {}: {files}\n", format.name(), arguments.out.display()))
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}

fn planned<'a>(format: &'static dyn Export, recording: &'a Recording) -> Result<Vec<Planned<'a>>, Failure> {
    format.plan(recording).map_err(|error| Failure::Usage {
        message: error.to_string(),
        remedy: "name a folder whose runs have flows, or use `--format csv`".into(),
    })
}

fn occupied(paths: &[PathBuf]) -> Failure {
    const MOST: usize = 5;
    let mut names: Vec<String> = paths.iter().take(MOST).map(|path| path.display().to_string()).collect();
    if paths.len() > MOST {
        names.push(format!("{} more", paths.len() - MOST));
    }
    let (verb, object) = if paths.len() == 1 { ("exists", "it") } else { ("exist", "them") };
    Failure::Usage {
        message: format!("{} {verb} already", names.join(", ")),
        remedy: format!("remove {object}, or name another folder with --out"),
    }
}

/// Writes a file that is not there yet. One that cannot be written completely is removed.
fn write_new(file: Planned, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut into = BufWriter::new(File::create_new(path)?);
    let result = file.write(&mut into).and_then(|()| into.flush());
    if result.is_err() {
        // That it cannot be removed either changes nothing.
        let _ = std::fs::remove_file(path);
    }
    result
}

/// Prints the only file of the only run.
fn to_standard_output(format: &'static dyn Export, runs: &[(PathBuf, String)]) -> Result<(), Failure> {
    let several = |what: String| Failure::Usage {
        message: format!("{what} cannot be printed as one"),
        remedy: "name the folder of one run, or a folder for the files with --out".into(),
    };
    let [(path, _)] = runs else { return Err(several(counted(runs.len(), "run"))) };
    let recording = read(path)?;
    let mut files = planned(format, &recording)?;
    if files.len() != 1 {
        return Err(several(counted(files.len(), "file")));
    }
    let Some(file) = files.pop() else { return Ok(()) };
    let mut into = BufWriter::new(io::stdout().lock());
    match file.write(&mut into).and_then(|()| into.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|source| Failure::Output { what: "standard output".into(), source }),
    }
}
