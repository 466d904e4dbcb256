//! Packs a folder of results. The same folder gives the same bytes.

use crate::citation::{self, Author, License};
use crate::collect::{Layout, files};
use crate::comparison::RunFacts;
use crate::digest::{self, Digest};
use crate::entry_path;
use crate::error::{BundleError, io_error};
use crate::inputs::Input;
use crate::manifest::{Data, FORMAT_VERSION, IncompleteRun, LeftOut, Manifest, PackedRun};
use crate::redaction::Secrets;
use crate::{RESULTS, SCENARIO, readme};
use flate2::{Compression, GzBuilder};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tar::{Builder, EntryType, Header};
use wirespeed_record::{ANALYSIS, RunInfo, RunState, SubstrateKind, ToolInfo, open, rfc3339};

/// The first entry.
pub(crate) const MANIFEST: &str = "bundle.json";
/// The second entry.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The configuration of a virtual-time kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelConfig {
    /// Identity of the build, as in `run.json`.
    pub build: String,
    /// The whole `.config`.
    pub config: String,
}

/// The folder to pack, and the content that is wanted.
#[derive(Debug, Clone)]
pub struct Packing<'a> {
    /// Folder of results.
    pub folder: &'a Path,
    /// Name of the bundle: letters, digits and `-`.
    pub name: String,
    /// The files of each run.
    pub data: Data,
    /// Whether names for ssh and addresses of real hosts stay in.
    pub with_addresses: bool,
    /// Whether the reasons of incomplete runs are packed; otherwise such a run is an error.
    pub allow_incomplete: bool,
    /// Authors of the results, at least one.
    pub authors: Vec<Author>,
    /// Licence of the results.
    pub license: Option<License>,
    /// Scenario files besides those that the folder has.
    pub inputs: Vec<Input>,
    /// The folder in `folder` that has the scenario as it was read.
    pub inputs_folder: &'a str,
    /// Configurations of virtual-time kernels that are at hand.
    pub kernels: Vec<KernelConfig>,
    /// The program that packs.
    pub tool: ToolInfo,
}

/// A bundle that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    /// Its content.
    pub manifest: Manifest,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// The bytes of an entry.
#[derive(Debug)]
enum Content {
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// A run that is complete, with its directory.
struct Complete {
    directory: PathBuf,
    below: String,
    facts: RunFacts,
}

impl Packing<'_> {
    /// Writes the bundle to `out`, which must not exist, as a whole or not at all.
    ///
    /// # Errors
    /// If runs are incomplete or were changed, if something cannot be read or written, or if `out` exists.
    pub fn write(&self, out: &Path) -> Result<Packed, BundleError> {
        if out.symlink_metadata().is_ok() {
            return Err(BundleError::Occupied(out.into()));
        }
        if !entry_path::is_name(&self.name) {
            return Err(BundleError::Name(self.name.clone()));
        }
        if self.authors.is_empty() {
            return Err(BundleError::NoAuthor);
        }
        let (mut manifest, mut entries) = self.collect()?;
        let mut sums = BTreeMap::new();
        for (path, content) in &entries {
            let (bytes, sum) = measured(content)?;
            manifest.files.insert(path.clone(), bytes);
            sums.insert(path.clone(), sum);
        }
        // The page names the folders that there are, so it comes last.
        let page = readme::text(&manifest).into_bytes();
        manifest.files.insert("README.md".into(), page.len() as u64);
        sums.insert("README.md".into(), digest::of_bytes(&page));
        entries.insert("README.md".into(), Content::Bytes(page));
        let text = serde_json::to_string_pretty(&manifest).expect("a manifest is plain data") + "\n";
        sums.insert(MANIFEST.into(), digest::of_bytes(text.as_bytes()));
        let lines: String = sums.iter().map(|(path, sum)| format!("{sum}  {path}\n")).collect();

        let partial = partial_of(out);
        let written = self.archive(&partial, &text, &lines, &entries, &sums);
        let placed = written.and_then(|()| place(&partial, out));
        // It is not there after success. Nothing can be done about a failure.
        let _ = fs::remove_file(&partial);
        placed?;
        let bytes = fs::metadata(out).map_err(io_error("read", out))?.len();
        Ok(Packed { manifest, bytes })
    }

