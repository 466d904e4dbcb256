//! Settings of this kernel in a namespace: written, read back, and restored so that nothing readable differs.

#[path = "support/namespace.rs"]
mod namespace;

use namespace::{in_namespace, pair, shell};
use std::collections::BTreeMap;
use std::path::Path;
use wirespeed_host::settings::{Exact, SettingError, read, restore, save, write};
use wirespeed_inventory::{Setting, Way};

fn skip(test: &str, why: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{test} skipped: {why}\n").as_bytes());
}

const NO_NAMESPACE: &str = "this process cannot make network namespaces";

fn va() -> String {
    "va".into()
}

fn sysctl(name: &str) -> Setting {
    Setting::Sysctl { name: name.into() }
}

/// Every readable file below a folder that does not change by itself.
fn files(folder: &Path, into: &mut BTreeMap<String, String>) {
    const VOLATILE: [&str; 6] =
        ["statistics", "uevent", "power", "nf_conntrack_count", "tcp_fastopen_key", "upper_vb"];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let kind = entry.file_type().expect("an entry has a type");
        if VOLATILE.contains(&name.as_str()) || kind.is_symlink() {
            continue;
        }
        match kind.is_dir() {
            true => files(&path, into),
            false => {
                let text = std::fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
                into.insert(path.display().to_string(), text);
            }
        }
    }
}

/// Everything of the namespace that can be read.
fn dump() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    files(Path::new("/proc/sys/net"), &mut all);
    for interface in ["va", "vb"] {
        files(&Path::new("/sys/class/net").join(interface).canonicalize().unwrap(), &mut all);
    }
    for command in ["ip -d link show dev va", "tc qdisc show dev va", "ip addr show dev va"] {
        all.insert(command.into(), shell(command).unwrap());
    }
    all
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let differs = names.filter(|name| before.get(*name) != after.get(*name));
    differs.map(|name| format!("{name}: {:?} then {:?}", before.get(name), after.get(name))).collect()
}

