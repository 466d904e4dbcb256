//! The CPU placement of flows on real hosts: cores, queues and nodes, and placements that cost throughput.

use crate::finding::{Evidence, Finding, Subject};
use crate::id::Id;
use crate::thresholds::{LARGE_FLOW, SEEN_CORE};
use std::collections::BTreeMap;
use wirespeed_metrics::View;
use wirespeed_record::{HostInfo, Placement, RunInfo};

/// An end of a flow in words: its host, cores, queue and nodes.
pub fn words(info: &RunInfo, placement: &Placement) -> String {
    let host = host(info, placement);
    let core = |core: u32| match host.and_then(|host| host.topology.as_ref()?.nodes.get(&core)) {
        Some(node) => format!("core {core} (node {node})"),
        None => format!("core {core}"),
    };
    let application = placement.application_core().map(|number| format!("application on {}", core(number)));
    let incoming = placement.incoming_core().map(|number| {
        let queue = placement.queue.as_ref().map_or(String::new(), |queue| match queue.queue {
            Some(number) => format!(", queue {number}, interrupt {}", queue.line),
            None => format!(", interrupt {}", queue.line),
        });
        format!("packets on {}{queue}", core(number))
    });
    let node = host.and_then(|host| host.topology.as_ref()?.interface_node);
    let interface = node.map(|node| format!("interface at node {node}"));
    let parts: Vec<String> = [application, incoming, interface].into_iter().flatten().collect();
    format!("{}: {}", placement.host, parts.join(", "))
}

/// Placements that are known to cost throughput.
pub fn findings(view: &View) -> Vec<Finding> {
    let info = &view.recording.info;
    let mut found = together(view);
    for placement in &info.placement {
        let Some(label) = info.flows.get(placement.flow as usize).map(|flow| &flow.label) else { continue };
        found.extend(moving(label, placement));
        found.extend(foreign_node(info, placement));
        found.extend(twins(info, label, placement));
    }
    let mut told = std::collections::BTreeSet::new();
    found.retain(|finding| told.insert(finding.text.clone()));
    found
}

fn host<'a>(info: &'a RunInfo, placement: &Placement) -> Option<&'a HostInfo> {
    info.hosts.iter().find(|host| host.name == placement.host)
}

/// Several large flows whose data one core takes in, on a host that has more.
fn together(view: &View) -> Vec<Finding> {
    let info = &view.recording.info;
    let data = |flow: u32| {
        let series = view.flows.iter().find(|series| series.number == flow)?;
        // Between real hosts the first and the last row may be of one end only.
        let (first, last) = series.delivered_span()?;
        series.delivered_bytes(view.from_ns.max(first), view.to_ns.min(last))
    };
    let all: f64 = view.flows.iter().filter_map(|series| data(series.number)).sum();
    let mut by_core: BTreeMap<(&str, u32), Vec<&Placement>> = BTreeMap::new();
    for placement in &info.placement {
        let receives = info.flows.get(placement.flow as usize).is_some_and(|flow| flow.to == placement.host);
        let large = data(placement.flow).is_some_and(|bytes| bytes >= all * LARGE_FLOW.value && bytes > 0.0);
        if receives
            && large
            && let Some(core) = placement.incoming_core()
        {
            by_core.entry((&placement.host, core)).or_default().push(placement);
        }
    }
    let others = |name: &str| {
        let host = info.hosts.iter().find(|host| host.name == name);
        host.and_then(|host| host.topology.as_ref()).is_some_and(|topology| topology.nodes.len() > 1)
    };
    let several = by_core.into_iter().filter(|((host, _), flows)| flows.len() > 1 && others(host));
    let finding = |((host, core), flows): ((&str, u32), Vec<&Placement>)| {
        let labels: Vec<&str> =
            flows.iter().filter_map(|p| Some(info.flows.get(p.flow as usize)?.label.as_str())).collect();
        let same = flows.iter().all(|p| p.queue.is_some() && p.queue == flows[0].queue);
        let queue = flows[0].queue.as_ref().filter(|_| same).and_then(|queue| queue.queue);
        let queue = queue.map_or(String::new(), |number| format!(" of queue {number}"));
        let text =
            format!("large flows {} come in on one core of {host}, core {core}{queue}", labels.join(" and "));
        let evidence = vec![Evidence::new("large_flows", flows.len() as f64, "flows")];
        Finding::new(Id::PlacementOneCore, Subject::Core { host: host.to_owned(), core }, text, evidence)
    };
    several.map(finding).collect()
}

