//! An agent's messages as parts of a recording.

use super::{Assembler, Interim};
use std::collections::BTreeMap;
use wirespeed_agent::message::Message;

impl Assembler {
    /// Takes a message.
    pub fn push(&mut self, message: Message) {
        let recording = &mut self.recording;
        match message {
            Message::Hello { release, version } => {
                self.kernel.release = release;
                self.kernel.version = version;
            }
            Message::Warning(text) => recording.info.warnings.push(text),
            Message::Settings { host, settings } => {
                self.settings.entry(host).or_default().extend(settings);
            }
            Message::Flow(row) => recording.flows.push(*row),
            Message::Queue(row) => recording.queues.push(row),
            Message::QueueDelays(rows) => recording.queue_delays.extend(rows),
            Message::Host(row) => recording.hosts.push(row),
            Message::Event(row) => recording.events.push(row),
            Message::Counter(row) => recording.counters.push(row),
            Message::Pieces(pieces) => self.pieces.push(pieces),
            Message::Datagrams(rows) => recording.datagrams.extend(rows),
            Message::Exchanges(rows) => recording.exchanges.extend(rows),
            Message::InFlight { queue, packets } => drop(self.in_flight.insert(queue, packets)),
            Message::Drops { queue, drops } => drop(self.drops.insert(queue, drops)),
            Message::Rest { flows, queues, hosts } => self.rest = (flows, queues, hosts),
            Message::InterimCounters { t_ns, took_ns, counters, in_flight, drops } => {
                let rows = [recording.flows.len(), recording.queues.len(), recording.hosts.len()];
                let (in_flight, drops) = (in_flight.into_iter().collect(), drops.into_iter().collect());
                self.interims.push(Interim { t_ns, took_ns, counters, in_flight, drops, rows });
            }
            Message::Topology { host, topology } => drop(self.topologies.insert(host, topology)),
            Message::Inventory { host, json } => drop(self.inventories.insert(host, json)),
            Message::Placement(placement) => recording.info.placement.push(placement),
            Message::Used { cpu_ns, peak_rss_bytes } => {
                // Between real hosts there is an agent on each.
                let cost = &mut recording.info.cost;
                cost.cpu_s += cpu_ns as f64 / 1e9;
                cost.peak_rss_bytes += peak_rss_bytes;
            }
            Message::Time(t_ns) => self.last_ns = t_ns,
            Message::Core(row) => recording.cores.push(row),
            Message::Thread(row) => recording.threads.push(row),
            // Between a controller and the agents of real hosts (crate::hosts).
            Message::Interim { .. } => {}
            Message::Machine { .. } | Message::Clock(_) | Message::Reached(_) => {}
            Message::PathMtu(_) | Message::Ready => {}
            Message::Drained | Message::Total { .. } | Message::Account { .. } | Message::Received { .. } => {
            }
            Message::Failed(reason) => self.failure = Some(reason),
            Message::Done => self.done = true,
        }
    }

    /// How far the run has come.
    pub fn reached_ns(&self) -> i64 {
        self.last_ns
    }

    /// Payload delivered so far, all flows, in bytes.
    pub fn delivered_bytes(&self) -> u64 {
        let mut last = BTreeMap::new();
        for row in self.recording.flows.iter().rev().take(64) {
            last.entry(row.flow).or_insert(row.delivered_bytes.unwrap_or(0));
        }
        last.values().sum()
    }

    /// Why the agent failed, if it reported that.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether the agent said that nothing is missing.
    pub fn is_done(&self) -> bool {
        self.done
    }
}
