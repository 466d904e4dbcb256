//! From the messages of several agents to one recording: each end of a flow knows its own half of a row.

use super::peer::Word;
use crate::assemble::Assembler;
use std::collections::BTreeMap;
use wirespeed_agent::iperf3::acknowledged;
use wirespeed_agent::iperf3_server::place;
use wirespeed_agent::message::Message;
use wirespeed_agent::tcp_info::copy_receiver;
use wirespeed_agent::udp;
use wirespeed_host::{Changes, Delta, Place};
use wirespeed_ledger::hosts::Total;
use wirespeed_ledger::hosts::borders::Border;
use wirespeed_ledger::hosts::drop_reasons;
use wirespeed_record::{Counter, Datagram, Exchange, FlowSample, Recording, SubstrateKind};
use wirespeed_scenario::run::Run;
use wirespeed_transport::limits;

/// Collects the messages of all hosts.
pub struct Merge<'a> {
    run: &'a Run,
    assembler: Assembler,
    flows: BTreeMap<(i64, u32), FlowSample>,
    totals: BTreeMap<u32, Total>,
    borders: BTreeMap<i64, Border>,
    sent: BTreeMap<u32, Vec<Datagram>>,
    arrived: BTreeMap<u32, Vec<Datagram>>,
    reached: BTreeMap<String, i64>,
    changes: BTreeMap<String, Changes>,
    word: Option<Word>,
}

/// What all hosts together say.
pub struct Merged {
    /// Without a ledger.
    pub recording: Recording,
    /// What the flows came to.
    pub totals: BTreeMap<u32, Total>,
    /// How they and the hosts stood at borders between intervals.
    pub borders: BTreeMap<i64, Border>,
    /// How the counters of each host changed.
    pub changes: BTreeMap<String, Changes>,
    /// What an iperf3 server at the other end says.
    pub word: Option<Word>,
}

