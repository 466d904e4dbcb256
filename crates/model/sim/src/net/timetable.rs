//! When packets that wait for the transmitter start to be sent and arrive, kept as runs.
//!
//! A first-in-first-out queue knows at acceptance when a packet will be sent. What waits at some later time is what
//! was accepted less what has started by then, and what is in flight is what has started less what has arrived. A
//! busy period of frames of one size is one run, however many flows it mixes, so the table is short.

use super::transmitter::{Service, later};
use std::collections::VecDeque;

/// Packets of one size that are sent one after the other. A slow start over a long path puts each burst on its way as a run
/// of its own, so a run is small.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// Start of the first, picoseconds and remainder.
    first: i64,
    remainder: u64,
    packets: u32,
    /// Bytes of each; the table knows how long they take.
    frame: u32,
}

impl Run {
    /// How many of those from the first on, were they endless, have started at `time`.
    fn passed(&self, time: i64, service: Service, rate: u64) -> u64 {
        let Service { whole, part, .. } = service;
        if time < self.first {
            0
        } else if part == 0 {
            // Frames shorter than a picosecond belong to no network; they must only not divide by zero.
            ((time - self.first) / whole.max(1)) as u64 + 1
        } else {
            // Those with (remainder + i * bits) / rate, rounded down, of at most time - first: the least i with
            // remainder + i * bits >= (time - first + 1) * rate. A division of 128 bits is slow, and a guess seldom off.
            let bits = whole as u128 * u128::from(rate) + u128::from(part);
            let room = (time - self.first + 1) as u128 * u128::from(rate) - u128::from(self.remainder);
            let each = whole as f64 + part as f64 / rate as f64;
            let mut passed = ((time - self.first) as f64 / each) as u64;
            while u128::from(passed) * bits < room {
                passed += 1;
            }
            while passed > 0 && u128::from(passed - 1) * bits >= room {
                passed -= 1;
            }
            passed
        }
    }

    /// How many have started at `time`.
    fn started(&self, time: i64, service: Service, rate: u64) -> u64 {
        self.passed(time, service, rate).min(self.packets.into())
    }

    /// How many have ended at `time`: packet i ends when packet i + 1 would start.
    fn ended(&self, time: i64, service: Service, rate: u64) -> u64 {
        self.passed(time, service, rate).saturating_sub(1).min(self.packets.into())
    }

    /// Start of packet `i`.
    fn start(&self, i: u64, service: Service, rate: u64) -> i64 {
        later(self.first, self.remainder, service.whole, service.part, i, rate).0
    }
}

/// How far something has got along the runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    /// Index of the run, counted from the first the table ever had.
    run: u64,
    /// Packets of that run that are behind.
    of_run: u64,
    /// Start of the next packet of that run, if `of_run` is not its end.
    next: i64,
    /// Packets behind.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The runs of a link from the first packet that has not arrived.
#[derive(Debug, Clone)]
pub(crate) struct Timetable {
    rate: u64,
    /// Propagation, picoseconds.
    delay: i64,
    runs: VecDeque<Run>,
    /// How long frames take, of each size that was ever sent.
    sizes: Vec<Service>,
    /// Runs dropped from the front.
    gone: u64,
    started: Position,
    /// Packets that have arrived, and how many of them are of the first run.
    arrived: u64,
    arrived_of_run: u64,
    /// Packets and bytes ever entered.
    pub packets: u64,
    pub bytes: u64,
    /// Nothing was sent past the table since the last run.
    open: bool,
    /// The table is brought up to date when it gets this long.
    long: usize,
}

/// Below this length a table is never too long.
const SHORT: usize = 64;

/// What a table of so many runs may grow to: on a long path there are hundreds of thousands, and all of them stay in
/// memory until they are looked at.
fn longer(runs: usize) -> usize {
    SHORT.max(runs + runs / 8)
}

impl Timetable {
    pub(crate) fn new(rate: u64, delay: i64) -> Timetable {
        Timetable {
            rate,
            delay,
            runs: VecDeque::new(),
            sizes: Vec::new(),
            gone: 0,
            started: Position::default(),
            arrived: 0,
            arrived_of_run: 0,
            packets: 0,
            bytes: 0,
            open: false,
            long: SHORT,
        }
    }

    /// Something is sent past the table: the next run does not continue the last one.
    pub(crate) fn interrupt(&mut self) {
        self.open = false;
    }

    /// Enters `packets` that are sent one after the other from `first` and `remainder` on. `behind`: the first
    /// starts because the packet entered before has ended.
    #[inline(always)]
    pub(crate) fn enter(&mut self, first: i64, remainder: u64, service: Service, packets: u32, behind: bool) {
        self.packets += u64::from(packets);
        self.bytes += u64::from(packets) * u64::from(service.frame);
        let continues = behind && self.open;
        self.open = true;
        if let Some(last) = self.runs.back_mut()
            && continues
            && last.frame == service.frame
            && let Some(together) = last.packets.checked_add(packets)
        {
            last.packets = together;
            return;
        }
        if !self.sizes.contains(&service) {
            self.sizes.push(service);
        }
        if self.runs.len() == self.runs.capacity() {
            self.runs.reserve_exact(longer(self.runs.len()) - self.runs.len());
        }
        self.runs.push_back(Run { first, remainder, packets, frame: service.frame });
    }

    /// How long the frames of a run take.
    #[inline]
    fn service(&self, run: &Run) -> Service {
        let known = self.sizes.iter().find(|known| known.frame == run.frame);
        *known.expect("a run's size was entered with it")
    }

