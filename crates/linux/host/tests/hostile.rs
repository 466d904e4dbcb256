//! Random input for the parsers, random values for the counters. `PROPTEST_CASES=10000` tries more of them.

#[path = "support/bytes.rs"]
mod bytes;

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_host::{CounterMeaning, Delta, Place, Reading, Snapshot, Way, Width};
use wirespeed_record::Stage;

/// Files of a fixture, so that chance begins with something that makes sense.
fn recorded(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/veth-6.18-sender").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

fn changed(file: &Path, changes: &[(prop::sample::Index, u8)], cut: prop::sample::Index) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    bytes.truncate(cut.index(bytes.len() + 1));
    let length = bytes.len();
    if length > 0 {
        changes.iter().for_each(|(at, byte)| bytes[at.index(length)] = *byte);
    }
    bytes
}

fn counter(value: u64, width: Width) -> Snapshot {
    let sense = CounterMeaning::loss(Stage::RxRing, Way::Rx);
    let reading = Reading { width, ..Reading::new("test", Place::Host, "counter", value, sense) };
    Snapshot { readings: vec![reading], ..Snapshot::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        bytes::netlink(&bytes);
        bytes::text(&bytes);
    }

    #[test]
    fn damaged_answers_are_read_without_harm(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = recorded("netlink");
        bytes::netlink(&changed(&files[file.index(files.len())], &changes, cut));
    }

    #[test]
    fn damaged_text_is_read_without_harm(
        file in any::<prop::sample::Index>(),
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = [recorded("proc"), recorded("proc/net"), recorded("ethtool/v0")].concat();
        bytes::text(&changed(&files[file.index(files.len())], &changes, cut));
    }

    #[test]
    fn growth_is_exact_over_wraps(start in any::<u32>(), steps in prop::collection::vec(0u32..1 << 31, 1..40)) {
        let (mut now, mut sum) = (start, 0u64);
        for step in &steps {
            let later = now.wrapping_add(*step);
            let before = counter(u64::from(now), Width::Bits32);
            let changes = counter(u64::from(later), Width::Bits32).since(&before);
            prop_assert_eq!(changes.changes[0].delta, Delta::By(u64::from(*step)));
            sum += changes.lost(Stage::RxRing, Way::Rx).0;
            now = later;
        }
        prop_assert_eq!(sum, steps.iter().map(|step| u64::from(*step)).sum::<u64>());
    }

    #[test]
    fn a_counter_of_64_bits_that_is_less_began_anew(before in any::<u64>(), after in any::<u64>()) {
        let changes = counter(after, Width::Bits64).since(&counter(before, Width::Bits64));
        let expected = if after >= before { Delta::By(after - before) } else { Delta::Reset { before, after } };
        prop_assert_eq!(changes.changes[0].delta, expected);
    }
}
