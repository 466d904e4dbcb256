//! What decides the kernel besides its source and compiler: fragment, edits, added sources.

use crate::assets;
use crate::edits::{self, Edit};
use crate::error::KernelError;
use crate::parts::Parts;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_scenario::run::KernelVersion;

/// Raised when the builder itself changes what comes out.
const BUILDER: &str = "1";

/// A C file compiled into the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Folder in the source: `net/sched` or `net/ipv4`.
    pub folder: &'static str,
    /// File name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Everything wirespeed puts into a build.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Options over `allnoconfig`.
    pub fragment: String,
    /// The version of Linux that it is for.
    pub version: KernelVersion,
    /// Edits to the kernel's own sources that this version needs.
    pub edits: Vec<Edit>,
    /// Added sources, ours first.
    pub added: Vec<Added>,
}

const SCHED: &str = "net/sched";
const IPV4: &str = "net/ipv4";

impl Recipe {
    /// Ours for a version of Linux, and the user's congestion controls.
    pub fn new(version: KernelVersion, extra_cc: &[PathBuf]) -> Result<Self, KernelError> {
        let parts = Parts::parse(assets::PARTS)?;
        let embedded = |folder, ours: &str, files: &[(&str, &str)]| {
            let of_version =
                files.iter().filter(|(name, _)| parts.compile(&format!("{ours}/{name}"), version));
            let own =
                |(name, text): &(&str, &str)| Added { folder, name: (*name).into(), text: (*text).into() };
            of_version.map(own).collect::<Vec<_>>()
        };
        let mut added = embedded(SCHED, "qdisc", assets::QDISC);
        added.extend(embedded(IPV4, "cc", assets::CONGESTION));
        for path in extra_cc {
            let file = user_file(path)?;
            if added.iter().any(|a| a.folder == file.folder && a.name == file.name) {
                let reason =
                    format!("there is another {}/{} among the added sources: rename it", IPV4, file.name);
                return Err(KernelError::AddedSource { path: path.clone(), reason });
            }
            added.push(file);
        }
        let mut edits = edits::parse(assets::EDITS)?;
        edits.retain(|edit| edit.kernels.contain(version));
        let mut fragment = assets::FRAGMENT.to_owned();
        parts.options(version).for_each(|option| fragment.push_str(&format!("{option}\n")));
        Ok(Recipe { fragment, version, edits, added })
    }

    /// SHA-256 of all of it but the version, which the source has; each part is preceded by its length, so that no two recipes read the same.
    pub fn hash(&self) -> String {
        let mut parts = vec![BUILDER, &self.fragment];
        for (name, value) in &crate::make::FIXED {
            parts.extend([*name, *value]);
        }
        for edit in &self.edits {
            // Not the reason: explaining an edit better does not change the kernel.
            parts.extend([edit.file.as_str(), &edit.find, &edit.replace]);
        }
        for added in &self.added {
            parts.extend([added.folder, &added.name, &added.text]);
        }
        hash(parts)
    }

    /// Edits the source at `tree` and puts the added files into it.
    pub fn apply(&self, tree: &Path) -> Result<(), KernelError> {
        edits::apply(&self.edits, self.version, tree)?;
        for added in &self.added {
            let path = tree.join(added.folder).join(&added.name);
            if path.exists() {
                let reason = format!("the kernel has its own {}/{}: rename yours", added.folder, added.name);
                return Err(KernelError::AddedSource { path: PathBuf::from(&added.name), reason });
            }
            fs::write(&path, &added.text).map_err(KernelError::io("write", &path))?;
            let makefile = tree.join(added.folder).join("Makefile");
            let mut text = fs::read_to_string(&makefile).map_err(KernelError::io("read", &makefile))?;
            let object = added.name.strip_suffix(".c").unwrap_or(&added.name);
            text.push_str(&format!("\nobj-y += {object}.o\n"));
            fs::write(&makefile, text).map_err(KernelError::io("write", &makefile))?;
        }
        Ok(())
    }
}

/// SHA-256 of parts, in hexadecimal.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())
}

