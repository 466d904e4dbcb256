//! The inside of hosts as a part of the world.

use super::World;
use super::flow::{Endpoint, Flow};
use super::path::Way;
use crate::host::{Datagrams, Host, Intake, Outside};
use crate::net::{Body, Train};
use crate::tcp::PACKET_OVERHEAD;
use wirespeed_record::{CoreSample, QueueSample};
use wirespeed_scenario::run::{self, FlowKind, Run};
use wirespeed_units::{Bytes, SimTime, Span};

/// `net.core.rmem_default` of Linux.
const RMEM_DEFAULT: u64 = 212_992;

/// The inside of each host that has one, with the sockets of its flows.
pub(super) fn hosts(run: &Run, flows: &mut [Flow]) -> Vec<Option<Box<Host>>> {
    let mut hosts: Vec<Option<Box<Host>>> = run
        .hosts
        .iter()
        .map(|host| {
            let hardware = host.hardware.as_deref()?;
            let made = Host::new(&host.name, hardware, host.offloads, host.netdev_max_backlog, run.seed);
            Some(Box::new(made))
        })
        .collect();
    let mut counts = vec![0; hosts.len()];
    for (index, (planned, flow)) in run.flows.iter().zip(flows).enumerate() {
        let [from, to] = flow.path.hosts;
        if let Some(host) = &mut hosts[from] {
            host.add_socket(index as u32, counts[from], false, None);
            if let Endpoint::Tcp(tcp) = &mut flow.endpoint {
                tcp.sender.await_writer();
            }
        }
        if let Some(host) = &mut hosts[to] {
            let datagrams = datagrams(&run.hosts[to], &planned.kind);
            host.add_socket(index as u32, counts[to], true, datagrams);
        }
        counts[from] += 1;
        counts[to] += 1;
    }
    hosts
}

/// Memory of the receive buffers of a host's interface, where it is given.
pub(super) fn packet_memory(host: &run::Host) -> Option<u64> {
    host.hardware.as_ref()?.nic.rx_buffer.map(Bytes::get)
}

fn datagrams(host: &run::Host, kind: &FlowKind) -> Option<Datagrams> {
    let FlowKind::Udp { datagram, rcvbuf, .. } = kind else { return None };
    let limit = rcvbuf.map_or(RMEM_DEFAULT, |bytes| bytes.get().min(host.tcp.rmem_max.get()) * 2);
    let each = packet_memory(host).unwrap_or(datagram.get()) + PACKET_OVERHEAD;
    Some(Datagrams { limit, each, payload: datagram.get(), ..Datagrams::default() })
}

/// Adds what the socket of flow `number` at its receiver has and has had.
fn add_sockets(intake: &mut Intake, inside: &Host, flow: &Flow, number: u32) {
    match &flow.endpoint {
        Endpoint::Tcp(tcp) => {
            let counts = tcp.receiver.counts();
            intake.seen += counts.packets_in + counts.own_fins;
            intake.duplicates += counts.duplicates;
            intake.out_of_order += tcp.receiver.held().map(|range| range.end - range.start).sum::<u64>();
            intake.unread += tcp.receiver.unread();
        }
        Endpoint::Udp(_) => {
            let (unread, read) = inside.datagrams(number).unwrap_or_default();
            intake.datagrams_unread += unread;
            intake.datagrams_read += read;
        }
    }
}

/// Adds the state of a host's receive rings, as queues.
pub(super) fn sample_rings(inside: &Host, t_ns: i64, rows: &mut Vec<QueueSample>) {
    for (number, ring) in inside.rings().enumerate() {
        rows.push(QueueSample {
            t_ns,
            queue: format!("{}/rx{number}", inside.name),
            kind: "rx_ring".into(),
            backlog_bytes: ring.waiting_bytes,
            backlog_packets: ring.waiting,
            sent_bytes: ring.polled_bytes,
            sent_packets: ring.polled,
            dropped_packets: ring.dropped,
            lost_packets: None,
            copied_packets: None,
            repair_packets: None,
            decoded_packets: None,
            recovered_packets: None,
            requeues: 0,
            overlimits: ring.interrupts,
            marked_packets: None,
        });
    }
}

/// Adds where the time of a host's cores went.
pub(super) fn sample_cores(inside: &Host, t_ns: i64, rows: &mut Vec<CoreSample>) {
    for core in inside.cores() {
        let [hardirq_ns, softirq_ns, ksoftirqd_ns, app_ns, capture_ns, load_ns] =
            core.spent.map(Span::nanoseconds);
        if core.spent.iter().all(|spent| *spent == Span::ZERO) {
            continue;
        }
        rows.push(CoreSample {
            t_ns,
            host: inside.name.clone(),
            core: core.core,
            node: core.node,
            hardirq_ns,
            softirq_ns,
            ksoftirqd_ns,
            app_ns,
            capture_ns,
            load_ns,
            squeezed: core.squeezed,
        });
    }
}

impl World {
    /// Where the packets are that came to each host that shows its inside.
    pub fn intakes(&self) -> Vec<Intake> {
        let of = |(index, inside): (usize, &Host)| {
            let mut intake = inside.intake();
            for (flow, number) in self.flows.iter().zip(0..) {
                if flow.destination(Way::Forward) == index {
                    add_sockets(&mut intake, inside, flow, number);
                }
            }
            intake
        };
        let hosts = self.hosts.iter().enumerate();
        hosts.filter_map(|(index, inside)| Some((index, inside.as_deref()?))).map(of).collect()
    }

    /// Sees to it that a host is looked at when something happens in it.
    pub(super) fn plan_host(&mut self, index: usize) {
        let next = match (&self.hosts[index], &self.interfaces[index]) {
            (Some(host), _) => host.next_event(),
            (None, Some(interface)) => interface.next_interrupt(),
            (None, None) => return,
        };
        let next = next.map(|at| self.late.not_before(self.now, at));
        self.events.set_host(index as u32, next);
    }

    /// Whether a train's data was taken back after it was put out: the host refused what was before it.
    pub(super) fn is_withdrawn(&self, train: &Train) -> bool {
        let Body::Data(data) = &train.body else { return false };
        let flow = &self.flows[train.flow as usize];
        match &flow.endpoint {
            Endpoint::Tcp(tcp) => tcp.sender.has_withdrawn(data.first),
            Endpoint::Udp(_) => false,
        }
    }

    pub(super) fn on_host(&mut self, index: usize, at: SimTime) {
        let Some(mut host) = self.hosts[index].take() else { return self.on_interrupt(index, at) };
        let (mut out, mut touched) = (std::mem::take(&mut self.outgoing), std::mem::take(&mut self.touched));
        host.run(at, &mut Outside { flows: &mut self.flows, out: &mut out, touched: &mut touched });
        self.hosts[index] = Some(host);
        for train in out.drain(..) {
            let way = Way::of(&train.body);
            if self.is_withdrawn(&train) {
                self.discard(&train, way);
            } else {
                self.depart(train, way);
            }
        }
        self.outgoing = out;
        touched.dedup();
        for flow in touched.drain(..) {
            self.settle(flow);
        }
        self.touched = touched;
        self.plan_host(index);
    }
}
