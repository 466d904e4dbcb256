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