fn user_file(path: &Path) -> Result<Added, KernelError> {
    let text = fs::read_to_string(path).map_err(KernelError::io("read congestion control", path))?;
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    // The name becomes a word of a Makefile and a module's name.
    let usable = name
        .strip_suffix(".c")
        .is_some_and(|stem| !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    if !usable {
        let reason = "its name must be letters, digits and _ with the ending .c".into();
        return Err(KernelError::AddedSource { path: path.to_owned(), reason });
    }
    Ok(Added { folder: IPV4, name: name.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for folder in [SCHED, IPV4] {
            fs::create_dir_all(tree.path().join(folder)).unwrap();
            fs::write(tree.path().join(folder).join("Makefile"), "obj-y := own.o").unwrap();
        }
        tree
    }

    fn recipe(added: Vec<Added>) -> Recipe {
        let version = KernelVersion::TODAY;
        Recipe { fragment: "CONFIG_NET=y\n".into(), version, edits: Vec::new(), added }
    }

    fn control(text: &str) -> Added {
        Added { folder: IPV4, name: "tcp_mine.c".into(), text: text.into() }
    }

    #[test]
    fn every_part_changes_the_hash_and_only_the_parts_do() {
        let base = recipe(vec![control("a")]);
        let edit = |replace: &str, why: &str| Edit {
            file: "f".into(),
            find: "x".into(),
            replace: replace.into(),
            why: why.into(),
            kernels: edits::Versions::default(),
        };
        assert_eq!(base.hash(), recipe(vec![control("a")]).hash());
        let mut hashes = vec![base.hash(), recipe(vec![control("b")]).hash(), recipe(vec![]).hash()];
        hashes.push(Recipe { fragment: "CONFIG_NET=n\n".into(), ..base.clone() }.hash());
        let with_edit = Recipe { edits: vec![edit("y", "why")], ..base.clone() };
        hashes.push(with_edit.hash());
        hashes.push(Recipe { edits: vec![edit("z", "why")], ..base.clone() }.hash());
        assert_eq!(with_edit.hash(), Recipe { edits: vec![edit("y", "better words")], ..base }.hash());
        let all = hashes.len();
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), all);
    }

    #[test]
    fn parts_of_a_version_are_in_its_recipe_alone() {
        let of = |major, minor| Recipe::new(KernelVersion::new(major, minor, 0), &[]).unwrap();
        let names = |recipe: &Recipe| recipe.added.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
        for version in [of(6, 1), of(6, 12), of(7, 1)] {
            assert_eq!(names(&version), ["sch_wire.c"]);
            assert_eq!(version.fragment, assets::FRAGMENT);
        }
        let l4s = of(7, 2);
        assert_eq!(names(&l4s), ["sch_line.c", "sch_wire.c", "tcp_prague.c"]);
        assert_eq!(l4s.fragment, format!("{}CONFIG_NET_SCH_DUALPI2=y\n", assets::FRAGMENT));
    }

    #[test]
    fn every_source_of_a_part_exists() {
        let named = Parts::parse(assets::PARTS).unwrap().sources();
        for source in named {
            let found = match source.split_once('/') {
                Some(("qdisc", name)) => assets::QDISC.iter().any(|(own, _)| *own == name),
                Some(("cc", name)) => assets::CONGESTION.iter().any(|(own, _)| *own == name),
                _ => false,
            };
            assert!(found, "kernel/parts.toml names {source}, which kernel/ does not have");
        }
    }

    #[test]
    fn moving_a_border_between_parts_changes_the_hash() {
        assert_ne!(hash(["ab", "c"]), hash(["a", "bc"]));
    }

    #[test]
    fn added_sources_are_compiled_where_they_belong() {
        let tree = tree();
        recipe(vec![control("int x;")]).apply(tree.path()).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("net/ipv4/tcp_mine.c")).unwrap(), "int x;");
        let makefile = fs::read_to_string(tree.path().join("net/ipv4/Makefile")).unwrap();
        assert_eq!(makefile, "obj-y := own.o\nobj-y += tcp_mine.o\n");
    }

    #[test]
    fn a_file_the_kernel_has_is_not_overwritten() {
        let tree = tree();
        fs::write(tree.path().join("net/ipv4/tcp_mine.c"), "theirs").unwrap();
        let error = recipe(vec![control("mine")]).apply(tree.path()).unwrap_err();
        assert!(error.to_string().contains("rename yours"), "{error}");
        assert_eq!(fs::read_to_string(tree.path().join("net/ipv4/tcp_mine.c")).unwrap(), "theirs");
    }

    #[test]
    fn names_that_make_would_misread_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tcp mine.c", "tcp-mine.c", "tcp_mine.h", ".c"] {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            let error = Recipe::new(KernelVersion::TODAY, &[path]).unwrap_err();
            assert!(matches!(error, KernelError::AddedSource { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn two_files_of_one_name_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tcp_mine.c");
        fs::write(&path, "").unwrap();
        let error = Recipe::new(KernelVersion::TODAY, &[path.clone(), path]).unwrap_err();
        assert!(error.to_string().contains("rename it"), "{error}");
    }
}
