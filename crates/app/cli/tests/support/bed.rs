//! Hosts for tests of the program.

use std::fs::{self, Permissions};
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use wirespeed_testbed::{CommandError, Row};

/// A [`Row`] of hosts that the program reaches by a stand-in for ssh.
pub struct Bed {
    row: Row,
    folder: TempDir,
}

/// A user without privileges (nobody).
const ORDINARY_USER: &str = "65534";

impl Deref for Bed {
    type Target = Row;

    fn deref(&self) -> &Row {
        &self.row
    }
}

impl Bed {
    /// Two hosts with so many routers between them. `None`, with a report that the test is skipped, if this machine does not
    /// allow namespaces.
    pub fn new(test: &str, routers: usize) -> Option<Bed> {
        match Row::new(routers + 2) {
            Ok(row) => Some(Bed::over(row)),
            Err(reason) => {
                super::skip(test, &format!("no network namespaces here: {reason}"));
                None
            }
        }
    }

    /// Two hosts with an interface each, by name: those of the sender and of the receiver.
    pub fn between(interfaces: [String; 2]) -> Result<Bed, CommandError> {
        Row::between(interfaces).map(Bed::over)
    }

    fn over(row: Row) -> Bed {
        let bed = Bed { row, folder: tempfile::tempdir().expect("a folder for the test") };
        bed.write_ssh().unwrap_or_else(|error| panic!("{}: {error}", bed.folder().display()));
        bed
    }

    fn write_ssh(&self) -> std::io::Result<()> {
        // The ordinary user writes there as well.
        let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        for name in self.names() {
            fs::create_dir_all(self.home(name))?;
            open(&self.home(name), 0o777)?;
        }
        open(&self.folder.path().join("home"), 0o777)?;
        open(self.folder.path(), 0o755)?;
        let script = format!(
            "#!/bin/bash\n# In the place of ssh: [options] -- NAME COMMAND, in the network namespace NAME.\n\
             while [[ $1 != -- ]]; do shift; done\nname=$2\nshift 2\nuser=root\n\
             [[ $name == ordinary@* ]] && user={ORDINARY_USER}\nname=${{name#*@}}\n\
             [[ -e '{home}'/$name ]] || {{ echo \"ssh: Could not resolve hostname $name\" >&2; exit 255; }}\n\
             export HOME='{home}'/$name\n\
             [[ -e $HOME/core ]] && taskset -cp \"$(cat \"$HOME/core\")\" $$ > /dev/null\n\
             if [[ $user == root ]]; then exec ip netns exec \"$name\" sh -c \"$*\"; fi\n\
             exec ip netns exec \"$name\" setpriv --reuid $user --regid $user --clear-groups --inh-caps=-all \
             sh -c \"$*\"\n",
            home = self.folder.path().join("home").display()
        );
        fs::write(self.ssh(), script)?;
        open(&self.ssh(), 0o755)
    }

    /// Keeps what is started on a machine to one core.
    pub fn pin(&self, name: &str, core: u32) {
        fs::write(self.home(name).join("core"), core.to_string()).expect("the folder can be written");
    }

    /// What a machine has of its own among the files; homes are in it, or it is one.
    pub fn home(&self, name: &str) -> PathBuf {
        self.folder.path().join("home").join(name)
    }

    fn ssh(&self) -> PathBuf {
        self.folder.path().join("ssh")
    }

    /// Where the program is run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The output of a shell command on a host, as root; whatever it printed before it failed.
    pub fn read(&self, name: &str, script: &str) -> String {
        let output = Command::new("ip").args(["netns", "exec", name, "sh", "-c", script]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    /// Counters of a protocol on a host, by the kernel's names; 0 for a counter that this kernel does not have.
    pub fn counted(&self, place: isize, protocol: &str, names: &[&str]) -> Vec<i64> {
        let count = |name: &&str| self.counter(self.name(place), protocol, name).unwrap_or(0);
        names.iter().map(count).collect()
    }

    /// Packets that the backlogs of a machine's sockets had no room for: where its readers are kept from their cores there are some,
    /// on a path that loses nothing.
    pub fn refused_by_backlogs(&self, place: isize) -> i64 {
        self.counted(place, "TcpExt", &["TCPBacklogDrop"])[0]
    }

    /// The program, with this bed's machines behind ssh; not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = super::command(self.folder(), arguments);
        command.env("WIRESPEED_SSH", self.ssh());
        command
    }

    /// The same, to its end.
    pub fn wirespeed(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program was built for this test")
    }

    /// A scenario between the ends, whose flows and settings are `rest`; returns its file.
    pub fn scenario(&self, rest: &str) -> String {
        let file = self.folder().join("scenario.toml");
        let text = format!(
            "schema = 1\nname = \"test\"\npath = {{ rate = \"10 Gbit/s\", rtt = \"0.1 ms\" }}\n\
             [host.sender]\nssh = \"{}\"\naddress = \"{}\"\n[host.receiver]\nssh = \"{}\"\naddress = \"{}\"\n{rest}",
            self.name(0),
            self.address(0),
            self.name(-1),
            self.address(-1),
        );
        fs::write(&file, text).expect("the folder can be written");
        file.display().to_string()
    }

    /// A scenario with every machine of the row: the left half sends, the right half receives.
    pub fn scenario_of_all(&self, rest: &str) -> String {
        let half = self.names().len() / 2;
        let host = |(index, name): (usize, &str)| {
            let (group, number, address) = match index < half {
                true => ("sender", index + 1, format!("10.77.{index}.1")),
                false => ("receiver", index - half + 1, format!("10.77.{}.2", index - 1)),
            };
            format!("[host.{group}{number}]\nssh = \"{name}\"\naddress = \"{address}\"\n")
        };
        let hosts: String = self.names().enumerate().map(host).collect();
        let file = self.folder().join("scenario.toml");
        let text = format!(
            "schema = 1\nname = \"test\"\npath = {{ rate = \"10 Gbit/s\", rtt = \"0.1 ms\" }}\n\
             [topology]\nkind = \"dumbbell\"\nsenders = {half}\n{hosts}{rest}"
        );
        fs::write(&file, text).expect("the folder can be written");
        file.display().to_string()
    }

    /// The address of one of the two ends.
    pub fn address(&self, place: isize) -> String {
        self.end(place).to_string()
    }

    /// The same for IPv6, after [`Row::add_ipv6`].
    pub fn address_v6(&self, place: isize) -> String {
        self.end_v6(place).to_string()
    }

    /// Agents of this bed that run.
    pub fn agents(&self) -> Vec<u32> {
        let ours = self.folder.path().join("home").display().to_string();
        let numbered = |entry: fs::DirEntry| -> Option<u32> {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let program = fs::read_link(entry.path().join("exe")).ok()?;
            program.display().to_string().starts_with(&ours).then_some(pid)
        };
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(numbered).collect()
    }
}
