//! A recording that somebody else made, or damaged: reading it ends in a report and a comparison that a page and a terminal can
//! show, or in a mistake with the file's name.

use serde::de::DeserializeOwned;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex, PoisonError};
use tempfile::TempDir;
use wirespeed_campaign::{Judged, StudyReport, judge};
use wirespeed_record::{KeptSeries, Recording, RunDirectory, read, read_lazily, tables};
use wirespeed_report::StudyInfo;
use wirespeed_substrates::{Control, Model, Substrate};

/// A whole run of two flows in a folder: what is damaged is damaged there, and mended.
struct Whole {
    _folder: TempDir,
    path: PathBuf,
    recording: Recording,
    /// Its files with their content.
    files: Vec<(PathBuf, Vec<u8>)>,
}

static WHOLE: LazyLock<Mutex<Whole>> = LazyLock::new(|| {
    let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"2 ms\"\nloss = 0.02\n[[flow]]\n[[flow]]\n\
                kind = \"udp\"\nrate = \"1 Mbit/s\"\n[run]\nduration = \"60 ms\"\nsample = \"3 ms\"\n";
    let run = wirespeed_scenario::parse(text, "t.toml", &[], None).expect("it is a scenario").runs.remove(0);
    // In memory where there is such a folder: it is written to some hundred times a second.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    let folder = folder.expect("there is room for a small run");
    let path = folder.path().join("run");
    let directory = RunDirectory::create(&path).expect("it can be written");
    let control = Control { cancel: &AtomicBool::new(false), progress: &|_| () };
    let recording = Model.carry_out(&run, &directory, &control).expect("the model carries it out");
    directory.finish(&recording).expect("it can be written");
    let mut files: Vec<_> = ["run.json".to_owned()]
        .into_iter()
        .chain(tables().into_iter().map(|(table, ..)| format!("{table}.parquet")))
        .map(|name| path.join(name))
        .filter_map(|file| Some((file.clone(), fs::read(&file).ok()?)))
        .collect();
    files.sort();
    let recording = read(&path).expect("it is whole");
    Mutex::new(Whole { _folder: folder, path, recording, files })
});

/// Reads the run with one of its files replaced by `bytes`, or changed at places: `changes` are two bytes of a place, one that is
/// put there.
pub fn damaged(which: u8, bytes: Option<&[u8]>, changes: &[u8]) {
    let whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    let (file, content) = &whole.files[usize::from(which) % whole.files.len()];
    let mut content = bytes.unwrap_or(content).to_vec();
    if !content.is_empty() {
        for change in changes.chunks_exact(3) {
            // Parquet says at its end what it is: places are counted from there as well as from the front.
            let place = usize::from(u16::from_le_bytes([change[0], change[1]]) >> 1) % content.len();
            let place = if change[1] & 0x80 == 0 { place } else { content.len() - 1 - place };
            content[place] = change[2];
        }
    }
    fs::write(file, &content).expect("the folder is ours");
    if let Ok(recording) = read_lazily(&whole.path)
        && let Ok(judged) = judge(recording, None, &[])
    {
        show(judged, bytes.map_or(changes.len(), <[u8]>::len));
    }
    let (_, before) = &whole.files[usize::from(which) % whole.files.len()];
    fs::write(file, before).expect("the folder is ours");
}

/// Judges the run with rows that `bytes` mean (postcard) in each table.
pub fn with_rows(mut bytes: &[u8]) {
    let mut recording = WHOLE.lock().unwrap_or_else(PoisonError::into_inner).recording.clone();
    let Some(which) = bytes.split_off_first() else { return };
    match which % 10 {
        0 => add(&mut recording.flows, bytes),
        1 => add(&mut recording.queues, bytes),
        2 => add(&mut recording.hosts, bytes),
        3 => add(&mut recording.cores, bytes),
        4 => add(&mut recording.counters, bytes),
        5 => add(&mut recording.events, bytes),
        6 => add(&mut recording.datagrams, bytes),
        7 => add(&mut recording.ledger, bytes),
        8 => add(&mut recording.queue_delays, bytes),
        _ => add(&mut recording.ledger_intervals, bytes),
    }
    if let Ok(judged) = judge(recording, None, &[]) {
        show(judged, bytes.len());
    }
}

/// Judges the run without its series, by a stored analysis that was changed at places: `changes` are two bytes of a place, one
/// that is put there.
pub fn with_changed_analysis(changes: &[u8]) {
    let mut recording = WHOLE.lock().unwrap_or_else(PoisonError::into_inner).recording.clone();
    let whole = judge(recording.clone(), None, &[]).expect("it is whole");
    let mut text = whole.analysis.to_json().into_bytes();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % text.len();
        text[place] = change[2];
    }
    let Ok(text) = String::from_utf8(text) else { return };
    recording.info.series = KeptSeries::None;
    recording.analysis = Some(text.into());
    (recording.flows, recording.queues, recording.hosts) = Default::default();
    (recording.cores, recording.threads, recording.datagrams) = Default::default();
    if let Ok(judged) = judge(recording, None, &[]) {
        show(judged, changes.len());
    }
}

fn add<R: DeserializeOwned>(rows: &mut Vec<R>, mut bytes: &[u8]) {
    while let Ok((row, rest)) = postcard::take_from_bytes(bytes) {
        rows.push(row);
        if rest.len() == bytes.len() {
            break;
        }
        bytes = rest;
    }
}

/// Beginnings and ends of scripts, and what tells a browser to run something, in a page.
fn scripts(page: &str) -> [usize; 3] {
    ["<script", "</script", "<img"].map(|word| page.matches(word).count())
}

static OWN_SCRIPTS: LazyLock<[usize; 3]> = LazyLock::new(|| {
    let (empty, _) = StudyReport::new(StudyInfo::default()).finish();
    scripts(&empty.html())
});

/// Makes the report, and looks at what a reader's terminal and browser get.
///
/// The page takes some MB and most of the time: it is looked at for one `length` in eight.
fn show(judged: Judged, length: usize) {
    let mut results = StudyReport::new(StudyInfo::default());
    if results.add(judged).is_err() {
        return;
    }
    let (report, _) = results.finish();
    let told = report.terminal(100, false);
    let commands = |c: char| c != '\n' && c.is_control();
    assert!(!told.contains(commands), "the terminal is told what to do: {told:?}");
    if length.is_multiple_of(8) {
        assert_eq!(scripts(&report.html()), *OWN_SCRIPTS, "a name has become a part of the page");
    }
}
