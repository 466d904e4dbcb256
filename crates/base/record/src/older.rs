//! Recordings of older versions: facts that these wrote elsewhere move to their typed place when a recording is read.

use crate::event_kind::EventKind;
use crate::host_model::{Applications, HostModel, Interrupts};
use crate::info::RunInfo;
use crate::tables::Event;
use serde_json::Value;

/// Fills in the facts about hosts that older versions stated in the scenario only.
pub(crate) fn complete_hosts(info: &mut RunInfo) {
    let Some(described) = info.scenario.get("hosts").and_then(Value::as_array) else { return };
    for host in &mut info.hosts {
        // A version that writes facts writes the router of every host that has one.
        if host.router.is_some() {
            continue;
        }
        let is_host = |old: &&Value| old.get("name").and_then(Value::as_str) == Some(&host.name);
        let Some(old) = described.iter().find(is_host) else { continue };
        host.router = number(old, "/router");
        host.tcp_timestamps = old.pointer("/tcp/timestamps").and_then(Value::as_bool);
        host.host_model = old.get("hardware").filter(|hardware| hardware.is_object()).map(host_model);
    }
}

fn host_model(hardware: &Value) -> HostModel {
    let has_cores = |path: &str| hardware.pointer(path).and_then(cores);
    let moved = || hardware.pointer("/irq/balanced")?.as_str()?.parse().ok().map(Interrupts::MovedEvery);
    let free = || has_cores("/apps/free").map(Applications::Free);
    HostModel {
        nodes: number(hardware, "/machine/nodes"),
        cores_per_node: number(hardware, "/machine/cores_per_node"),
        has_hyperthreads: hardware.pointer("/machine/twin_speed").is_some_and(|speed| !speed.is_null()),
        interface_node: number(hardware, "/nic/node"),
        rx_ring: number(hardware, "/nic/rx_ring"),
        interrupts: has_cores("/irq/cores").map(Interrupts::Cores).or_else(moved),
        applications: has_cores("/apps/pinned").map(Applications::Pinned).or_else(free),
    }
}

fn number(value: &Value, path: &str) -> Option<u32> {
    value.pointer(path)?.as_u64()?.try_into().ok()
}

/// A list of cores; an empty one states nothing.
fn cores(list: &Value) -> Option<Vec<u32>> {
    let cores: Option<Vec<u32>> =
        list.as_array()?.iter().map(|core| core.as_u64()?.try_into().ok()).collect();
    cores.filter(|cores| !cores.is_empty())
}

/// Fills in the numbers of packets that older versions stated in the text of an event only, which begins "packet N of a
/// burst".
pub(crate) fn complete_events(events: &mut [Event]) {
    let requeues = events.iter_mut().filter(|event| event.kind == EventKind::Requeue);
    for event in requeues.filter(|event| event.burst_packet.is_none()) {
        event.burst_packet = event.detail.split(' ').nth(1).and_then(|number| number.parse().ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::HostInfo;
    use crate::{RunState, open};
    use std::path::Path;
    use wirespeed_units::Span;

    /// `run.json` as version 0.1 wrote it, with the settings that no reader needs cut out.
    const OLD: &str = "tests/old/run.json";

    #[test]
    fn facts_of_an_older_run_are_read_from_its_scenario() {
        let folder = tempfile::tempdir().unwrap();
        let old = Path::new(env!("CARGO_MANIFEST_DIR")).join(OLD);
        std::fs::copy(old, folder.path().join("run.json")).unwrap();
        let RunState::Complete(info) = open(folder.path()).unwrap() else { panic!("it is complete") };
        let [sender, receiver] = &info.hosts[..] else { panic!("{:?}", info.hosts) };
        assert_eq!((sender.router, sender.tcp_timestamps), (Some(0), Some(true)));
        assert_eq!((receiver.router, receiver.tcp_timestamps), (Some(1), Some(false)));
        assert_eq!(sender.host_model, None);
        let model = HostModel {
            nodes: Some(2),
            cores_per_node: Some(10),
            has_hyperthreads: true,
            interface_node: Some(1),
            rx_ring: Some(1024),
            interrupts: Some(Interrupts::MovedEvery(Span::secs(10))),
            applications: Some(Applications::Pinned(vec![12, 13])),
        };
        assert_eq!(receiver.host_model, Some(model));
    }

    #[test]
    fn facts_that_an_older_scenario_does_not_state_are_unknown() {
        let scenario = serde_json::json!({"hosts": [{"name": "b", "hardware": null}, {"name": "a", "hardware": {
            "irq": {"balanced": "often"}, "apps": {"pinned": [3, "x"]}, "nic": {"node": -1},
        }}]});
        let host = |name: &str| HostInfo { name: name.into(), ..HostInfo::default() };
        let mut info = RunInfo { scenario, hosts: ["a", "b", "c"].map(host).into(), ..RunInfo::default() };
        complete_hosts(&mut info);
        assert_eq!(info.hosts[0].host_model, Some(HostModel::default()));
        assert_eq!(info.hosts[1..], ["b", "c"].map(host));
    }

    #[test]
    fn recorded_facts_are_not_replaced() {
        let scenario =
            serde_json::json!({"hosts": [{"name": "a", "router": 5, "tcp": {"timestamps": true}}]});
        let host = HostInfo { name: "a".into(), router: Some(0), ..HostInfo::default() };
        let mut info = RunInfo { scenario, hosts: vec![host.clone()], ..RunInfo::default() };
        complete_hosts(&mut info);
        assert_eq!(info.hosts, [host]);
    }

    #[test]
    fn packet_of_an_older_requeue_is_read_from_its_text() {
        let event = |kind, detail: &str| Event {
            t_ns: 0,
            kind,
            flow: None,
            host: None,
            detail: detail.into(),
            burst_packet: None,
        };
        let text = "packet 512 of a burst, the first that found no transmit descriptor";
        let mut events = [
            event(EventKind::Requeue, text),
            event(EventKind::FlowStart, text),
            event(EventKind::Requeue, "ring full"),
        ];
        events[2].burst_packet = Some(7);
        complete_events(&mut events);
        assert_eq!(events.map(|event| event.burst_packet), [Some(512), None, Some(7)]);
    }
}
