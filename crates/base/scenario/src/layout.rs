//! From a [`Run`] to nodes, wires, addresses and routes: a pure function, so that what will be built can be
//! read and tested without a kernel.

use crate::run::{Direction, Emulator, Fec, Host, Run};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use wirespeed_units::Span;

/// Everything that has to be built.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// Hosts first, in the order of the run; then routers from left to right.
    pub nodes: Vec<Node>,
    /// Point-to-point wires between nodes.
    pub wires: Vec<Wire>,
}

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The host's name, or `router0`, `router1`, ...
    pub name: String,
    /// Routes to other wires: (destination, next hop).
    pub routes: Vec<(Ipv4Addr, Ipv4Addr)>,
    /// Whether it forwards.
    pub forwards: bool,
}

/// A veth pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wire {
    /// Its two ends.
    pub ends: [End; 2],
}

/// One end of a wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Index of the node.
    pub node: usize,
    /// Interface name within the node.
    pub device: String,
    /// Address; the wire is a /30.
    pub address: Ipv4Addr,
    /// Treatment of packets that leave here.
    pub egress: Egress,
    /// Whether packets that leave here go left to right.
    pub forward: bool,
}

impl End {
    /// Name of the TUN device beside the interface, at an end of a link with forward error correction.
    pub fn tunnel(&self) -> String {
        format!("fec-{}", self.device)
    }
}

/// Treatment of packets that leave an interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Egress {
    /// The host's own queueing discipline (index of the host).
    Host(usize),
    /// One direction of a link.
    Link {
        /// Name of the queue in the recording.
        queue: String,
        /// Rate, loss, buffer, and the delay with the hosts' access delays where they are merged into it.
        direction: Box<Direction>,
        /// Seed of its loss process.
        seed: u64,
        /// What it is built with.
        emulator: Emulator,
    },
    /// Nothing but a delay: a host's access line, both ways.
    Access {
        /// Name of the host.
        host: String,
        /// Twice the access delay.
        delay: Span,
    },
}

impl Egress {
    /// Name of the queue in the recording; the same for an end host, a link and an access line.
    pub fn queue(&self, run: &Run) -> String {
        match self {
            Egress::Host(host) => format!("{}/qdisc", run.hosts[*host].name),
            Egress::Link { queue, .. } => queue.clone(),
            Egress::Access { host, .. } => format!("{host}/access"),
        }
    }

    /// The forward error correction of what leaves here.
    pub fn fec(&self) -> Option<&Fec> {
        match self {
            Egress::Link { direction, .. } => direction.fec.as_ref(),
            Egress::Host(_) | Egress::Access { .. } => None,
        }
    }
}

impl Layout {
    /// Lays out a run. With one host on each side of one link, the host is the end of the link and one router
    /// is enough. Otherwise every link has a router at either end, and so has a link with forward error correction.
    pub fn of(run: &Run) -> Layout {
        let hosts = run.hosts.len();
        let pair = hosts == 2
            && run.links.len() == 1
            && run.hosts[0].router != run.hosts[1].router
            && !run.links[0].is_protected();
        let routers = if pair { 1 } else { run.hops() + 1 };
        let node = |name: String, forwards| Node { name, routes: Vec::new(), forwards };
        let mut layout = Layout {
            nodes: run
                .hosts
                .iter()
                .map(|host| node(host.name.clone(), false))
                .chain((0..routers).map(|i| node(format!("router{i}"), true)))
                .collect(),
            wires: Vec::new(),
        };
        for (index, host) in run.hosts.iter().enumerate() {
            let router = hosts + if pair { 0 } else { host.router };
            let left = is_left(run, host);
            let toward_host = if pair {
                // Left host: packets toward it have crossed the link from right to left.
                link_egress(run, 0, !left, run.hosts.iter().map(|h| h.access_delay).sum())
            } else {
                Egress::Access { host: host.name.clone(), delay: host.access_delay * 2 }
            };
            layout.connect(
                (index, "eth0".into(), Egress::Host(index)),
                (router, format!("to-{index}"), toward_host),
                left,
            );
        }
        if !pair {
            for (index, link) in run.links.iter().enumerate() {
                let [left, right] = link.ends(index);
                // No kernel lays out links beside the chain; the account of the losses names their queues.
                let number = if link.between.is_some() { index.to_string() } else { String::new() };
                layout.connect(
                    (hosts + left, format!("right{number}"), link_egress(run, index, true, Span::ZERO)),
                    (hosts + right, format!("left{number}"), link_egress(run, index, false, Span::ZERO)),
                    true,
                );
            }
        }
        layout.route(hosts);
        layout
    }

