//! Fair queueing with controlled delay (RFC 8290), with a queue of its own for every flow.

use super::codel::{Control, Parameters, Tally};
use super::store::Store;
use super::train::Train;
use std::collections::{BTreeMap, VecDeque};

/// One flow's queue.
#[derive(Debug, Clone, Default)]
struct Flow {
    store: Store,
    control: Control,
    /// Bytes it may send before it goes to the end of the list; 0 or less: it has used up its turn.
    credit: i64,
    /// It is on one of the lists.
    listed: bool,
}

/// All flows' queues.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue {
    flows: Vec<Flow>,
    /// Index of each flow's queue by the flow's number.
    index: BTreeMap<u32, usize>,
    /// Those that have just become busy, served first, and the others (RFC 8290 section 4.2).
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: u32,
    limit: u64,
    packets: u64,
    bytes: u64,
}

/// Packets dropped at once from the longest queue when all are full (Linux: drop_batch).
const BATCH: u64 = 64;

impl FairQueue {
    pub(crate) fn new(quantum: u32, limit: u32) -> FairQueue {
        FairQueue {
            flows: Vec::new(),
            index: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: quantum.max(1),
            limit: limit.into(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets of one flow come; those dropped because the queue is full are counted.
    pub(crate) fn put(&mut self, mut train: Train, tally: &mut Tally) {
        let flows = &mut self.flows;
        let i = *self.index.entry(train.flow).or_insert_with(|| {
            flows.push(Flow::default());
            flows.len() - 1
        });
        let room = self.limit.saturating_sub(self.packets);
        while room < u64::from(train.packets) && train.packets > 1 {
            // At the limit packet by packet: each may make the longest queue lose a batch.
            let packet = train.split(1);
            self.put_whole(packet, i, tally);
        }
        self.put_whole(train, i, tally);
    }

    fn put_whole(&mut self, train: Train, i: usize, tally: &mut Tally) {
        self.packets += u64::from(train.packets);
        self.bytes += train.bytes();
        let flow = &mut self.flows[i];
        flow.store.put(train);
        if !flow.listed {
            flow.listed = true;
            flow.credit = self.quantum.into();
            self.new.push_back(i);
        }
        if self.packets > self.limit {
            self.drop_batch(tally);
        }
    }

    /// Drops from the head of the longest queue until half of it is gone, at most a batch (RFC 8290 section 4.1).
    fn drop_batch(&mut self, tally: &mut Tally) {
        let Some(longest) = self.flows.iter_mut().max_by_key(|f| f.store.bytes()) else { return };
        let half = longest.store.bytes() / 2;
        let (mut dropped, mut bytes) = (0, 0);
        while let Some(packet) = longest.store.take(1) {
            dropped += 1;
            bytes += packet.bytes();
            if dropped == BATCH || bytes >= half {
                break;
            }
        }
        longest.control.overflowed(dropped);
        self.packets -= dropped;
        self.bytes -= bytes;
        tally.dropped += dropped;
    }

    /// The next packet for the transmitter at `now`.
    pub(crate) fn dequeue(&mut self, p: &Parameters, now: i64, tally: &mut Tally) -> Option<Train> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let i = list.pop_front()?;
            let flow = &mut self.flows[i];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.quantum);
                self.old.push_back(i);
                continue;
            }
            let (packets, bytes) = (flow.store.packets(), flow.store.bytes());
            let packet = flow.control.dequeue(p, &mut flow.store, now, (0, 1), tally);
            self.packets -= packets - flow.store.packets();
            self.bytes -= bytes - flow.store.bytes();
            match packet {
                Some(packet) => {
                    flow.credit -= i64::from(packet.frame);
                    if from_new {
                        self.new.push_front(i)
                    } else {
                        self.old.push_front(i)
                    }
                    return Some(packet);
                }
                // A new flow that has become empty waits once behind the old ones, lest it come back as a new one
                // in no time and starve them.
                None if from_new && !self.old.is_empty() => self.old.push_back(i),
                None => flow.listed = false,
            }
        }
    }
}
