//! Facts about a host in a recording, besides its settings.

use wirespeed_record::{Applications, HostInfo, HostModel, Interrupts};
use wirespeed_scenario::run::{Apps, Hardware, Host, Irq};

/// A host as the run describes it. A real host has its own TCP settings and hardware; see [`forget_unapplied`].
pub fn host_info(host: &Host) -> HostInfo {
    HostInfo {
        name: host.name.clone(),
        router: u32::try_from(host.router).ok(),
        tcp_timestamps: Some(host.tcp.timestamps),
        host_model: host.hardware.as_deref().map(host_model),
        ..HostInfo::default()
    }
}

/// Removes what the run asked of a host that is real and keeps its own.
pub fn forget_unapplied(host: &mut HostInfo) {
    (host.tcp_timestamps, host.host_model) = (None, None);
}

fn host_model(hardware: &Hardware) -> HostModel {
    let Hardware { machine, nic, irq, apps, .. } = hardware;
    HostModel {
        nodes: Some(machine.nodes),
        cores_per_node: Some(machine.cores_per_node),
        has_hyperthreads: machine.twin_speed.is_some(),
        interface_node: Some(nic.node),
        rx_ring: Some(nic.rx_ring),
        interrupts: Some(match irq {
            Irq::Cores(cores) => Interrupts::Cores(cores.clone()),
            Irq::Balanced(every) => Interrupts::MovedEvery(*every),
        }),
        applications: Some(match apps {
            Apps::Pinned(cores) => Applications::Pinned(cores.clone()),
            Apps::Free(cores) => Applications::Free(cores.clone()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};
    use wirespeed_record::{RunDirectory, RunInfo, RunState, open};

    /// The facts are those that a reader of an older version found in the scenario.
    #[test]
    fn recorded_facts_equal_those_of_the_scenario() {
        const FILE: &str = r#"schema = 1
name = "t"
path = { rate = "1 Gbit/s", rtt = "1 ms" }
flow = [{}]
run = { duration = "1 s" }
[host.receiver]
preset = "epyc-2024-400g"
[host.sender]
preset = "cornell-2010"
irqbalance_interval = "20 ms"
timestamps = false
"#;
        let run = wirespeed_scenario::parse(FILE, "t.toml", &[], None).unwrap().runs.remove(0);
        let older: Vec<_> = run.hosts.iter().map(|host| json!({"name": host.name, "settings": {}})).collect();
        let info = RunInfo {
            hosts: from_value(json!(older)).unwrap(),
            scenario: to_value(&run).unwrap(),
            ..RunInfo::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let recording = wirespeed_record::Recording { info, ..Default::default() };
        RunDirectory::create(&path).unwrap().finish(&recording).unwrap();
        let RunState::Complete(info) = open(&path).unwrap() else { panic!("it is complete") };
        let expected: Vec<_> = run.hosts.iter().map(host_info).collect();
        assert!(expected.iter().all(|host| host.host_model.is_some()), "{expected:?}");
        assert_eq!(info.hosts, expected);
    }
}