    fn archive(
        &self,
        partial: &Path,
        manifest: &str,
        sums_text: &str,
        entries: &BTreeMap<String, Content>,
        sums: &BTreeMap<String, String>,
    ) -> Result<(), BundleError> {
        let file = File::create_new(partial).map_err(io_error("create", partial))?;
        let io = || io_error("write", partial);
        // Neither a name nor a time, and no operating system (255: unknown).
        let packer = GzBuilder::new()
            .mtime(0)
            .operating_system(255)
            .write(BufWriter::new(file), Compression::default());
        let mut archive = Builder::new(packer);
        self.append(&mut archive, MANIFEST, manifest.len() as u64, manifest.as_bytes()).map_err(io())?;
        self.append(&mut archive, SUMS, sums_text.len() as u64, sums_text.as_bytes()).map_err(io())?;
        for (path, content) in entries {
            match content {
                Content::Bytes(bytes) => {
                    self.append(&mut archive, path, bytes.len() as u64, &bytes[..]).map_err(io())?;
                }
                Content::File(source) => {
                    let file = File::open(source).map_err(io_error("read", source))?;
                    let length = file.metadata().map_err(io_error("read", source))?.len();
                    // Another process may write to the folder, so the sum is compared again.
                    let mut reader = Summed { inner: file.take(length), digest: Digest::default() };
                    self.append(&mut archive, path, length, &mut reader).map_err(io())?;
                    if sums.get(path) != Some(&reader.digest.text()) {
                        return Err(BundleError::Changed(source.clone()));
                    }
                }
            }
        }
        let packer = archive.into_inner().map_err(io())?;
        let mut file = packer.finish().map_err(io())?;
        file.flush().and_then(|()| file.get_ref().sync_all()).map_err(io())
    }

