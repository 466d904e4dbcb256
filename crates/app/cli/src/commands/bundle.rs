//! `wirespeed bundle`: packs a folder of results for others to repeat, and shows the content of such a file.

use super::run::INPUTS;
use crate::failure::Failure;
use crate::{print, print_plain, tool};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::Command;
use wirespeed_bundle::{
    Author, BundleError, Data, EXTENSION, Input, KernelConfig, License, Manifest, Packing, inputs_of, verify,
};
use wirespeed_scenario::load;
use wirespeed_units::Bytes;

/// Arguments of `wirespeed bundle`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed bundle wirespeed-out/first-look --author \"Doe, Jane\" --license CC-BY-4.0
  wirespeed bundle wirespeed-out/sweep --data results --out sweep.wirespeed.tar.gz
  wirespeed bundle --show sweep.wirespeed.tar.gz    # check it, and print its content
  wirespeed run sweep.wirespeed.tar.gz              # repeat it, and compare

A bundle has the scenario, seeds, versions, data and figures of a study with checksums. The same folder gives the same \
bytes.")]
pub struct Arguments {
    /// Folder of results, of `wirespeed run` or `wirespeed reproduce`.
    #[arg(value_name = "DIR", required_unless_present = "show")]
    folder: Option<PathBuf>,
    /// Check a bundle and print its content; nothing is unpacked.
    #[arg(long, value_name = "FILE", conflicts_with = "folder")]
    show: Option<PathBuf>,
    /// File to write [default: NAME.wirespeed.tar.gz, after the folder].
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Files of each run to pack.
    #[arg(long, value_enum, value_name = "DATA", default_value_t = WantedData::Tables, help_heading = "Content")]
    data: WantedData,
    /// Author of the results, as "Family, Given" or the name of a group; may be repeated [default: user.name of git].
    #[arg(long = "author", value_name = "NAME", help_heading = "Content")]
    authors: Vec<String>,
    /// Licence of the results, as an SPDX identifier.
    #[arg(long, value_name = "SPDX", help_heading = "Content")]
    license: Option<String>,
    /// Pack this scenario, too, if the folder does not have it; may be repeated.
    #[arg(long = "scenario", value_name = "FILE", help_heading = "Content")]
    scenarios: Vec<PathBuf>,
    /// Keep names for ssh, addresses and captures of real hosts.
    #[arg(long, help_heading = "Content")]
    with_addresses: bool,
    /// Pack the folder although runs are incomplete; of these only the reason is packed.
    #[arg(long, help_heading = "Content")]
    allow_incomplete: bool,
    /// Print the content as JSON.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Files of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WantedData {
    /// All files, with console logs and captures.
    All,
    /// run.json and the tables.
    Tables,
    /// run.json only; the metrics are always there.
    Results,
}

impl From<WantedData> for Data {
    fn from(wanted: WantedData) -> Data {
        match wanted {
            WantedData::All => Data::All,
            WantedData::Tables => Data::Tables,
            WantedData::Results => Data::Results,
        }
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Failure {
        if error.is_of_the_system() {
            return Failure::Environment(error.to_string());
        }
        Failure::Usage { message: error.to_string(), remedy: error.remedy().into() }
    }
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.show {
        return show(file, arguments.json);
    }
    let Some(folder) = &arguments.folder else { unreachable!("clap requires the folder without --show") };
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => PathBuf::from(format!("{}{EXTENSION}", name_of_folder(folder))),
    };
    let license = arguments.license.as_deref().map(str::parse::<License>).transpose()?;
    let packing = Packing {
        folder,
        name: name_of_file(&out),
        data: arguments.data.into(),
        with_addresses: arguments.with_addresses,
        allow_incomplete: arguments.allow_incomplete,
        authors: authors(&arguments.authors)?,
        license,
        inputs: inputs(&arguments.scenarios)?,
        inputs_folder: INPUTS,
        kernels: kernels(),
        tool: tool(),
    };
    let packed = packing.write(&out)?;
    if arguments.json {
        return print_json(&packed.manifest);
    }
    let runs = counted(packed.manifest.runs.len(), "run");
    // bundle.json and SHA256SUMS are files, too.
    let files = counted(packed.manifest.files.len() + 2, "file");
    let size = Bytes::new(packed.bytes);
    let mut text = format!("Packed {runs} into {}: {files}, {}\n", out.display(), rounded(size));
    text += &left_out(&packed.manifest);
    text += &format!("Repeat it: wirespeed run {}\n", super::run::quoted(&out.display().to_string()));
    print_plain(&text)
}