/// Packets that came in on several cores in turn.
fn moving(label: &str, placement: &Placement) -> Option<Finding> {
    let all: u64 = placement.incoming.values().sum();
    let seen =
        placement.incoming.iter().filter(|(_, samples)| **samples as f64 >= all as f64 * SEEN_CORE.value);
    let cores: Vec<String> = seen.map(|(core, _)| core.to_string()).collect();
    (cores.len() > 1).then(|| {
        let text = format!(
            "packets of {label} came in at {} on cores {} in turn: interrupts were moved (irqbalance?) or packets steered",
            placement.host,
            cores.join(", ")
        );
        let evidence = vec![Evidence::new("cores", cores.len() as f64, "cores")];
        Finding::new(Id::PlacementMoving, flow(label, placement), text, evidence)
    })
}

/// Interrupts or application away from the interface.
fn foreign_node(info: &RunInfo, placement: &Placement) -> Vec<Finding> {
    let Some(topology) = host(info, placement).and_then(|host| host.topology.as_ref()) else {
        return Vec::new();
    };
    let Some(home) = topology.interface_node else { return Vec::new() };
    let label = info.flows.get(placement.flow as usize).map_or("?", |flow| flow.label.as_str());
    let ends = [
        (Id::PlacementInterruptNode, "interrupts", placement.incoming_core()),
        (Id::PlacementApplicationNode, "the application", placement.application_core()),
    ];
    let foreign = ends.into_iter().filter_map(|(id, what, core)| {
        let node = *topology.nodes.get(&core?)?;
        let text = format!(
            "{what} of flow {label} ran on node {node} of {}, the interface is at node {home}",
            placement.host
        );
        let evidence = vec![
            Evidence::new("node", f64::from(node), "node"),
            Evidence::new("interface_node", f64::from(home), "node"),
        ];
        let finding = Finding::new(id, flow(label, placement), text, evidence);
        let remedy = id.remedy().replace("=NODE", &format!("={home}"));
        (node != home).then(|| finding.with_remedy(remedy))
    });
    foreign.collect()
}

/// Interrupts and application on two hyper-threads of one core.
fn twins(info: &RunInfo, label: &str, placement: &Placement) -> Option<Finding> {
    let (application, incoming) = (placement.application_core()?, placement.incoming_core()?);
    let topology = host(info, placement)?.topology.as_ref()?;
    let share = |group: &&Vec<u32>| group.contains(&application) && group.contains(&incoming);
    let group = topology.twins.iter().find(share).filter(|_| application != incoming)?;
    let cores: Vec<String> = group.iter().map(u32::to_string).collect();
    let text = format!(
        "application and interrupts of {label} share a physical core of {} (hyper-threads {})",
        placement.host,
        cores.join(", ")
    );
    let evidence = vec![
        Evidence::new("application_core", f64::from(application), "core"),
        Evidence::new("incoming_core", f64::from(incoming), "core"),
    ];
    Some(Finding::new(Id::PlacementTwins, flow(label, placement), text, evidence))
}

