//! Whether packets to an address can leave at times that they carry (SO_TXTIME): the queueing discipline of the interface
//! by which they leave has to go by these.

use crate::device;
use crate::netlink::Netlink;
use crate::qdisc::{self, Statistics};
use std::fs;
use std::io;
use std::net::IpAddr;
use wirespeed_host::netlink::{find, u32_at};

/// A queueing discipline that has packets leave at their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timekeeper {
    /// The clock that it goes by.
    pub clock: libc::clockid_t,
    /// It has to have a packet so long before the time to leave, in nanoseconds, or drops it.
    pub least_ns: i64,
    /// It takes no packet whose time is further away, in nanoseconds.
    pub most_ns: i64,
    /// Packets of a flow that it has room for.
    pub flow_packets: u64,
    /// Packets of all flows that it has room for.
    pub packets: u64,
}

/// The way to an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The interface.
    pub device: String,
    /// Its queueing discipline, and what is below one that only spreads over queues.
    pub kind: String,
    /// What that does with times, if it goes by them.
    pub timekeeper: Option<Timekeeper>,
}

/// The way to an address, for the calling thread's network namespace.
///
/// # Errors
/// If there is none, or the kernel refuses an answer.
pub fn way_to(address: IpAddr) -> io::Result<Way> {
    let mut netlink = Netlink::open()?;
    let no_way = || io::Error::other(format!("no interface leads to {address}"));
    let index = device::way_out(&mut netlink, None, address)?.ok_or_else(no_way)?;
    let all = qdisc::statistics(&mut netlink)?;
    let here: Vec<&Statistics> = all.iter().filter(|found| found.index == index).collect();
    let root = here.iter().find(|found| found.is_root);
    let found = device::list(&mut netlink)?.into_iter().find(|found| found.device.index == index);
    Ok(Way {
        device: found.map_or_else(|| index.to_string(), |found| found.device.name.to_string()),
        kind: root.map_or_else(|| "no queueing discipline".into(), |root| qdisc::kind(&all, root)),
        timekeeper: timekeeper(&here, takes_times()),
    })
}

/// What all queues of an interface do with times: its root, or everything below an `mq`, which only spreads.
fn timekeeper(here: &[&Statistics], fq_takes_times: bool) -> Option<Timekeeper> {
    let root = here.iter().find(|found| found.is_root)?;
    let of = |found: &Statistics| match found.kind.as_str() {
        "fq" if fq_takes_times => Some(fq(&found.options)),
        "etf" => etf(&found.options),
        _ => None,
    };
    if root.kind != "mq" {
        return of(root);
    }
    let mut below = here.iter().filter(|found| !found.is_root).map(|found| of(found));
    let first = below.next()??;
    below.try_fold(first, |all, found| found.and_then(|found| all.narrowed(found)))
}

impl Timekeeper {
    /// What two can do alike; `None` if they go by different clocks.
    fn narrowed(self, other: Timekeeper) -> Option<Timekeeper> {
        (self.clock == other.clock).then_some(Timekeeper {
            clock: self.clock,
            least_ns: self.least_ns.max(other.least_ns),
            most_ns: self.most_ns.min(other.most_ns),
            flow_packets: self.flow_packets.min(other.flow_packets),
            packets: self.packets.min(other.packets),
        })
    }
}

/// By what `fq` says of itself (TCA_FQ_* of linux/pkt_sched.h); what it does not say is its default (sch_fq.c).
fn fq(options: &[u8]) -> Timekeeper {
    const TCA_FQ_PLIMIT: u16 = 1;
    const TCA_FQ_FLOW_PLIMIT: u16 = 2;
    /// In microseconds; since Linux 5.8, before that there is no such limit.
    const TCA_FQ_HORIZON: u16 = 14;
    let number = |kind: u16| find(options, kind).and_then(|value| u32_at(value, 0));
    Timekeeper {
        clock: libc::CLOCK_MONOTONIC,
        // What is late leaves at once.
        least_ns: 0,
        most_ns: number(TCA_FQ_HORIZON).map_or(i64::MAX, |us| i64::from(us) * 1000),
        flow_packets: number(TCA_FQ_FLOW_PLIMIT).unwrap_or(100).into(),
        packets: number(TCA_FQ_PLIMIT).unwrap_or(10_000).into(),
    }
}

