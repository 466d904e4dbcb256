//! Everything of a network namespace and an interface that can be read, to compare it before and after a change.

use std::collections::BTreeMap;

/// Values by the file or the command that they are read with.
pub type Settings = BTreeMap<String, String>;

/// A shell script that prints all files below /proc/sys/net and of the interface, and the output of these commands. Files that
/// change by themselves are left out, and so are those whose paths match a pattern of `changing`.
pub fn script(interface: &str, changing: &[&str], commands: &[&str]) -> String {
    let left_out: String = changing.iter().map(|pattern| format!(" -not -path '{pattern}'")).collect();
    let commands: Vec<String> = commands.iter().map(|command| format!("'{command}'")).collect();
    format!(
        "device=$(readlink -f /sys/class/net/{interface})\n\
         find /proc/sys/net $device -type f -readable -not -path '*/statistics/*' -not -path '*/power/*' \
             -not -name uevent -not -name nf_conntrack_count -not -name tcp_fastopen_key{left_out} \
             | sort | xargs grep -sHZ ''\n\
         for command in {}; do\n\
             printf '%s\\0%s\\n' \"$command\" \"$(eval \"$command\" 2>&1 | tr '\\n\\t' '  ')\"; done\n",
        commands.join(" ")
    )
}

/// Values in the output of [`script`].
///
/// # Panics
/// If there are so few that the script did not work.
pub fn parse(text: &str) -> Settings {
    let mut all = Settings::new();
    // A file of several lines has its name before each.
    for (name, value) in text.lines().filter_map(|line| line.split_once('\0')) {
        let values: &mut String = all.entry(name.to_owned()).or_default();
        values.push_str(value);
        values.push('\n');
    }
    assert!(all.len() > 100, "only {} values are read", all.len());
    all
}

/// Names whose values differ, with both values.
pub fn differences(before: &Settings, after: &Settings) -> Vec<String> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(*name) != after.get(*name));
    names.iter().map(|name| format!("{name}: {:?} then {:?}", before.get(*name), after.get(*name))).collect()
}
