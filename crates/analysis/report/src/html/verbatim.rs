//! The parts of a page that are inserted without escaping. No other file of this crate may do that; a test checks it.

use super::data::PageData;
use crate::characters::{is_printable, printable};
use crate::drawing::Drawing;
use crate::palette::Palette;
use crate::svg;
use maud::{Markup, PreEscaped};
use serde::Serialize;
use std::borrow::Cow;

/// The marks of a drawing: the SVG writer escapes its text.
pub(super) fn drawing(drawing: &Drawing, palette: &Palette) -> Markup {
    let mut out = String::new();
    svg::drawing::marks(&mut out, drawing, palette);
    PreEscaped(out)
}

/// A style sheet or a script of this program. It holds no text of a recording.
pub(super) fn own(source: &str) -> PreEscaped<&str> {
    PreEscaped(source)
}

/// The data of the figures, as JSON that can neither end a script element nor begin a comment in one.
pub(super) fn json(data: &PageData) -> Markup {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, super::data::ForScript);
    data.serialize(&mut serializer).expect("names are strings, and memory does not fail");
    PreEscaped(String::from_utf8(out).expect("JSON is UTF-8"))
}

/// Finished markup, in which spaces replace the characters that a page cannot hold.
pub(super) fn cleaned(markup: &Markup) -> PreEscaped<Cow<'_, str>> {
    PreEscaped(if markup.0.chars().all(is_printable) {
        (&markup.0).into()
    } else {
        printable(&markup.0).into()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("the sources are there");
        let paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn unescaped_markup_is_made_in_this_file_only() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let is_user = |path: &PathBuf| {
            let text = fs::read_to_string(path).expect("sources are text");
            text.contains("PreEscaped")
        };
        let users: Vec<PathBuf> = sources(&root).into_iter().filter(is_user).collect();
        assert_eq!(users, [root.join("html/verbatim.rs")]);
    }
}