/// By what `etf` says of itself (`struct tc_etf_qopt` of linux/pkt_sched.h); `None` if it takes times for deadlines.
fn etf(options: &[u8]) -> Option<Timekeeper> {
    const TCA_ETF_PARMS: u16 = 1;
    const DEADLINE_MODE: u32 = 1;
    /// Its limit is the length of the interface's queue, which is this unless somebody sets it (net/core/dev.c).
    const QUEUE: u64 = 1000;
    let parameters = find(options, TCA_ETF_PARMS)?;
    let (delta_ns, clock) = (u32_at(parameters, 0)? as i32, u32_at(parameters, 4)? as i32);
    (u32_at(parameters, 8)? & DEADLINE_MODE == 0).then_some(Timekeeper {
        clock,
        least_ns: delta_ns.into(),
        most_ns: i64::MAX,
        flow_packets: QUEUE,
        packets: QUEUE,
    })
}

/// Whether `fq` of this kernel goes by the times of packets: since Linux 4.20.
fn takes_times() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|word| word.trim().parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(4), Some(20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use wirespeed_host::netlink::attribute;

    fn queue(kind: &str, is_root: bool, options: &[Vec<u8>]) -> Statistics {
        Statistics { kind: kind.into(), is_root, options: options.concat(), ..Default::default() }
    }

    fn number(kind: u16, value: u32) -> Vec<u8> {
        attribute(kind, &value.to_ne_bytes())
    }

    fn of(queues: &[Statistics]) -> Option<Timekeeper> {
        timekeeper(&queues.iter().collect::<Vec<_>>(), true)
    }

    #[test]
    fn fq_keeps_times_as_far_as_its_limits_go() {
        let limits = [number(1, 500), number(2, 30), number(14, 2000)];
        let found = of(&[queue("fq", true, &limits)]).unwrap();
        assert_eq!((found.clock, found.least_ns, found.most_ns), (libc::CLOCK_MONOTONIC, 0, 2_000_000));
        assert_eq!((found.flow_packets, found.packets), (30, 500));
        assert_eq!(timekeeper(&[&queue("fq", true, &[])], false), None, "before Linux 4.20");
    }

    #[test]
    fn mq_keeps_times_if_everything_below_it_does() {
        let mq = || queue("mq", true, &[]);
        let below = |limit| queue("fq", false, &[number(2, limit)]);
        assert_eq!(of(&[mq(), below(100), below(40)]).unwrap().flow_packets, 40);
        assert_eq!(of(&[mq(), below(100), queue("fq_codel", false, &[])]), None);
        assert_eq!(of(&[mq()]), None);
        // A bucket above it would hold back what fq lets go.
        assert_eq!(of(&[queue("tbf", true, &[]), below(100)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn etf_wants_packets_early_and_by_its_own_clock() {
        let parameters = |flags: u32| {
            let words = [300_000, libc::CLOCK_TAI as u32, flags];
            attribute(1, &words.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<_>>())
        };
        let found = of(&[queue("etf", true, &[parameters(0)])]).unwrap();
        assert_eq!((found.clock, found.least_ns), (libc::CLOCK_TAI, 300_000));
        assert_eq!(of(&[queue("etf", true, &[parameters(1)])]), None, "deadlines");
    }

    #[test]
    fn the_way_to_oneself_takes_no_times() {
        let way = way_to(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!((way.device.as_str(), way.timekeeper), ("lo", None));
        // A machine may do without IPv6.
        if let Ok(way) = way_to(Ipv6Addr::LOCALHOST.into()) {
            assert_eq!((way.device.as_str(), way.timekeeper), ("lo", None));
        }
    }
}
