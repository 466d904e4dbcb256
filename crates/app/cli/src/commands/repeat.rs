//! `wirespeed run BUNDLE`: the same settings and seeds again, and a comparison with the packed results.

use super::bundle::{counted, name_of_file};
use super::engine::Work;
use super::report::{runs_in, width};
use super::run::{Arguments, On, quoted, substrate, write_report, write_tables};
use crate::failure::Failure;
use crate::progress::Display;
use crate::{print, print_plain};
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_bundle::{
    Data, Manifest, MetricDifference, PackedRun, RESULTS, RunComparison, RunFacts, RunVerdict, compare,
    unpack,
};
use wirespeed_campaign::{Outcome, StudyReport, judge_run};
use wirespeed_record::{RunState, SubstrateKind, open, replace_file};
use wirespeed_report::{Comparer, Comparison, StudyInfo, text_table, with_unit};
use wirespeed_scenario::Run;
use wirespeed_scenario::run::FlowKind;
use wirespeed_substrates::SelfChecked;

/// The folder of the unpacked bundle, in that of the repetition.
const BUNDLE: &str = "bundle";
/// Sums of all files, by which two bundles are known to be the same.
const SUMS: &str = "SHA256SUMS";
/// Runs that have a line each; of more, only those that differ.
const FEW: usize = 20;

/// Runs of a bundle that belong in one folder.
struct Group<'a> {
    on: On,
    /// Folder of the results, below that of the repetition; empty for itself.
    base: String,
    /// Folder of the runs in it.
    runs_folder: String,
    packed: Vec<&'a PackedRun>,
    runs: Vec<Run>,
}

/// The result of the whole comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Reproduced,
    Differs,
    /// There are too few repeats to distinguish a difference from chance.
    Undecided,
}

/// Carries the command out.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(option) = arguments.option_of_scenarios() {
        return Err(Failure::Usage {
            message: format!("{option} is not for bundles: a bundle is repeated as it is"),
            remedy: "unpack the bundle with tar, and run the scenario in its folder scenario/".into(),
        });
    }
    let out = arguments.out.clone().unwrap_or_else(|| default_folder(&arguments.file));
    super::folder::create(&out)?;
    let _lock = arguments.engine.lock(&out)?;
    let unpacked = out.join(BUNDLE);
    let manifest = unpack_once(&arguments.file, &out, &unpacked)?;
    let groups = groups(arguments, &manifest, &unpacked)?;
    let (mut compared, mut builds) = (Vec::new(), BTreeSet::new());
    for group in &groups {
        let Some(outcomes) = execute(arguments, group, &manifest, &unpacked, &out, &mut builds)? else {
            return Ok(());
        };
        if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Interrupted | Outcome::Cut(_))) {
            return Err(Failure::Interrupted);
        }
        for (packed, outcome) in group.packed.iter().zip(&outcomes) {
            compared.push(compare_one(packed, outcome)?);
        }
    }
    let is_exact = groups.iter().all(|group| {
        matches!(group.on, On::Model | On::Kernel)
            && group.packed.iter().all(|packed| packed.substrate == group.on.kind())
    });
    let comparison = if is_exact { None } else { by_intervals(&manifest, &unpacked, &out)? };
    let (verdict, sentence) = judged(&compared, is_exact, comparison.as_ref());
    let notes = notes(&manifest, &groups, &builds);
    if arguments.json {
        let on: BTreeSet<&str> = groups.iter().map(|group| group.on.kind().word()).collect();
        let value = json!({
            "bundle": manifest.name,
            "verdict": verdict,
            "sentence": sentence,
            "notes": notes,
            "substrates": { "packed": manifest.substrates, "repeated": on },
            "programs": { "packed": manifest.programs, "repeated": crate::tool() },
            "kernel_builds": { "packed": manifest.kernels.iter().map(|kernel| &kernel.build).collect::<Vec<_>>(), "repeated": builds },
            "runs": compared,
            "comparison": comparison.as_ref().map(Comparison::json),
        });
        print(&(serde_json::to_string_pretty(&value).expect("results are plain data") + "\n"))?;
    } else {
        let mut text = table(&compared);
        if let Some(comparison) = &comparison {
            text += &format!("{}\n", comparison.terminal(width(), false));
        }
        text += &format!("{sentence}\n");
        text.extend(notes.iter().map(|note| format!("{note}\n")));
        print_plain(&text)?;
        let place = quoted(&out.display().to_string());
        print_plain(&format!("Results: {place}; the packed ones are in {place}/{BUNDLE}/{RESULTS}\n"))?;
    }
    match verdict {
        Verdict::Reproduced => Ok(()),
        Verdict::Differs => Err(Failure::Threshold("the results of the bundle are not reproduced".into())),
        Verdict::Undecided => {
            Err(Failure::Threshold("whether the results of the bundle are reproduced is undecided".into()))
        }
    }
}

