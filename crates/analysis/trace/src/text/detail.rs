//! All about one connection.

use super::quantity::{count, duration, percent, rate, size, things};
use super::{table, words};
use crate::artefact::DuplicateCause;
use crate::capture_point::Position;
use crate::distribution::Quantiles;
use crate::result::{ConnectionTrace, Ended, FlowTrace};
use crate::round::Round;
use crate::slow_start::SlowStartEnd;

/// Rounds in a table after the end of slow start.
const ROUNDS_AFTER: usize = 4;
/// Rounds in a table at most.
const MOST_ROUNDS: usize = 24;
/// Retransmissions in a table at most.
const MOST_RETRANSMISSIONS: usize = 10;

/// All about one connection.
pub fn connection(connection: &ConnectionTrace) -> String {
    let (client, server) = (connection.client.as_str(), connection.server.as_str());
    let handshake =
        if connection.has_handshake { "handshake captured" } else { "no handshake in the capture" };
    let ended = match connection.ended {
        Ended::Closed => "closed",
        Ended::Reset => "reset",
        Ended::Unseen => "no end in the capture",
    };
    let mut text = format!("Connection {}, {client} to {server}: {handshake}, {ended}\n", connection.number);
    if let Some(flow) = &connection.from_client {
        text += &direction(flow, client, server);
    }
    if let Some(flow) = &connection.from_server {
        text += &direction(flow, server, client);
    }
    text
}

fn direction(flow: &FlowTrace, from: &str, to: &str) -> String {
    let mut text = format!("\n{from} -> {to}\n");
    let lines = [
        ("data", data(flow)),
        ("capture point", capture_point(flow)),
        ("RTT", rtt(flow)),
        ("window", window(flow)),
        ("slow start", slow_start(flow)),
        ("limited by", limits(flow)),
        ("retransmitted", retransmissions(flow)),
        ("losses", losses(flow)),
        ("reordering", reordering(flow)),
        ("acknowledgments", acknowledgments(flow)),
        ("spacing", spacing(flow)),
        ("algorithm", algorithm(flow)),
        ("capture", artefacts(flow)),
    ];
    for (name, line) in lines {
        text += &format!("  {name:<16} {line}\n");
    }
    text += &rounds(flow);
    text += &each_retransmission(flow);
    text
}

fn data(flow: &FlowTrace) -> String {
    format!(
        "{} in {} of at most {} bytes, {}, {}",
        size(flow.unique_bytes),
        things(flow.packets, "packet"),
        count(u64::from(flow.mss_bytes)),
        duration(flow.duration_ns),
        rate(flow.goodput_bps)
    )
}

fn capture_point(flow: &FlowTrace) -> String {
    let point = flow.capture_point;
    let share = point.share_to_sender.map(|share| format!(", {} of the RTT is before it", percent(share)));
    format!(
        "{} ({}{})",
        words::position(point.position),
        words::position_evidence(point.evidence),
        share.unwrap_or_default()
    )
}

fn quantiles(times: &Quantiles) -> String {
    format!(
        "{} least, {} median, {} at 95 %, {} largest ({})",
        duration(times.min),
        duration(times.median),
        duration(times.p95),
        duration(times.max),
        things(times.count, "sample")
    )
}

fn rtt(flow: &FlowTrace) -> String {
    let (receiver, sender) = (flow.rtt_to_receiver_ns, flow.rtt_to_sender_ns);
    match flow.capture_point.position {
        Position::Receiver => sender.map_or("no samples".into(), |sender| quantiles(&sender)),
        Position::Middle => {
            let side =
                |times: Option<Quantiles>| times.map_or("no samples".into(), |times| quantiles(&times));
            format!("to the receiver {}; to the sender {}", side(receiver), side(sender))
        }
        _ => receiver.map_or("no samples".into(), |receiver| quantiles(&receiver)),
    }
}

fn window(flow: &FlowTrace) -> String {
    let window = flow.receive_window;
    let packets = flow.max_in_flight_bytes.div_ceil(u64::from(flow.mss_bytes.max(1)));
    let mut text =
        format!("at most {} in flight ({})", size(flow.max_in_flight_bytes), things(packets, "packet"));
    text += &match (window.min_bytes, window.max_bytes) {
        (Some(least), Some(most)) => format!("; receive window {} to {}", size(least), size(most)),
        _ => "; receive window unknown: its shift was in a SYN that the capture lacks".into(),
    };
    if window.zero_windows > 0 {
        text += &format!(
            "; {} of 0 bytes for {}, {}",
            things(window.zero_windows, "window"),
            duration(window.zero_ns),
            things(window.probes, "probe")
        );
    }
    text
}

