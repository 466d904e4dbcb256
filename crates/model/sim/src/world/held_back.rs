//! Acknowledgements that receivers of one host hold back (SACK compression) and that leave together: a timer that fires
//! in softirq takes all along whose time has come but for their slack (kernel/time/hrtimer.c, `__hrtimer_run_queues`).
//! So bursts of several flows meet at the link.
//!
//! A free host is taken for one with one core, as the kernel in virtual time is. On a host that shows its inside flows have
//! their own cores, and their timers fire one by one.

use super::{Endpoint, Flow, Way, World};
use crate::tcp::receiver::Receiver;
use wirespeed_units::SimTime;

impl World {
    /// Something was at work at the receiver of a flow: if it has begun to hold back, its host knows.
    #[inline]
    pub(super) fn note_holding(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if receiver_of(flow).is_some_and(Receiver::begins_to_hold) {
            let host = flow.destination(Way::Forward);
            if self.hosts[host].is_none() {
                self.holding[host].push(index);
            }
        }
    }

    /// A receiver's timer has let go what it held back: what others of its host hold back leaves with it if it may.
    pub(super) fn release_with(&mut self, index: u32, at: SimTime) {
        let host = self.flows[index as usize].destination(Way::Forward);
        let mut due = Vec::new();
        let flows = &mut self.flows;
        self.holding[host].retain(|other| {
            let receiver = receiver_of(&mut flows[*other as usize]).expect("it has held something back");
            let from = receiver.may_release_at();
            let stays = from.is_set() && !from.has_come(at);
            if !stays {
                receiver.is_released();
                if from.is_set() {
                    due.push((from, *other));
                }
            }
            stays
        });
        due.sort_unstable();
        for (_, other) in due {
            let receiver = receiver_of(&mut self.flows[other as usize]).expect("it holds something back");
            receiver.release(at, &mut self.outgoing);
            self.settle(other);
        }
    }
}

fn receiver_of(flow: &mut Flow) -> Option<&mut Receiver> {
    match &mut flow.endpoint {
        Endpoint::Tcp(tcp) => Some(&mut tcp.receiver),
        Endpoint::Udp(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due::Due;
    use wirespeed_units::Span;

    const SCENARIO: &str = "schema = 1\nname = \"test\"\n[path]\nrate = \"10 Gbit/s\"\nrtt = \"0.2 ms\"\n\
        buffer = \"0.1 bdp\"\n[[flow]]\ncongestion = \"illinois\"\ncount = 4\n\
        [run]\nduration = \"1 s\"\ntrains = false\n";

    /// When each flow's timer without its slack, and with it, is due; never if it holds nothing back. And what has arrived.
    fn timers(world: &mut World) -> Vec<(Due, Due, u64)> {
        let receivers = world.flows.iter_mut().filter_map(receiver_of);
        receivers.map(|r| (r.may_release_at(), r.deadline(), r.counts().packets_in)).collect()
    }

    #[test]
    fn optional_acks_leave_with_required_ones_only() {
        let study = wirespeed_scenario::parse(SCENARIO, "test", &[], None).expect("the scenario is in order");
        let mut world = World::of(&study.runs[0]).expect("the model has it all");
        let (mut together, mut stayed) = (0, 0);
        let mut before = timers(&mut world);
        // Nothing that arrives comes between looks so short, but for what was acknowledged at once.
        let step = Span::ns(100);
        for _ in 0..5_000_000 {
            let now = world.now + step;
            world.run_until(now);
            let after = timers(&mut world);
            // What arrives may let it leave before the timer does.
            let fired = before.iter().zip(&after).filter(|((from, until, arrived), is)| {
                from.is_set() && until.has_come(now) && *arrived == is.2
            });
            let Some(at) = fired.map(|((_, until, _), _)| *until).min() else {
                before = after;
                continue;
            };
            for (was, is) in before.iter().zip(&after) {
                let (from, until, _) = *was;
                if !from.is_set() || until.has_come(now) {
                    continue;
                }
                if from <= at {
                    assert_ne!(*is, *was, "its time had come at {at:?}");
                    together += 1;
                } else {
                    stayed += usize::from(is == was);
                }
            }
            before = after;
        }
        assert!(together > 50 && stayed > 50, "{together} left with others, {stayed} stayed");
    }
}
