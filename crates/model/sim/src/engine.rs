//! Events in total order: (time, class, component). No two pending events of one component and class are due at
//! the same time, so that nothing else decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wirespeed_units::SimTime;

/// What happens, in the order in which it happens at one time.
///
/// Timers precede arrivals, as in Linux. There a packet's arrival raises `NET_TX_SOFTIRQ`, and the transmission then raises
/// `NET_RX_SOFTIRQ` for the next round of softirqs. The pacer's `HRTIMER_SOFTIRQ` belongs to the first round. A paced sender
/// that receives ACKs at the rate of a link has many such ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A queue that decides when packets leave looks at them.
    Wake(u32),
    /// What a socket has put out ahead of its time enters a pipe.
    Entry(u32),
    /// A sender's timer.
    Sender(u32),
    /// A receiver's timer.
    Receiver(u32),
    /// A flow begins.
    Start(u32),
    /// A flow stops sending.
    Stop(u32),
    /// The first train on a pipe arrives at its end.
    Arrival(u32),
    /// Something happens inside a host.
    Host(u32),
}

impl Event {
    /// Its class and component as a number of the same order.
    #[inline]
    fn rank(self) -> u64 {
        let (class, component) = match self {
            Event::Wake(pipe) => (0, pipe),
            Event::Entry(pipe) => (1, pipe),
            Event::Sender(flow) => (2, flow),
            Event::Receiver(flow) => (3, flow),
            Event::Start(flow) => (4, flow),
            Event::Stop(flow) => (5, flow),
            Event::Arrival(pipe) => (6, pipe),
            Event::Host(host) => (7, host),
        };
        class << 32 | u64::from(component)
    }

    /// The event of such a number.
    #[inline]
    fn of_rank(rank: u64) -> Event {
        let component = rank as u32;
        match rank >> 32 {
            0 => Event::Wake(component),
            1 => Event::Entry(component),
            2 => Event::Sender(component),
            3 => Event::Receiver(component),
            4 => Event::Start(component),
            5 => Event::Stop(component),
            6 => Event::Arrival(component),
            _ => Event::Host(component),
        }
    }
}

/// Pending events.
#[derive(Debug, Default)]
pub struct Events {
    /// All but arrivals and what happens inside hosts: the time in picoseconds and the event's rank as one number,
    /// which two instructions compare. In what order a thousand flows' timers are due is chance, and each branch on it
    /// would be taken wrongly half the time.
    heap: BinaryHeap<Reverse<u128>>,
    arrivals: Earliest,
    hosts: Earliest,
}

impl Events {
    /// How many are pending that are neither arrivals nor inside hosts.
    #[cfg(test)]
    pub fn pending(&self) -> usize {
        self.heap.len()
    }

    /// Schedules one that is neither an arrival nor inside a host.
    #[inline(never)]
    pub fn push(&mut self, at: SimTime, event: Event) {
        debug_assert!(!matches!(event, Event::Arrival(_)), "a pipe has one arrival at a time");
        debug_assert!(!matches!(event, Event::Host(_)), "a host has one event at a time");
        debug_assert!(at >= SimTime::START, "time begins with the run");
        self.heap.push(Reverse(key(at.picoseconds(), event)));
    }

    /// Says when the first train on a pipe arrives, if there is one.
    #[inline]
    pub fn set_arrival(&mut self, pipe: u32, at: Option<SimTime>) {
        self.arrivals.set(pipe as usize, at.map_or(NEVER, SimTime::picoseconds));
    }

    /// Says when something happens next inside a host, if anything does.
    #[inline]
    pub fn set_host(&mut self, host: u32, at: Option<SimTime>) {
        self.hosts.set(host as usize, at.map_or(NEVER, SimTime::picoseconds));
    }

    /// Takes the next, if it is due before `end` or at it. Arrivals and hosts' events stay until they are set anew.
    #[inline]
    pub fn pop_until(&mut self, end: SimTime) -> Option<(SimTime, Event)> {
        let (arrival, pipe) = self.arrivals.first();
        let (inside, host) = if self.hosts.at.is_empty() { (NEVER, 0) } else { self.hosts.first() };
        if let Some(Reverse(first)) = self.heap.peek().copied() {
            let at = (first >> 64) as i64;
            if at <= arrival && at <= inside {
                let at = SimTime::ps(at);
                if at > end {
                    return None;
                }
                self.heap.pop();
                return Some((at, Event::of_rank(first as u64)));
            }
        }
        let (at, event) = if arrival <= inside {
            (arrival, Event::Arrival(pipe as u32))
        } else {
            (inside, Event::Host(host as u32))
        };
        (at <= end.picoseconds() && at < NEVER).then_some((SimTime::ps(at), event))
    }
}

