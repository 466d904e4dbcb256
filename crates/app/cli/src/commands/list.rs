//! `wirespeed list`.

use crate::failure::Failure;
use crate::print;
use clap::Subcommand;
use std::path::PathBuf;
use wirespeed_record::{RunState, find_runs, open};
use wirespeed_scenario::{CongestionControl, PresetKind, congestion_controls, presets};

pub const EXAMPLES: &str = "\
Examples:
  wirespeed list cc                   # then, for one of them: wirespeed explain cubic
  wirespeed list metrics              # then: wirespeed explain jain_index
  wirespeed list presets              # then: wirespeed explain onl-pc1core
  wirespeed list rules                # then: wirespeed explain tcp.rmem
  wirespeed list tables               # then, for the columns of one: wirespeed explain flows
  wirespeed list scenarios            # then: wirespeed run scenarios/first-look.toml
  wirespeed list kernels              # then: wirespeed run FILE --on kernel --set run.kernel=6.1
  wirespeed list studies              # then: wirespeed reproduce ulm-2016
  wirespeed list runs wirespeed-out   # runs below this folder";

/// What can be listed.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Congestion controls, where each is available, and its reference.
    Cc,
    /// Metrics, with their units.
    Metrics,
    /// Presets of hosts and paths.
    Presets,
    /// Rules of `wirespeed doctor`, with their severity.
    Rules,
    /// Tables of a run, with their number of columns.
    Tables,
    /// Scenarios that come with wirespeed.
    Scenarios,
    /// Virtual-time kernels that are built, and whether runs use them.
    #[cfg(feature = "linux")]
    Kernels,
    /// Published studies for `wirespeed reproduce`.
    Studies,
    /// Runs in a folder, and whether they are complete.
    Runs {
        /// Folder that `wirespeed run` wrote.
        #[arg(value_name = "DIR", default_value = "wirespeed-out")]
        folder: PathBuf,
    },
}

/// Carries the command out.
pub fn run(what: &What) -> Result<(), Failure> {
    let rows: Vec<[String; 3]> = match what {
        What::Cc => {
            let place = |c: &CongestionControl| [&["model"], &*on_linux(c)].concat().join(", ");
            let about = |c: &CongestionControl| format!("{} ({})", c.about, c.reference);
            congestion_controls().iter().map(|c| [c.name.into(), place(c), about(c)]).collect()
        }
        What::Metrics => wirespeed_metrics::all()
            .iter()
            .map(|m| [m.name.into(), m.unit.into(), first_sentence(m.definition)])
            .collect(),
        What::Presets => presets()
            .iter()
            .map(|p| {
                let kind = match p.kind {
                    PresetKind::Host => "host",
                    PresetKind::Path => "path",
                };
                [p.name.into(), kind.into(), p.about.into()]
            })
            .collect(),
        What::Rules => wirespeed_diagnosis::audit::rules()
            .iter()
            .map(|rule| [rule.id.into(), rule.severity.word().into(), rule.title.into()])
            .collect(),
        What::Tables => wirespeed_record::tables()
            .into_iter()
            .map(|(name, about, columns)| {
                [name.into(), format!("{} columns", columns.len()), first_sentence(about)]
            })
            .collect(),
        What::Scenarios => scenarios(),
        #[cfg(feature = "linux")]
        What::Kernels => kernels()?,
        What::Studies => super::reproduce::listed(),
        What::Runs { folder } => runs(folder)?,
    };
    print(&table(&rows))
}

/// The places beside the model that have a congestion control.
#[cfg(feature = "linux")]
fn on_linux(control: &CongestionControl) -> Vec<&'static str> {
    let kernel = control.linux.is_some().then_some("kernel");
    let running = wirespeed_bpf::control(control.name).map(|_| "bpf");
    kernel.into_iter().chain(running).collect()
}

#[cfg(not(feature = "linux"))]
fn on_linux(_: &CongestionControl) -> Vec<&'static str> {
    Vec::new()
}

/// The kernels of the cache: version, use, and what each is.
#[cfg(feature = "linux")]
fn kernels() -> Result<Vec<[String; 3]>, Failure> {
    use wirespeed_kernel::{BuildOptions, cached, find};
    let default = find(&BuildOptions::default()).ok().map(|kernel| kernel.build);
    let row = |cached: wirespeed_kernel::Cached| {
        let kernel = cached.kernel;
        let state = match cached.is_current {
            true if Some(&kernel.build) == default.as_ref() => "default",
            true => "run.kernel",
            // By another version of wirespeed, or with congestion controls of the user's own.
            false => "other recipe",
        };
        let build = kernel.build.get(..16).unwrap_or(&kernel.build);
        let about = format!("build {build}, {}, from {}", kernel.built_with, kernel.source.display());
        [kernel.release, state.into(), about]
    };
    Ok(cached(&BuildOptions::default())?.into_iter().map(row).collect())
}

fn first_sentence(text: &str) -> String {
    text.split_inclusive(". ").next().unwrap_or(text).trim().to_string()
}

fn scenarios() -> Vec<[String; 3]> {
    SCENARIOS
        .iter()
        .map(|(name, text)| {
            let about =
                wirespeed_scenario::parse(text, name, &[], None).map_or_else(|e| e.to_string(), |s| s.about);
            [format!("scenarios/{name}"), String::new(), about]
        })
        .collect()
}

include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

fn runs(folder: &std::path::Path) -> Result<Vec<[String; 3]>, Failure> {
    find_runs(folder)?
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            Ok(match open(&path) {
                Ok(RunState::Complete(info)) => {
                    let cost =
                        format!("{:.1} s of wall time, {} packets", info.cost.wall_s, info.cost.packets);
                    [name, "complete".into(), format!("{} on {}, {cost}", info.study, info.substrate)]
                }
                Ok(RunState::Incomplete(reason)) => [name, "incomplete".into(), reason],
                Err(error) => [name, "damaged".into(), error.to_string()],
            })
        })
        .collect()
}

fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    rows.iter()
        .map(|[name, kind, about]| {
            let middle = if second == 0 { String::new() } else { format!("  {kind:second$}") };
            format!("{name:first$}{middle}  {about}").trim_end().to_string() + "\n"
        })
        .collect()
}