fn default_folder(file: &Path) -> PathBuf {
    Path::new("wirespeed-out").join(format!("{}-repeated", name_of_file(file)))
}

/// Unpacks the bundle into the folder of the repetition. A folder of the same bundle is resumed, and no other is written to.
fn unpack_once(file: &Path, out: &Path, unpacked: &Path) -> Result<Manifest, Failure> {
    let occupied = |what: &str| Failure::Usage {
        message: format!("{} has {what}", out.display()),
        remedy: "name another folder with --out".into(),
    };
    if !unpacked.exists() {
        if runs_in(out).is_ok() {
            return Err(occupied("results already"));
        }
        return Ok(unpack(file, unpacked)?);
    }
    let again = out.join(format!("{BUNDLE}-again"));
    let removed = |folder: &Path| {
        fs::remove_dir_all(folder)
            .map_err(|source| Failure::Output { what: folder.display().to_string(), source })
    };
    if again.exists() {
        removed(&again)?;
    }
    let manifest = unpack(file, &again)?;
    let [old, new] = [unpacked, &again].map(|folder| fs::read(folder.join(SUMS)).ok());
    if old != new {
        removed(&again)?;
        return Err(occupied("the repetition of another bundle"));
    }
    // Unpacked files may have been changed since, so the fresh ones take their place.
    removed(unpacked)?;
    fs::rename(&again, unpacked)
        .map_err(|source| Failure::Output { what: unpacked.display().to_string(), source })?;
    Ok(manifest)
}

/// The runs to execute, by the folder that they belong in.
fn groups<'a>(
    arguments: &Arguments,
    manifest: &'a Manifest,
    unpacked: &Path,
) -> Result<Vec<Group<'a>>, Failure> {
    let mut groups: BTreeMap<(String, String), Group> = BTreeMap::new();
    for packed in &manifest.runs {
        let unusable = |message: String| {
            Failure::Usage {
            message: format!("{}: {message}", packed.folder),
            remedy: "repeat results of real hosts in namespaces (--on netns), or unpack the bundle with tar, and run the file in its \
                     folder scenario/ with hosts of yours"
                .into(),
        }
        };
        let on = arguments
            .on
            .or_else(|| On::of_kind(packed.substrate))
            .ok_or_else(|| unusable(format!("this build has no substrate `{}`", packed.substrate.word())))?;
        // A hostile bundle must not make this program log in anywhere.
        if on == On::Hosts {
            return Err(unusable("runs between real hosts are not repeated from a bundle".into()));
        }
        let path = unpacked.join(&packed.folder).join("run.json");
        let text = fs::read_to_string(&path)
            .map_err(|error| unusable(format!("cannot read {}: {error}", path.display())))?;
        let run = match packed.substrate {
            SubstrateKind::Hosts => Run::from_json_of_real_hosts(&text),
            _ => Run::from_json(&text),
        };
        let run = run.map_err(|error| unusable(error.to_string()))?;
        let place: Vec<&str> = packed.folder.split('/').skip(1).collect();
        let [base @ .., runs_folder, name] = &place[..] else {
            return Err(unusable("it is not in a folder of runs".into()));
        };
        let (base, runs_folder) = (base.join("/"), (*runs_folder).to_owned());
        if run.id != packed.id || run.id != *name {
            return Err(unusable(format!("it names itself `{}`", run.id)));
        }
        let group = groups.entry((base.clone(), runs_folder.clone())).or_insert_with(|| Group {
            on,
            base,
            runs_folder,
            packed: Vec::new(),
            runs: Vec::new(),
        });
        if group.on != on {
            return Err(unusable("its folder has runs on several substrates; choose one with --on".into()));
        }
        group.packed.push(packed);
        group.runs.push(run);
    }
    Ok(groups.into_values().collect())
}