impl<'a> Merge<'a> {
    /// For the hosts of a run.
    pub fn new(run: &'a Run) -> Merge<'a> {
        Merge {
            run,
            assembler: Assembler::default(),
            flows: BTreeMap::new(),
            totals: BTreeMap::new(),
            borders: BTreeMap::new(),
            sent: BTreeMap::new(),
            arrived: BTreeMap::new(),
            reached: BTreeMap::new(),
            changes: BTreeMap::new(),
            word: None,
        }
    }

    /// The run has ended earlier: from now on it is this one.
    pub fn cut_to(&mut self, run: &'a Run) {
        self.run = run;
    }

    /// Takes a message of host `from`.
    pub fn push(&mut self, from: &str, message: Message) {
        match message {
            Message::Flow(row) => {
                if !limits::is_in(self.run, row.t_ns) {
                    return;
                }
                let Some(sends) = self.sends(from, row.flow) else { return };
                let key = (row.t_ns, row.flow);
                let into = self.flows.entry(key).or_insert_with(|| FlowSample::empty(key.0, key.1));
                join(into, limits::row(*row), sends);
                know_delivered(self.run, into);
            }
            Message::Total { row, segments } => add_total(self.run, from, &mut self.totals, *row, segments),
            Message::Interim { at_ns, read_ns, took_ns, changes, totals } => {
                // What was read at no time of the run says nothing of it.
                let all = [at_ns, read_ns, took_ns];
                if !all.into_iter().all(|t_ns| limits::is_near(self.run, t_ns)) {
                    return;
                }
                let border = self.borders.entry(at_ns).or_default();
                for (row, segments) in totals {
                    add_total(self.run, from, &mut border.totals, row, segments);
                }
                border.changes.insert(from.to_owned(), limits::changes(*changes));
                border.beside_ns.insert(from.to_owned(), (read_ns - at_ns).abs() + took_ns);
            }
            Message::Datagrams(rows) => {
                for row in rows {
                    match self.sends(from, row.flow) {
                        Some(true) => self.sent.entry(row.flow).or_default().push(row),
                        Some(false) => self.arrived.entry(row.flow).or_default().push(row),
                        None => {}
                    }
                }
            }
            // Only the receiver has them.
            Message::Exchanges(rows) => {
                let is_near = |t_ns: Option<i64>| t_ns.is_none_or(|t_ns| limits::is_near(self.run, t_ns));
                let is_ours = |row: &Exchange| {
                    let times = [Some(row.begin_ns), row.first_ns, row.end_ns];
                    self.sends(from, row.flow) == Some(false) && times.into_iter().all(is_near)
                };
                let rows = rows.into_iter().filter(is_ours).collect();
                self.assembler.push(Message::Exchanges(rows));
            }
            Message::Account { changes, lacks } => {
                let changes = limits::changes(*changes);
                for counter in counters(from, &changes) {
                    self.assembler.push(Message::Counter(counter));
                }
                // What an ordinary user, or this kernel, does not see.
                for lack in lacks {
                    self.assembler.push(Message::Warning(format!("host {from}: {lack}")));
                }
                self.changes.insert(from.to_owned(), changes);
            }
            Message::Received { flows, cpu_percent, congestion, .. } => {
                self.word = Some(Word::new(flows, cpu_percent, congestion));
            }
            Message::Time(t_ns) => drop(self.reached.insert(from.to_owned(), t_ns)),
            other => self.assembler.push(other),
        }
    }

    /// Whether a host is the sender of a flow; `None` if the run has no such flow.
    fn sends(&self, host: &str, flow: u32) -> Option<bool> {
        self.run.flows.get(flow as usize).map(|flow| flow.from == host)
    }

    /// How far all hosts have come.
    pub fn reached_ns(&self) -> i64 {
        let ours = self.run.hosts.iter().filter(|host| place(host).is_none());
        let all = ours.map(|host| self.reached.get(&host.name).copied().unwrap_or(0));
        all.min().unwrap_or(0)
    }

    /// Payload delivered so far, all flows, in bytes.
    pub fn delivered_bytes(&self) -> u64 {
        let mut last = BTreeMap::new();
        for row in self.flows.values().rev().take(64) {
            last.entry(row.flow).or_insert(row.delivered_bytes.unwrap_or(0));
        }
        last.values().sum()
    }

    /// Everything put together. `clocks_ns`: by how much two hosts' clocks may differ.
    pub fn finish(mut self, clocks_ns: i64) -> Merged {
        self.assembler.match_sent_again(clocks_ns);
        for (flow, arrived) in &self.arrived {
            // A server that sends has no agent to say what.
            if let (Some(word), false) = (&self.word, self.sent.contains_key(flow)) {
                self.sent.insert(*flow, word.sent(self.run, *flow, arrived));
            }
        }
        for (flow, sent) in std::mem::take(&mut self.sent) {
            let arrived = self.arrived.remove(&flow).unwrap_or_default();
            self.assembler.push(Message::Datagrams(udp::account(sent, &arrived)));
        }
        if let Some(word) = &self.word {
            word.fill(self.run, &mut self.flows, &mut self.totals);
        }
        let (mut recording, _) = self.assembler.described(self.run, SubstrateKind::Hosts);
        recording.info.cost.packets =
            self.totals.values().filter_map(|total| total.row.data_packets_out).sum();
        recording.flows = self.flows.into_values().collect();
        recording.queues.sort_by_key(|row| row.t_ns);
        recording.hosts.sort_by_key(|row| row.t_ns);
        recording.cores.sort_by_key(|row| row.t_ns);
        recording.threads.sort_by_key(|row| row.t_ns);
        Merged {
            recording,
            totals: self.totals,
            borders: self.borders,
            changes: self.changes,
            word: self.word,
        }
    }
}

/// Adds what one end of a flow has counted.
fn add_total(run: &Run, from: &str, totals: &mut BTreeMap<u32, Total>, row: FlowSample, segments: [u32; 2]) {
    let Some(flow) = run.flows.get(row.flow as usize) else { return };
    let empty = || Total { row: FlowSample::empty(row.t_ns, row.flow), sender: [0; 2], receiver: [0; 2] };
    let total = totals.entry(row.flow).or_insert_with(empty);
    let sends = flow.from == from;
    if sends {
        total.sender = segments;
    } else {
        total.receiver = segments;
    }
    join(&mut total.row, limits::row(row), sends);
    know_delivered(run, &mut total.row);
}

/// Counters that changed, as rows of the counter table: those of the whole host by the kernel's name, others with source
/// and place before it.
fn counters(host: &str, changes: &Changes) -> impl Iterator<Item = Counter> {
    changes.changes.iter().filter_map(move |change| {
        let reading = &change.reading;
        let (before, after) = match change.delta {
            Delta::By(0) => return None,
            Delta::By(grown) => (reading.value.saturating_sub(grown), reading.value),
            Delta::Reset { before, after } | Delta::Level { before, after } => (before, after),
            Delta::Appeared(_) | Delta::Vanished(_) => return None,
        };
        let counter = match &reading.place {
            // They have rows of their own, with those of all reasons.
            Place::Host if reading.source == drop_reasons::SOURCE => return None,
            Place::Host => reading.counter.to_string(),
            // A run has thousands; what they say of flows is in the flow table.
            Place::Socket(_) => return None,
            place => format!("{} {place} {}", reading.source, reading.counter),
        };
        Some(Counter { host: host.to_owned(), counter, before, after })
    })
}

/// What the kernel of an iperf3 server's host has in order, the sender knows: it was acknowledged to it.
fn know_delivered(run: &Run, row: &mut FlowSample) {
    let flow = run.flows.get(row.flow as usize);
    if flow.is_some_and(|flow| place(run.host(&flow.to)).is_some()) {
        row.delivered_bytes = acknowledged(row);
    }
}

/// Puts what one end knows into a row: the receiver what it has, the sender everything else.
fn join(into: &mut FlowSample, row: FlowSample, sends: bool) {
    if sends {
        let receiver = std::mem::replace(into, row);
        copy_receiver(&receiver, into);
    } else {
        copy_receiver(&row, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::testing::run;

    #[test]
    fn both_ends_make_one_row_in_any_order() {
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let row = |change: fn(&mut FlowSample)| {
            let mut row = FlowSample::empty(10, 0);
            change(&mut row);
            Message::Flow(Box::new(row))
        };
        let sender = || {
            row(|row| (row.cwnd_bytes, row.sent_bytes, row.data_packets_out) = (Some(3), Some(9), Some(4)))
        };
        let receiver = || row(|row| (row.delivered_bytes, row.data_packets_in) = (Some(8), Some(3)));
        for order in [[("a", sender()), ("b", receiver())], [("b", receiver()), ("a", sender())]] {
            let mut merge = Merge::new(&run);
            order.into_iter().for_each(|(from, message)| merge.push(from, message));
            let recording = merge.finish(0).recording;
            let found: Vec<_> = recording
                .flows
                .iter()
                .map(|row| {
                    (
                        row.cwnd_bytes,
                        row.sent_bytes,
                        row.data_packets_out,
                        row.delivered_bytes,
                        row.data_packets_in,
                    )
                })
                .collect();
            assert_eq!(found, [(Some(3), Some(9), Some(4), Some(8), Some(3))]);
        }
    }

    #[test]
    fn a_host_has_come_as_far_as_it_says_and_all_as_far_as_the_last() {
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let mut merge = Merge::new(&run);
        merge.push("a", Message::Time(50));
        assert_eq!(merge.reached_ns(), 0);
        merge.push("b", Message::Time(40));
        assert_eq!(merge.reached_ns(), 40);
    }
}
