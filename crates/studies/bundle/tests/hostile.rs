//! Bundles of somebody else: each is refused with the name of the entry, and leaves nothing behind.

mod support;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use support::{bundle, results};
use tar::{Archive, Builder, EntryType, Header};
use wirespeed_bundle::{BundleError, unpack, verify};

/// An entry as it stands in an archive.
#[derive(Debug, Clone)]
struct Raw {
    path: String,
    kind: EntryType,
    content: Vec<u8>,
    link: Option<String>,
}

fn file(path: &str, content: &[u8]) -> Raw {
    Raw { path: path.into(), kind: EntryType::Regular, content: content.into(), link: None }
}

/// The bytes of a good bundle.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = results();
    fs::read(bundle(folder.path())).unwrap()
});

fn entries() -> Vec<Raw> {
    let mut archive = Archive::new(GzDecoder::new(&GOOD[..]));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        file(&path, &content)
    });
    entries.collect()
}

fn packed(entries: &[Raw]) -> Vec<u8> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for raw in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(raw.kind);
        header.set_size(raw.content.len() as u64);
        header.set_mode(0o644);
        // The library's own methods refuse such names.
        let name = raw.path.as_bytes();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        if let Some(link) = &raw.link {
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        }
        header.set_cksum();
        archive.append(&header, &raw.content[..]).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The entries with another `bundle.json`, whose checksum is right.
fn with_manifest(change: impl FnOnce(&mut serde_json::Value)) -> Vec<Raw> {
    let mut entries = entries();
    let mut manifest: serde_json::Value = serde_json::from_slice(&entries[0].content).unwrap();
    let old = sum(&entries[0].content);
    change(&mut manifest);
    entries[0].content = manifest.to_string().into_bytes();
    let new = sum(&entries[0].content);
    entries[1].content = String::from_utf8_lossy(&entries[1].content).replace(&old, &new).into_bytes();
    entries
}

/// The error of a bundle, after which there is nothing.
fn refused(bytes: &[u8]) -> BundleError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.tar.gz");
    fs::write(&path, bytes).unwrap();
    let error = unpack(&path, &folder.path().join("in/target")).unwrap_err();
    assert_eq!(fs::read_dir(folder.path().join("in")).map_or(0, Iterator::count), 0, "{error}");
    assert!(verify(&path).is_err());
    assert!(!error.remedy().is_empty());
    error
}

fn refused_entries(entries: &[Raw]) -> String {
    refused(&packed(entries)).to_string()
}

#[test]
fn good_bundle_packed_again_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("b");
    fs::write(&path, packed(&entries())).unwrap();
    unpack(&path, &folder.path().join("target")).unwrap();
    assert!(Path::new(&folder.path().join("target/results/runs/a=1,r0/run.json")).exists());
}

#[test]
fn entries_that_no_bundle_has_are_refused_by_name() {
    let special = |path: &str, kind, link: Option<&str>| Raw {
        path: path.into(),
        kind,
        content: Vec::new(),
        link: link.map(String::from),
    };
    for (raw, expected) in [
        (file("/etc/cron.d/x", b"x"), "entry /etc/cron.d/x: its path is absolute"),
        (file("pair/../../x", b"x"), "entry pair/../../x: its path leads out of the bundle"),
        (file("pair/./x", b"x"), "entry pair/./x: its path has components that no bundle has"),
        (file("other/x", b"x"), "entry other/x: it is not in the folder of the bundle"),
        (file("x", b"x"), "entry x: it is not in the folder of the bundle"),
        (file("pair/x", b"x"), "entry x: bundle.json does not list it"),
        (file("pair/\x1b[2J", b"x"), "its path has components that no bundle has"),
        (special("pair/x", EntryType::Symlink, Some("/etc")), "entry pair/x: it is a link"),
        (special("pair/x", EntryType::Link, Some("/etc/passwd")), "entry pair/x: it is a link"),
        (special("pair/x", EntryType::Char, None), "entry pair/x: it is a device or a pipe"),
        (special("pair/x", EntryType::Block, None), "entry pair/x: it is a device or a pipe"),
        (special("pair/x", EntryType::Fifo, None), "entry pair/x: it is a device or a pipe"),
        (special("pair/x", EntryType::Directory, None), "entry pair/x: it is not a regular file"),
        (special("pair/x", EntryType::XHeader, None), "entry pair/x: it is not a regular file"),
        (special("pair/x", EntryType::GNUSparse, None), "entry pair/x: it is not a regular file"),
    ] {
        for place in [0, 2] {
            let mut entries = entries();
            entries.insert(place, raw.clone());
            let error = refused_entries(&entries);
            assert!(place == 0 || error.contains(expected), "{error}");
            assert!(!error.contains('\x1b'), "{error:?}");
        }
    }
}

#[test]
fn file_that_is_there_twice_is_refused() {
    let mut twice = entries();
    twice.push(twice[3].clone());
    assert!(refused_entries(&twice).contains("it is there twice"));
    let mut manifest_twice = entries();
    manifest_twice.push(manifest_twice[0].clone());
    assert!(refused_entries(&manifest_twice).contains("entry bundle.json: it is there twice"));
}