fn flow(label: &str, placement: &Placement) -> Subject {
    Subject::Flow { flow: placement.flow, label: label.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{FlowInfo, FlowSample, QueueLine, Recording, Topology, Transport};

    fn placed(flow: u32, application: u32, incoming: &[(u32, u64)]) -> Placement {
        Placement {
            flow,
            host: "b".into(),
            application: [(application, 10)].into(),
            incoming: incoming.iter().copied().collect(),
            queue: None,
        }
    }

    /// Flows from a to b with so many bytes each; b has four cores, 0 and 2 twins, 2 and 3 of node 1, its interface at node 0.
    fn recording(bytes: &[u64], placement: Vec<Placement>) -> Recording {
        let mut recording = Recording::default();
        let info = &mut recording.info;
        info.duration_ns = 1_000;
        info.placement = placement;
        let topology = Topology {
            nodes: [(0, 0), (1, 0), (2, 1), (3, 1)].into(),
            twins: vec![vec![0, 2]],
            interface_node: Some(0),
        };
        info.hosts = vec![HostInfo { name: "b".into(), topology: Some(topology), ..Default::default() }];
        for (number, bytes) in bytes.iter().enumerate() {
            info.flows.push(FlowInfo {
                label: format!("f{number}"),
                kind: Transport::Tcp,
                from: "a".into(),
                to: "b".into(),
                stop_ns: 1_000,
                ..Default::default()
            });
            for (t_ns, delivered_bytes) in [(0, 0), (1_000, *bytes)] {
                recording.flows.push(FlowSample {
                    delivered_bytes: Some(delivered_bytes),
                    ..FlowSample::empty(t_ns, number as u32)
                });
            }
        }
        recording
    }

    fn found(bytes: &[u64], placement: Vec<Placement>) -> Vec<String> {
        let findings = findings(&View::new(&recording(bytes, placement)).unwrap());
        assert!(findings.iter().all(|finding| finding.id.family() == "placement"), "{findings:?}");
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn two_large_flows_on_one_core_are_named_and_small_ones_are_not() {
        let same = || vec![placed(0, 1, &[(0, 10)]), placed(1, 1, &[(0, 10)])];
        assert_eq!(found(&[1000, 900], same()), ["large flows f0 and f1 come in on one core of b, core 0"]);
        assert!(found(&[1000, 9], same()).is_empty());
        let mut queued = same();
        for placement in &mut queued {
            placement.queue = Some(QueueLine { queue: Some(3), line: "45".into() });
        }
        assert!(found(&[1000, 900], queued)[0].ends_with("core 0 of queue 3"));
    }

    #[test]
    fn nodes_twins_and_moves_are_named() {
        assert_eq!(
            found(&[1], vec![placed(0, 3, &[(1, 10)])]),
            ["the application of flow f0 ran on node 1 of b, the interface is at node 0"]
        );
        let foreign = findings(&View::new(&recording(&[1], vec![placed(0, 3, &[(1, 10)])])).unwrap());
        assert_eq!(foreign[0].id, Id::PlacementApplicationNode);
        assert!(foreign[0].remedy.contains("--cpunodebind=0`"), "{}", foreign[0].remedy);
        let twins = found(&[1], vec![placed(0, 0, &[(2, 10)])]);
        assert!(
            twins.iter().any(|told| told.contains("share a physical core of b (hyper-threads 0, 2)")),
            "{twins:?}"
        );
        let moved = found(&[1], vec![placed(0, 1, &[(0, 50), (1, 50), (3, 2)])]);
        assert!(moved[0].contains("on cores 0, 1 in turn"), "{moved:?}");
    }

    #[test]
    fn an_end_is_told_with_what_is_known() {
        let mut placement = placed(0, 3, &[(1, 10)]);
        placement.queue = Some(QueueLine { queue: Some(3), line: "45".into() });
        let recording = recording(&[1], Vec::new());
        assert_eq!(
            words(&recording.info, &placement),
            "b: application on core 3 (node 1), packets on core 1 (node 0), queue 3, interrupt 45, interface at node 0"
        );
        let nothing = RunInfo::default();
        assert_eq!(words(&nothing, &placed(0, 3, &[])), "b: application on core 3");
    }
}
