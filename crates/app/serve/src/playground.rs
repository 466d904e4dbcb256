//! The playground: the page that `make playground` writes, and where it lies.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Name of the page in every folder.
const NAME: &str = "playground.html";

/// Its title, by which another page is rejected.
const TITLE: &str = "<title>wirespeed playground</title>";

/// A page is not larger: `make playground` writes at most 2.5 MB.
const LARGEST: u64 = 16 << 20;

/// The mark that cargo puts into its target folder.
const CARGO_MARK: &str = "CACHEDIR.TAG";

/// Why a file cannot be the playground.
#[derive(Debug, Error)]
pub enum PlaygroundError {
    /// It is missing, not a regular file, too large or not text.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// It is another page.
    #[error("{} is not a playground page", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
}

/// A page of the playground, read once.
#[derive(Debug, Clone)]
pub struct Playground {
    html: Arc<str>,
}

impl Playground {
    /// The page in a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not a playground page.
    pub fn open(path: &Path) -> Result<Playground, PlaygroundError> {
        let failed = |source| PlaygroundError::Read { path: path.into(), source };
        let html = read(path).map_err(failed)?;
        if !html.contains(TITLE) {
            return Err(PlaygroundError::Other { path: path.into() });
        }
        Ok(Playground { html: html.into() })
    }

    /// The first playground page among the places of the running `program`. Other files there are skipped.
    pub fn find(program: &Path) -> Option<Playground> {
        places(program).iter().find_map(|path| Playground::open(path).ok())
    }

    /// The page.
    pub(crate) fn html(&self) -> Arc<str> {
        self.html.clone()
    }

    /// The scripts that the browser executes as the page loads. The worker and the module have a type of their own.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = &str> {
        self.html.split("<script>").skip(1).filter_map(|rest| rest.split("</script>").next())
    }
}

fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut html = String::new();
    if file.take(LARGEST + 1).read_to_string(&mut html)? as u64 > LARGEST {
        let reason = format!("it has more than {} MiB", LARGEST >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(html)
}

/// The places of a page that the user did not name. They are beside the program, in `../share/wirespeed` relative to it, and in
/// `playground` of the cargo target folder that the program is in.
fn places(program: &Path) -> Vec<PathBuf> {
    let Some(folder) = program.parent() else { return Vec::new() };
    let mut places = vec![folder.join(NAME), folder.join("../share/wirespeed").join(NAME)];
    // TARGET/release/wirespeed, or TARGET/TRIPLE/release/wirespeed.
    let target = folder.ancestors().skip(1).take(2).find(|above| above.join(CARGO_MARK).is_file());
    places.extend(target.map(|target| target.join("playground").join(NAME)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn page_beside_the_program_comes_first_and_other_files_are_skipped() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("target/release/wirespeed");
        let write = |place: &str, text: &str| {
            let path = root.path().join("target").join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let found = || Playground::find(&program).map(|page| page.html().to_string());
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        write("playground/playground.html", &format!("{TITLE} built"));
        assert_eq!(found(), None, "a folder without cargo's mark is not one of its target folders");
        write(CARGO_MARK, "");
        assert_eq!(found().unwrap(), format!("{TITLE} built"));
        write("share/wirespeed/playground.html", &format!("{TITLE} installed"));
        assert_eq!(found().unwrap(), format!("{TITLE} installed"));
        write("release/playground.html", "<title>another page</title>");
        assert_eq!(found().unwrap(), format!("{TITLE} installed"));
        write("release/playground.html", &format!("{TITLE} beside"));
        assert_eq!(found().unwrap(), format!("{TITLE} beside"));
    }

    #[test]
    fn only_scripts_without_a_type_are_executed() {
        let html =
            "<script type=\"text/plain\" id=\"worker\">a</script><script>b</script>\n<script>c</script>";
        let page = Playground { html: html.into() };
        assert_eq!(page.scripts().collect::<Vec<_>>(), ["b", "c"]);
    }
}
