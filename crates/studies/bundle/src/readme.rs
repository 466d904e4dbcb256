//! `README.md` of a bundle: what it is, and how to repeat it.

use crate::manifest::Manifest;
use crate::{EXTENSION, RESULTS};
use std::fmt::Write;
use wirespeed_record::{SubstrateKind, plain_line};

/// The text of the file.
pub(crate) fn text(manifest: &Manifest) -> String {
    let Manifest { name, about, runs, .. } = manifest;
    let mut text = format!("# {name}\n\n");
    if !about.is_empty() {
        let _ = writeln!(text, "{}\n", plain_line(about));
    }
    let substrates: Vec<&str> = manifest.substrates.iter().map(|substrate| substrate.word()).collect();
    let programs: Vec<String> = manifest
        .programs
        .iter()
        .map(|program| format!("wirespeed {} ({})", program.version, program.git))
        .collect();
    let (substrates, programs) = (substrates.join(", "), programs.join(", "));
    let count = counted(runs.len(), "run");
    let _ = writeln!(text, "This bundle has {count} on {substrates}, made by {programs}.\n");
    text += "## Repeat the runs\n\n";
    let _ = writeln!(text, "    wirespeed run {name}{EXTENSION}\n");
    text += "The command checks the bundle, executes the same settings with the same seeds on the same substrate, and compares\n\
             the results with the packed ones, run by run. It ends with exit code 0 if they are reproduced, and with 1 if not.\n\n";
    if manifest.substrates.contains(&SubstrateKind::Hosts) {
        text += "Runs between real hosts are not repeated from a bundle. Run the scenario in `scenario/` with hosts of yours, or\n\
                 repeat the bundle with `--on netns`.\n\n";
    }
    for kernel in &manifest.kernels {
        let _ = writeln!(text, "The runs were made on Linux {} (build {}).\n", kernel.release, kernel.build);
    }
    text += "## Look at the results\n\n";
    let _ = writeln!(text, "    tar xzf {name}{EXTENSION}");
    let _ = writeln!(text, "    (cd {name} && sha256sum --check --quiet SHA256SUMS)");
    if manifest.data == crate::Data::Results {
        let _ = writeln!(
            text,
            "\n`{RESULTS}/results.parquet` has a row for each run, and `bundle.json` its metrics.\n"
        );
    } else {
        let _ = writeln!(text, "    wirespeed report {name}/{RESULTS}\n");
    }
    text += "## Content\n\n| Path | Content |\n|---|---|\n";
    for (path, content) in [
        ("bundle.json", "versions, seeds, factors, checksums of tables, metrics"),
        ("SHA256SUMS", "checksums of all other files"),
        ("CITATION.cff", "how to cite the results"),
        ("scenario/", "the scenario as it was read, and its other files"),
        ("kernel/", "the configuration of the virtual-time kernel"),
        ("inventory/", "processors, interfaces and settings of the hosts"),
        ("results/", "the folder of results: report, tables, runs"),
    ] {
        let is_there = matches!(path, "bundle.json" | "SHA256SUMS" | "CITATION.cff")
            || manifest.files.keys().any(|file| file.starts_with(path));
        if is_there {
            let _ = writeln!(text, "| `{path}` | {content} |");
        }
    }
    if !manifest.left_out.is_empty() {
        text += "\n## Not in the bundle\n\n";
        for left in &manifest.left_out {
            let _ = writeln!(text, "- {}: {}", plain_line(&left.what), plain_line(&left.why));
        }
    }
    if !manifest.incomplete.is_empty() {
        text += "\n## Incomplete runs\n\n";
        for run in &manifest.incomplete {
            let _ = writeln!(text, "- `{}`: {}", run.folder, plain_line(&run.reason));
        }
    }
    if let Some(license) = &manifest.license {
        let _ = writeln!(text, "\n## Licence\n\n{license}");
    }
    text
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}
