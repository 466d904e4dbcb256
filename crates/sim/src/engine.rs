//! Events in total order: (time, class, component). No two pending events of one component and class are due at
//! the same time, so that nothing else decides.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wirespeed_units::SimTime;

/// What happens, in the order in which it happens at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The first train on a pipe arrives at its end.
    Arrival(u32),
    /// A queue that decides when packets leave looks at them.
    Wake(u32),
    /// A sender's timer.
    Sender(u32),
    /// A receiver's timer.
    Receiver(u32),
    /// A flow begins.
    Start(u32),
    /// A flow stops sending.
    Stop(u32),
}

/// Pending events.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Reverse<(SimTime, Event)>>,
}

impl Events {
    /// Schedules one.
    pub fn push(&mut self, at: SimTime, event: Event) {
        self.heap.push(Reverse((at, event)));
    }

    /// Takes the next, if it is due before `end` or at it.
    pub fn pop_until(&mut self, end: SimTime) -> Option<(SimTime, Event)> {
        if self.heap.peek()?.0.0 > end {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// How many are pending.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_class_then_component() {
        let mut events = Events::default();
        for (at, event) in [
            (2, Event::Arrival(0)),
            (1, Event::Receiver(0)),
            (1, Event::Sender(1)),
            (1, Event::Sender(0)),
            (1, Event::Arrival(7)),
        ] {
            events.push(SimTime::ps(at), event);
        }
        let order: Vec<_> = std::iter::from_fn(|| events.pop_until(SimTime::ps(1))).map(|(_, e)| e).collect();
        assert_eq!(order, [Event::Arrival(7), Event::Sender(0), Event::Sender(1), Event::Receiver(0)]);
        assert_eq!(events.len(), 1);
    }
}