#[test]
fn every_setting_of_a_namespace_is_written_and_restored() {
    let ran = in_namespace(|| {
        pair();
        let changes = [
            (sysctl("net.ipv4.tcp_rmem"), "4096  131072\t99999999", "4096 131072 99999999"),
            (sysctl("net.ipv4.tcp_sack"), "0", "0"),
            (sysctl("net.ipv4.tcp_congestion_control"), "reno", "reno"),
            (Setting::Mtu { interface: va() }, "9000", "9000"),
            (Setting::TxQueueLength { interface: va() }, "777", "777"),
            (Setting::Feature { interface: va(), name: "tx-tcp-segmentation".into() }, "off", "off"),
            (Setting::Feature { interface: va(), name: "rx-gro".into() }, "on", "on"),
            (Setting::Channels { interface: va() }, "2", "2"),
            (Setting::Rps { interface: va(), queue: 1 }, "0", "0"),
            (Setting::Xps { interface: va(), queue: 0 }, "0", "0"),
            (Setting::Qdisc { interface: va() }, "pfifo", "pfifo"),
        ];
        let mut done = 0;
        for (setting, value, canonical) in changes {
            let before = dump();
            let saved = match save(&setting) {
                Ok(saved) => saved,
                Err(SettingError::Unsupported { .. }) if matches!(setting, Setting::Channels { .. }) => {
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(save(&setting).unwrap(), saved, "two readings of {setting}");
            match write(&setting, value) {
                Ok(()) => {}
                // A veth has separate rx and tx channels, and rejects combined ones.
                Err(error) if matches!(setting, Setting::Channels { .. }) => {
                    assert_eq!(differences(&before, &dump()), Vec::<String>::new(), "{error}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(read(&setting).unwrap(), canonical, "{setting}");
            restore(&setting, &saved).unwrap();
            assert_eq!(differences(&before, &dump()), Vec::<String>::new(), "{setting}");
            done += 1;
        }
        assert!(done >= 10, "only {done} settings");
    });
    if !ran {
        skip("every_setting_of_a_namespace_is_written_and_restored", NO_NAMESPACE);
    }
}

#[test]
fn an_offload_that_waits_for_another_is_restored_as_waiting() {
    let ran = in_namespace(|| {
        pair();
        let feature = |name: &str| Setting::Feature { interface: va(), name: name.into() };
        let (checksum, segmentation) = (feature("tx-checksum-ip-generic"), feature("tx-tcp-segmentation"));
        write(&checksum, "off").unwrap();
        let saved = save(&segmentation).unwrap();
        assert_eq!((saved.value.as_str(), &saved.exact), ("off", &Some(Exact::Requested(true))));
        write(&segmentation, "off").unwrap();
        assert_ne!(save(&segmentation).unwrap(), saved);
        restore(&segmentation, &saved).unwrap();
        assert_eq!(save(&segmentation).unwrap(), saved);
        write(&checksum, "on").unwrap();
        assert_eq!(read(&segmentation).unwrap(), "on");
    });
    if !ran {
        skip("an_offload_that_waits_for_another_is_restored_as_waiting", NO_NAMESPACE);
    }
}

/// Trees as commands of tc for the root of `va`; more lines are qdiscs below it.
const TREES: [&[&str]; 15] = [
    &[],
    &["root handle 7: noqueue"],
    &["root handle 7: pfifo_fast"],
    &["root handle 7: pfifo limit 77"],
    &["root handle 7: bfifo limit 5000"],
    &["root handle 7: fq"],
    &["root handle 7: fq limit 5000 flow_limit 50 maxrate 1gbit ce_threshold 3ms"],
    &["root handle 7: fq_codel"],
    &["root handle 7: fq_codel target 7ms interval 70ms limit 999 ce_threshold 2ms noecn"],
    &["root handle 7: codel target 3ms interval 33ms"],
    &["root handle 7: netem delay 3ms loss 1% limit 555"],
    &["root handle 7: netem rate 100mbit delay 1ms", "parent 7:1 handle 8: pfifo limit 9"],
    &["root handle 7: mq"],
    &["root handle 7: mq", "parent 7:1 handle 9: pfifo limit 11", "parent 7:3 pfifo_fast"],
    &[
        "root handle 7: mq",
        "parent 7:1 fq quantum 9000",
        "parent 7:2 fq",
        "parent 7:3 fq",
        "parent 7:4 fq_codel",
    ],
];

#[test]
fn qdisc_trees_are_restored_with_handles_and_options() {
    let ran = in_namespace(|| {
        pair();
        let setting = Setting::Qdisc { interface: va() };
        let mut absent = Vec::new();
        for tree in TREES {
            let _ = shell("tc qdisc del dev va root");
            let made =
                tree.iter().try_for_each(|line| shell(&format!("tc qdisc replace dev va {line}")).map(drop));
            match made {
                Ok(()) => {}
                Err(why) if why.contains("kind is unknown") => {
                    absent.push(tree.join(", "));
                    continue;
                }
                Err(why) => panic!("{why}"),
            }
            let printed = || {
                shell("tc qdisc show dev va")
                    .unwrap()
                    .lines()
                    .map(str::to_owned)
                    .collect::<std::collections::BTreeSet<_>>()
            };
            let (before, saved) = (printed(), save(&setting).unwrap());
            let other = if saved.value == "bfifo" { "pfifo" } else { "bfifo" };
            write(&setting, other).unwrap();
            assert_eq!(read(&setting).unwrap(), other, "{tree:?}");
            assert_ne!(printed(), before, "{tree:?}");
            restore(&setting, &saved).unwrap();
            assert_eq!(save(&setting).unwrap(), saved, "{tree:?}");
            assert_eq!(printed(), before, "{tree:?}");
        }
        assert!(absent.len() < 11, "{absent:?}");
        if !absent.is_empty() {
            let why = format!("this kernel lacks the qdiscs of: {}", absent.join("; "));
            skip("qdisc_trees_are_restored_with_handles_and_options, in part,", &why);
        }
    });
    if !ran {
        skip("qdisc_trees_are_restored_with_handles_and_options", NO_NAMESPACE);
    }
}

#[test]
fn trees_that_cannot_be_restored_are_refused() {
    let ran = in_namespace(|| {
        pair();
        let setting = Setting::Qdisc { interface: va() };
        for (line, word) in [
            ("root handle 7: htb", "htb"),
            ("root handle 7: tbf rate 1mbit burst 10k latency 1ms", "tbf"),
            ("root handle 7: stab overhead 10 pfifo", "size table"),
        ] {
            if let Err(why) = shell(&format!("tc qdisc replace dev va {line}")) {
                skip("trees_that_cannot_be_restored_are_refused, in part,", &why);
                continue;
            }
            let error = save(&setting).unwrap_err();
            assert!(matches!(error, SettingError::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains(word), "{error}");
            shell("tc qdisc del dev va root").unwrap();
        }
    });
    if !ran {
        skip("trees_that_cannot_be_restored_are_refused", NO_NAMESPACE);
    }
}

#[test]
fn wrong_places_and_values_have_their_own_errors() {
    let ran = in_namespace(|| {
        pair();
        let none = || "no-such".to_owned();
        for setting in [
            Setting::Mtu { interface: none() },
            Setting::TxQueueLength { interface: none() },
            Setting::Qdisc { interface: none() },
            Setting::Ring { interface: none(), way: Way::Rx },
            Setting::Rps { interface: none(), queue: 0 },
            Setting::InterruptAffinity { irq: 99_999 },
            Setting::Feature { interface: va(), name: "tso".into() },
            sysctl("net.ipv4.no_such"),
        ] {
            let error = read(&setting).unwrap_err();
            assert!(matches!(error, SettingError::NotFound { .. }), "{setting}: {error:?}");
        }
        for (setting, value) in [
            (Setting::Mtu { interface: va() }, "1000"),
            (Setting::Mtu { interface: va() }, "9999999"),
            (Setting::Qdisc { interface: va() }, "mq"),
            (Setting::Feature { interface: va(), name: "rx-gro".into() }, "1"),
            (Setting::Rps { interface: va(), queue: 0 }, "3-1"),
            (sysctl("net.ipv4.tcp_sack"), "many"),
        ] {
            let error = write(&setting, value).unwrap_err();
            assert!(matches!(error, SettingError::Invalid { .. }), "{setting}: {error:?}");
        }
        let coalescing = Setting::Ring { interface: va(), way: Way::Tx };
        assert!(matches!(read(&coalescing), Err(SettingError::Unsupported { .. })), "a veth has no rings");
    });
    if !ran {
        skip("wrong_places_and_values_have_their_own_errors", NO_NAMESPACE);
    }
}
