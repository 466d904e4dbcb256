//! The stream of an agent that writes it to a file.

use crate::assemble::Assembler;
use crate::substrate::SubstrateError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use wirespeed_agent::message::Decoder;
use wirespeed_agent::one_kernel::PLAN;
use wirespeed_scenario::run::Run;

/// The agent's stream while it grows.
pub struct Stream {
    /// The file.
    pub path: PathBuf,
    file: Option<File>,
    decoder: Decoder,
    /// What it has said so far, put together.
    pub assembler: Assembler,
}

impl Stream {
    /// Follows the file at `path`, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Stream { path, file: None, decoder: Decoder::default(), assembler: Assembler::default() }
    }

    /// Takes in what has been added since the last call.
    ///
    /// # Errors
    /// If it cannot be read, or says what no agent says.
    pub fn follow(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            match File::open(&self.path) {
                Ok(file) => self.file = Some(file),
                // The agent has not come that far.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let file = self.file.as_mut().expect("it was opened above");
        let mut piece = vec![0; 1 << 20];
        loop {
            let got = file.read(&mut piece)?;
            if got == 0 {
                return Ok(());
            }
            self.decoder.feed(&piece[..got]);
            for message in self.decoder.by_ref() {
                self.assembler.push(message?);
            }
        }
    }
}

/// Makes the folder `name` in `raw` anew, with the plan of `run` in it: an agent finds it there, and leaves its stream beside.
///
/// # Errors
/// If it cannot be written.
pub fn plan(raw: &Path, name: &str, run: &Run) -> Result<PathBuf, SubstrateError> {
    let shared = raw.join(name);
    if shared.exists() {
        fs::remove_dir_all(&shared).map_err(SubstrateError::io("remove", &shared))?;
    }
    fs::create_dir_all(&shared).map_err(SubstrateError::io("create", &shared))?;
    let plan = shared.join(PLAN);
    let text = serde_json::to_string(run).expect("a run is plain data");
    fs::write(&plan, text).map_err(SubstrateError::io("write", &plan))?;
    Ok(shared)
}

/// Keeps of the folder `shared` what has a use (captures) in `raw`; the stream's content is in the tables now.
///
/// # Errors
/// If a file cannot be moved or removed.
pub fn tidy(raw: &Path, shared: &Path) -> Result<(), SubstrateError> {
    for entry in fs::read_dir(shared).map_err(SubstrateError::io("list", shared))? {
        let path = entry.map_err(SubstrateError::io("list", shared))?.path();
        if path.extension().is_some_and(|e| e == "pcap") {
            let kept = raw.join(path.file_name().expect("a listed file has a name"));
            fs::rename(&path, &kept).map_err(SubstrateError::io("move", &path))?;
        }
    }
    fs::remove_dir_all(shared).map_err(SubstrateError::io("remove", shared))
}