    fn append<W: Write>(
        &self,
        archive: &mut Builder<W>,
        path: &str,
        size: u64,
        content: impl Read,
    ) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{}/{path}", self.name), content)
    }

    /// The content of the bundle: `bundle.json` without sizes, and all entries but it, the sums and the page.
    fn collect(&self) -> Result<(Manifest, BTreeMap<String, Content>), BundleError> {
        let layout = Layout::of(self.folder)?;
        let (runs, incomplete) = self.runs(&layout)?;
        let mut secrets = Secrets::default();
        if !self.with_addresses {
            runs.iter().for_each(|run| secrets.add(&run.facts.info));
        }
        let mut manifest = self.manifest(&runs, incomplete);
        let mut entries = BTreeMap::new();
        let mut add = |path: String, content: Content| -> Result<(), BundleError> {
            entry_path::check(&path).map_err(|_| BundleError::Name(path.clone()))?;
            entries.insert(path, content);
            Ok(())
        };
        for run in &runs {
            self.add_run(run, &secrets, &mut add)?;
        }
        for run in &manifest.incomplete {
            add(
                format!("{}/INCOMPLETE", run.folder),
                Content::Bytes(format!("{}\n", run.reason).into_bytes()),
            )?;
        }
        let mut left_out = Vec::new();
        let mut leave = |what: &str, why: &str| left_out.push(LeftOut { what: what.into(), why: why.into() });
        for (path, below) in layout.summaries()? {
            // The report and the page of a comparison show the scenario and the hosts.
            if secrets.is_empty() || !below.ends_with(".html") {
                add(format!("{RESULTS}/{below}"), Content::File(path))?;
            }
        }
        let mut inputs = BTreeSet::new();
        if !secrets.are_of_real_hosts() {
            for (path, below) in layout.inputs(self.inputs_folder)? {
                inputs.insert(format!("{SCENARIO}/{below}"));
                add(format!("{SCENARIO}/{below}"), Content::File(path))?;
            }
            for input in &self.inputs {
                inputs.insert(format!("{SCENARIO}/{}", input.name));
                add(format!("{SCENARIO}/{}", input.name), Content::Bytes(input.content.clone()))?;
            }
        }
        if secrets.are_of_real_hosts() {
            leave(
                "names for ssh and addresses of real hosts, and the scenario file, report.html and captures, which have them",
                "--with-addresses packs them",
            );
        } else if !secrets.is_empty() {
            leave(
                "names and addresses in inventories, and report.html, which has them",
                "--with-addresses packs them; `wirespeed report` writes a report without them",
            );
        }
        if inputs.is_empty() && !secrets.are_of_real_hosts() {
            leave(
                "the scenario file",
                "the folder does not have it; --scenario FILE packs it. run.json of each run has all its settings",
            );
        }
        for (name, inventory) in inventories(&runs, &secrets) {
            add(format!("inventory/{name}.json"), Content::Bytes(inventory))?;
        }
        for kernel in &manifest.kernels {
            match self.kernels.iter().find(|known| known.build == kernel.build) {
                Some(known) => {
                    let name: String = known.build.chars().take(12).collect();
                    add(format!("kernel/{name}.config"), Content::Bytes(known.config.clone().into_bytes()))?;
                }
                None if !kernel.build.is_empty() && manifest.substrates.contains(&SubstrateKind::Kernel) => {
                    leave(
                        &format!("the configuration of kernel build {}", kernel.build),
                        "this machine does not have that build; pack the folder where it ran",
                    )
                }
                None => {}
            }
        }
        if self.data != Data::All {
            leave("console logs and captures (raw/)", "--data all packs them");
        }
        if self.data == Data::Results {
            leave("the tables of the runs", "--data tables packs them; bundle.json has their checksums");
        }
        if layout.has_earlier() {
            leave("earlier/", "other measurements have replaced these");
        }
        let date = date(&runs);
        add(
            "CITATION.cff".into(),
            Content::Bytes(citation::text(&manifest, &self.authors, &date).into_bytes()),
        )?;
        manifest.inputs = inputs.into_iter().collect();
        manifest.left_out = left_out;
        Ok((manifest, entries))
    }

    /// The complete runs with the facts that are compared later, and the others.
    fn runs(&self, layout: &Layout) -> Result<(Vec<Complete>, Vec<IncompleteRun>), BundleError> {
        let (mut runs, mut incomplete) = (Vec::new(), Vec::new());
        for found in &layout.runs {
            match open(&found.directory)? {
                RunState::Incomplete(reason) => {
                    incomplete.push(IncompleteRun { folder: format!("{RESULTS}/{}", found.below), reason })
                }
                RunState::Complete(_) => runs.push(Complete {
                    directory: found.directory.clone(),
                    below: found.below.clone(),
                    facts: RunFacts::read(&found.directory)?,
                }),
            }
        }
        if !incomplete.is_empty() && !self.allow_incomplete {
            let name = |run: &IncompleteRun| {
                (run.folder.rsplit('/').next().unwrap_or_default().to_owned(), run.reason.clone())
            };
            let runs = incomplete.iter().map(name).collect();
            return Err(BundleError::Incomplete { runs, total: layout.runs.len() });
        }
        if runs.is_empty() {
            return Err(BundleError::NoRuns(self.folder.into()));
        }
        Ok((runs, incomplete))
    }

    fn manifest(&self, runs: &[Complete], incomplete: Vec<IncompleteRun>) -> Manifest {
        let infos = || runs.iter().map(|run| &run.facts.info);
        let mut factors: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (factor, level) in infos().flat_map(|info| &info.factors) {
            once(factors.entry(factor.clone()).or_default(), level.clone());
        }
        let (mut programs, mut kernels) = (Vec::new(), Vec::new());
        for info in infos() {
            once(&mut programs, info.tool.clone());
            info.kernel.iter().for_each(|kernel| once(&mut kernels, kernel.clone()));
        }
        let substrates: BTreeSet<SubstrateKind> = infos().map(|info| info.substrate).collect();
        let studies: BTreeSet<&String> = infos().map(|info| &info.study).collect();
        let packed = |run: &Complete| {
            let RunFacts { info, tables, metrics } = &run.facts;
            PackedRun {
                folder: format!("{RESULTS}/{}", run.below),
                id: info.id.clone(),
                study: info.study.clone(),
                substrate: info.substrate,
                repeat: info.repeat,
                seed: info.seed,
                git: info.tool.git.clone(),
                kernel_build: info.kernel.as_ref().map(|kernel| kernel.build.clone()),
                tables: tables.clone(),
                metrics: metrics.clone(),
            }
        };
        Manifest {
            bundle_version: FORMAT_VERSION,
            name: self.name.clone(),
            studies: studies.into_iter().cloned().collect(),
            about: infos().next().map(|info| info.about.clone()).unwrap_or_default(),
            data: self.data,
            packed_by: self.tool.clone(),
            programs,
            substrates: substrates.into_iter().collect(),
            kernels,
            factors,
            license: self.license.as_ref().map(|license| license.id().to_owned()),
            inputs: Vec::new(),
            runs: runs.iter().map(packed).collect(),
            incomplete,
            left_out: Vec::new(),
            files: BTreeMap::new(),
        }
    }

    /// The files of a run.
    fn add_run(
        &self,
        run: &Complete,
        secrets: &Secrets,
        add: &mut dyn FnMut(String, Content) -> Result<(), BundleError>,
    ) -> Result<(), BundleError> {
        let info = &run.facts.info;
        let text = (!secrets.is_empty()).then(|| {
            serde_json::to_string_pretty(&secrets.redacted(info)).expect("run information is plain data")
                + "\n"
        });
        let analysis = match text.is_some() && !info.series.is_all() {
            true => Some(redacted_analysis(run, secrets)?),
            false => None,
        };
        let mut found = Vec::new();
        files(&run.directory, "", &mut found)?;
        for (path, name) in found {
            let is_raw = name.contains('/');
            let is_table = name.ends_with(".parquet");
            let is_wanted = match self.data {
                Data::All => !(is_raw && secrets.are_of_real_hosts()),
                Data::Tables => !is_raw,
                // Without the tables the checksums of the run would not hold.
                Data::Results => !is_raw && !is_table && name != SUMS,
            };
            if !is_wanted {
                continue;
            }
            let content = match (&text, name.as_str()) {
                (Some(text), "run.json") => Content::Bytes(text.clone().into_bytes()),
                (Some(text), SUMS) => {
                    Content::Bytes(sums_of_run(&run.facts, text, analysis.as_deref()).into_bytes())
                }
                (_, ANALYSIS) if analysis.is_some() => {
                    Content::Bytes(analysis.clone().unwrap_or_default().into_bytes())
                }
                _ => Content::File(path),
            };
            add(format!("{RESULTS}/{}/{name}", run.below), content)?;
        }
        Ok(())
    }
}