pub(super) fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}

/// A size with three digits.
fn rounded(size: Bytes) -> String {
    wirespeed_report::with_unit(size.get() as f64, "bytes")
}

/// The last part of a path, or the folder that it leads to (`.`).
fn name_of_folder(folder: &Path) -> String {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    full.file_name().map_or_else(|| "results".into(), |name| name.to_string_lossy().into_owned())
}

/// The file's name without its extensions.
pub(super) fn name_of_file(out: &Path) -> String {
    let name = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ends = [EXTENSION, ".tar.gz", ".tgz"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// The authors of the command line, or the user of git.
fn authors(named: &[String]) -> Result<Vec<Author>, Failure> {
    if !named.is_empty() {
        return Ok(named.iter().map(|name| name.parse()).collect::<Result<_, BundleError>>()?);
    }
    let output = Command::new("git").args(["config", "--get", "user.name"]).output();
    let name = output.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let name = name.map(|name| String::from_utf8_lossy(&name).trim().to_owned()).unwrap_or_default();
    if name.is_empty() {
        return Err(BundleError::NoAuthor.into());
    }
    Ok(vec![name.parse::<Author>()?])
}

fn inputs(scenarios: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for file in scenarios {
        inputs.extend(inputs_of(&load(file, &[], None)?)?);
    }
    Ok(inputs)
}

/// The configurations of the kernels in the cache, on which runs may have been made.
#[cfg(feature = "linux")]
fn kernels() -> Vec<KernelConfig> {
    // A kernel that is not there is reported by the packer, if a run needs it.
    let cached = wirespeed_kernel::cached(&Default::default()).unwrap_or_default();
    cached.into_iter().map(|c| KernelConfig { build: c.kernel.build, config: c.kernel.config }).collect()
}

#[cfg(not(feature = "linux"))]
fn kernels() -> Vec<KernelConfig> {
    Vec::new()
}

fn show(file: &Path, json: bool) -> Result<(), Failure> {
    let manifest = verify(file)?;
    if json { print_json(&manifest) } else { print_plain(&described(&manifest)) }
}

fn print_json(manifest: &Manifest) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(manifest).expect("a manifest is plain data");
    print(&format!("{text}\n"))
}

/// The content of a bundle in lines.
fn described(manifest: &Manifest) -> String {
    let mut lines: Vec<(&str, String)> = vec![("Bundle", manifest.name.clone())];
    lines.push(("Studies", manifest.studies.join(", ")));
    if !manifest.about.is_empty() {
        lines.push(("Question", manifest.about.clone()));
    }
    let substrates: Vec<&str> = manifest.substrates.iter().map(|substrate| substrate.word()).collect();
    lines.push(("Runs", format!("{} on {}", manifest.runs.len(), substrates.join(", "))));
    for run in &manifest.incomplete {
        lines.push(("Incomplete", format!("{}: {}", run.folder, run.reason)));
    }
    for (factor, levels) in &manifest.factors {
        let levels: Vec<String> = levels
            .iter()
            .map(|level| level.as_str().map_or_else(|| level.to_string(), String::from))
            .collect();
        lines.push(("Factor", format!("{factor}: {}", levels.join(", "))));
    }
    for program in &manifest.programs {
        lines.push(("Program", format!("wirespeed {} ({})", program.version, program.git)));
    }
    for kernel in &manifest.kernels {
        lines.push(("Kernel", format!("Linux {}, build {}", kernel.release, kernel.build)));
    }
    let bytes = manifest.files.values().sum();
    let data = manifest.data.word();
    let size = rounded(Bytes::new(bytes));
    lines.push(("Data", format!("{data}: {} files, {size} unpacked", manifest.files.len() + 2)));
    if let Some(license) = &manifest.license {
        lines.push(("Licence", license.clone()));
    }
    lines.push(("Checksums", "all files are as they were packed".into()));
    let text: String = lines.iter().map(|(name, text)| format!("{name:<11}{text}\n")).collect();
    text + &left_out(manifest)
}

fn left_out(manifest: &Manifest) -> String {
    manifest.left_out.iter().map(|left| format!("Not packed: {}; {}\n", left.what, left.why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundle_is_named_for_its_file() {
        assert_eq!(name_of_file(Path::new("a/sweep.wirespeed.tar.gz")), "sweep");
        assert_eq!(name_of_file(Path::new("sweep.tgz")), "sweep");
        assert_eq!(name_of_file(Path::new("sweep")), "sweep");
    }
}
