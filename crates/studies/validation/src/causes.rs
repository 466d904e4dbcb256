//! Why cells disagree, as far as it is known: a file that people write.

use super::ValidationError;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// A mechanism, and the cells in which it shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Numbers of the cells.
    pub cells: Vec<u32>,
    /// What it is, in a sentence or two.
    pub explanation: String,
}

/// All causes given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Causes {
    /// One after the other.
    #[serde(default)]
    pub cause: Vec<Cause>,
}

impl Causes {
    /// Reads `causes.toml`; a file that is not there gives none.
    ///
    /// # Errors
    /// If it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Causes, ValidationError> {
        match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Causes::default()),
            text => {
                let text = text.map_err(ValidationError::io("read", path))?;
                toml::from_str(&text).map_err(|error| ValidationError::Causes {
                    path: path.to_owned(),
                    reason: error.to_string(),
                })
            }
        }
    }

    /// What is said of a cell.
    pub fn of(&self, cell: u32) -> Option<&str> {
        self.cause.iter().find(|cause| cause.cells.contains(&cell)).map(|cause| cause.explanation.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_causes_can_be_read() {
        Causes::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/validation/causes.toml"))
            .unwrap();
    }

    #[test]
    fn a_cause_holds_for_its_cells() {
        let causes: Causes =
            toml::from_str("[[cause]]\ncells = [3, 5]\nexplanation = \"\"\"\ntimers\n\"\"\"\n").unwrap();
        assert_eq!((causes.of(5), causes.of(4)), (Some("timers"), None));
    }

    #[test]
    fn a_key_that_is_not_known_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("causes.toml");
        fs::write(&path, "[[cause]]\ncell = 3\n").unwrap();
        let error = Causes::read(&path).unwrap_err().to_string();
        assert!(error.contains("causes.toml") && error.contains("line 2"), "{error}");
    }
}
