//! The committed objects are those of the committed sources.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../bpf")
}

/// Names in a folder of bpf/ that end so, sorted.
fn names(of: &Path, end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter(|name| name.ends_with(end)).collect()
}

fn sum(parts: &[Vec<u8>]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_object_is_the_one_of_its_source() {
    let bpf = folder();
    let read = |name: &str| fs::read(bpf.join(name)).unwrap_or_else(|error| panic!("bpf/{name}: {error}"));
    let headers: Vec<Vec<u8>> = names(&bpf, ".h").iter().map(|name| read(name)).collect();
    let sums = String::from_utf8(read("objects/sources.sha256")).unwrap();
    let mut listed = BTreeSet::new();
    for line in sums.lines().filter(|line| !line.starts_with('#')) {
        let [object, of_source, of_object] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("bpf/objects/sources.sha256: `{line}` is not an object and two sums; run `make bpf`");
        };
        let source = format!("{}.c", object.strip_suffix(".o").unwrap());
        let mut parts = vec![read(&source)];
        parts.extend(headers.iter().cloned());
        assert_eq!(sum(&parts), of_source, "bpf/{source} or a header was changed since; run `make bpf`");
        let object_ = read(&format!("objects/{object}"));
        assert_eq!(sum(&[object_]), of_object, "bpf/objects/{object} is another; run `make bpf`");
        listed.insert(source);
    }
    assert_eq!(
        listed,
        names(&bpf, ".bpf.c"),
        "sources without an object, or the other way round; run `make bpf`"
    );
    let objects: BTreeSet<String> =
        names(&bpf.join("objects"), ".o").iter().map(|object| object.replace(".o", ".c")).collect();
    assert_eq!(objects, listed, "objects without a source");
}

#[test]
fn every_control_has_a_source_and_every_source_a_control() {
    let mut sources = names(&folder(), ".bpf.c");
    sources.remove("drops.bpf.c");
    let controls: BTreeSet<String> =
        wirespeed_bpf::controls().iter().map(|control| format!("{}.bpf.c", control.name)).collect();
    assert_eq!(controls, sources);
}