/// The C files of congestion controls that runs on the kernel need.
fn own_controls(group: &Group, manifest: &Manifest, unpacked: &Path) -> Result<Vec<PathBuf>, Failure> {
    let own = group.runs.iter().flat_map(|run| &run.flows).find_map(|flow| match &flow.kind {
        FlowKind::Tcp { congestion, .. } if congestion.own => Some(&congestion.name),
        _ => None,
    });
    let Some(name) = own.filter(|_| group.on == On::Kernel) else { return Ok(Vec::new()) };
    let files: Vec<PathBuf> = manifest
        .inputs
        .iter()
        .filter(|input| input.ends_with(".c"))
        .map(|input| unpacked.join(input))
        .collect();
    if files.is_empty() {
        return Err(Failure::Usage {
            message: format!("the bundle does not have the C file of congestion control `{name}`"),
            remedy: "ask its author to pack it with --scenario FILE".into(),
        });
    }
    Ok(files)
}

fn execute(
    arguments: &Arguments,
    group: &Group,
    manifest: &Manifest,
    unpacked: &Path,
    out: &Path,
    builds: &mut BTreeSet<String>,
) -> Result<Option<Vec<Outcome>>, Failure> {
    let own = own_controls(group, manifest, unpacked)?;
    let mut substrate = substrate(group.on, &own, &group.runs)?;
    builds.extend(group.runs.iter().filter_map(|run| substrate.build(run.kernel.as_ref())));
    if arguments.self_check.applies(group.on) {
        substrate = Box::new(SelfChecked::new(substrate));
    }
    for run in &group.runs {
        substrate.check(run).map_err(|error| Failure::Usage {
            message: format!("{}: {error}", run.id),
            remedy: "repeat the bundle on another substrate (--on)".into(),
        })?;
    }
    let folder = if group.base.is_empty() { out.to_path_buf() } else { out.join(&group.base) };
    let display = Display::new(&group.runs, &*substrate, arguments.json, None);
    let command = format!(
        "wirespeed run {} --on {} --out {}",
        quoted(&arguments.file.display().to_string()),
        group.on.kind().word(),
        quoted(&out.display().to_string())
    );
    let outcomes = arguments.engine.carry_out(&Work {
        substrate: &*substrate,
        on: group.on,
        own_controls: &own,
        runs: &group.runs,
        folder: &folder,
        runs_folder: &group.runs_folder,
        fresh: arguments.fresh,
        jobs: arguments.jobs,
        display: &display,
        command: &|_| command.clone(),
    })?;
    drop(display);
    if let Some(outcomes) = &outcomes {
        report(group, outcomes, &folder, &command)?;
    }
    Ok(outcomes)
}

/// The report of the repetition itself.
fn report(group: &Group, outcomes: &[Outcome], folder: &Path, command: &str) -> Result<(), Failure> {
    let first = group.runs.first();
    let mut results = StudyReport::new(StudyInfo {
        name: first.map(|run| run.study.clone()).unwrap_or_default(),
        about: first.map(|run| run.about.clone()).unwrap_or_default(),
        command: command.to_owned(),
        generated_by: format!("wirespeed {}", crate::VERSION),
        ..StudyInfo::default()
    });
    for (run, outcome) in group.runs.iter().zip(outcomes) {
        match outcome.directory() {
            Some(directory) => results.add(judge_run(directory)?)?,
            None => results.add_incomplete(&run.id, outcome.reason().unwrap_or_default()),
        }
    }
    let (report, tables) = results.finish();
    write_report(folder, &report)?;
    write_tables(folder, &tables)
}

