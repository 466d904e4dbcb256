//! Links of this machine that change: each gets its new settings when it is time.

use super::clock::Clock;
use super::flow::Log;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use wirespeed_topology::world::ChangingLink;

/// A change that comes so much later than it was due is reported.
const LATE_NS: i64 = 5_000_000;
/// A thread that waits for the next change looks this often whether the run is over.
const LOOK_NS: i64 = 100_000_000;

/// Changes `links` until `stop`, each in a thread of its own.
pub fn follow(
    links: Vec<ChangingLink>,
    clock: Clock,
    log: &Arc<Log>,
    stop: &Arc<AtomicBool>,
) -> Vec<JoinHandle<()>> {
    let threads = links.into_iter().map(|link| {
        let (log, stop) = (Arc::clone(log), Arc::clone(stop));
        thread::spawn(move || follow_one(link, clock, &log, &stop))
    });
    threads.collect()
}

fn follow_one(mut link: ChangingLink, clock: Clock, log: &Log, stop: &AtomicBool) {
    let (mut late, mut most_ns) = (0, 0);
    for state in link.states.split_off(1) {
        let due_ns = state.at.nanoseconds();
        while !stop.load(Relaxed) && clock.now() < due_ns {
            clock.sleep_until(due_ns.min(clock.now() + LOOK_NS));
        }
        if stop.load(Relaxed) {
            break;
        }
        if let Err(error) = link.set(&state) {
            log.warn(format!("a link did not change at {}: {error}", state.at));
            return;
        }
        let late_ns = clock.now() - due_ns;
        late += u32::from(late_ns > LATE_NS);
        most_ns = most_ns.max(late_ns);
    }
    if late > 0 {
        log.warn(format!("{late} changes of a link were late, by up to {:.1} ms", most_ns as f64 / 1e6));
    }
}