fn slow_start(flow: &FlowTrace) -> String {
    let start = flow.slow_start;
    let is_at_sender = flow.capture_point.position == Position::Sender;
    let end = words::slow_start_end(start.end, is_at_sender);
    if matches!(start.end, SlowStartEnd::NotCaptured | SlowStartEnd::NotEnded) {
        return format!("ended {end}");
    }
    let mut text = format!("ended in round {} {end}", start.round);
    if let Some(factor) = start.reduced_to.filter(|&factor| factor < 0.97) {
        text += &format!("; the window was reduced to {}", percent(factor));
    }
    if let Some((first, last)) = start.duplicates_in_rounds {
        text += &format!("; packets captured twice in rounds {first} to {last}: the transmit ring was full");
    }
    if let Some(rise) = start.rtt_rise_ns.filter(|&rise| rise > 100_000) {
        text += &format!("; the least RTT rose by {}", duration(rise));
    }
    text
}

fn limits(flow: &FlowTrace) -> String {
    let total = flow.limits.total_ns().max(1) as f64;
    let mut shares = flow.limits.shares();
    shares.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
    let known = shares.iter().filter(|&&(_, time)| time > 0);
    let parts: Vec<String> = known
        .map(|&(limit, time)| format!("{} {}", words::limit(limit), percent(time as f64 / total)))
        .collect();
    if parts.is_empty() { "less than a round".into() } else { parts.join(", ") }
}

fn retransmissions(flow: &FlowTrace) -> String {
    let counts = flow.retransmissions;
    if counts.packets == 0 {
        return "none".into();
    }
    let named = |list: &[(u64, &str)]| {
        let known = list.iter().filter(|&&(number, _)| number > 0);
        known.map(|&(number, name)| format!("{} {name}", count(number))).collect::<Vec<_>>().join(", ")
    };
    let kinds = named(&[
        (counts.fast, "fast"),
        (counts.rack, "early or repeated (RACK)"),
        (counts.timeout, "by timeout"),
        (counts.after_timeout, "after a timeout"),
        (counts.tail_loss_probe, "tail loss probes"),
        (counts.handshake, "of the handshake"),
        (counts.unclear, "unclear"),
    ]);
    let spurious = named(&[
        (counts.spurious_dsack, "by DSACK"),
        (counts.spurious_timestamps, "by timestamps"),
        (counts.spurious_acknowledged, "acknowledged before"),
    ]);
    let mut text = format!("{}: {kinds}", things(counts.packets, "packet"));
    if !spurious.is_empty() {
        text += &format!("; without need: {spurious}");
    }
    text
}

fn losses(flow: &FlowTrace) -> String {
    let losses = flow.losses;
    let mut text = format!(
        "{} before the capture point, {} after it",
        things(losses.before_capture_point, "packet"),
        count(losses.after_capture_point)
    );
    if losses.events_100ms > 0 {
        text += &format!(
            "; {} in {}",
            things(losses.recoveries, "recovery").replace("recoverys", "recoveries"),
            things(losses.events_100ms, "interval of 100 ms")
                .replace("interval of 100 mss", "intervals of 100 ms")
        );
    }
    if losses.unseen_reductions > 0 {
        text += &format!(
            "; {} of the window without a loss or mark",
            things(losses.unseen_reductions, "reduction")
        );
    }
    text
}

fn reordering(flow: &FlowTrace) -> String {
    let reordering = flow.reordering;
    match reordering.packets {
        0 => "none before the capture point".into(),
        packets => format!(
            "{}, extent at most {}, at most {} late",
            things(packets, "packet"),
            things(reordering.max_extent_packets, "packet"),
            duration(reordering.max_late_ns)
        ),
    }
}

fn acknowledgments(flow: &FlowTrace) -> String {
    let acks = flow.acks;
    let mut text = format!("{}, {} duplicates", count(acks.packets), count(acks.duplicate));
    if let Some(packets) = acks.packets_each {
        text += &format!("; each for {packets} packets (median), at most {}", count(acks.max_packets));
    }
    if let Some(share) = acks.compressed_share {
        text += &format!("; {} compressed", percent(share));
    }
    if acks.with_sack > 0 {
        text += &format!("; {} with SACK, {} with DSACK", count(acks.with_sack), count(acks.dsack));
    }
    if acks.with_ece > 0 {
        text += &format!("; {} with ECE", count(acks.with_ece));
    }
    text
}

