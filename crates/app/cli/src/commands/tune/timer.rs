//! The process of the dead-man timer: it outlives the session that started it.

use super::output::note;
use crate::commands::linux::own_program;
use crate::failure::Failure;
use clap::Args;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use wirespeed_tuning::{Flow, Folder, Process, ThisHost, TimerOutcome, wait_for_confirmation};
use wirespeed_units::Span;

/// Arguments of the process.
#[derive(Debug, Args)]
pub struct Arguments {
    #[arg(long)]
    state: PathBuf,
    #[arg(long)]
    journal: PathBuf,
    #[arg(long)]
    within_ms: u64,
}

/// A time such as `60s` or `2 min`.
pub fn time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: <Span as std::str::FromStr>::Err| error.to_string())?;
    match duration(span) {
        within if within < Duration::from_secs(1) => Err("a confirmation needs at least 1 s".into()),
        _ => Ok(span),
    }
}

/// The same for the standard library.
pub fn duration(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.picoseconds() / 1000).unwrap_or(0))
}

/// Starts the process in a session of its own, so that the end of this one does not end it.
pub fn start(folder: &Path, journal: &Path, within: Span) -> io::Result<Process> {
    let program = own_program().map_err(|error| io::Error::other(error.to_string()))?;
    let (folder, journal) = (folder.canonicalize()?, journal.canonicalize()?);
    let log = OpenOptions::new().create(true).append(true).open(folder.join("timer.log"))?;
    let mut command = Command::new(program);
    command
        .args(["tune", "watch", "--within-ms"])
        .arg(duration(within).as_millis().to_string())
        .arg("--state")
        .arg(folder)
        .arg("--journal")
        .arg(journal)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    // SAFETY: setsid has no arguments and may be called between fork and exec (signal-safety(7)).
    unsafe {
        command.pre_exec(|| if libc::setsid() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) });
    }
    let child = command.spawn()?;
    Process::of(child.id()).ok_or_else(|| io::Error::other("the process ended at once"))
}

/// The process itself.
pub fn watch(arguments: &Arguments) -> Result<(), Failure> {
    let within = Duration::from_millis(arguments.within_ms);
    let folder = Folder::new(&arguments.state);
    let outcome = wait_for_confirmation(
        &mut ThisHost,
        &folder,
        &arguments.journal,
        within,
        &mut |_: wirespeed_tuning::Point<'_>| Flow::Continue,
    );
    let journal = arguments.journal.display();
    match outcome.map_err(|error| Failure::Environment(error.to_string()))? {
        TimerOutcome::Confirmed => note(&format!("{journal}: confirmed")),
        TimerOutcome::AlreadyReverted => note(&format!("{journal}: put back before the time was over")),
        TimerOutcome::TimedOut(report) => {
            note(&format!(
                "{journal}: no confirmation came; {} settings are put back",
                report.restored.len()
            ));
            for failed in &report.failed {
                note(&format!("{journal}: {failed}"));
            }
        }
    }
    Ok(())
}