    fn connect(&mut self, a: (usize, String, Egress), b: (usize, String, Egress), a_is_left: bool) {
        let wire = self.wires.len() as u32;
        let address = |host: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + wire * 4 + host);
        self.wires.push(Wire {
            ends: [
                End { node: a.0, device: a.1, address: address(1), egress: a.2, forward: a_is_left },
                End { node: b.0, device: b.1, address: address(2), egress: b.2, forward: !a_is_left },
            ],
        });
    }

    /// Routes every node to every host; the graph is a tree, so a walk from each host finds the only way.
    fn route(&mut self, hosts: usize) {
        for host in 0..hosts {
            let destination = self.address(host);
            let mut reached = vec![host];
            let mut next = 0;
            while next < reached.len() {
                let here = reached[next];
                for wire in &self.wires {
                    for (near, far) in [(0, 1), (1, 0)] {
                        let (near, far) = (&wire.ends[near], &wire.ends[far]);
                        if near.node == here && !reached.contains(&far.node) {
                            // The neighbour's own wire to the host needs no route.
                            if here != host || near.address != destination {
                                self.nodes[far.node].routes.push((destination, near.address));
                            }
                            reached.push(far.node);
                        }
                    }
                }
                next += 1;
            }
        }
    }

    /// The address of a host.
    pub fn address(&self, host: usize) -> Ipv4Addr {
        self.wires[host].ends[0].address
    }

    /// The wire, and the end of it, of an interface of a node.
    pub fn find(&self, node: usize, device: &str) -> Option<(usize, usize)> {
        self.wires.iter().enumerate().find_map(|(wire, pair)| {
            let side = pair.ends.iter().position(|end| end.node == node && end.device == device)?;
            Some((wire, side))
        })
    }

    /// Every end of every wire.
    pub fn ends(&self) -> impl Iterator<Item = &End> {
        self.wires.iter().flat_map(|wire| &wire.ends)
    }
}

/// Whether a host sits at the left: its data crosses links left to right. A host in the middle of a chain counts
/// as left if one of its flows leaves to the right, or comes from there.
pub fn is_left(run: &Run, host: &Host) -> bool {
    if host.router == 0 {
        return true;
    }
    let is_at_right = |name: &str| run.host(name).router > host.router;
    run.flows.iter().any(|flow| {
        flow.from == host.name && is_at_right(&flow.to) || flow.to == host.name && is_at_right(&flow.from)
    })
}

fn link_egress(run: &Run, index: usize, forward: bool, extra_delay: Span) -> Egress {
    let link = &run.links[index];
    let (name, direction) = if forward { ("forward", &link.forward) } else { ("reverse", &link.reverse) };
    let mut direction = Box::new(direction.clone());
    direction.delay += extra_delay;
    for delay in direction.changes.iter_mut().filter_map(|change| change.delay.as_mut()) {
        *delay += extra_delay;
    }
    let seed = run.link_seed(index, forward);
    Egress::Link { queue: format!("{}/{name}", link.name), direction, seed, emulator: link.emulator }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    #[test]
    fn a_pair_of_hosts_needs_one_router() {
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let layout = Layout::of(&run);
        assert_eq!(layout.nodes.len(), 3);
        let queues: Vec<_> = layout.ends().map(|end| (end.egress.queue(&run), end.forward)).collect();
        let expected =
            [("a/qdisc", true), ("link0/reverse", false), ("b/qdisc", false), ("link0/forward", true)];
        assert_eq!(queues, expected.map(|(name, forward)| (name.to_string(), forward)));
    }

    #[test]
    fn a_protected_link_has_a_router_at_either_end() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        run.links[0].reverse.fec =
            Some(Fec { data: 8, interleave: vec![1], flush: Fec::FLUSH, hold: Span::ZERO });
        let layout = Layout::of(&run);
        assert_eq!(layout.nodes.len(), 4);
        let protected: Vec<_> = layout.ends().map(|end| end.egress.fec().is_some()).collect();
        assert_eq!(protected, [false, false, false, false, false, true]);
    }

    #[test]
    fn every_node_of_a_chain_reaches_every_host() {
        let run = run(2, &[("a", 0), ("b", 2), ("c", 1)], &[("a", "b"), ("c", "b")]);
        let layout = Layout::of(&run);
        for (index, node) in layout.nodes.iter().enumerate() {
            for host in (0..3).filter(|host| *host != index) {
                let address = layout.address(host);
                let adjacent = layout.wires[host].ends[1].node == index;
                let routed = node.routes.iter().filter(|(to, _)| *to == address).count();
                assert_eq!(routed, usize::from(!adjacent), "{} to {address}", node.name);
            }
        }
    }

    #[test]
    fn directions_of_a_link_draw_different_losses() {
        let layout = Layout::of(&run(1, &[("a", 0), ("b", 1)], &[("a", "b")]));
        let seeds: Vec<u64> = layout
            .ends()
            .filter_map(|end| match end.egress {
                Egress::Link { seed, .. } => Some(seed),
                _ => None,
            })
            .collect();
        assert_eq!(seeds.len(), 2);
        assert_ne!(seeds[0], seeds[1]);
    }
}