fn spacing(flow: &FlowTrace) -> String {
    let bursts = flow.bursts;
    let mut parts = Vec::new();
    if let Some(sizes) = bursts.packets {
        parts.push(format!(
            "bursts of {} packets (median), at most {}",
            count(sizes.median as u64),
            count(sizes.max as u64)
        ));
    }
    parts.extend(bursts.peak_rate_bps.map(|peak| format!("{} within them", rate(peak))));
    if let Some(share) = bursts.ack_clocked_share.filter(|_| flow.capture_point.position == Position::Sender)
    {
        parts.push(match bursts.is_paced {
            true => "paced".into(),
            false => format!("{} clocked by acknowledgments", percent(share)),
        });
    }
    if parts.is_empty() { "too few packets".into() } else { parts.join(", ") }
}

fn algorithm(flow: &FlowTrace) -> String {
    let guess = &flow.algorithm;
    let evidence: Vec<String> = guess.evidence.iter().map(ToString::to_string).collect();
    let confidence = match guess.confidence {
        crate::algorithm::Confidence::Low => "low",
        crate::algorithm::Confidence::Medium => "medium",
        crate::algorithm::Confidence::High => "high",
    };
    match (guess.algorithm, evidence.is_empty()) {
        (Some(algorithm), _) => format!("{algorithm} ({confidence} confidence): {}", evidence.join("; ")),
        (None, true) => "unclear: the window was not reduced".into(),
        (None, false) => format!("unclear: {}", evidence.join("; ")),
    }
}

fn artefacts(flow: &FlowTrace) -> String {
    let artefacts = flow.artefacts;
    let mut parts = Vec::new();
    if artefacts.duplicate_cause != DuplicateCause::None {
        parts.push(format!(
            "{} captured twice, {}",
            things(artefacts.duplicates, "packet"),
            words::duplicate_cause(artefacts.duplicate_cause)
        ));
    }
    if artefacts.missed_bytes > 0 {
        parts.push(format!(
            "{} were acknowledged and never captured: {} dropped by the capture",
            size(artefacts.missed_bytes),
            things(artefacts.missed_packets, "packet")
        ));
    }
    if artefacts.late_records > 0 {
        parts.push(format!("{} recorded after the acknowledgment", things(artefacts.late_records, "packet")));
    }
    if artefacts.super_packets > 0 {
        parts.push(format!("{} of offload", things(artefacts.super_packets, "super-packet")));
    }
    if artefacts.given_up > 0 {
        parts.push("acknowledgments are missing".into());
    }
    if parts.is_empty() { "no artefacts".into() } else { parts.join("; ") }
}

fn rounds(flow: &FlowTrace) -> String {
    let slow_start = flow.slow_start.round as usize;
    let shown = (slow_start + ROUNDS_AFTER).clamp(ROUNDS_AFTER, MOST_ROUNDS).min(flow.rounds.len());
    let rounds: &[Round] = &flow.rounds[..shown];
    let Some(first) = rounds.first() else { return String::new() };
    let mut text = format!("\n{}", table::rounds(rounds, first.start_ns, flow.mss_bytes));
    let hidden = flow.total_rounds - shown as u64;
    if hidden > 0 {
        text += &format!("{} more rounds; --json prints the first {}.\n", count(hidden), Round::MOST);
    }
    text
}

fn each_retransmission(flow: &FlowTrace) -> String {
    let Some(first) = flow.rounds.first() else { return String::new() };
    let shown = flow.each_retransmission.len().min(MOST_RETRANSMISSIONS);
    if shown == 0 {
        return String::new();
    }
    let rows: Vec<Vec<String>> = flow.each_retransmission[..shown]
        .iter()
        .map(|one| {
            vec![
                words::retransmission(one.kind).to_owned(),
                one.spurious.map_or("-", words::spurious).to_owned(),
                duration(one.t_ns - first.start_ns),
                count(one.packet),
                count(one.start.max(0) as u64),
                count(u64::from(one.bytes)),
                if one.original_seen { "yes".into() } else { "no".into() },
            ]
        })
        .collect();
    let head = ["retransmission", "spurious", "time", "packet", "first byte", "bytes", "original captured"];
    let mut text = format!("\n{}", table::table(&head, &rows, 2));
    let hidden = flow.retransmissions.packets.saturating_sub(shown as u64);
    if hidden > 0 {
        text += &format!("{} more retransmissions; --json prints them.\n", count(hidden));
    }
    text
}
