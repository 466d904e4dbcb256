//! `wirespeed doctor`: a host compared with the needs of a path.

mod formats;
mod judged;
mod several;
mod text;

use crate::commands::inventory_source::{Source, read};
use crate::failure::Failure;
use crate::{print, print_plain};
use clap::{Args, ValueEnum};
use judged::Judged;
use std::path::{Path, PathBuf};
use wirespeed_diagnosis::Severity;
use wirespeed_diagnosis::audit::{Profile, persist};
use wirespeed_inventory::Change;
use wirespeed_record::replace_file;
use wirespeed_units::{Bytes, Rate, Span};

/// Arguments of `wirespeed doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed doctor --rate \"100 Gbit/s\" --rtt \"20 ms\" --flows 4
  wirespeed doctor dtn1 dtn2 --rtt \"90 ms\" --junit doctor.xml
  wirespeed doctor --from dtn1.json --rtt \"20 ms\" --shell > tune.sh
  wirespeed doctor --from today.json --baseline yesterday.json

Exit codes: 0 without findings of severity warning or higher, 1 with some, 2 for a usage error, 3 if a host cannot be read.
A value that cannot be read gives no finding. `wirespeed explain RULE` prints a rule with its formula and source.")]
pub struct Arguments {
    /// Hosts that ssh reaches; this host if there is none.
    #[arg(value_name = "HOST", conflicts_with = "from")]
    hosts: Vec<String>,
    /// Snapshots of hosts (`wirespeed inventory --json`) instead of hosts.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Rate of the path [default: speed of the interface].
    #[arg(long)]
    rate: Option<Rate>,
    /// Round-trip time of the path [default: 20 ms in profiles wan and measurement, 1 ms in the others].
    #[arg(long)]
    rtt: Option<Span>,
    /// Largest IP packet of the path in bytes [default: MTU of the interface].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(576..=65_535))]
    mtu: Option<u64>,
    /// Flows at a time [default: as many as the rate needs].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    flows: Option<u32>,
    /// Buffer of the slowest link, such as "10 MB"; a shallow one needs pacing.
    #[arg(long)]
    buffer: Option<Bytes>,
    /// Interface that the path uses [default: the fastest that is up].
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
    /// Parameters of the rules: for bulk transfers (lan, wan), tests that must repeat, or short messages.
    #[arg(long, value_enum, default_value_t = ProfileName::Wan)]
    profile: ProfileName,
    /// Print the findings as JSON.
    #[arg(long, conflicts_with = "shell")]
    json: bool,
    /// Print a shell script that makes the changes of one host.
    #[arg(long)]
    shell: bool,
    /// Write the rules as test cases of JUnit.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the findings in the text format of Prometheus.
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Write files that keep the changes of one host: sysctl.d, systemd, TuneD, udev, Ansible.
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Print the values that changed since a snapshot of the host.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

/// A profile on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
    Lan,
    Wan,
    Measurement,
    LowLatency,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Profile {
        match name {
            ProfileName::Lan => Profile::Lan,
            ProfileName::Wan => Profile::Wan,
            ProfileName::Measurement => Profile::Measurement,
            ProfileName::LowLatency => Profile::LowLatency,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut sources: Vec<Source> = arguments.hosts.iter().cloned().map(Source::Host).collect();
    sources.extend(arguments.from.iter().cloned().map(Source::File));
    if sources.is_empty() {
        sources.push(Source::Local);
    }
    let is_for_one = arguments.shell || arguments.files.is_some() || arguments.baseline.is_some();
    if sources.len() > 1 && is_for_one {
        return Err(Failure::Usage {
            message: "--shell, --files and --baseline are for one host".into(),
            remedy: "run the command again for each host".into(),
        });
    }
    let baseline = match &arguments.baseline {
        Some(path) => Some(read(&Source::File(path.clone()))?),
        None => None,
    };
    let judge = |source: &Source| Judged::new(arguments, read(source)?, baseline.as_ref());
    let hosts = sources.iter().map(judge).collect::<Result<Vec<Judged>, Failure>>()?;
    write(arguments.junit.as_deref(), || formats::junit(&hosts))?;
    write(arguments.prometheus.as_deref(), || formats::prometheus(&hosts))?;
    if let Some(folder) = &arguments.files {
        write_files(folder, &changes(&hosts))?;
    }
    match hosts.as_slice() {
        _ if arguments.json => print(&formats::json(&hosts))?,
        _ if arguments.shell => print_plain(&persist::shell_script(&changes(&hosts)))?,
        [host] => print_plain(&text::of(host))?,
        several => print_plain(&several::of(several))?,
    }
    conclude(&hosts)
}

/// Findings of severity warning or higher end the program with exit code 1.
fn conclude(hosts: &[Judged]) -> Result<(), Failure> {
    let severe = hosts.iter().flat_map(|host| &host.findings);
    match severe.filter(|finding| finding.severity >= Severity::Warning).count() {
        0 => Ok(()),
        1 => Err(Failure::Threshold("1 finding of severity warning or higher".into())),
        count => Err(Failure::Threshold(format!("{count} findings of severity warning or higher"))),
    }
}

fn changes(hosts: &[Judged]) -> Vec<Change> {
    hosts.iter().flat_map(|host| &host.findings).flat_map(|finding| finding.changes.clone()).collect()
}

fn write(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    replace_file(path, text().as_bytes())
        .map_err(|source| Failure::Output { what: path.display().to_string(), source })
}

fn write_files(folder: &Path, changes: &[Change]) -> Result<(), Failure> {
    let cannot = |what: &Path, source| Failure::Output { what: what.display().to_string(), source };
    std::fs::create_dir_all(folder).map_err(|source| cannot(folder, source))?;
    for file in persist::files(changes) {
        let name = Path::new(file.path).file_name().unwrap_or_default();
        let path = folder.join(name);
        let place = format!("# Place: {}\n", file.path);
        std::fs::write(&path, place + &file.text).map_err(|source| cannot(&path, source))?;
    }
    Ok(())
}