    /// Whether it is time for [`Timetable::advance`], lest the table grow without bound.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.runs.len() >= self.long
    }

    /// Brings the table to `time`. An earlier time than before changes nothing.
    pub(crate) fn advance(&mut self, time: i64) {
        self.advance_start(time);
        let time = time - self.delay;
        while let Some(run) = self.runs.front() {
            // Runs do not overlap: where the next has begun, this one is over.
            let over = self.runs.get(1).is_some_and(|next| next.first <= time);
            let packets = u64::from(run.packets);
            let ended = if over {
                packets
            } else {
                run.ended(time, self.service(run), self.rate).max(self.arrived_of_run)
            };
            self.arrived += ended - self.arrived_of_run;
            self.arrived_of_run = ended;
            // The last run stays, for it may grow.
            if ended < packets || self.started.run == self.gone {
                break;
            }
            self.runs.pop_front();
            self.gone += 1;
            self.arrived_of_run = 0;
        }
        self.long = longer(self.runs.len());
    }

    /// Brings to `time` what has started, and leaves what has arrived for later: nobody near the limit asks for it.
    #[inline]
    pub(crate) fn advance_start(&mut self, time: i64) {
        let mut started = self.started;
        self.start_until(&mut started, time);
        self.started = started;
    }

    /// Moves `position` over what has started at `time`.
    pub(crate) fn start_until(&self, position: &mut Position, time: i64) {
        loop {
            let i = (position.run - self.gone) as usize;
            let Some(run) = self.runs.get(i) else { return };
            let next = self.runs.get(i + 1);
            let packets = u64::from(run.packets);
            if position.of_run < packets {
                // In a loop over packets mostly none has started since the last question.
                if time < position.next && position.of_run > 0 {
                    return;
                }
                let over = next.is_some_and(|next| next.first <= time);
                let started = if over {
                    packets
                } else {
                    let service = self.service(run);
                    let started = run.started(time, service, self.rate).max(position.of_run);
                    position.next = run.start(started, service, self.rate);
                    started
                };
                let new = started - position.of_run;
                position.packets += new;
                position.bytes += new * u64::from(run.frame);
                position.of_run = started;
            }
            // The last run may still grow.
            if position.of_run < packets || next.is_none() {
                return;
            }
            position.run += 1;
            position.of_run = 0;
        }
    }

    /// What had started when the table was last brought up to date.
    #[inline]
    pub(crate) fn started(&self) -> Position {
        self.started
    }

    /// When the next packet started after that; `None` if none was known to wait.
    pub(crate) fn next_start(&self) -> Option<i64> {
        let run = self.runs.get((self.started.run - self.gone) as usize)?;
        (0 < self.started.of_run && self.started.of_run < run.packets.into()).then_some(self.started.next)
    }

    /// When a packet starts that has `before` others before it, of those that had not started then; `None`: there are not
    /// so many.
    pub(crate) fn start_behind(&self, mut before: u64) -> Option<i64> {
        let mut of_run = self.started.of_run;
        for run in self.runs.range((self.started.run - self.gone) as usize..) {
            let left = u64::from(run.packets) - of_run;
            if before < left {
                return Some(run.start(of_run + before, self.service(run), self.rate));
            }
            before -= left;
            of_run = 0;
        }
        None
    }

    /// Packets that had arrived then, lost ones included.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Whether all that had not started then are frames of `frame` bytes.
    pub(crate) fn waits_evenly(&self, frame: u32) -> bool {
        self.started.run - self.gone + 1 >= self.runs.len() as u64
            && self.runs.back().is_none_or(|run| run.frame == frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::transmitter::Transmitter;
    use proptest::prelude::*;
    use wirespeed_units::Rate;

    proptest! {
        /// Busy periods of random sizes against a list of every start and arrival.
        #[test]
        fn counts_equal_a_list_of_all_packets(
            rate in 1_000_000_000..1_000_000_000_000_u64,
            delay in 0..10_000_000_i64,
            trains in prop::collection::vec((60..1514_u32, 1..20_u32, 0..4_000_000_i64), 1..100),
        ) {
            let mut transmitter = Transmitter::new(Rate::bps(rate));
            let mut table = Timetable::new(rate, delay);
            let (mut starts, mut arrivals) = (Vec::new(), Vec::new());
            let mut now = 0;
            for (frame, packets, pause) in trains {
                // Frames of three sizes, so that runs both join and do not.
                let service = transmitter.service(frame / 500 * 500 + 60);
                let behind = transmitter.free() > now;
                if !behind {
                    transmitter.start(now);
                }
                table.enter(transmitter.free(), transmitter.remainder(), service, packets, behind);
                for _ in 0..packets {
                    starts.push((transmitter.free(), u64::from(service.frame)));
                    transmitter.occupy(service, 1);
                    arrivals.push(transmitter.free() + delay);
                }
                now += pause;
                table.advance(now);
                let expected: Vec<u64> = starts.iter().filter(|(t, _)| *t <= now).map(|(_, b)| *b).collect();
                prop_assert_eq!(table.started().packets, expected.len() as u64);
                prop_assert_eq!(table.started().bytes, expected.iter().sum::<u64>());
                prop_assert_eq!(table.arrived(), arrivals.iter().filter(|t| **t <= now).count() as u64);
            }
            prop_assert_eq!(table.packets, starts.len() as u64);
        }
    }
}
