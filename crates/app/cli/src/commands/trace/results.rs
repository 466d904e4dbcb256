//! A capture as a folder of results, as of a run of any substrate.

use super::super::folder::create;
use super::super::run::{write_report, write_tables};
use crate::failure::Failure;
use std::path::Path;
use wirespeed_campaign::{StudyReport, judge_run};
use wirespeed_capture::{
    CaptureError, CaptureFacts, Captured, Connection, EndReason, Input, Observer, Settings,
};
use wirespeed_reconstruction::Sampler;
use wirespeed_record::{Recording, RunDirectory, replace_file};
use wirespeed_report::StudyInfo;
use wirespeed_trace::{Analyzer, Options, Trace};

/// The file that shows that a folder has the results of a trace.
const MARK: &str = "trace.json";

/// Analyzes a capture and samples its flows at once.
struct Both {
    analyzer: Analyzer,
    sampler: Sampler,
}

impl Observer for Both {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        self.analyzer.packet(captured, connection);
        self.sampler.packet(captured, connection);
    }

    fn ended(&mut self, connection: &Connection, reason: EndReason) {
        self.analyzer.ended(connection, reason);
        self.sampler.ended(connection, reason);
    }
}

/// A capture that was read.
pub(super) struct Read {
    pub trace: Trace,
    pub facts: CaptureFacts,
    /// Samples of its flows.
    pub sampler: Sampler,
}

/// Reads a capture, as [`wirespeed_trace::read`], with samples of its flows.
pub(super) fn read(input: Input<'_>, options: Options) -> Result<Read, CaptureError> {
    let mut both = Both { analyzer: Analyzer::new(options), sampler: Sampler::default() };
    let facts = wirespeed_capture::read(input, &Settings::default(), &mut both)?;
    Ok(Read { trace: both.analyzer.finish(), facts, sampler: both.sampler })
}

/// Rejects a folder that has the results of something else.
pub(super) fn check(folder: &Path) -> Result<(), Failure> {
    if folder.join("runs").exists() && !folder.join(MARK).exists() {
        return Err(Failure::Usage {
            message: format!("{} has results of other runs, which a trace would change", folder.display()),
            remedy: "name a new folder: --out DIR".into(),
        });
    }
    Ok(())
}

/// The name of a file without its folder.
pub(super) fn name_of(file: &Path) -> String {
    match file.as_os_str() == "-" {
        true => "standard input".into(),
        false => file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned(),
    }
}

/// Writes text and JSON of a trace, and the recording with its report. `source` is the capture as on the command line. A capture without data has no recording.
pub(super) fn write(
    folder: &Path,
    shown: &str,
    json: &str,
    mut recording: Recording,
    source: &str,
) -> Result<(), Failure> {
    check(folder)?;
    create(folder)?;
    let keep = |name: &str, text: &str| {
        let path = folder.join(name);
        replace_file(&path, text.as_bytes())
            .map_err(|source| Failure::Output { what: path.display().to_string(), source })
    };
    keep("trace.txt", shown)?;
    keep(MARK, json)?;
    if recording.info.flows.is_empty() {
        return Ok(());
    }
    let command = format!("wirespeed trace {source}");
    recording.info.tool = crate::tool();
    recording.info.command.clone_from(&command);
    let runs = folder.join("runs");
    create(&runs)?;
    let path = runs.join(&recording.info.id);
    RunDirectory::create(&path)?.finish(&recording)?;
    let study = StudyInfo {
        name: recording.info.study.clone(),
        about: recording.info.about.clone(),
        command,
        generated_by: format!("wirespeed {}", crate::VERSION),
        ..StudyInfo::default()
    };
    let mut results = StudyReport::new(study);
    results.add(judge_run(&path)?)?;
    let (report, tables) = results.finish();
    write_report(folder, &report)?;
    write_tables(folder, &tables)
}