/// The stored analysis of a run without secrets.
fn redacted_analysis(run: &Complete, secrets: &Secrets) -> Result<String, BundleError> {
    let path = run.directory.join(ANALYSIS);
    let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
    let redacted = secrets.redacted_json(&text).map_err(|error| io_error("read", &path)(error.into()))?;
    Ok(redacted + "\n")
}

/// `SHA256SUMS` of a run whose `run.json` and stored analysis are other texts.
fn sums_of_run(facts: &RunFacts, text: &str, analysis: Option<&str>) -> String {
    let mut sums = facts.tables.clone();
    sums.insert("run.json".into(), digest::of_bytes(text.as_bytes()));
    sums.extend(analysis.map(|text| (ANALYSIS.to_owned(), digest::of_bytes(text.as_bytes()))));
    sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect()
}

fn once<T: PartialEq>(list: &mut Vec<T>, value: T) {
    if !list.contains(&value) {
        list.push(value);
    }
}

/// The inventory of each host, as the first run has it.
fn inventories(runs: &[Complete], secrets: &Secrets) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for run in runs {
        let redacted;
        let info: &RunInfo = match secrets.is_empty() {
            true => &run.facts.info,
            false => {
                redacted = secrets.redacted(&run.facts.info);
                &redacted
            }
        };
        for host in &info.hosts {
            let Some(inventory) = &host.inventory else { continue };
            found.entry(host.name.clone()).or_insert_with(|| {
                let text = serde_json::to_string_pretty(inventory).expect("an inventory is plain data");
                (text + "\n").into_bytes()
            });
        }
    }
    found
}

/// The day of the newest run, in UTC: when it began, or else when its `run.json` was written.
fn date(runs: &[Complete]) -> String {
    let time = |run: &Complete| {
        let written = || {
            let file = fs::metadata(run.directory.join("run.json"));
            rfc3339(file.and_then(|file| file.modified()).unwrap_or(SystemTime::UNIX_EPOCH))
        };
        run.facts.info.started.clone().unwrap_or_else(written)
    };
    let newest = runs.iter().map(time).max().unwrap_or_default();
    newest.chars().take("2026-11-27".len()).collect()
}

fn measured(content: &Content) -> Result<(u64, String), BundleError> {
    match content {
        Content::Bytes(bytes) => Ok((bytes.len() as u64, digest::of_bytes(bytes))),
        Content::File(path) => digest::of_file(path).map_err(io_error("read", path)),
    }
}

/// A file that is read, with the sum of the bytes so far.
struct Summed<R> {
    inner: R,
    digest: Digest,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.digest.add(&buffer[..count]);
        Ok(count)
    }
}

fn partial_of(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    out.with_file_name(name)
}

/// Gives the finished file its name, and replaces nothing that came meanwhile.
fn place(partial: &Path, out: &Path) -> Result<(), BundleError> {
    match fs::hard_link(partial, out) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(BundleError::Occupied(out.into())),
        // Not every file system has links.
        Err(_) => fs::rename(partial, out).map_err(io_error("write", out)),
    }
}
