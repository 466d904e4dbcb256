//! A network namespace with a pair of interfaces, and everything that can be read of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A namespace that ends with the value.
pub struct Namespace {
    name: String,
    folder: tempfile::TempDir,
}

/// Prints every file below /proc/sys/net and of the interface that does not change by itself, and the output of commands.
const DUMP: &str = "\
    device=$(readlink -f /sys/class/net/va)\n\
    find /proc/sys/net $device -type f -readable -not -path '*/statistics/*' -not -path '*/power/*' \
        -not -name uevent -not -name nf_conntrack_count -not -name tcp_fastopen_key -not -name stable_secret | sort | \
        xargs grep -sHZ ''\n\
    for command in 'ip -d link show dev va' 'ip addr show dev va' 'tc qdisc show dev va'; do\n\
        printf '%s\\0%s\\n' \"$command\" \"$($command | tr '\\n' ' ')\"; done\n";

impl Namespace {
    /// Makes one.
    pub fn new() -> Result<Namespace, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("wst{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        run(Command::new("ip").args(["netns", "add", &name]))?;
        let namespace = Namespace { name, folder };
        namespace.shell(
            "ip link add name va numtxqueues 4 numrxqueues 4 type veth peer name vb && \
             ip link set va up && ip link set vb up && ip link set lo up",
        )?;
        // Addresses of IPv6 are complete after a while.
        namespace.shell("while ip addr show | grep -q tentative; do sleep 0.1; done")?;
        Ok(namespace)
    }

    /// A folder for files of the test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A shell command inside.
    pub fn shell(&self, script: &str) -> Result<String, String> {
        run(Command::new("ip").args(["netns", "exec", &self.name, "sh", "-c", script]))
    }

    /// `wirespeed tune` inside, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let inner = super::support::command(self.folder(), &[]);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(inner.get_program()).arg("tune").args(arguments);
        if arguments[0] != "plan" {
            command.args(["--state", "state"]);
        }
        command.current_dir(self.folder()).env("NO_COLOR", "1");
        command
    }

    /// The same, to its end.
    pub fn tune(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program was built for this test")
    }

    /// Everything that can be read.
    pub fn dump(&self) -> BTreeMap<String, String> {
        let text = self.shell(DUMP).expect("the dump is made");
        let mut all = BTreeMap::new();
        // A file of several lines has its name before each.
        for (name, value) in text.lines().filter_map(|line| line.split_once('\0')) {
            let values: &mut String = all.entry(name.to_owned()).or_default();
            values.push_str(value);
            values.push('\n');
        }
        assert!(all.len() > 100, "only {} values are read", all.len());
        all
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = run(Command::new("ip").args(["netns", "del", &self.name]));
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Values that differ between two dumps.
pub fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    differs.map(|name| format!("{name}: {:?} then {:?}", before.get(name), after.get(name))).collect()
}
