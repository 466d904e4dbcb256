//! Agents that wait for a controller themselves, where there is no ssh between the machines. They need network namespaces; without
//! them each test is skipped by name, with the reason.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::bed::Bed;
use support::errors;
use support::ledger::{entry, results};

const PROGRAM: &str = env!("CARGO_BIN_EXE_wirespeed");

fn token(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("the folder can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    path
}

/// An agent that waits on a machine; it ends with this value.
struct Waiting(Child);

impl Waiting {
    fn on(bed: &Bed, place: isize, token: &Path, time: &str) -> Waiting {
        Waiting::with(Path::new(PROGRAM), bed, place, token, time)
    }

    fn with(program: &Path, bed: &Bed, place: isize, token: &Path, time: &str) -> Waiting {
        Waiting::at(&format!("{}:5999", bed.address(place)), program, bed, place, token, time)
    }

    fn at(listen: &str, program: &Path, bed: &Bed, place: isize, token: &Path, time: &str) -> Waiting {
        let child = Command::new("ip")
            .args(["netns", "exec", bed.name(place)])
            .arg(program)
            .args(["agent", "serve", "--listen", listen])
            .args(["--time", time, "--token-file"])
            .arg(token)
            .stderr(Stdio::piped())
            .spawn();
        Waiting(child.expect("ip and the program are there"))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program on the first machine, from where both addresses can be reached.
fn controller(bed: &Bed, token: Option<&Path>, arguments: &[&str]) -> Output {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", bed.name(0), PROGRAM]).args(arguments).current_dir(bed.folder());
    command.env("NO_COLOR", "1");
    if let Some(token) = token {
        command.env("WIRESPEED_TOKEN_FILE", token);
    }
    command.output().expect("ip and the program are there")
}

fn probe(bed: &Bed, token: Option<&Path>) -> Output {
    let name = |place| format!("tcp://{0}:5999={0}", bed.address(place));
    controller(bed, token, &["probe", &name(0), &name(-1), "--time", "1 s", "--json", "--out", "out"])
}

/// An agent that has just been started may not listen yet.
fn once_it_listens(bed: &Bed, token: &Path) -> Output {
    let began = Instant::now();
    loop {
        let output = probe(bed, Some(token));
        if !errors(&output).contains("refused") || began.elapsed() > Duration::from_secs(10) {
            return output;
        }
    }
}

#[test]
fn two_agents_that_wait_are_probed() {
    let Some(bed) = Bed::new("two_agents_that_wait_are_probed", 0) else { return };
    let secret = token(bed.folder(), "token", "a secret of this test, 31 chars\n");
    let _agents = [Waiting::on(&bed, 0, &secret, "60 s"), Waiting::on(&bed, -1, &secret, "60 s")];
    let run = results(&once_it_listens(&bed, &secret));
    for direction in ["data", "ack"] {
        assert_eq!(entry(&run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
    }
    // One after the other can be served.
    results(&probe(&bed, Some(&secret)));
}

#[test]
fn agents_that_wait_at_ipv6_addresses_are_probed_over_ipv6() {
    let Some(bed) = Bed::new("agents_that_wait_at_ipv6_addresses_are_probed_over_ipv6", 0) else { return };
    bed.add_ipv6().unwrap();
    let secret = token(bed.folder(), "token", "a secret of this test, 31 chars\n");
    let _agents = [0, -1].map(|place| {
        let listen = format!("[{}]:5999", bed.address_v6(place));
        Waiting::at(&listen, Path::new(PROGRAM), &bed, place, &secret, "60 s")
    });
    std::thread::sleep(Duration::from_secs(1));
    let name = |place| format!("tcp://[{0}]:5999={0}", bed.address_v6(place));
    let (from, to) = (name(0), name(-1));
    let words = ["probe", &from, &to, "--time", "1 s", "--udp", "10 Mbit/s", "--json", "--out", "out"];
    let run = results(&controller(&bed, Some(&secret), &words));
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
    assert!(entry(&run, "data", "delivered") > 100, "{}", run["ledger"]);
}

#[test]
fn controller_without_the_secret_is_refused() {
    let Some(bed) = Bed::new("controller_without_the_secret_is_refused", 0) else { return };
    let secret = token(bed.folder(), "token", "a secret of this test, 31 chars\n");
    let other = token(bed.folder(), "other", "another secret that is no good\n");
    let _agents = [Waiting::on(&bed, 0, &secret, "60 s"), Waiting::on(&bed, -1, &secret, "60 s")];
    let refused = once_it_listens(&bed, &other);
    assert_eq!(refused.status.code(), Some(3), "{}", errors(&refused));
    assert!(errors(&refused).contains("token"), "{}", errors(&refused));
    let without = probe(&bed, None);
    assert!(errors(&without).contains("WIRESPEED_TOKEN_FILE"), "{}", errors(&without));
}

/// This program as it would be if it had been built from something else.
fn of_another_version(bed: &Bed) -> PathBuf {
    let (own, other) = (env!("WIRESPEED_GIT").as_bytes(), vec![b'f'; env!("WIRESPEED_GIT").len()]);
    let mut program = fs::read(PROGRAM).expect("it was built for this test");
    let found = program.windows(own.len()).enumerate().filter(|(_, bytes)| *bytes == own);
    let places: Vec<usize> = found.map(|(at, _)| at).collect();
    places.into_iter().for_each(|at| program[at..at + own.len()].copy_from_slice(&other));
    let path = bed.folder().join("another");
    fs::write(&path, program).expect("the folder can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

#[test]
fn an_agent_of_another_version_is_reported() {
    let Some(bed) = Bed::new("an_agent_of_another_version_is_reported", 0) else { return };
    let secret = token(bed.folder(), "token", "a secret of this test, 31 chars\n");
    let other = of_another_version(&bed);
    let agents = [Waiting::on(&bed, 0, &secret, "60 s"), Waiting::with(&other, &bed, -1, &secret, "60 s")];
    let refused = once_it_listens(&bed, &secret);
    drop(agents);
    assert_eq!(refused.status.code(), Some(3), "{}", errors(&refused));
    let said = errors(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["host receiver: its agent is", "(ffff", env!("WIRESPEED_GIT")] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn waiting_ends_by_itself_and_is_never_on_all_interfaces() {
    let Some(bed) = Bed::new("waiting_ends_by_itself_and_is_never_on_all_interfaces", 0) else { return };
    let secret = token(bed.folder(), "token", "a secret of this test, 31 chars\n");
    let began = Instant::now();
    let mut agent = Waiting::on(&bed, 0, &secret, "1 s");
    assert!(agent.0.wait().expect("it can be waited for").success());
    assert!(began.elapsed() < Duration::from_secs(20));
    let everywhere = controller(
        &bed,
        None,
        &["serve-agent", "--listen", "0.0.0.0:5999", "--token-file", &secret.display().to_string()],
    );
    assert_eq!(everywhere.status.code(), Some(2));
    assert!(errors(&everywhere).contains("every interface"), "{}", errors(&everywhere));
}