/// Time, not negative, and event as one number of the same order.
#[inline]
fn key(at: i64, event: Event) -> u128 {
    (at as u128) << 64 | u128::from(event.rank())
}

/// Nothing is due.
const NEVER: i64 = i64::MAX;
/// Components that are looked through at once. Most runs have no more pipes, and no more hosts.
const BLOCK: usize = 8;

/// When the one event of each component of a class is due, of classes with few components that nearly all events are of:
/// a pipe's first arrival, what happens next in a host.
#[derive(Debug, Default)]
struct Earliest {
    at: Vec<i64>,
    /// The earliest of each block, and which of it; empty as long as there is but one, which is looked through when
    /// somebody asks.
    earliest: Vec<(i64, usize)>,
}

impl Earliest {
    #[inline]
    fn set(&mut self, component: usize, at: i64) {
        if component >= self.at.len() {
            self.grow(component);
        }
        self.at[component] = at;
        if !self.earliest.is_empty() {
            let block = component / BLOCK;
            let first = block * BLOCK;
            let end = self.at.len().min(first + BLOCK);
            self.earliest[block] = least(self.at[first..end].iter().copied());
        }
    }

    #[cold]
    fn grow(&mut self, component: usize) {
        self.at.resize(component + 1, NEVER);
        if self.at.len() > BLOCK {
            let blocks = self.at.chunks(BLOCK);
            self.earliest = blocks.map(|block| least(block.iter().copied())).collect();
        }
    }

    /// The earliest; of several at one time that of the first component.
    #[inline]
    fn first(&self) -> (i64, usize) {
        if self.earliest.is_empty() {
            return least(self.at.iter().copied());
        }
        let (at, block) = least(self.earliest.iter().map(|(at, _)| *at));
        (at, self.earliest.get(block).map_or(0, |(_, place)| block * BLOCK + place))
    }
}

/// The least of some times, and which it is: the first of equals.
#[inline]
fn least(times: impl Iterator<Item = i64>) -> (i64, usize) {
    let mut least = (NEVER, 0);
    for (place, at) in times.enumerate() {
        if at < least.0 {
            least = (at, place);
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_the_order_of_events() {
        let of = |component| {
            [
                Event::Wake,
                Event::Entry,
                Event::Sender,
                Event::Receiver,
                Event::Start,
                Event::Stop,
                Event::Arrival,
                Event::Host,
            ]
            .map(|event: fn(u32) -> Event| event(component))
        };
        let mut events = [of(0), of(1), of(u32::MAX)].concat();
        events.sort();
        assert!(events.iter().all(|event| Event::of_rank(event.rank()) == *event));
        assert!(events.is_sorted_by_key(|event| event.rank()));
    }

    #[test]
    fn events_come_by_time_then_class_then_component() {
        let mut events = Events::default();
        for (at, event) in
            [(2, Event::Wake(0)), (1, Event::Receiver(0)), (1, Event::Sender(1)), (1, Event::Sender(0))]
        {
            events.push(SimTime::ps(at), event);
        }
        for pipe in [40, 7, 21] {
            events.set_arrival(pipe, Some(SimTime::ps(1)));
        }
        events.set_arrival(3, Some(SimTime::ps(2)));
        let order: Vec<_> = std::iter::from_fn(|| {
            let (_, event) = events.pop_until(SimTime::ps(1))?;
            if let Event::Arrival(pipe) = event {
                events.set_arrival(pipe, None);
            }
            Some(event)
        })
        .collect();
        assert_eq!(order[..3], [Event::Sender(0), Event::Sender(1), Event::Receiver(0)]);
        assert_eq!(order[3..], [Event::Arrival(7), Event::Arrival(21), Event::Arrival(40)]);
        events.set_host(1, Some(SimTime::ps(2)));
        assert_eq!(events.pop_until(SimTime::ps(9)), Some((SimTime::ps(2), Event::Wake(0))));
        assert_eq!(events.pop_until(SimTime::ps(9)), Some((SimTime::ps(2), Event::Arrival(3))));
        events.set_arrival(3, None);
        assert_eq!(events.pop_until(SimTime::ps(9)), Some((SimTime::ps(2), Event::Host(1))));
        events.set_host(1, None);
        assert_eq!(events.pop_until(SimTime::ps(i64::MAX)), None);
    }
}
