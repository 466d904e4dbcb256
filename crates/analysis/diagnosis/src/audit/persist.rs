//! Persistent forms of a set of changes: files of sysctl.d, systemd, TuneD, udev and Ansible, and a shell script.

use std::collections::BTreeMap;
use std::fmt::Write;
use wirespeed_inventory::{Change, Setting};

/// A file that keeps changes over a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistentFile {
    /// The place where its reader looks for it.
    pub path: &'static str,
    /// Its content.
    pub text: String,
}

/// The first line of the files of [`files`].
const HEAD: &str = "# Written by `wirespeed doctor`. Remove the file to undo it.\n";

/// The place of [`sysctl_fragment`].
pub const SYSCTL_FRAGMENT: &str = "/etc/sysctl.d/90-wirespeed.conf";
/// The place of [`udev_rules`].
pub const UDEV_RULES: &str = "/etc/udev/rules.d/90-wirespeed.rules";

/// All forms that some change has. Forms without content are left out.
pub fn files(changes: &[Change]) -> Vec<PersistentFile> {
    let forms: [(&'static str, Option<String>); 5] = [
        (SYSCTL_FRAGMENT, sysctl_fragment(HEAD, changes)),
        ("/etc/systemd/system/wirespeed-tune.service", systemd_unit(changes)),
        ("/etc/tuned/wirespeed/tuned.conf", tuned_profile(changes)),
        (UDEV_RULES, udev_rules(HEAD, changes)),
        ("wirespeed-vars.yml", ansible_variables(changes)),
    ];
    forms.into_iter().filter_map(|(path, text)| Some(PersistentFile { path, text: text? })).collect()
}

/// The sysctls, each once; the last change of a name counts.
fn sysctls(changes: &[Change]) -> BTreeMap<&str, &Change> {
    let named = changes.iter().filter_map(|change| match &change.setting {
        Setting::Sysctl { name } => Some((name.as_str(), change)),
        _ => None,
    });
    named.collect()
}

/// Changes that are not sysctls. Those that reset a link come last.
fn others(changes: &[Change]) -> Vec<&Change> {
    let mut found: Vec<&Change> = Vec::new();
    for change in changes.iter().filter(|change| !matches!(change.setting, Setting::Sysctl { .. })) {
        if found.iter().all(|other| other.setting != change.setting) {
            found.push(change);
        }
    }
    found.sort_by_key(|change| change.setting.resets_link());
    found
}

/// A comment has one line, whatever a snapshot holds.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A fragment for sysctl.d(5), with `head` above it.
pub fn sysctl_fragment(head: &str, changes: &[Change]) -> Option<String> {
    let sysctls = sysctls(changes);
    let line = |(name, change): (&&str, &&Change)| {
        format!("# {}: {}\n{name} = {}\n", change.rule, one_line(&change.reason), one_line(&change.value))
    };
    let lines: String = sysctls.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("{head}{lines}"))
}

/// A service of systemd that makes the changes which are not sysctls.
pub fn systemd_unit(changes: &[Change]) -> Option<String> {
    let others = others(changes);
    if others.is_empty() {
        return None;
    }
    let mut text = format!(
        "{HEAD}[Unit]\nDescription=Settings of wirespeed for a fast path\nWants=network-online.target\nAfter=network-online.target\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
    );
    for change in others {
        // In a unit, % begins a specifier and $ a variable.
        let command = change.setting.command(&change.value).replace('%', "%%").replace('$', "$$");
        let _ = writeln!(text, "# {}: {}", change.rule, one_line(&change.reason));
        let _ = writeln!(text, "ExecStart=/bin/sh -c \"{}\"", one_line(&command).replace('"', "\\\""));
    }
    text.push_str("\n[Install]\nWantedBy=multi-user.target\n");
    Some(text)
}

/// A profile of TuneD that includes throughput-performance.
pub fn tuned_profile(changes: &[Change]) -> Option<String> {
    let sysctls = sysctls(changes);
    let mut text = format!(
        "{HEAD}[main]\nsummary=Settings of wirespeed for a fast path\ninclude=throughput-performance\n"
    );
    let governor = changes.iter().find(|change| matches!(change.setting, Setting::Governor { .. }));
    if sysctls.is_empty() && governor.is_none() {
        return None;
    }
    if let Some(change) = governor {
        let _ = write!(text, "\n[cpu]\ngovernor={}\n", change.value);
    }
    if !sysctls.is_empty() {
        text.push_str("\n[sysctl]\n");
        for (name, change) in sysctls {
            let _ = writeln!(text, "{name}={}", one_line(&change.value));
        }
    }
    Some(text)
}

