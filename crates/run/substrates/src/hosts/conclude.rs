//! From all that agents have said to a recording with its accounts.

use super::merge::{Merge, Merged};
use super::peer::Word;
use crate::host_facts::forget_unapplied;
use crate::substrate::SubstrateError;
use std::collections::BTreeMap;
use wirespeed_agent::iperf3_server::{Server, server};
use wirespeed_agent::message::Message;
use wirespeed_agent::ports;
use wirespeed_ledger::hosts::Total;
use wirespeed_ledger::hosts::borders;
use wirespeed_ledger::hosts::{self as account, Evidence};
use wirespeed_ledger::intervals::intervals;
use wirespeed_record::{FlowInfo, HostInfo, Recording};
use wirespeed_scenario::run::{HOST_DEFAULT, Run};

/// What the agents of a run came to, each message with its host, as after a run: what hostile agents may say is tried with it.
///
/// # Errors
/// If no real machines can carry the run out.
pub fn put_together(
    run: &Run,
    said: impl IntoIterator<Item = (String, Message)>,
    clocks_ns: i64,
) -> Result<Recording, SubstrateError> {
    let mut merge = Merge::new(run);
    for (host, message) in said {
        merge.push(&host, message);
    }
    recording(run, merge, run.hosts.len(), clocks_ns)
}

/// What `agents` have said. `clocks_ns`: by how much two hosts' clocks may differ.
pub(super) fn recording(
    run: &Run,
    merge: Merge,
    agents: usize,
    clocks_ns: i64,
) -> Result<Recording, SubstrateError> {
    let server = server(run).map_err(SubstrateError::Unsupported)?;
    let Merged { mut recording, totals, borders, changes, word } = merge.finish(clocks_ns);
    recording.info.hosts.iter_mut().for_each(forget_unapplied);
    let (devices, machines) = (told(&recording, "interface.device"), told(&recording, "machine.boot_id"));
    let outs = told(&recording, "interface.out");
    let addresses = told(&recording, "interface.address");
    let addresses =
        addresses.into_iter().filter_map(|(host, address)| Some((host, address.parse().ok()?))).collect();
    let evidence = Evidence {
        totals: &totals,
        changes: &changes,
        devices: &devices,
        outs: &outs,
        addresses: &addresses,
        ports: &ports(run),
        machines: &machines,
        server: server.as_ref().map(|server| server.host),
    };
    recording.ledger = account::ledger(run, &evidence);
    let borders =
        borders::Borders { borders: &borders, hosts: agents, clocks_ns, datagrams: &recording.datagrams };
    let standings = borders::standings(run, &evidence, &borders, &recording.ledger);
    recording.ledger_intervals = intervals(&standings, &recording.ledger, run.duration.nanoseconds());
    recording.info.warnings.extend(not_applied(run));
    recording.info.warnings.extend(on_one_machine(run, &machines));
    if let (Some(server), Some(word)) = (&server, &word) {
        tell(&mut recording, server, word, &totals);
    }
    Ok(recording)
}

/// Adds what an iperf3 server said, as its word.
fn tell(recording: &mut Recording, server: &Server, word: &Word, totals: &BTreeMap<u32, Total>) {
    if let Some(host) = recording.info.hosts.iter_mut().find(|host| host.name == server.host) {
        word.describe(server, host);
    }
    // What a server chose by itself it alone can tell.
    let by_itself = |flow: &&mut FlowInfo| flow.congestion.as_deref() == Some(HOST_DEFAULT);
    for flow in recording.info.flows.iter_mut().filter(by_itself) {
        flow.congestion.clone_from(&word.congestion);
    }
    recording.info.warnings.extend(word.warnings(server, totals));
}

/// What the agent of each host said of a setting: the interface that carried the test, the machine.
fn told(recording: &Recording, setting: &str) -> BTreeMap<String, String> {
    let of = |host: &HostInfo| Some((host.name.clone(), host.settings.get(setting)?.clone()));
    recording.info.hosts.iter().filter_map(of).collect()
}

/// Ends of flows that share a machine: what one does takes the other's cores.
fn on_one_machine(run: &Run, machines: &BTreeMap<String, String>) -> Option<String> {
    let same = |from: &str, to: &str| machines.get(from).is_some_and(|id| machines.get(to) == Some(id));
    let flow = run.flows.iter().find(|flow| same(&flow.from, &flow.to))?;
    Some(format!(
        "{} and {} are one machine (they have the same boot ID): its cores and its softirq time are shared, and core N of \
         one is core N of the other",
        flow.from, flow.to
    ))
}

/// What the scenario says and a real machine is not made to have.
fn not_applied(run: &Run) -> Vec<String> {
    let path = "the path's rate, round-trip time, loss and buffer are those of the real path; the scenario's numbers are \
                what utilisation is computed from"
        .to_owned();
    let hosts = run.hosts.iter().filter(|host| host.hardware.is_some()).map(|host| {
        format!("host {}: the inside of a host is the model's; a real machine has its own", host.name)
    });
    let settings =
        "settings of hosts (buffers, offloads, queueing disciplines, sysctls) are those the machines have; \
                    nothing on them was changed"
            .to_owned();
    [path, settings].into_iter().chain(hosts).collect()
}