fn compare_one(packed: &PackedRun, outcome: &Outcome) -> Result<RunComparison, Failure> {
    Ok(match outcome.directory() {
        Some(directory) => compare(packed, Ok(&RunFacts::read(directory)?)),
        None => compare(packed, Err(outcome.reason().unwrap_or_default())),
    })
}

/// The comparison of both folders with intervals, which needs the packed tables.
fn by_intervals(manifest: &Manifest, unpacked: &Path, out: &Path) -> Result<Option<Comparison>, Failure> {
    if manifest.data == Data::Results {
        return Ok(None);
    }
    let packed = unpacked.join(RESULTS);
    let command = format!("wirespeed compare {} {}", packed.display(), out.display());
    let mut comparer = Comparer::new(format!("wirespeed {}", crate::VERSION), command);
    for (name, root) in [("packed", &packed), ("repeated", &out.to_path_buf())] {
        comparer.folder(name);
        for run in &manifest.runs {
            let below = run.folder.strip_prefix(RESULTS).unwrap_or(&run.folder).trim_start_matches('/');
            let path = root.join(below);
            if !matches!(open(&path), Ok(RunState::Complete(_))) {
                continue;
            }
            judge_run(&path)?.add_to(&mut comparer, path.display().to_string())?;
        }
    }
    let comparison = comparer.finish(&[]);
    let page = out.join("compare.html");
    replace_file(&page, comparison.html().as_bytes())
        .map_err(|source| Failure::Output { what: page.display().to_string(), source })?;
    Ok(Some(comparison))
}

