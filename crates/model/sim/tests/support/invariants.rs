//! What holds in every run, whatever the scenario.

use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{EventKind, FlowSample, QueueSample};
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Direction, Flow, FlowKind, Qdisc, Queue};
use wirespeed_sim::Outcome;
use wirespeed_units::Span;

/// A train is at most so long; a sample may fall into one.
const TRAIN_BYTES: u64 = 65_536 + 65_549;

/// Checks everything that holds in every run.
///
/// # Errors
/// What does not hold.
pub fn check(run: &Run, outcome: &Outcome) -> Result<(), String> {
    times(run, outcome)?;
    for index in 0..run.flows.len() {
        flow(run, outcome, index)?;
    }
    queues(run, outcome)?;
    balance(run, outcome)?;
    intakes(run, outcome)?;
    order(outcome)?;
    datagrams(run, outcome)?;
    capacity(run, outcome)
}

macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+));
        }
    };
}

/// Samples lie on the grid, from the start to the end.
fn times(run: &Run, outcome: &Outcome) -> Result<(), String> {
    let end = run.duration.nanoseconds();
    let of_queues: Vec<i64> = outcome.queues.iter().map(|row| row.t_ns).collect();
    ensure!(of_queues.first() == Some(&0), "the first sample is at {:?}", of_queues.first());
    ensure!(of_queues.last() == Some(&end), "the last sample is at {:?} of {end}", of_queues.last());
    let of_flows = outcome.flows.iter().map(|row| row.t_ns).collect();
    for rows in [of_queues, of_flows] {
        ensure!(rows.is_sorted(), "samples are not in order of time");
        let off = rows.iter().find(|t| **t != end && **t % run.sample.nanoseconds() != 0);
        ensure!(off.is_none(), "a sample off the grid: {off:?}");
    }
    for event in &outcome.events {
        ensure!((0..=end).contains(&event.t_ns), "event at {} of {end}", event.t_ns);
    }
    Ok(())
}

fn flow(run: &Run, outcome: &Outcome, index: usize) -> Result<(), String> {
    let planned = &run.flows[index];
    let name = &planned.label;
    let rows: Vec<&FlowSample> = outcome.flows.iter().filter(|row| row.flow == index as u32).collect();
    let last = rows.last().ok_or_else(|| format!("{name} has no sample"))?;
    ensure!(rows[0].t_ns >= planned.start.nanoseconds(), "{name} is sampled before it starts");
    ensure!(last.t_ns == run.duration.nanoseconds(), "{name} has no last sample");
    let base = run.base_rtt(planned).nanoseconds();
    for pair in rows.windows(2) {
        monotone(pair[0], pair[1])
            .map_err(|what| format!("{name}, {what} falls before {} ns", pair[1].t_ns))?;
    }
    for row in &rows {
        let sack = run.host(&planned.from).tcp.sack && run.host(&planned.to).tcp.sack;
        // Packets that the queue of the sending host drops count as sent, and TCP sends them again (`Sender::withdraw`). fq
        // drops packets whose departure time is beyond its horizon.
        let from = run.host(&planned.from);
        let refuses = from.hardware.is_some() || from.nic_rate.is_some() || from.qdisc == Qdisc::Fq;
        sane(row, planned, base, sack, refuses)
            .map_err(|what| format!("{name} at {} ns: {what}", row.t_ns))?;
    }
    if let Some(bytes) = planned.bytes.filter(|_| matches!(planned.kind, FlowKind::Tcp { .. })) {
        let done =
            outcome.events.iter().any(|e| e.kind == EventKind::FlowEnd && e.flow == Some(index as u32));
        let all = last.delivered_bytes == Some(bytes.get());
        // The end comes with the last data or behind it.
        ensure!(all || !done, "{name}: {:?} of {bytes} delivered, end seen: {done}", last.delivered_bytes);
    }
    Ok(())
}

