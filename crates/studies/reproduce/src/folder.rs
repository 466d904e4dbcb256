//! A study as files: from a folder, or from inside the program.

use super::recorded::Recorded;
use super::settings::Settings;
use crate::claims::{Claim, Expect, read};
use std::collections::BTreeMap;
use std::path::Path;
use wirespeed_scenario::ScenarioError;
use wirespeed_scenario::document::Complaint;

/// A study: its settings, claims and scenarios.
#[derive(Debug, Clone)]
pub struct StudyFiles {
    /// `study.toml`.
    pub settings: Settings,
    /// Published claims, then ours.
    pub claims: Vec<Claim>,
    /// Scenarios: file name and text.
    pub scenarios: BTreeMap<String, String>,
    /// What its claims came to where that takes long.
    pub recorded: Recorded,
}

const SETTINGS: &str = "study.toml";
const CLAIMS: &str = "claims.toml";
const OWN: &str = "claims-own.toml";
const RECORDED: &str = "recorded.toml";

impl StudyFiles {
    /// From files by name; `place` is what messages put in front of it.
    ///
    /// # Errors
    /// The first mistake in the settings or claims, at its place.
    pub fn new<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        place: &str,
    ) -> Result<Self, ScenarioError> {
        let mut scenarios: BTreeMap<String, String> =
            files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let name = |file: &str| format!("{place}/{file}");
        let settings = scenarios.remove(SETTINGS).unwrap_or_default();
        let settings = Settings::read(&settings, &name(SETTINGS))?;
        let mut claims = match scenarios.remove(CLAIMS) {
            Some(text) => read(&text, &name(CLAIMS), false)?,
            None => Vec::new(),
        };
        if let Some(text) = scenarios.remove(OWN) {
            claims.extend(read(&text, &name(OWN), true)?);
        }
        for claim in &mut claims {
            read_shape(claim, &settings)?;
        }
        for conclusion in &settings.conclusions {
            conclusion.check(&claims)?;
        }
        let recorded = match scenarios.remove(RECORDED) {
            Some(text) => Recorded::read(&text, &name(RECORDED))?,
            None => Recorded::default(),
        };
        Ok(StudyFiles { settings, claims, scenarios, recorded })
    }

    /// From a folder.
    ///
    /// # Errors
    /// As [`StudyFiles::new`], and if a file cannot be read.
    pub fn load(folder: &Path) -> Result<Self, ScenarioError> {
        let fault = |path: &Path| {
            let path = path.to_owned();
            move |source| ScenarioError::Read { path, source }
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(fault(folder))? {
            let path = entry.map_err(fault(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                files.push((name, std::fs::read_to_string(&path).map_err(fault(&path))?));
            }
        }
        if !files.iter().any(|(name, _)| name == SETTINGS) {
            let path = folder.join(SETTINGS);
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(ScenarioError::Read { path, source });
        }
        let place = folder.display().to_string();
        Self::new(files.iter().map(|(name, text)| (name.as_str(), text.as_str())), &place)
    }
}

/// Puts beside the words of a shape what the study's settings read them as. A claim with numbers keeps to these.
fn read_shape(claim: &mut Claim, settings: &Settings) -> Result<(), Complaint> {
    let Some(reading) = settings.claims.get(&claim.id).and_then(|row| row.shape.clone()) else {
        return Ok(());
    };
    if claim.expect.shape.is_none() || claim.expect.is_by_number() {
        return Err(Complaint::at(&claim.at, format!("claim {} has numbers of its own", claim.id))
            .label("not a shape in words alone")
            .help(format!("leave `shape` out of [claim.{}] in {SETTINGS}", claim.id)));
    }
    let shape = claim.expect.shape.take();
    claim.expect = Expect { shape, ..reading };
    Ok(())
}
