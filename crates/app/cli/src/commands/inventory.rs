//! `wirespeed inventory`: hosts with everything that decides how fast TCP can be.

use super::inventory_source::{self, Source};
use crate::failure::Failure;
use crate::{print, print_plain, tell};
use clap::Args;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use wirespeed_inventory::{Inventory, drawing};
use wirespeed_transport::TransportError;
use wirespeed_transport::inventory::of_host;

/// Arguments of `wirespeed inventory`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed inventory                                       # this host, drawn, with its interfaces
  wirespeed inventory dtn1 dtn2                             # hosts that ssh reaches
  wirespeed inventory root@dtn1 --json --redact > dtn1.json # a snapshot to send to a colleague
  wirespeed inventory --from dtn1.json --svg dtn1.svg       # the drawing of a snapshot

Nothing on the hosts is changed. Without root, memory modules and some settings cannot be read; the list at the end names \
everything that is missing, with the remedy.")]
pub struct Arguments {
    /// Hosts by their ssh names [default: this host].
    #[arg(value_name = "HOST", conflicts_with = "from")]
    hosts: Vec<String>,
    /// Print the inventory as JSON, of several hosts as an array.
    #[arg(long)]
    json: bool,
    /// Replace names and addresses, each by the same word wherever it occurs.
    #[arg(long)]
    redact: bool,
    /// Write the drawing of one host to a new SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Read a snapshot that --json wrote in place of a host.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.svg.is_some() && arguments.hosts.len() > 1 {
        return Err(Failure::Usage {
            message: "--svg draws one host".into(),
            remedy: "type one command for each host, with its own file".into(),
        });
    }
    let (mut found, failures) = read(arguments)?;
    if arguments.redact {
        found = found.iter().map(Inventory::redacted).collect();
    }
    if let (Some(file), Some(one)) = (&arguments.svg, found.first()) {
        write_new(file, &drawing::svg(one, &[]))?;
    }
    match arguments.json {
        true => print_json(&found)?,
        false if arguments.svg.is_none() => {
            let texts: Vec<String> = found.iter().map(text).collect();
            print_plain(&texts.join("\n"))?;
        }
        false => {}
    }
    for failure in &failures {
        tell(&failure.to_string());
    }
    match failures.len() {
        0 => Ok(()),
        failed => Err(Failure::Environment(format!(
            "{failed} of {} hosts could not be read; check that `ssh HOST true` works",
            arguments.hosts.len()
        ))),
    }
}

/// The inventories in the order of the hosts, and the reasons why others are missing.
fn read(arguments: &Arguments) -> Result<(Vec<Inventory>, Vec<TransportError>), Failure> {
    if let Some(file) = &arguments.from {
        return Ok((vec![inventory_source::read(&Source::File(file.clone()))?], Vec::new()));
    }
    if arguments.hosts.is_empty() {
        return Ok((vec![inventory_source::read(&Source::Local)?], Vec::new()));
    }
    let results: Vec<Result<Inventory, TransportError>> = thread::scope(|scope| {
        let readers: Vec<_> = arguments.hosts.iter().map(|host| scope.spawn(|| of_host(host))).collect();
        readers.into_iter().map(|reader| reader.join().expect("reading a host does not panic")).collect()
    });
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(inventory) => found.push(inventory),
            Err(error) => failures.push(error),
        }
    }
    Ok((found, failures))
}

/// The drawing, the table of interfaces, and everything that could not be read.
fn text(inventory: &Inventory) -> String {
    let parts =
        [drawing::terminal(inventory, &[]), drawing::interfaces(inventory), drawing::missing(inventory)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// One inventory as the snapshot that `--from` reads, several as an array.
fn print_json(found: &[Inventory]) -> Result<(), Failure> {
    match found {
        [one] => print(&one.to_json()),
        several => {
            let text = serde_json::to_string_pretty(several).expect("an inventory is plain data");
            print(&format!("{text}\n"))
        }
    }
}

/// Writes a file that does not exist yet.
fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    match opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Failure::Usage {
            message: format!("{} exists already", file.display()),
            remedy: "name a new file, or remove this one".into(),
        }),
        Err(source) => Err(Failure::Output { what: file.display().to_string(), source }),
    }
}