fn monotone(a: &FlowSample, b: &FlowSample) -> Result<(), &'static str> {
    type Counter = (&'static str, fn(&FlowSample) -> u64);
    let counters: [Counter; 13] = [
        ("time", |r| r.t_ns as u64),
        ("delivered", |r| r.delivered_bytes.unwrap_or(0)),
        ("read", |r| r.read_bytes.unwrap_or(0)),
        ("sent", |r| r.sent_bytes.unwrap_or(0)),
        ("acked", |r| r.acked_bytes.unwrap_or(0)),
        ("retransmitted bytes", |r| r.retrans_bytes.unwrap_or(0)),
        ("packets out", |r| r.data_packets_out.unwrap_or(0)),
        ("packets in", |r| r.data_packets_in.unwrap_or(0)),
        ("retransmitted packets", |r| r.retrans_packets.unwrap_or(0)),
        ("delivered as the sender knows", |r| r.delivered_packets.unwrap_or(0)),
        ("delivered with a mark", |r| r.delivered_ce_packets.unwrap_or(0)),
        ("timeouts", |r| r.rto_count.unwrap_or(0).into()),
        ("time busy", |r| r.busy_ns.unwrap_or(0) as u64),
    ];
    match counters.iter().find(|(_, of)| of(a) > of(b)) {
        Some((what, _)) => Err(what),
        None => Ok(()),
    }
}

fn sane(
    row: &FlowSample,
    planned: &wirespeed_scenario::run::Flow,
    base_ns: i64,
    sack: bool,
    refuses: bool,
) -> Result<(), String> {
    let limit = planned.bytes.map_or(u64::MAX, |bytes| bytes.get());
    let is_udp = matches!(planned.kind, FlowKind::Udp { .. });
    // The model sees both ends of every flow.
    let (Some(read), Some(delivered), Some(sent)) = (row.read_bytes, row.delivered_bytes, row.sent_bytes)
    else {
        return Err("a count of bytes is missing".into());
    };
    ensure!(read <= delivered, "{read} read of {delivered}");
    let once = sent - row.retrans_bytes.unwrap_or(0);
    ensure!(delivered <= once, "{delivered} delivered of {once} sent");
    ensure!(is_udp || refuses || once <= limit, "{once} sent of {limit}");
    ensure!(row.data_packets_in <= row.data_packets_out, "more packets arrive than leave");
    if let Some(acked) = row.acked_bytes {
        ensure!(acked <= delivered, "{acked} acked of {delivered} delivered");
    }
    let Some(cwnd) = row.cwnd_bytes else { return Ok(()) };
    let mss = u64::from(row.mss_bytes.ok_or("a window without a segment size")?);
    ensure!(cwnd >= mss, "window of {cwnd} bytes, segments of {mss}");
    ensure!(cwnd < 1 << 54, "window of {cwnd} bytes");
    ensure!(row.ssthresh_bytes.is_none_or(|s| s >= mss), "threshold of {:?}", row.ssthresh_bytes);
    let unacked = u64::from(row.unacked_packets.ok_or("no count of packets outstanding")?);
    for (what, packets) in [
        ("sacked", row.sacked_packets),
        ("lost", row.lost_packets),
        ("retransmitted", row.retrans_out_packets),
    ] {
        // Without SACK a duplicate ACK stands for a packet, and there may be more of them than packets.
        ensure!(
            !sack || u64::from(packets.unwrap_or(0)) <= unacked,
            "{packets:?} {what} of {unacked} outstanding"
        );
    }
    // Where only the time stamp tells, an RTT is known to a tick of 1 ms.
    for (what, rtt) in [("least", row.min_rtt_ns), ("smoothed", row.rtt_ns)] {
        if let Some(rtt) = rtt {
            ensure!(rtt >= base_ns - 1_001_000, "{what} RTT of {rtt} ns, propagation takes {base_ns}");
        }
    }
    if let (Some(limit), Some(rto)) = (row.min_rtt_ns, row.rto_ns) {
        ensure!(rto >= limit.min(120_000_000_000) && rto >= 200_000_000, "timeout of {rto} ns");
    }
    ensure!(row.pacing_rate_bps != Some(0), "paced to a standstill");
    Ok(())
}

fn directions(run: &Run) -> impl Iterator<Item = (String, &Direction)> {
    run.links.iter().flat_map(|link| {
        [(format!("{}/forward", link.name), &link.forward), (format!("{}/reverse", link.name), &link.reverse)]
    })
}