/// The verdict and the line that states it.
fn judged(compared: &[RunComparison], is_exact: bool, comparison: Option<&Comparison>) -> (Verdict, String) {
    let total = counted(compared.len(), "run");
    let without = compared.iter().find_map(|run| match &run.verdict {
        RunVerdict::NotRepeated { reason } => Some((&run.id, reason)),
        _ => None,
    });
    if let Some((id, reason)) = without {
        return (Verdict::Differs, format!("Not reproduced: {id} has no repetition ({reason})"));
    }
    let differing = compared.iter().filter(|run| !run.verdict.is_same()).count();
    if differing == 0 {
        let other = compared.iter().filter(|run| run.verdict != RunVerdict::Identical).count();
        let sentence = match other {
            0 => format!("Reproduced: {total} with tables that are equal to the packed ones to the last bit"),
            _ => format!(
                "Reproduced: all metrics of {total} are equal to the last bit; tables differ in {other}"
            ),
        };
        return (Verdict::Reproduced, sentence);
    }
    if is_exact {
        let worst = compared.iter().find_map(|run| match &run.verdict {
            RunVerdict::Differs { metrics, .. } => metrics.first().map(|first| (&run.id, first)),
            _ => None,
        });
        let worst = worst.map_or(String::new(), |(id, first)| format!("; {id}: {}", shown(first)));
        return (Verdict::Differs, format!("Differs: {differing} of {total}{worst}"));
    }
    match comparison.and_then(Comparison::different) {
        None => {
            let need = "two repeats of a setting and the packed tables are needed to test differences";
            (Verdict::Undecided, format!("Undecided: {differing} of {total} differ, and {need}"))
        }
        Some(different) if different.is_empty() => {
            let sentence =
                format!("Reproduced: no main metric of {total} differs by more than repeats explain");
            (Verdict::Reproduced, sentence)
        }
        Some(different) => {
            const MOST: usize = 3;
            let names: Vec<String> = different
                .iter()
                .take(MOST)
                .map(|(setting, metric)| format!("{metric} of {setting}"))
                .collect();
            let more = different.len().saturating_sub(MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let sentence = format!("Differs by more than repeats explain: {}{more}", names.join(", "));
            (Verdict::Differs, sentence)
        }
    }
}

/// `goodput_bps 9.31 Gbit/s, was 9.35 Gbit/s (-0.43 %)`.
fn shown(difference: &MetricDifference) -> String {
    let unit = wirespeed_metrics::find(&difference.metric).map_or("", |metric| metric.unit);
    let value = |value: Option<f64>| value.map_or_else(|| "not known".into(), |value| with_unit(value, unit));
    let share = difference.relative.map_or(String::new(), |share| format!(" ({:+.2} %)", share * 100.0));
    let (now, before) = (value(difference.repeated), value(difference.packed));
    format!("{} {now}, was {before}{share}", difference.metric)
}

/// A row for each run, or of many runs for those that differ.
fn table(compared: &[RunComparison]) -> String {
    const MOST_METRICS: usize = 3;
    let is_long = compared.len() > FEW;
    let rows: Vec<[String; 3]> = compared
        .iter()
        .filter(|run| !(is_long && run.verdict.is_same()))
        .take(2 * FEW)
        .map(|run| {
            let (word, details) = match &run.verdict {
                RunVerdict::Identical => ("identical", String::new()),
                RunVerdict::EqualMetrics { tables } => {
                    ("equal metrics", format!("files differ: {}", tables.join(", ")))
                }
                RunVerdict::NotRepeated { reason } => ("not repeated", reason.clone()),
                RunVerdict::Differs { metrics, .. } => {
                    let mut texts: Vec<String> = metrics.iter().take(MOST_METRICS).map(shown).collect();
                    if metrics.len() > MOST_METRICS {
                        texts.push(format!("{} more metrics", metrics.len() - MOST_METRICS));
                    }
                    ("differs", texts.join("; "))
                }
            };
            let place = run.folder.strip_prefix(RESULTS).unwrap_or(&run.folder).trim_start_matches('/');
            [place.to_owned(), word.to_owned(), details]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    text_table(["run", "result", "difference"].map(String::from), &rows, [40, 16, 44], width()) + "\n"
}

/// Other versions and substrates, which belong beside the verdict.
fn notes(manifest: &Manifest, groups: &[Group], builds: &BTreeSet<String>) -> Vec<String> {
    let mut notes = Vec::new();
    let this = crate::tool();
    for program in &manifest.programs {
        if (&program.version, &program.git) != (&this.version, &this.git) {
            notes.push(format!(
                "Program: this is wirespeed {} ({}); the packed runs were made by {} ({})",
                this.version, this.git, program.version, program.git
            ));
        }
    }
    let substrates: BTreeSet<_> = groups.iter().map(|group| group.on.kind()).collect();
    if substrates.iter().ne(&manifest.substrates) {
        let words = |kinds: Vec<&str>| kinds.join(", ");
        notes.push(format!(
            "Substrate: repeated on {}; the packed runs were made on {}",
            words(substrates.iter().map(|kind| kind.word()).collect()),
            words(manifest.substrates.iter().map(|kind| kind.word()).collect()),
        ));
    }
    if manifest.substrates.contains(&SubstrateKind::Hosts) {
        notes.push(
            "Hosts: the repetition has the default settings of a host, not those of the real ones".into(),
        );
    }
    let packed: BTreeSet<String> = manifest.runs.iter().filter_map(|run| run.kernel_build.clone()).collect();
    if !packed.is_empty() && packed != *builds {
        let shown = |builds: &BTreeSet<String>| {
            let short = |build: &String| build.chars().take(12).collect::<String>();
            if builds.is_empty() {
                "none".into()
            } else {
                builds.iter().map(short).collect::<Vec<_>>().join(", ")
            }
        };
        notes.push(format!(
            "Kernel build: this is {}; the packed runs have {}",
            shown(builds),
            shown(&packed)
        ));
    }
    notes
}
