//! A mesh: every pair of hosts is probed with paced datagrams, again and again, and a history keeps the results. A site
//! that loses a little all the time stands out between many that lose nothing (the reason of cornell-2010 to look).

mod delay;
mod history;
mod prometheus;
mod schedule;
mod summary;

pub use delay::Delay;
pub use history::{History, HistoryError};
pub use prometheus::{label as prometheus_label, prometheus};
pub use schedule::rounds;
pub use summary::{Change, EDGES, PairLoss, Site, Summary, summarise};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use wirespeed_record::{Direction, Entry, Recording, RunDirectory};
use wirespeed_scenario::run::Reach;
use wirespeed_scenario::{Run, Scenario, Table};
use wirespeed_substrates::{Control, Substrate, SubstrateError};
use wirespeed_units::{Bytes, Rate, Span};

/// One direction between two hosts, measured once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// When the sweep began, in seconds since 1970 (UTC).
    pub at: u64,
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that never came to the receiving program.
    pub lost: u64,
    /// The lost ones by stage; only stages that lost some.
    pub stages: BTreeMap<String, u64>,
    /// Datagrams that came after one sent later.
    pub reordered: u64,
    /// Datagrams that came again.
    pub duplicates: u64,
    /// How long they took, if any arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// The most datagrams lost one after the other.
    #[serde(default)]
    pub burst: u64,
    /// Why there is no measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Measured {
    /// Part of the datagrams that was lost; `None` if none was sent.
    pub fn loss(&self) -> Option<f64> {
        (self.failure.is_none() && self.sent > 0).then(|| self.lost as f64 / self.sent as f64)
    }
}

/// What is done between each pair.
#[derive(Debug, Clone)]
pub struct Mesh {
    /// The hosts.
    pub hosts: Vec<Reach>,
    /// Rate of the datagrams' payload.
    pub rate: Rate,
    /// Payload of a datagram.
    pub datagram: Bytes,
    /// How long each pair is probed.
    pub length: Span,
}

impl Mesh {
    /// Probes every pair once, both ways; a host takes part in one probe at a time. What a pair gave is handed to `told` at
    /// once. Runs that lost something stay in `folder`.
    pub fn sweep(
        &self,
        at: u64,
        substrate: &dyn Substrate,
        folder: &Path,
        cancel: &AtomicBool,
        told: &(dyn Fn(&Measured) + Sync),
    ) {
        for round in rounds(self.hosts.len()) {
            thread::scope(|scope| {
                for (from, to) in round {
                    scope.spawn(move || {
                        if cancel.load(Relaxed) {
                            return;
                        }
                        match self.probe(at, from, to, substrate, folder, cancel) {
                            Err(SubstrateError::Interrupted) => {}
                            Err(error) => {
                                let failure = Some(error.to_string());
                                told(&Measured { failure, ..self.nothing(at, from, to) });
                            }
                            Ok(measured) => told(&measured),
                        }
                    });
                }
            });
        }
    }

    fn nothing(&self, at: u64, from: usize, to: usize) -> Measured {
        let name = |index: usize| self.hosts[index].ssh.clone();
        Measured { at, from: name(from), to: name(to), ..Default::default() }
    }

    fn probe(
        &self,
        at: u64,
        from: usize,
        to: usize,
        substrate: &dyn Substrate,
        folder: &Path,
        cancel: &AtomicBool,
    ) -> Result<Measured, SubstrateError> {
        let run = self.run(from, to)?;
        let place = folder.join(format!("{at}-{from}-{to}"));
        fs::create_dir_all(folder).map_err(|error| io(folder, error))?;
        let directory = RunDirectory::create(&place)?;
        let control = Control { cancel, progress: &|_| () };
        let recording = substrate.carry_out(&run, &directory, &control).inspect_err(|_| {
            // The history has the reason, and the next sweep tries again.
            let _ = fs::remove_dir_all(&place);
        })?;
        let measured = count(&recording, self.nothing(at, from, to));
        if measured.lost > 0 {
            directory.finish(&recording)?;
        } else {
            drop(directory);
            fs::remove_dir_all(&place).map_err(|error| io(&place, error))?;
        }
        Ok(measured)
    }

    /// The run of a pair.
    fn run(&self, from: usize, to: usize) -> Result<Run, SubstrateError> {
        let host = |reach: &Reach| {
            let family = reach.family.filter(|_| reach.address.is_none());
            let named = Table::new().set("ssh", reach.ssh.as_str());
            named.set_if("address", reach.address).set_if("family", family)
        };
        let flow = Table::new().set("kind", "udp").set("rate", self.rate).set("datagram", self.datagram);
        let scenario = Scenario::new("mesh")
            // Nothing is computed from the path's numbers here: the real one has its own.
            .path(Table::new().set("rate", Rate::gbit(400)).set("rtt", Span::ms(1)))
            .host("sender", host(&self.hosts[from]))
            .host("receiver", host(&self.hosts[to]))
            .flow(flow.set("rcvbuf", Bytes::new(4_000_000)))
            .run(Table::new().set("duration", self.length).set("sample", Span::ms(100)));
        let study = scenario.study("mesh.toml", &[], None);
        let study = study.map_err(|error| SubstrateError::Unsupported(error.to_string()))?;
        let run = study.runs.into_iter().next().expect("a scenario without a sweep is one run");
        Ok(run)
    }
}

