//! `CITATION.cff` of a bundle: Citation File Format 1.2.0 (Druskat et al., <https://citation-file-format.github.io>).

use crate::error::BundleError;
use crate::manifest::Manifest;
use std::fmt::Write;
use std::str::FromStr;
use wirespeed_record::is_command;

/// An author of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// A person: family name and given names.
    Person {
        /// Family name.
        family: String,
        /// Given names.
        given: String,
    },
    /// A group, or a person whose name was given as one.
    Entity(String),
}

impl FromStr for Author {
    type Err = BundleError;

    /// `Doe, Jane` is a person, and a name without a comma an entity. Names that stand for a name are refused.
    fn from_str(text: &str) -> Result<Author, BundleError> {
        /// Default names of tools, not names of authors.
        const PLACEHOLDERS: [&str; 8] =
            ["author", "your name", "name", "anonymous", "unknown", "root", "user", "nobody"];
        let text = text.trim();
        let is_placeholder = PLACEHOLDERS.contains(&text.to_lowercase().as_str());
        let refused = || BundleError::Author(text.to_owned());
        if text.is_empty() || is_placeholder || text.len() > 200 || text.contains(is_command) {
            return Err(refused());
        }
        match text.split_once(',').map(|(family, given)| (family.trim(), given.trim())) {
            None => Ok(Author::Entity(text.to_owned())),
            Some((family, given)) if family.is_empty() || given.is_empty() => Err(refused()),
            Some((family, given)) => Ok(Author::Person { family: family.into(), given: given.into() }),
        }
    }
}

/// A licence by its SPDX identifier. Only the form is checked, not the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct License(String);

impl License {
    /// The identifier.
    pub fn id(&self) -> &str {
        &self.0
    }
}

impl FromStr for License {
    type Err = BundleError;

    fn from_str(text: &str) -> Result<License, BundleError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
        let is_id = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_plain);
        if is_id { Ok(License(text.into())) } else { Err(BundleError::License(text.into())) }
    }
}

/// The text of the file. `date` is `YYYY-MM-DD`.
pub(crate) fn text(manifest: &Manifest, authors: &[Author], date: &str) -> String {
    let mut text = String::from("cff-version: 1.2.0\n");
    text += "message: If you use these results, please cite them and the program that made them.\n";
    text += "type: dataset\n";
    let title = match manifest.about.trim() {
        "" => format!("Results of {}", manifest.studies.join(", ")),
        about => format!("Results of {}: {about}", manifest.studies.join(", ")),
    };
    let _ = writeln!(text, "title: {}", quoted(&title));
    text += "authors:\n";
    for author in authors {
        let _ = match author {
            Author::Person { family, given } => {
                writeln!(text, "  - family-names: {}\n    given-names: {}", quoted(family), quoted(given))
            }
            Author::Entity(name) => writeln!(text, "  - name: {}", quoted(name)),
        };
    }
    let _ = writeln!(text, "date-released: '{date}'");
    if let Some(license) = &manifest.license {
        let _ = writeln!(text, "license: {}", quoted(license));
    }
    text += "references:\n";
    for program in &manifest.programs {
        text += "  - type: software\n    title: wirespeed\n    authors:\n      - name: The wirespeed developers\n";
        let _ = writeln!(text, "    version: {}", quoted(&program.version));
        if !program.git.is_empty() {
            let _ = writeln!(text, "    commit: {}", quoted(&program.git));
        }
    }
    text
}

/// A string of YAML that means itself: double quotes as in JSON (YAML 1.2, section 7.3.1).
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn person_entity_and_placeholder_are_told_apart() {
        let person = Author::Person { family: "Doe".into(), given: "Jane".into() };
        assert_eq!("Doe, Jane".parse::<Author>().unwrap(), person);
        assert_eq!("The DTN team".parse::<Author>().unwrap(), Author::Entity("The DTN team".into()));
        for refused in ["", "Your Name", "root", "Doe,", ", Jane", "a\u{1b}b"] {
            assert!(refused.parse::<Author>().is_err(), "{refused:?}");
        }
    }

    #[test]
    fn names_of_licences_that_are_not_identifiers_are_refused() {
        assert_eq!("CC-BY-4.0".parse::<License>().unwrap().id(), "CC-BY-4.0");
        for refused in ["", "CC BY 4.0", "-MIT", "MIT\nx: y"] {
            assert!(refused.parse::<License>().is_err(), "{refused:?}");
        }
    }
}
