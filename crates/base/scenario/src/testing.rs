//! Runs for tests, without a scenario file.

use crate::run::{
    Direction, Emulator, Flow, FlowKind, Host, Link, Offloads, Qdisc, Run, TcpSettings, TopologyKind,
};
use std::collections::BTreeMap;
use wirespeed_units::{Bytes, Rate, Span};

fn host(name: &str, router: usize) -> Host {
    let size = Bytes::mib(4);
    Host {
        name: name.into(),
        router,
        nic_rate: None,
        access_delay: Span::ZERO,
        mtu: Bytes::new(1500),
        qdisc: Qdisc::PfifoFast,
        fq: None,
        txqueuelen: 1000,
        offloads: Offloads { tso: false, gso: false, gro: false },
        tcp: TcpSettings {
            rmem: [size; 3],
            wmem: [size; 3],
            rmem_max: size,
            wmem_max: size,
            timestamps: true,
            sack: true,
            window_scaling: true,
            ecn: 2,
            no_metrics_save: true,
            adv_win_scale: None,
            small_queues: true,
            stretch_acks: true,
            initial_window: None,
        },
        netdev_max_backlog: 1000,
        sysctls: BTreeMap::new(),
        reach: None,
        moderation: None,
        hardware: None,
        splitter: None,
    }
}

/// A run with the given hosts (name, router) and flows (from, to).
pub fn run(links: usize, hosts: &[(&str, usize)], flows: &[(&str, &str)]) -> Run {
    let direction = Direction::plain(Rate::gbit(10), Span::ms(5), 0.0, Bytes::mib(1));
    Run {
        study: "test".into(),
        about: String::new(),
        id: "test".into(),
        factors: BTreeMap::new(),
        repeat: 0,
        seed: 1,
        duration: Span::secs(1),
        omit: Span::ZERO,
        sample: Span::ms(10),
        series: Default::default(),
        trains: true,
        kernel: None,
        topology: TopologyKind::Dumbbell,
        hosts: hosts.iter().map(|(name, router)| host(name, *router)).collect(),
        links: (0..links)
            .map(|i| Link {
                name: format!("link{i}"),
                forward: direction.clone(),
                reverse: direction.clone(),
                emulator: Emulator::Wire,
                between: None,
            })
            .collect(),
        flows: flows
            .iter()
            .map(|(from, to)| Flow {
                label: format!("{from}-{to}"),
                from: (*from).into(),
                to: (*to).into(),
                start: Span::ZERO,
                stop: Span::secs(1),
                bytes: None,
                kind: FlowKind::Udp { rate: Rate::gbit(1), datagram: Bytes::new(1472), rcvbuf: None },
                dscp: None,
                ecn: None,
                route: Vec::new(),
                route_back: Vec::new(),
                leg: None,
                application: None,
            })
            .collect(),
        data_sets: Vec::new(),
        captures: Vec::new(),
    }
}
