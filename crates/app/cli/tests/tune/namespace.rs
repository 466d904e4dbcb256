//! A network namespace with a pair of interfaces, and everything that can be read of it.

use super::support::settings::{Settings, parse, script};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A namespace that ends with the value.
pub struct Namespace {
    name: String,
    folder: tempfile::TempDir,
}

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
    pub fn dump(&self) -> Settings {
        let commands = ["ip -d link show dev va", "ip addr show dev va", "tc qdisc show dev va"];
        parse(&self.shell(&script("va", &["*/stable_secret"], &commands)).expect("the dump is made"))
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
