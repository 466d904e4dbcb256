//! Who lets datagrams leave at their times: the sending thread, or the kernel, to which they are handed over a few
//! milliseconds ahead (SO_TXTIME). The kernel is not late because a thread is, and a thread that is woken for many at once
//! costs less.

use super::{Part, clock::Clock, socket};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use wirespeed_scenario::run::FlowKind;
use wirespeed_topology::departure::{Timekeeper, way_to};

/// Who does it for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Its thread sends each when it is due.
    Own,
    /// Its kernel.
    Kernel {
        /// The clock that the kernel goes by.
        clock: libc::clockid_t,
        /// Datagrams are handed over so long before they are due, at most.
        ahead_ns: i64,
        /// And so long before they leave, at least.
        least_ns: i64,
    },
}

/// Datagrams are handed to the kernel so long before they are due, at most: a thread is rarely woken later than half of that.
const LEAD_NS: i64 = 5_000_000;
/// Pieces of a flow that wait in the kernel at most: `fq` drops what is more than 100.
const MOST_PIECES: u64 = 64;
/// Pieces are so far apart, at least: `fq` and its timer are no more exact (its default timer_slack).
pub const APART_NS: i64 = 10_000;

/// How a host's datagrams are timed, in its settings.
const SETTING: &str = "udp.timed_by";

impl Timing {
    /// What can be had for datagrams from a socket to an address, `gap_ns` apart; the socket is prepared for it. It is noted, and
    /// the reader of the results is warned where datagrams without a time would be dropped.
    pub fn choose(part: &Part, socket: &OwnedFd, to: IpAddr, gap_ns: i64) -> Timing {
        if !part.real_time {
            return Timing::Own;
        }
        let host = &part.flow().from;
        let (timing, told) = match way_to(to) {
            Err(error) => (Timing::Own, format!("wirespeed ({error})")),
            Ok(way) => {
                let place = format!("{} of {}", way.kind, way.device);
                match way.timekeeper.map(|keeper| (keeper, announce(socket, keeper.clock))) {
                    None => (Timing::Own, format!("wirespeed ({place} takes no times)")),
                    Some((keeper, Ok(()))) => {
                        (Timing::with(keeper, gap_ns, flows_of(part)), format!("{place} (SO_TXTIME)"))
                    }
                    Some((keeper, Err(error))) => {
                        if keeper.least_ns > 0 {
                            part.log.warn(format!(
                                "flow {}: {place} drops datagrams that carry no time to leave, and they cannot have one: \
                                 {error}; run the agent of {host} as root, or set another queueing discipline",
                                part.flow().label
                            ));
                        }
                        (Timing::Own, format!("wirespeed ({place}: {error})"))
                    }
                }
            }
        };
        part.log.found(host, SETTING, told);
        timing
    }

    /// As far ahead as such a queue has room for, when it is shared by so many flows.
    fn with(keeper: Timekeeper, gap_ns: i64, flows: u64) -> Timing {
        // Half of the room is left to others, and to what a busy device keeps waiting.
        let pieces = MOST_PIECES.min(keeper.flow_packets / 2).min(keeper.packets / 2 / flows.max(1)).max(1);
        // Half a millisecond for the way through the kernel, where what is late is dropped.
        let least_ns = if keeper.least_ns > 0 { keeper.least_ns + 500_000 } else { 0 };
        let room_ns = (pieces as i64).saturating_mul(gap_ns.max(APART_NS));
        let ahead_ns = (LEAD_NS + 2 * least_ns).min(room_ns).max(2 * least_ns).min(keeper.most_ns / 2);
        Timing::Kernel { clock: keeper.clock, ahead_ns, least_ns }
    }

    /// How long before a datagram is due its turn comes; those that are due soon after it are handed over with it.
    pub fn wakes_before_ns(self) -> i64 {
        self.ahead_ns() / 2
    }

    /// What is due within so long can be handed over.
    pub fn ahead_ns(self) -> i64 {
        match self {
            Timing::Own => 0,
            Timing::Kernel { ahead_ns, .. } => ahead_ns,
        }
    }

    /// When a datagram leaves that is due at `due_ns`, if it is handed over now.
    pub fn leaves_ns(self, due_ns: i64, now_ns: i64) -> i64 {
        match self {
            Timing::Own => now_ns,
            Timing::Kernel { least_ns, .. } => due_ns.max(now_ns + least_ns),
        }
    }

    /// What is added to the run's time to have that of the clock the kernel goes by; `None` where it is told no times.
    pub fn to_kernel(self, of_run: &Clock) -> Option<i64> {
        match self {
            Timing::Own => None,
            Timing::Kernel { clock, .. } => Some(of_run.to_clock(clock)),
        }
    }
}

/// Tells the kernel that datagrams of a socket will carry times of a clock.
fn announce(socket: &OwnedFd, clock: libc::clockid_t) -> io::Result<()> {
    let value = libc::sock_txtime { clockid: clock, flags: 0 };
    socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TXTIME, value, "SO_TXTIME")
}

/// Flows of datagrams that leave from the same host.
fn flows_of(part: &Part) -> u64 {
    let same = |flow: &&wirespeed_scenario::run::Flow| {
        flow.from == part.flow().from && matches!(flow.kind, FlowKind::Udp { .. })
    };
    part.run.flows.iter().filter(same).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FQ: Timekeeper = Timekeeper {
        clock: libc::CLOCK_MONOTONIC,
        least_ns: 0,
        most_ns: 10_000_000_000,
        flow_packets: 100,
        packets: 10_000,
    };

    fn ahead_ns(keeper: Timekeeper, gap_ns: i64, flows: u64) -> i64 {
        Timing::with(keeper, gap_ns, flows).ahead_ns()
    }

    #[test]
    fn a_few_milliseconds_or_what_the_queue_has_room_for() {
        assert_eq!(ahead_ns(FQ, 1_000_000, 1), 5_000_000);
        // 100,000 a second: 50 of them.
        assert_eq!(ahead_ns(FQ, 10_000, 1), 500_000);
        // Those that are closer leave in pieces.
        assert_eq!(ahead_ns(FQ, 100, 1), 500_000);
        assert_eq!(ahead_ns(FQ, 10_000, 1000), 50_000);
        assert_eq!(ahead_ns(Timekeeper { flow_packets: 1, ..FQ }, 10_000, 1), 10_000);
        assert_eq!(ahead_ns(Timekeeper { most_ns: 2_000_000, ..FQ }, 1_000_000, 1), 1_000_000);
    }

    #[test]
    fn late_packets_leave_at_once_or_as_soon_as_the_queue_accepts_them() {
        let fq = Timing::with(FQ, 1_000_000, 1);
        assert_eq!([fq.leaves_ns(900, 500), fq.leaves_ns(900, 1500)], [900, 1500]);
        let etf = Timekeeper { clock: libc::CLOCK_TAI, least_ns: 200_000, ..FQ };
        let etf = Timing::with(etf, 1_000_000, 1);
        assert_eq!([etf.leaves_ns(900_000, 0), etf.leaves_ns(900_000, 800_000)], [900_000, 1_500_000]);
        // Whoever is woken in time is never late.
        assert!(etf.wakes_before_ns() >= 700_000);
    }
}
