//! Machines for tests: network namespaces of this one, joined in a row by veth pairs or by interfaces that are wired
//! together already, gone when the test ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tempfile::TempDir;

/// A row of machines: `a`, perhaps routers, `b`.
pub struct Bed {
    names: Vec<String>,
    folder: TempDir,
    /// Interfaces of the two machines; without, veth pairs are made.
    interfaces: Option<[String; 2]>,
}

/// A user that can do nothing but what everybody can (nobody).
const ORDINARY_USER: &str = "65534";

impl Bed {
    /// `routers` machines between two others; `None`, and the test is told to be skipped, where that cannot be made.
    pub fn new(test: &str, routers: usize) -> Option<Bed> {
        let bed = Bed::of(routers + 2, None);
        match bed.build() {
            Ok(()) => Some(bed),
            Err(why) => {
                super::skip(test, &format!("no network namespaces here: {why}"));
                None
            }
        }
    }

    /// Two machines with an interface each, by name: those of the sender and of the receiver. They go back when the
    /// bed is gone.
    pub fn between(interfaces: [String; 2]) -> Result<Bed, String> {
        let bed = Bed::of(2, Some(interfaces));
        bed.build().map(|()| bed)
    }

    fn of(machines: usize, interfaces: Option<[String; 2]>) -> Bed {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = |index: usize| format!("ws{}-{number}-{index}", std::process::id());
        let folder = tempfile::tempdir().expect("a folder for the test");
        Bed { names: (0..machines).map(name).collect(), folder, interfaces }
    }

    fn build(&self) -> Result<(), String> {
        for name in &self.names {
            run("ip", &["netns", "add", name])?;
            // No packet but those of the test.
            self.inside(
                name,
                "for set in default all; do echo 1 > /proc/sys/net/ipv6/conf/$set/disable_ipv6; done",
            )?;
            fs::create_dir_all(self.home(name)).map_err(|e| e.to_string())?;
        }
        let last = self.names.len() - 1;
        for (index, pair) in self.names.windows(2).enumerate() {
            let [left, right] = [&pair[0], &pair[1]];
            self.join(index, left, right)?;
            for (name, device, end) in [(left, "right", 1), (right, "left", 2)] {
                run("ip", &["-n", name, "addr", "add", &format!("10.77.{index}.{end}/24"), "dev", device])?;
                run("ip", &["-n", name, "link", "set", device, "up"])?;
            }
            for (name, device, other) in [(left, "right", 2), (right, "left", 1)] {
                let address = format!("10.77.{index}.{other}");
                let (peer, end) = if other == 2 { (right, "left") } else { (left, "right") };
                let mac = self.told(peer, &format!("cat /sys/class/net/{end}/address"));
                run("ip", &["-n", name, "neigh", "add", &address, "lladdr", mac.trim(), "dev", device])?;
            }
        }
        for (index, name) in self.names.iter().enumerate() {
            run("ip", &["-n", name, "link", "set", "lo", "up"])?;
            if index > 0 && index < last {
                self.inside(name, "echo 1 > /proc/sys/net/ipv4/ip_forward")?;
            }
            // Networks further right are reached to the right, others to the left.
            for network in 0..last {
                if network > index {
                    let way = format!("10.77.{index}.2");
                    run("ip", &["-n", name, "route", "add", &format!("10.77.{network}.0/24"), "via", &way])?;
                } else if network + 1 < index {
                    let way = format!("10.77.{}.1", index - 1);
                    run("ip", &["-n", name, "route", "add", &format!("10.77.{network}.0/24"), "via", &way])?;
                }
            }
        }
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
        let path = self.ssh();
        fs::write(&path, script).map_err(|e| e.to_string())?;
        run("chmod", &["755", &path.display().to_string(), &self.folder.path().display().to_string()])?;
        // The ordinary user writes there as well.
        run("chmod", &["-R", "777", &self.folder.path().join("home").display().to_string()])
    }

    /// Keeps what is started on a machine to one core.
    pub fn pin(&self, name: &str, core: u32) {
        fs::write(self.home(name).join("core"), core.to_string()).expect("the folder can be written");
    }

