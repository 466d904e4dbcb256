//! Fair queueing with controlled delay (RFC 8290), with a queue of its own for every flow.

use super::codel::{Control, Parameters, Tally};
use super::settings::{FqCodelSettings, HostQueue};
use super::store::Store;
use super::train::Train;
use std::collections::{BTreeMap, VecDeque};

/// One flow's queue.
#[derive(Debug, Clone)]
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
    settings: FqCodelSettings,
    packets: u64,
    bytes: u64,
    /// What Linux counts as packets: GSO packets where the host makes such.
    pieces: u64,
}

/// Packets dropped at once from the longest queue when all are full (Linux: drop_batch).
const BATCH: u64 = 64;

impl FairQueue {
    pub(crate) fn new(settings: &FqCodelSettings) -> FairQueue {
        FairQueue {
            flows: Vec::new(),
            index: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            settings: FqCodelSettings { quantum: settings.quantum.max(1), ..settings.clone() },
            packets: 0,
            bytes: 0,
            pieces: 0,
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
        let piece = self.settings.host.map_or(1, |host| host.piece);
        let flows = &mut self.flows;
        let i = *self.index.entry(train.flow).or_insert_with(|| {
            let (store, control) = (Store::new(piece), Control::default());
            flows.push(Flow { store, control, credit: 0, listed: false });
            flows.len() - 1
        });
        let piece = self.flows[i].store.piece(&train);
        while train.packets > piece && self.is_over(train.packets.div_ceil(piece), train.bytes()) {
            // At the limit one by one: each may make the longest queue lose a batch.
            let packet = train.split(piece);
            self.put_whole(packet, i, tally);
        }
        self.put_whole(train, i, tally);
    }

    /// Whether there is too much with so many pieces more, of `bytes` together.
    fn is_over(&self, pieces: u32, bytes: u64) -> bool {
        let pieces = self.pieces + u64::from(pieces);
        let is_large = |host: HostQueue| self.bytes + bytes + pieces * host.overhead > host.memory_limit;
        pieces > self.settings.limit.into() || self.settings.host.is_some_and(is_large)
    }

    fn put_whole(&mut self, train: Train, i: usize, tally: &mut Tally) {
        let flow = &mut self.flows[i];
        self.packets += u64::from(train.packets);
        self.bytes += train.bytes();
        self.pieces += u64::from(train.packets.div_ceil(flow.store.piece(&train)));
        flow.store.put(train);
        if !flow.listed {
            flow.listed = true;
            flow.credit = self.settings.quantum.into();
            self.new.push_back(i);
        }
        if self.is_over(0, 0) {
            self.drop_batch(i, tally);
        }
    }

    /// Drops from the head of the longest queue until half of it is gone, at most a batch (RFC 8290 section 4.1,
    /// `fq_codel_drop`). The flow that has just enqueued, number `enqueued`, hears of it if the queue is its own
    /// (NET_XMIT_CN); another learns of it from its receiver.
    fn drop_batch(&mut self, enqueued: usize, tally: &mut Tally) {
        let flows = self.flows.iter_mut().enumerate();
        let Some((i, longest)) = flows.max_by_key(|(_, flow)| flow.store.bytes()) else { return };
        let half = longest.store.bytes() / 2;
        let (mut dropped, mut bytes) = (0, 0);
        while let Some(packet) = longest.store.take_piece() {
            dropped += 1;
            bytes += packet.bytes();
            self.packets -= u64::from(packet.packets);
            tally.drop(packet, i == enqueued);
            if dropped == BATCH || bytes >= half {
                break;
            }
        }
        longest.control.overflowed(dropped);
        self.pieces -= dropped;
        self.bytes -= bytes;
    }

    /// The next piece for the transmitter, or for a free descriptor, at `now`.
    pub(crate) fn dequeue(&mut self, p: &Parameters, now: i64, tally: &mut Tally) -> Option<Train> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let i = list.pop_front()?;
            let flow = &mut self.flows[i];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.settings.quantum);
                self.old.push_back(i);
                continue;
            }
            let (packets, bytes) = (flow.store.packets(), flow.store.bytes());
            let pieces = flow.store.pieces();
            let packet = flow.control.dequeue(p, &mut flow.store, now, (0, 1), tally);
            self.packets -= packets - flow.store.packets();
            self.bytes -= bytes - flow.store.bytes();
            self.pieces -= pieces - flow.store.pieces();
            match packet {
                Some(packet) => {
                    flow.credit -= packet.bytes() as i64;
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