/// No link carries more than its rate, no queue holds more than its room.
fn queues(run: &Run, outcome: &Outcome) -> Result<(), String> {
    let largest = run.hosts.iter().map(|host| host.mtu.get().max(88 + 52) + 14).max().unwrap_or(0);
    // What is known of a train's later packets is counted, at most 2 ms ahead, and so is what leaves in the course of a
    // piece of work of a host.
    let ahead = run.trains || run.hosts.iter().any(|host| host.hardware.is_some());
    for (name, direction) in directions(run) {
        let rows: Vec<&QueueSample> = outcome.queues.iter().filter(|row| row.queue == name).collect();
        ensure!(!rows.is_empty(), "{name} is not sampled");
        for row in &rows {
            let until = row.t_ns + if ahead { 2_000_000 } else { 0 };
            let could = u128::from(direction.rate.get()) * until as u128 / 8_000_000_000;
            let sent = u128::from(row.sent_bytes);
            ensure!(sent <= could + u128::from(largest), "{name} sent {sent} of {could} at {}", row.t_ns);
            let fits = match &direction.queue {
                Queue::DropTailPackets { packets, .. } => {
                    row.backlog_packets <= u64::from(*packets) + if ahead { TRAIN_BYTES / 82 } else { 0 }
                }
                // Their limit is in packets: as many as the buffer has frames of the MTU, of which the smallest MTUs are
                // less than TCP's least segment.
                Queue::CoDel { .. } | Queue::FqCodel { .. } => {
                    let frames = run.hosts.iter().map(|host| host.mtu.get() + 14);
                    let packets = direction.buffer.get().div_ceil(frames.min().unwrap_or(1));
                    row.backlog_bytes <= packets * largest + if ahead { TRAIN_BYTES } else { 0 }
                }
                // Trains that overlap in time are let in one after the other.
                _ => row.backlog_bytes <= direction.buffer.get() + if ahead { TRAIN_BYTES } else { 0 },
            };
            ensure!(
                fits,
                "{name} holds {} packets, {} bytes, with room for {}",
                row.backlog_packets,
                row.backlog_bytes,
                direction.buffer
            );
        }
        for pair in rows.windows(2) {
            let counts = |r: &QueueSample| [r.sent_packets, r.sent_bytes, r.dropped_packets];
            let grows = counts(pair[0]).iter().zip(counts(pair[1])).all(|(a, b)| *a <= b);
            ensure!(grows && pair[0].lost_packets <= pair[1].lost_packets, "{name} counts backwards");
        }
    }
    Ok(())
}

/// Every packet that left a host arrived, was dropped, was lost, or is on its way: in each direction by itself.
fn balance(run: &Run, outcome: &Outcome) -> Result<(), String> {
    const SENT: [&str; 3] = ["TcpOutSegs", "TcpRetransSegs", "UdpOutDatagrams"];
    const ARRIVED: [&str; 4] = ["IpExtInNoECTPkts", "IpExtInECT1Pkts", "IpExtInECT0Pkts", "IpExtInCEPkts"];
    let total = |hosts: &BTreeSet<&str>, names: &[&str]| -> i128 {
        let counts = |c: &&wirespeed_record::Counter| {
            hosts.contains(c.host.as_str()) && names.contains(&c.counter.as_str())
        };
        outcome.counters.iter().filter(counts).map(|c| i128::from(c.after) - i128::from(c.before)).sum()
    };
    let last: BTreeMap<&str, &QueueSample> =
        outcome.queues.iter().map(|row| (row.queue.as_str(), row)).collect();
    let (left, right) = sides(run);
    ensure!(left.is_disjoint(&right), "a host sends both ways: the test cannot tell its packets apart");
    for (from, to, side) in [(&left, &right, "forward"), (&right, &left, "reverse")] {
        let sent = total(from, &SENT);
        let arrived = total(to, &ARRIVED);
        let mut places: Vec<String> = run.links.iter().map(|link| format!("{}/{side}", link.name)).collect();
        places.extend(from.iter().map(|host| format!("{host}/qdisc")));
        places.extend(to.iter().map(|host| format!("{host}/access")));
        let mut account = Vec::new();
        for place in &places {
            if let Some(row) = last.get(place.as_str()) {
                account.push((format!("{place} dropped"), i128::from(row.dropped_packets)));
                account.push((format!("{place} lost"), i128::from(row.lost_packets.unwrap_or(0))));
                let corrected = [row.decoded_packets, row.repair_packets, row.recovered_packets];
                let [decoded, repair, recovered] = corrected.map(|count| i128::from(count.unwrap_or(0)));
                account.push((format!("{place} corrected"), decoded - repair - recovered));
            }
            let under_way = outcome.in_flight.get(place).copied().unwrap_or(0);
            account.push((format!("{place} under way"), i128::from(under_way)));
        }
        for host in to {
            // The inside of the hosts that show it: receive rings, and what comes before a socket.
            let ring = format!("{host}/rx");
            let dropped = last.iter().filter(|(name, row)| name.starts_with(&ring) && row.kind == "rx_ring");
            let dropped: i128 = dropped.map(|(_, row)| i128::from(row.dropped_packets)).sum();
            account.push((format!("{ring} dropped"), dropped));
            let held = outcome.in_flight.get(&ring).copied().unwrap_or(0);
            account.push((format!("{ring} held"), i128::from(held)));
            let row = outcome.hosts.iter().rfind(|row| row.host == **host);
            let backlog = row.and_then(|row| row.softnet_dropped).unwrap_or(0);
            account.push((format!("{host} softnet backlog"), i128::from(backlog)));
        }
        let gone: i128 = account.iter().map(|(_, packets)| packets).sum();
        ensure!(sent == arrived + gone, "{side}: {sent} sent, {arrived} arrived, {account:?}");
    }
    Ok(())
}