    /// Gives two machines the ends of one link: `right` on the left machine, `left` on the right one.
    fn join(&self, index: usize, left: &str, right: &str) -> Result<(), String> {
        if let Some(interfaces) = &self.interfaces {
            for ((name, end), device) in [(left, "right"), (right, "left")].into_iter().zip(interfaces) {
                run("ip", &["link", "set", device, "down"])?;
                run("ip", &["link", "set", device, "name", end, "netns", name])?;
            }
            return Ok(());
        }
        let [at_left, at_right] = [1, 2].map(|end| format!("02:00:00:00:{index:02x}:0{end}"));
        let pair = ["type", "veth", "peer", "name", "left", "netns", right, "address", &at_right];
        run("ip", &[&["-n", left, "link", "add", "right", "address", &at_left][..], &pair].concat())
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

    /// A machine by its place in the row; negative from the right end.
    pub fn name(&self, place: isize) -> &str {
        let index = if place < 0 { self.names.len() as isize + place } else { place };
        &self.names[index as usize]
    }

    /// All machines, from left to right.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Gives the two machines of a bed without routers addresses of IPv6 as well.
    pub fn add_ipv6(&self) {
        for (place, device, end, other) in [(0, "right", 1, 2), (1, "left", 2, 1)] {
            let (name, peer) = (self.name(place), self.name(1 - place));
            let peers = if device == "right" { "left" } else { "right" };
            let mac = self.told(peer, &format!("cat /sys/class/net/{peers}/address"));
            // No packet but those of the test.
            let script = format!(
                "for set in lo {device}; do echo 0 > /proc/sys/net/ipv6/conf/$set/disable_ipv6; done; ip addr add fd77::{end}/64 dev {device} nodad && \
                 ip neigh add fd77::{other} lladdr {} dev {device}",
                mac.trim()
            );
            self.inside(name, &script).expect("a kernel with IPv6");
        }
    }

    /// The address of one of the two ends after that.
    pub fn address_v6(&self, place: isize) -> String {
        if place == 0 { "fd77::1".into() } else { "fd77::2".into() }
    }

    /// A shell command on a machine, as root.
    pub fn inside(&self, name: &str, script: &str) -> Result<(), String> {
        run("ip", &["netns", "exec", name, "sh", "-c", script])
    }

    /// What a command on a machine prints.
    pub fn told(&self, name: &str, script: &str) -> String {
        let output = Command::new("ip").args(["netns", "exec", name, "sh", "-c", script]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    /// What a protocol of a machine has counted, by the kernel's names.
    pub fn counted(&self, place: isize, protocol: &str, names: &[&str]) -> Vec<i64> {
        let told = self.told(self.name(place), "cat /proc/net/snmp /proc/net/netstat");
        let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        let of = |wanted: &&str| {
            let pair = lines.chunks_exact(2).find(|pair| pair[0][0] == protocol).expect("the kernel has it");
            // A kernel that does not count it, as those before 6.17 what is beyond the window, says nothing of it.
            let index = pair[0].iter().position(|name| name == wanted);
            index.map_or(0, |index| pair[1][index].parse().expect("a number"))
        };
        names.iter().map(of).collect()
    }

    /// Packets that the backlogs of a machine's sockets had no room for: where its readers are kept from their cores there are some,
    /// on a path that loses nothing.
    pub fn refused_by_backlogs(&self, place: isize) -> i64 {
        self.counted(place, "TcpExt:", &["TCPBacklogDrop"])[0]
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
        let half = self.names.len() / 2;
        let host = |(index, name): (usize, &String)| {
            let (group, number, address) = match index < half {
                true => ("sender", index + 1, format!("10.77.{index}.1")),
                false => ("receiver", index - half + 1, format!("10.77.{}.2", index - 1)),
            };
            format!("[host.{group}{number}]\nssh = \"{name}\"\naddress = \"{address}\"\n")
        };
        let hosts: String = self.names.iter().enumerate().map(host).collect();
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
        if place == 0 { "10.77.0.1".into() } else { format!("10.77.{}.2", self.names.len() - 2) }
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

impl Drop for Bed {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run("ip", &["netns", "del", name]);
        }
    }
}

/// Runs a program to its end.
///
/// # Errors
/// If it cannot be started or fails; then with what it said.
pub fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