fn io(path: &Path, source: std::io::Error) -> SubstrateError {
    SubstrateError::Environment(format!("{}: {source}", path.display()))
}

/// What a recording of datagrams comes to.
fn count(recording: &Recording, mut measured: Measured) -> Measured {
    for row in recording.ledger.iter().filter(|row| row.direction == Direction::Data) {
        let packets = u64::try_from(row.packets).unwrap_or(0);
        match (row.entry, row.stage) {
            (Entry::Lost, Some(stage)) if packets > 0 => {
                *measured.stages.entry(stage.word().into()).or_default() += packets
            }
            _ => {}
        }
    }
    for row in &recording.datagrams {
        if row.duplicate {
            measured.duplicates += 1;
            continue;
        }
        measured.sent += 1;
        measured.lost += u64::from(row.arrived_ns.is_none());
        measured.reordered += u64::from(row.reordered_by > 0);
    }
    measured.delay = Delay::of(recording);
    measured.burst = delay::longest_loss(&recording.datagrams);
    measured
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{Datagram, LedgerRow, Stage};
    use wirespeed_scenario::run::Family;

    #[test]
    fn datagrams_are_counted_one_by_one() {
        let datagram = |sequence, arrived_ns, reordered_by, duplicate| Datagram {
            flow: 0,
            sequence,
            sent_ns: 0,
            arrived_ns,
            reordered_by,
            duplicate,
        };
        let recording = Recording {
            datagrams: vec![
                datagram(0, Some(1), 0, false),
                datagram(1, None, 0, false),
                datagram(2, Some(2), 1, false),
                datagram(2, Some(3), 0, true),
            ],
            ledger: vec![LedgerRow {
                direction: Direction::Data,
                entry: Entry::Lost,
                stage: Some(Stage::Network),
                place: "between a and b".into(),
                cause: None,
                packets: 1,
                source: String::new(),
            }],
            ..Default::default()
        };
        let counted = count(&recording, Measured::default());
        assert_eq!((counted.sent, counted.lost, counted.reordered, counted.duplicates), (3, 1, 1, 1));
        assert_eq!(counted.stages, [("network".to_owned(), 1)].into());
    }

    #[test]
    fn the_run_of_a_pair_can_be_had() {
        let reach = |ssh: &str| Reach::by_name(ssh);
        let mesh = Mesh {
            hosts: vec![reach("a"), reach("b \"c")],
            rate: Rate::mbit(10),
            datagram: Bytes::new(1472),
            length: Span::secs(60),
        };
        let run = mesh.run(0, 1).unwrap_err().to_string();
        assert!(run.contains("is not a valid host name"), "{run}");
        let run = Mesh { hosts: vec![reach("a"), reach("b")], ..mesh }.run(0, 1).unwrap();
        assert_eq!(run.hosts[1].reach.as_ref().unwrap().ssh, "b");
    }

    #[test]
    fn run_of_a_pair_equals_that_of_a_file() {
        let named = |text: &str| Reach { ssh: text.into(), address: None, family: None, port: None };
        let address = "fd00::1".parse().ok();
        let cases = [
            (named("u@a"), "ssh = \"u@a\"\n"),
            (
                Reach { address, family: Some(Family::Ipv6), ..named("a") },
                "ssh = \"a\"\naddress = \"fd00::1\"\n",
            ),
            (Reach { family: Some(Family::Ipv6), ..named("a") }, "ssh = \"a\"\nfamily = \"ipv6\"\n"),
        ];
        for (sender, settings) in cases {
            let mesh = Mesh {
                hosts: vec![sender, named("b")],
                rate: Rate::bps(10_000_001),
                datagram: Bytes::new(1452),
                length: Span::ms(60_500),
            };
            let text = format!(
                "schema = 1\nname = \"mesh\"\npath = {{ rate = \"400 Gbit/s\", rtt = \"1 ms\" }}\n\
                 [host.sender]\n{settings}[host.receiver]\nssh = \"b\"\n\
                 [[flow]]\nkind = \"udp\"\nrate = \"10000001 bit/s\"\ndatagram = \"1452 B\"\nrcvbuf = \"4 MB\"\n\
                 [run]\nduration = \"60500000000 ns\"\nsample = \"100 ms\"\n"
            );
            let study = wirespeed_scenario::parse(&text, "mesh.toml", &[], None).unwrap();
            assert_eq!([mesh.run(0, 1).unwrap()], *study.runs, "{text}");
        }
    }
}
