//! Real SSH between the machines of a bed: a server (dropbear) on each, OpenSSH's client where the program runs, and a
//! network of its own between them, which carries no test traffic.

use super::bed::Bed;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use wirespeed_testbed::run;

/// Who logs in.
pub const ROOT: &str = "root";
/// A user without any right of its own.
pub const ORDINARY: &str = "tester";

/// Where the program runs, and the servers of the machines.
pub struct Servers<'a> {
    bed: &'a Bed,
    /// The namespace of the program.
    desk: String,
    servers: Vec<Child>,
}

impl<'a> Servers<'a> {
    /// A server on each machine; `None`, and the test is told to be skipped, where a program for that is missing.
    pub fn on(bed: &'a Bed, test: &str) -> Option<Servers<'a>> {
        let needed = [
            ("dropbear", "-V"),
            ("dropbearkey", "-h"),
            ("ssh", "-V"),
            ("ssh-keygen", "-?"),
            ("unshare", "-V"),
        ];
        let missing = needed.iter().find(|(program, option)| {
            Command::new(program).arg(option).stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
        });
        if let Some((program, _)) = missing {
            super::skip(test, &format!("no {program} here (packages dropbear-bin, openssh-client)"));
            return None;
        }
        let desk = format!("{}-desk", bed.name(0));
        let mut servers = Servers { bed, desk, servers: Vec::new() };
        servers.build().expect("servers where namespaces can be made");
        Some(servers)
    }

    fn build(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let (folder, desk) = (self.bed.folder(), &self.desk);
        run("ip", &["netns", "add", desk])?;
        run("ip", &["-n", desk, "link", "set", "lo", "up"])?;
        let key = folder.join("key").display().to_string();
        run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &key])?;
        let (mut known, mut config) = (String::new(), String::new());
        for (index, name) in self.bed.names().enumerate() {
            let (here, there) = (format!("10.78.{index}.1"), format!("10.78.{index}.2"));
            let device = format!("to{index}");
            run(
                "ip",
                &["-n", desk, "link", "add", &device, "type", "veth", "peer", "name", "desk", "netns", name],
            )?;
            for (of, device, address) in [(desk.as_str(), device.as_str(), &here), (name, "desk", &there)] {
                run("ip", &["-n", of, "addr", "add", &format!("{address}/24"), "dev", device])?;
                run("ip", &["-n", of, "link", "set", device, "up"])?;
            }
            let host_key = self.machine(name, &key)?;
            known += &format!("{there} {host_key}\n");
            config += &format!("Host {name}\nHostName {there}\n");
            self.servers.push(serve(&self.bed.home(name), name, &format!("{there}:22"))?);
        }
        let known_hosts = self.known_hosts();
        fs::write(&known_hosts, known)?;
        config += &format!(
            "Host *\nUser {ROOT}\nIdentityFile {key}\nIdentitiesOnly yes\nStrictHostKeyChecking yes\nLogLevel ERROR\n\
             UserKnownHostsFile {}\nGlobalKnownHostsFile none\n",
            known_hosts.display()
        );
        Ok(fs::write(folder.join("ssh_config"), config)?)
    }

    /// Homes with our key and a list of users for a machine; returns the key of its server.
    fn machine(&self, name: &str, key: &str) -> Result<String, Box<dyn std::error::Error>> {
        let folder = self.bed.home(name);
        let public = fs::read_to_string(format!("{key}.pub"))?;
        let mut users = String::new();
        for (user, id) in [(ROOT, "0"), (ORDINARY, "65534")] {
            let home = folder.join(user);
            fs::create_dir_all(home.join(".ssh"))?;
            fs::write(home.join(".ssh/authorized_keys"), &public)?;
            let home = home.display().to_string();
            run("chown", &["-R", &format!("{id}:{id}"), &home])?;
            // The server trusts no home that others may write to.
            run("chmod", &["-R", "u=rwX,go=", &home])?;
            users += &format!("{user}:x:{id}:{id}::{home}:/bin/sh\n");
        }
        fs::write(folder.join("passwd"), users)?;
        let file = folder.join("host_key").display().to_string();
        run("dropbearkey", &["-t", "ed25519", "-f", &file])?;
        let printed = Command::new("dropbearkey").args(["-y", "-f", &file]).output()?;
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        let line = printed
            .lines()
            .find(|line| line.starts_with("ssh-ed25519 "))
            .ok_or("dropbearkey tells no key")?;
        Ok(line.to_owned())
    }

    /// The keys that machines must show.
    pub fn known_hosts(&self) -> PathBuf {
        self.bed.folder().join("known_hosts")
    }

    /// Adds to what the client is told, before all else; the first word on a matter is the one that counts.
    pub fn configure(&self, words: &str) {
        let file = self.bed.folder().join("ssh_config");
        let rest = fs::read_to_string(&file).expect("it was written");
        fs::write(&file, format!("{words}\n{rest}")).expect("the folder can be written");
    }

    /// The program at the desk.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.desk]).arg(super::without_names()).args(arguments);
        command.current_dir(self.bed.folder()).env("NO_COLOR", "1").env_remove("COLUMNS");
        command.env("WIRESPEED_SSH", format!("ssh -F {}", self.bed.folder().join("ssh_config").display()));
        command
    }

    /// The program in the place of ssh, which may change what goes through.
    pub fn instead_of_ssh(&self, script: &str) -> String {
        let file = self.bed.folder().join("own-ssh");
        let config = self.bed.folder().join("ssh_config");
        fs::write(&file, format!("#!/bin/bash\nssh=(ssh -F '{}')\n{script}\n", config.display())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file.display().to_string()
    }

    /// Another address at which the server of a machine can be reached.
    pub fn serve_at(&mut self, name: &str, address: &str) {
        let server = serve(&self.bed.home(name), name, address).expect("a second server");
        self.servers.push(server);
    }

    /// What a shell command prints where the first server of a machine runs: it sees the files that the server sees.
    pub fn inside_server(&self, name: &str, script: &str) -> String {
        let index = self.bed.names().position(|other| other == name).expect("a machine of this bed");
        let pid = self.servers[index].id().to_string();
        let output = Command::new("nsenter").args(["-t", &pid, "-m", "-n", "sh", "-c", script]).output();
        let output = output.expect("nsenter is where unshare is");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Kills the server of a machine at once, with all that it has begun for those who are logged in.
    pub fn kill(&self, name: &str) {
        let own = self.bed.home(name).join("host_key").display().to_string();
        for pid in processes_with(&own) {
            // SAFETY: a process of this test's own servers, by its command line.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

impl Drop for Servers<'_> {
    fn drop(&mut self) {
        self.bed.names().for_each(|name| self.kill(name));
        for server in &mut self.servers {
            let _ = server.wait();
        }
        let _ = run("ip", &["netns", "del", &self.desk]);
    }
}

/// Starts a server on a machine, whose users are those of its folder, and waits until it listens.
fn serve(folder: &Path, name: &str, address: &str) -> Result<Child, Box<dyn std::error::Error>> {
    // The users are in the place of the machine's, for this server alone.
    let script = format!(
        "mount --bind '{0}/passwd' /etc/passwd && exec dropbear -F -E -s -P '{0}/server-{address}' -r '{0}/host_key' \
         -p {address}",
        folder.display()
    );
    let log = fs::File::create(folder.join("server.log"))?;
    let server = Command::new("ip")
        .args(["netns", "exec", name, "unshare", "--mount", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    let began = std::time::Instant::now();
    while !folder.join(format!("server-{address}")).exists() {
        if began.elapsed().as_secs() > 10 {
            return Err(fs::read_to_string(folder.join("server.log")).unwrap_or_default().into());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Ok(server)
}

/// Processes with a word in their command line.
fn processes_with(word: &str) -> Vec<i32> {
    let has = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|pid| has(*pid)).collect()
}