/// Rules of udev that make the changes of an interface when it appears, with `head` above them.
pub fn udev_rules(head: &str, changes: &[Change]) -> Option<String> {
    let of_interface =
        others(changes).into_iter().filter_map(|change| Some((change.setting.interface()?, change)));
    let mut text = String::new();
    for (interface, change) in of_interface {
        // In a rule, $ and % begin a substitution.
        let command = change.setting.command(&change.value).replace('%', "%%").replace('$', "$$");
        let _ = writeln!(
            text,
            "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"{interface}\", RUN+=\"/bin/sh -c '{}'\"",
            one_line(&command).replace('"', "\\\"")
        );
    }
    (!text.is_empty()).then(|| format!("{head}{text}"))
}

/// Variables for a playbook of Ansible: a map of sysctls and a list of commands.
pub fn ansible_variables(changes: &[Change]) -> Option<String> {
    let (sysctls, others) = (sysctls(changes), others(changes));
    let quoted = |text: &str| format!("'{}'", one_line(text).replace('\'', "''"));
    let mut text = String::from(HEAD);
    if sysctls.is_empty() && others.is_empty() {
        return None;
    }
    if !sysctls.is_empty() {
        text.push_str("wirespeed_sysctls:\n");
        for (name, change) in sysctls {
            let _ = writeln!(text, "  {name}: {}", quoted(&change.value));
        }
    }
    if !others.is_empty() {
        text.push_str("wirespeed_commands:\n");
        for change in others {
            let _ = writeln!(text, "  - {}", quoted(&change.setting.command(&change.value)));
        }
    }
    Some(text)
}

/// A script that makes the changes now. It stops at the first command that fails.
pub fn shell_script(changes: &[Change]) -> String {
    let mut text = String::from("#!/bin/sh\n# Written by `wirespeed doctor`. Run it as root.\nset -eu\n");
    let all = sysctls(changes).into_values().chain(others(changes));
    for change in all {
        if change.setting.resets_link() {
            text.push_str("# The next command may take the link down for seconds.\n");
        }
        let _ = writeln!(text, "# {}: {}", change.rule, one_line(&change.reason));
        let _ = writeln!(text, "{}", one_line(&change.setting.command(&change.value)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_inventory::Way;

    fn changes() -> Vec<Change> {
        let change = |setting, value: &str, rule: &str| Change {
            setting,
            value: value.into(),
            rule: rule.into(),
            reason: "the path needs it\nnow".into(),
        };
        let sysctl = |name: &str| Setting::Sysctl { name: name.into() };
        vec![
            change(Setting::Ring { interface: "eth2".into(), way: Way::Rx }, "8192", "ring.rx"),
            change(sysctl("net.ipv4.tcp_rmem"), "4096 131072 250000000", "tcp.rmem"),
            change(Setting::Qdisc { interface: "eth2".into() }, "fq", "queue.fq"),
            change(sysctl("net.core.default_qdisc"), "fq", "queue.fq"),
        ]
    }

    #[test]
    fn sysctls_and_commands_are_written_in_each_form() {
        let changes = changes();
        let fragment = sysctl_fragment(HEAD, &changes).unwrap();
        assert!(
            fragment
                .ends_with("# tcp.rmem: the path needs it now\nnet.ipv4.tcp_rmem = 4096 131072 250000000\n")
        );
        let unit = systemd_unit(&changes).unwrap();
        let qdisc = unit.find("tc qdisc replace dev eth2 root fq").unwrap();
        assert!(
            qdisc < unit.find("ethtool -G eth2 rx 8192").unwrap(),
            "the ring resets the link, and is last"
        );
        assert!(tuned_profile(&changes).unwrap().contains("[sysctl]\nnet.core.default_qdisc=fq\n"));
        let udev = udev_rules(HEAD, &changes).unwrap();
        assert!(udev.contains("KERNEL==\"eth2\", RUN+=\"/bin/sh -c 'ethtool -G eth2 rx 8192'\"\n"), "{udev}");
        let ansible = ansible_variables(&changes).unwrap();
        assert!(ansible.contains("  net.ipv4.tcp_rmem: '4096 131072 250000000'\n"));
        assert!(ansible.contains("  - 'ethtool -G eth2 rx 8192'\n"));
        let script = shell_script(&changes);
        assert!(script.contains("\nsysctl -w net.ipv4.tcp_rmem='4096 131072 250000000'\n"));
        assert!(script.contains("# The next command may take the link down for seconds.\n# ring.rx:"));
        assert_eq!(files(&changes).len(), 5);
    }

    #[test]
    fn no_change_gives_no_file() {
        assert_eq!(files(&[]), []);
        assert_eq!(shell_script(&[]).lines().count(), 3);
    }
}