/// Every packet that came to a host with an inside was read, was lost in a place with a name, or is still there.
fn intakes(run: &Run, outcome: &Outcome) -> Result<(), String> {
    let inside: Vec<_> = run.hosts.iter().filter(|host| host.hardware.is_some()).map(|h| &h.name).collect();
    let shown: Vec<_> = outcome.intakes.iter().map(|intake| &intake.host).collect();
    ensure!(shown == inside, "{shown:?} show their inside, {inside:?} have one");
    for intake in &outcome.intakes {
        let counter = |name: &str| {
            let found = outcome.counters.iter().find(|c| c.host == intake.host && c.counter == name);
            found.map_or(0, |c| c.after - c.before)
        };
        let adds_up = |what: &str, whole: u64, parts: &[u64]| {
            ensure!(whole == parts.iter().sum::<u64>(), "{what}: {whole} are not {parts:?}: {intake:?}");
            Ok(())
        };
        let end = run.duration.nanoseconds();
        let ring = format!("{}/rx", intake.host);
        let is_ring = |row: &&QueueSample| row.queue.starts_with(&ring) && row.kind == "rx_ring";
        let rings = outcome.queues.iter().filter(|row| row.t_ns == end).filter(is_ring);
        let (taken, dropped) =
            rings.fold((0, 0), |(sent, lost), row| (sent + row.sent_packets, lost + row.dropped_packets));
        let host = outcome.hosts.iter().rfind(|row| row.host == intake.host);
        let softnet = host.and_then(|row| row.softnet_dropped).ok_or("a host's last row is missing")?;
        adds_up("shown of rings", intake.polled, &[taken])?;
        adds_up("dropped by rings", host.map_or(0, |row| row.rx_dropped), &[dropped])?;
        adds_up("from the wire", intake.came.iter().sum(), &[intake.in_rings, dropped, intake.polled])?;
        let handed: u64 = intake.handed.iter().sum();
        adds_up("out of the rings", intake.polled, &[intake.in_backlogs, softnet, handed])?;
        let sockets = [
            intake.replies[0],
            intake.behind_locks,
            counter("TcpExtTCPBacklogDrop"),
            intake.seen,
            counter("UdpInDatagrams"),
            counter("UdpRcvbufErrors"),
        ];
        adds_up("data for sockets", intake.handed[0], &sockets)?;
        adds_up("ACKs", intake.handed[1], &[intake.replies[1]])?;
        let tcp = [
            intake.duplicates,
            counter("TcpExtTCPRcvQDrop"),
            counter("TcpExtTCPOFODrop"),
            counter("TcpExtTCPZeroWindowDrop"),
            counter("TcpOfoPrunedPackets"),
            intake.out_of_order,
            intake.unread,
            intake.read,
        ];
        adds_up("TCP's data", intake.seen, &tcp)?;
        let udp = [intake.datagrams_unread, intake.datagrams_read];
        adds_up("datagrams", counter("UdpInDatagrams"), &udp)?;
        let read = run.flows.iter().enumerate().filter(|(_, flow)| flow.to == intake.host);
        let read = read.filter_map(|(index, flow)| {
            let FlowKind::Udp { datagram, .. } = flow.kind else { return None };
            let last = outcome.flows.iter().rfind(|row| row.flow == index as u32)?;
            Some(last.read_bytes? / datagram.get())
        });
        adds_up("datagrams read", intake.datagrams_read, &[read.sum()])?;
    }
    Ok(())
}