#[test]
fn changed_missing_and_longer_files_are_refused() {
    let at = |entries: &[Raw], end: &str| entries.iter().position(|raw| raw.path.ends_with(end)).unwrap();
    let mut changed = entries();
    let table = at(&changed, "a=1,r0/events.parquet");
    changed[table].content[9] ^= 1;
    let error = refused_entries(&changed);
    assert!(error.contains("entry results/runs/a=1,r0/events.parquet: its checksum differs"), "{error}");
    let mut missing = entries();
    missing.remove(table);
    assert!(refused_entries(&missing).contains("events.parquet: bundle.json lists it, and it is missing"));
    let mut longer = entries();
    longer[table].content.push(0);
    assert!(refused_entries(&longer).contains("bytes, and bundle.json states"));
    let mut manifest = entries();
    manifest[0].content.push(b'\n');
    assert!(refused_entries(&manifest).contains("entry bundle.json: its checksum differs"));
    let mut unsummed = entries();
    let text = String::from_utf8(unsummed[1].content.clone()).unwrap();
    let lines = text.lines().filter(|line| !line.ends_with("README.md")).map(|line| format!("{line}\n"));
    unsummed[1].content = lines.collect::<String>().into_bytes();
    assert!(refused_entries(&unsummed).contains("entry README.md: SHA256SUMS does not list it"));
}

#[test]
fn statements_of_the_manifest_are_checked() {
    let error = refused_entries(&with_manifest(|m| m["bundle_version"] = 2.into()));
    assert!(error.contains("has version 2 of the format, and this program reads up to 1"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["name"] = "other".into()));
    assert!(error.contains("has a name that differs from that of the folder"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["files"]["../../x"] = 1.into()));
    assert!(error.contains("entry ../../x: its path leads out of the bundle"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["runs"][0]["folder"] = "results/../..".into()));
    assert!(error.contains("its path leads out of the bundle"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["runs"][0]["folder"] = "scenario/x".into()));
    assert!(error.contains("it is not in the folder of the bundle"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["files"]["x"] = (1u64 << 39).into()));
    assert!(error.contains("compressed bytes cannot hold"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["files"]["x"] = u64::MAX.into()));
    assert!(error.contains("it states more than 1024 GiB"), "{error}");
    let error = refused_entries(&with_manifest(|m| m["runs"] = 7.into()));
    assert!(error.contains("is damaged: bundle.json"), "{error}");
}

#[test]
fn bomb_ends_at_what_the_manifest_states() {
    // 64 MiB of zeros after the last file are some 64 KiB compressed.
    let mut bytes = Vec::new();
    GzDecoder::new(&GOOD[..]).read_to_end(&mut bytes).unwrap();
    bytes.resize(bytes.len() + (64 << 20), 0);
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&bytes).unwrap();
    let error = refused(&packer.finish().unwrap()).to_string();
    assert!(error.contains("it holds more than bundle.json states"), "{error}");
    // A header that announces a long name does not make anybody read it.
    let mut entries = entries();
    let name = Raw { kind: EntryType::GNULongName, ..file("././@LongLink", &vec![b'a'; 1 << 20]) };
    entries.insert(2, name);
    assert!(refused_entries(&entries).contains("its path is too long"));
    // A manifest of more than its limit.
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(1 << 40);
    header.set_path("pair/bundle.json").unwrap();
    header.set_cksum();
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(header.as_bytes()).unwrap();
    assert!(refused(&packer.finish().unwrap()).to_string().contains("has more than 256 MiB"));
}

#[test]
fn truncated_and_foreign_files_are_refused() {
    for share in 1..40 {
        let length = GOOD.len() * share / 40;
        let error = refused(&GOOD[..length]);
        assert!(matches!(error, BundleError::Damaged { .. }), "{length} bytes: {error}");
    }
    // The checksum of the compressed data, its end, and what follows it.
    let mut bytes = GOOD.clone();
    let end = bytes.len() - 6;
    bytes[end] ^= 1;
    assert!(matches!(refused(&bytes), BundleError::Damaged { .. }));
    let more = [&GOOD[..], b"more"].concat();
    assert!(refused(&more).to_string().contains("something follows the end of the compressed data"));
    let twice = [&GOOD[..], &GOOD[..]].concat();
    assert!(refused(&twice).to_string().contains("something follows the end"));
    for foreign in [&b"schema = 1\n"[..], b"", b"\x1f"] {
        assert!(matches!(refused(foreign), BundleError::NotABundle { .. }));
    }
    assert!(matches!(refused(&packed(&[])), BundleError::NotABundle { .. }));
    let mut other = entries();
    other.swap(0, 1);
    assert!(refused_entries(&other).contains("its first entry is not bundle.json"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Bytes that are changed anywhere, before or after compression, are refused, or are those of a good bundle.
    #[test]
    fn changed_bytes_never_leave_something_behind(
        place in any::<prop::sample::Index>(), byte in any::<u8>(), is_inside in any::<bool>(), cut in any::<bool>(),
    ) {
        let mut bytes = GOOD.clone();
        if is_inside {
            bytes.clear();
            GzDecoder::new(&GOOD[..]).read_to_end(&mut bytes).unwrap();
        }
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if cut {
            bytes.truncate(place + 1);
        }
        if is_inside {
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&bytes).unwrap();
            bytes = packer.finish().unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        fs::write(&path, &bytes).unwrap();
        let target = folder.path().join("in/target");
        match unpack(&path, &target) {
            Ok(manifest) => prop_assert!(manifest.files.keys().all(|file| target.join(file).is_file())),
            Err(_) => prop_assert_eq!(fs::read_dir(folder.path().join("in")).map_or(0, Iterator::count), 0),
        }
    }

    /// Any bytes at all.
    #[test]
    fn any_bytes_are_no_bundle(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b");
        for start in [&[][..], &[0x1f, 0x8b, 8]] {
            fs::write(&path, [start, &bytes].concat()).unwrap();
            prop_assert!(verify(&path).is_err());
        }
    }
}
