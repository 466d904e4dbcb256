//! Packets that a train brings after its first: counted when the train is, there only later.

use std::collections::VecDeque;

/// Packets that come at an even distance.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: i64,
    gap: i64,
    packets: u32,
    frame: u32,
    /// From coming to leaving, for those that pass an idle transmitter.
    service: i64,
}

impl Run {
    fn last(&self) -> i64 {
        self.first + self.gap * i64::from(self.packets - 1)
    }

    /// How many have come at `time`.
    fn come(&self, time: i64) -> u32 {
        if time < self.first {
            0
        } else if time >= self.last() {
            self.packets
        } else {
            // Before the last and not before the first: the gap is not zero.
            ((time - self.first) / self.gap) as u32 + 1
        }
    }
}

/// Accepted packets that will have to wait, but have not reached the queue yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingArrivals {
    runs: VecDeque<Run>,
}

impl PendingArrivals {
    /// Enters `packets` of `frame` bytes that come from `first` on every `gap`.
    #[inline]
    pub(crate) fn enter(&mut self, first: i64, gap: i64, packets: u32, frame: u32) {
        if packets > 1 && gap > 0 {
            self.runs.push_back(Run { first, gap, packets, frame, service: 0 });
        }
    }

    /// Forgets what has come at `time`; what later questions ask for is not before it.
    #[inline]
    pub(crate) fn retire(&mut self, time: i64) {
        while self.runs.front().is_some_and(|r| r.last() <= time) {
            self.runs.pop_front();
        }
    }

    /// Packets and bytes that have not come at `time`. Only trains that overlap are looked at.
    pub(crate) fn after(&self, time: i64) -> (u64, u64) {
        self.runs.iter().fold((0, 0), |(packets, bytes), run| {
            let left = u64::from(run.packets - run.come(time));
            (packets + left, bytes + left * u64::from(run.frame))
        })
    }
}

/// What [`InTransit`] knows about a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Packets and bytes that have started to be sent.
    pub started: u64,
    pub started_bytes: u64,
    /// Packets that have arrived, lost ones included.
    pub arrived: u64,
}

/// Packets that each find the transmitter idle: they start when they come, and never wait.
#[derive(Debug, Clone)]
pub(crate) struct InTransit {
    /// Propagation, picoseconds.
    delay: i64,
    /// By their first packet's time; they may overlap.
    runs: VecDeque<Run>,
    /// Those before this one have started.
    begun: usize,
    begun_packets: u64,
    begun_bytes: u64,
    /// Packets of runs that have arrived and were dropped from the front.
    gone: u64,
    /// Packets ever entered.
    pub packets: u64,
    long: usize,
}

/// Below this length the runs are never too many.
const SHORT: usize = 64;

impl InTransit {
    pub(crate) fn new(delay: i64) -> InTransit {
        InTransit {
            delay,
            runs: VecDeque::new(),
            begun: 0,
            begun_packets: 0,
            begun_bytes: 0,
            gone: 0,
            packets: 0,
            long: SHORT,
        }
    }

    /// Enters `packets` of `frame` bytes that come from `first` on every `gap` and take `service` each.
    pub(crate) fn enter(&mut self, first: i64, gap: i64, packets: u32, frame: u32, service: i64) {
        self.packets += u64::from(packets);
        self.runs.push_back(Run { first, gap, packets, frame, service });
    }

    /// Whether it is time for [`InTransit::at`], lest the runs grow without bound.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.runs.len() >= self.long
    }

    /// What has happened at `time`; times asked for do not decrease.
    pub(crate) fn at(&mut self, time: i64) -> Passed {
        while let Some(run) = self.runs.get(self.begun)
            && run.last() <= time
        {
            self.begun += 1;
            self.begun_packets += u64::from(run.packets);
            self.begun_bytes += u64::from(run.packets) * u64::from(run.frame);
        }
        while let Some(run) = self.runs.front()
            && self.begun > 0
            && run.last() + run.service + self.delay <= time
        {
            self.gone += u64::from(run.packets);
            self.begun -= 1;
            self.runs.pop_front();
        }
        self.long = SHORT.max(self.runs.len() * 2);

        let mut passed =
            Passed { started: self.begun_packets, started_bytes: self.begun_bytes, arrived: self.gone };
        for run in self.runs.iter().skip(self.begun) {
            let started = u64::from(run.come(time));
            passed.started += started;
            passed.started_bytes += started * u64::from(run.frame);
        }
        for run in self.runs.iter().take_while(|r| r.first + self.delay <= time) {
            passed.arrived += u64::from(run.come(time - run.service - self.delay));
        }
        passed
    }
}

/// Arrivals of the packets of one train that were accepted one by one.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Closed runs and the open one: first, gap, packets.
    runs: Vec<(i64, i64, u32)>,
}

impl Arrivals {
    /// A packet comes at `at`, not before the one added last.
    pub(crate) fn add(&mut self, at: i64) {
        if let Some((first, gap, packets)) = self.runs.last_mut() {
            if *packets == 1 {
                *gap = at - *first;
            }
            if *first + *gap * i64::from(*packets) == at {
                *packets += 1;
                return;
            }
        }
        self.runs.push((at, 0, 1));
    }

    /// Enters them all, of `frame` bytes, as coming after `now`.
    pub(crate) fn enter(&self, now: i64, frame: u32, pending: &mut PendingArrivals) {
        for (first, gap, packets) in &self.runs {
            if first + gap * i64::from(packets - 1) > now {
                pending.runs.push_back(Run {
                    first: *first,
                    gap: *gap,
                    packets: *packets,
                    frame,
                    service: 0,
                });
            }
        }
    }
}