/// No event comes before its cause, and none is planned for a time that has passed.
fn order(outcome: &Outcome) -> Result<(), String> {
    let late = outcome.late;
    ensure!(late.backward == 0, "time went back {} times", late.backward);
    ensure!(late.planned == 0, "{} events were late, by up to {}", late.planned, late.most);
    Ok(())
}

/// Hosts that send from left to right, and hosts that send back.
fn sides(run: &Run) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let mut sides = (BTreeSet::new(), BTreeSet::new());
    for flow in &run.flows {
        let (from, to) = (flow.from.as_str(), flow.to.as_str());
        let forward = run.host(from).router < run.host(to).router;
        let (left, right) = if forward { (from, to) } else { (to, from) };
        sides.0.insert(left);
        sides.1.insert(right);
    }
    sides
}

/// What a flow's data crosses.
fn crossed_by<'a>(run: &'a Run, planned: &Flow) -> impl Iterator<Item = &'a Direction> {
    let crossed = |(link, right): (usize, bool)| match right {
        true => &run.links[link].forward,
        false => &run.links[link].reverse,
    };
    run.way_out(planned).into_iter().map(crossed)
}

/// No datagram is faster than light in its links, and those that arrive are counted.
fn datagrams(run: &Run, outcome: &Outcome) -> Result<(), String> {
    for (index, planned) in run.flows.iter().enumerate() {
        let FlowKind::Udp { .. } = planned.kind else { continue };
        let rows: Vec<_> = outcome.datagrams.iter().filter(|row| row.flow == index as u32).collect();
        let delays = crossed_by(run, planned).map(|direction| direction.delay);
        // The model has both ways of an access line on the way to its host.
        let least = delays.sum::<Span>() + run.host(&planned.to).access_delay;
        for (number, row) in rows.iter().enumerate() {
            ensure!(row.sequence == number as u64, "{}: datagram {number} is missing", planned.label);
            if let Some(arrived) = row.arrived_ns {
                let took = arrived - row.sent_ns;
                ensure!(took >= least.nanoseconds() - 1, "{}: datagram took {took} ns", planned.label);
            }
        }
        let last = outcome.flows.iter().rfind(|row| row.flow == index as u32);
        let arrived = rows.iter().filter(|row| row.arrived_ns.is_some()).count() as u64;
        let counts = last.map_or((Some(0), Some(0)), |row| (row.data_packets_out, row.data_packets_in));
        ensure!(
            counts == (Some(rows.len() as u64), Some(arrived)),
            "{}: {counts:?} are not the rows",
            planned.label
        );
    }
    Ok(())
}

/// Over the whole run no flow gets more payload than each of its links carries.
fn capacity(run: &Run, outcome: &Outcome) -> Result<(), String> {
    for (index, planned) in run.flows.iter().enumerate() {
        let rates = crossed_by(run, planned).map(|direction| direction.rate);
        let rate = rates.min().expect("a flow crosses a link");
        let last = outcome.flows.iter().rfind(|row| row.flow == index as u32);
        let delivered = last.and_then(|row| row.delivered_bytes).unwrap_or(0);
        // A train does at its first packet what its later ones would do, at most 1 ms ahead.
        let ahead = if run.trains { Span::ms(1) } else { Span::ZERO };
        let could = rate.volume(run.duration - planned.start + ahead).get() + TRAIN_BYTES;
        ensure!(delivered <= could, "{} got {delivered} bytes of {could}", planned.label);
    }
    Ok(())
}
