//! Options and added sources that only some versions of Linux have, as data (`kernel/parts.toml`).

use crate::edits::Versions;
use crate::error::KernelError;
use serde::Deserialize;
use wirespeed_scenario::run::KernelVersion;

/// All of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    #[serde(default)]
    part: Vec<Part>,
}

/// Options and sources of one range of versions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    kernels: Versions,
    /// Lines of the configuration.
    #[serde(default)]
    options: Vec<String>,
    /// Paths below `kernel/`.
    #[serde(default)]
    sources: Vec<String>,
    /// For the reader of the file.
    #[serde(rename = "why")]
    _why: String,
}

impl Parts {
    /// Reads the text of `parts.toml`.
    pub fn parse(text: &str) -> Result<Parts, KernelError> {
        toml::from_str(text).map_err(KernelError::PartsFile)
    }

    /// Whether a source of ours is compiled in by this version. One that no part names is compiled in by all.
    pub fn compile(&self, source: &str, version: KernelVersion) -> bool {
        let mut naming =
            self.part.iter().filter(|part| part.sources.iter().any(|name| name == source)).peekable();
        naming.peek().is_none() || naming.any(|part| part.kernels.contain(version))
    }

    /// Lines of the configuration beside the fragment.
    pub fn options(&self, version: KernelVersion) -> impl Iterator<Item = &str> {
        let of_version = self.part.iter().filter(move |part| part.kernels.contain(version));
        of_version.flat_map(|part| part.options.iter().map(String::as_str))
    }

    /// All sources that are named.
    #[cfg(test)]
    pub fn sources(&self) -> Vec<String> {
        self.part.iter().flat_map(|part| part.sources.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_two_parts_is_in_the_versions_of_either() {
        let text = "[[part]]\nkernels = '..6.5'\nsources = ['cc/a.c']\nwhy = 'old'\n\
                    [[part]]\nkernels = '7.2..'\noptions = ['CONFIG_B=y']\nsources = ['cc/a.c', 'cc/b.c']\nwhy = 'new'\n";
        let parts = Parts::parse(text).unwrap();
        let version = |text: &str| text.parse().unwrap();
        for (source, expected) in
            [("cc/a.c", [true, false, true]), ("cc/b.c", [false, false, true]), ("cc/c.c", [true; 3])]
        {
            let found = ["6.1", "6.12", "7.2.11"].map(|text| parts.compile(source, version(text)));
            assert_eq!(found, expected, "{source}");
        }
        assert_eq!(parts.options(version("7.3")).collect::<Vec<_>>(), ["CONFIG_B=y"]);
        assert_eq!(parts.options(version("6.12")).count(), 0);
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(Parts::parse("[[part]]\nkernels = '7.2..'\nwhy = 'x'\nsource = []\n").is_err());
    }
}
