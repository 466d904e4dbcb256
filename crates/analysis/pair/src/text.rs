//! The result as text for a terminal. Its first line is the finding.

use crate::change::{Change, Rewritten};
use crate::clock::Clock;
use crate::delay::Delays;
use crate::result::{Direction, PairTrace, PairedConnection, Path};
use std::fmt::Write;
use wirespeed_capture::CaptureFacts;
use wirespeed_trace::text::problems;
use wirespeed_trace::text::quantity::{count, duration, percent, things};

/// So many connections are listed, if not all of them are wanted.
pub const USUAL_ROWS: usize = 20;
/// So many lost packets of a direction are listed.
const LOST_ROWS: usize = 10;

/// The finding in a line. `names` are those of the files.
pub fn finding(pair: &PairTrace, names: [&str; 2]) -> String {
    let [ahead, back] = Direction::ALL.map(|direction| &pair.path(direction).counts);
    let (lost, sent) = (ahead.lost + back.lost, ahead.sent + back.sent);
    let mut parts = vec![match lost {
        0 => format!("None of {} was lost between the captures", things(sent, "packet")),
        _ => format!(
            "{} of {} were lost between the captures ({} of {} from {}, {} of {} from {})",
            count(lost),
            things(sent, "packet"),
            count(ahead.lost),
            count(ahead.sent),
            names[0],
            count(back.lost),
            count(back.sent),
            names[1]
        ),
    }];
    let around =
        |of: fn(&Path) -> Option<u64>| Direction::ALL.map(|direction| of(pair.path(direction)).unwrap_or(0));
    for (direction, before) in Direction::ALL.into_iter().zip(around(|path| path.lost_before)) {
        if before > 0 {
            parts.push(format!("{} before {}", count(before), names[direction.near().index()]));
        }
    }
    for (direction, after) in Direction::ALL.into_iter().zip(around(|path| path.lost_after)) {
        if after > 0 {
            parts.push(format!("{} after {}", count(after), names[direction.far().index()]));
        }
    }
    let reordered: u64 =
        Direction::ALL.iter().map(|&direction| pair.path(direction).reordering.packets).sum();
    if reordered > 0 {
        parts.push(format!("{} overtaken", count(reordered)));
    }
    if ahead.duplicated + back.duplicated > 0 {
        parts.push(format!("{} arrived twice", count(ahead.duplicated + back.duplicated)));
    }
    if let Some(rtt) = pair.clock.min_rtt_ns {
        parts.push(format!("at least {} there and back", duration(rtt)));
    }
    format!("{}.", parts.join("; "))
}

/// The summary: the finding, problems of the captures, clocks, both directions, and at most `rows` connections.
pub fn summary(pair: &PairTrace, facts: &[CaptureFacts; 2], names: [&str; 2], rows: usize) -> String {
    let mut text = finding(pair, names) + "\n";
    for (name, facts) in names.iter().zip(facts) {
        for problem in problems(facts) {
            let _ = writeln!(text, "Capture {name}: {problem}.");
        }
    }
    text += &clock(&pair.clock, names);
    for direction in Direction::ALL {
        let (near, far) = (names[direction.near().index()], names[direction.far().index()]);
        let _ = write!(text, "\n{near} -> {far}\n{}", path(pair.path(direction), [near, far], &pair.clock));
    }
    let _ = writeln!(
        text,
        "\n{} in both captures{}",
        things(pair.total_connections, "connection"),
        only_in(pair, names)
    );
    let mut by_size: Vec<&PairedConnection> = pair.connections.iter().collect();
    by_size.sort_by_key(|one| std::cmp::Reverse(one.payload_bytes.iter().sum::<u64>()));
    for one in by_size.iter().take(rows) {
        let direction = one.data_direction();
        let (from, to) = one.ends(direction);
        let [data, ack] =
            [direction, Direction::ALL[1 - direction.index()]].map(|direction| one.path(direction).counts);
        let _ = writeln!(
            text,
            "  {} ({} in {})  {from} -> {to}: {} of {} lost, {} of {} back",
            one.numbers[0],
            one.numbers[1],
            names[1],
            count(data.lost),
            things(data.sent, "packet"),
            count(ack.lost),
            count(ack.sent)
        );
    }
    if by_size.len() > rows {
        let _ = writeln!(text, "  {} more; --all prints them", count((by_size.len() - rows) as u64));
    }
    text
}

fn only_in(pair: &PairTrace, names: [&str; 2]) -> String {
    let only = names.iter().zip(pair.only_in).filter(|(_, only)| *only > 0);
    only.map(|(name, only)| format!("; {} only in {name}", count(only))).collect()
}

/// One connection: its ends, changes by devices, and the first lost packets.
pub fn connection(pair: &PairTrace, one: &PairedConnection, names: [&str; 2]) -> String {
    let direction = one.data_direction();
    let (from, to) = one.ends(direction);
    let mut text =
        format!("Connection {} ({} in {}): {from} -> {to}\n", one.numbers[0], one.numbers[1], names[1]);
    for change in &one.changes {
        let _ = writeln!(text, "  changed: {}", changed(change, names));
    }
    for direction in [direction, Direction::ALL[1 - direction.index()]] {
        let (near, far) = (names[direction.near().index()], names[direction.far().index()]);
        let of = one.path(direction);
        let _ = write!(text, "  {near} -> {far}\n{}", indented(&path(of, [near, far], &pair.clock)));
        for lost in of.lost.iter().take(LOST_ROWS) {
            let end = lost.start + i64::from(lost.bytes);
            let bytes = || format!("bytes {} to {}", count(lost.start as u64), count(end as u64));
            let what = match (lost.bytes, lost.copy) {
                (0, _) => "without data".into(),
                (_, 1) => bytes(),
                (_, copy) => format!("{}, retransmission {}", bytes(), copy - 1),
            };
            let _ = writeln!(text, "    lost: packet {} of {near}, {what}", count(lost.packet));
        }
        let rest = of.counts.lost.saturating_sub(LOST_ROWS as u64);
        if rest > 0 {
            let _ = writeln!(text, "    and {} more; --json lists them", count(rest));
        }
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn path(path: &Path, [near, far]: [&str; 2], clock: &Clock) -> String {
    let counts = &path.counts;
    let share = counts.lost as f64 / counts.sent.max(1) as f64;
    let mut text = format!(
        "  {} passed {near}: {} arrived, {} lost ({}), {} in flight at the end\n",
        things(counts.sent, "packet"),
        count(counts.delivered),
        count(counts.lost),
        percent(share),
        count(counts.in_flight)
    );
    for (packets, what) in [
        (counts.missed_by_far, format!("{far} lacks, although they were acknowledged")),
        (counts.missed_by_near, format!("{near} lacks, although they arrived")),
        (counts.captured_twice, format!("{near} has twice, and the wire had once")),
        (counts.duplicated, "arrived twice".to_owned()),
    ] {
        if packets > 0 {
            let _ = writeln!(text, "  {} {what}", things(packets, "packet"));
        }
    }
    for (lost, place) in
        [(path.lost_before, format!("before {near}")), (path.lost_after, format!("after {far}"))]
    {
        if let Some(lost) = lost.filter(|&lost| lost > 0) {
            let _ = writeln!(text, "  {} lost {place}, as retransmissions show", things(lost, "data packet"));
        }
    }
    if path.reordering.packets > 0 {
        let _ = writeln!(
            text,
            "  {} overtaken by at most {}, at most {} late",
            things(path.reordering.packets, "packet"),
            things(path.reordering.max_extent_packets, "packet"),
            duration(path.reordering.max_late_ns)
        );
    }
    if let Some(delays) = &path.delays {
        text += &delay(delays, clock);
    }
    text
}

fn delay(delays: &Delays, clock: &Clock) -> String {
    let bound = match clock.offset_bound_ns {
        Some(0) => String::new(),
        Some(bound) => format!(" (+- {})", duration(bound)),
        None => " (unknown, counted as 0)".into(),
    };
    let above = |ns: i64| duration((ns - delays.min_ns).max(0));
    format!(
        "  one-way delay: least {}{bound}; median {} above, 95 % below {} above, 99 % below {} above, largest {} above\n",
        duration(delays.min_ns.max(0)),
        above(delays.median_ns),
        above(delays.p95_ns),
        above(delays.p99_ns),
        above(delays.max_ns)
    )
}

fn clock(clock: &Clock, names: [&str; 2]) -> String {
    let [first, second] = names;
    let mut text = match (clock.is_assumed, clock.offset_bound_ns) {
        (true, _) => format!("Clocks: {second} and {first} agree by assumption (--clocks-agree)"),
        (_, Some(bound)) => format!(
            "Clocks: {second} is {} {first}, +- {}; it gains {:.3} ppm",
            ahead(clock.offset_ns),
            duration(bound),
            gain(clock)
        ),
        (_, None) => {
            format!(
                "Clocks: packets go in one direction only, so that the offset is unknown; {second} gains {:.3} ppm",
                gain(clock)
            )
        }
    };
    for step in &clock.steps {
        let _ = write!(text, "; after {} {second} was set {}", duration(step.t_ns), moved(step.by_ns));
    }
    if clock.misfit_ns > 0 {
        let _ = write!(
            text,
            "; the times contradict that by {}: do not trust the delays",
            duration(clock.misfit_ns)
        );
    }
    text + ".\n"
}

/// The skew to three digits, without a negative 0.
fn gain(clock: &Clock) -> f64 {
    (clock.skew_ppm * 1e3).round() / 1e3 + 0.0
}

fn ahead(ns: i64) -> String {
    match ns {
        0 => "0 s ahead of".into(),
        1.. => format!("{} ahead of", duration(ns)),
        _ => format!("{} behind", duration(-ns)),
    }
}

fn moved(ns: i64) -> String {
    if ns < 0 { format!("back by {}", duration(-ns)) } else { format!("forward by {}", duration(ns)) }
}

fn changed(change: &Change, names: [&str; 2]) -> String {
    let field = match change.field {
        Rewritten::Address => "address",
        Rewritten::InitialSequenceNumber => "initial sequence number",
        Rewritten::Mss => "MSS",
        Rewritten::WindowScale => "window scale",
        Rewritten::SackPermitted => "SACK permitted",
        Rewritten::TimestampsOption => "timestamps option",
        Rewritten::Ttl => "TTL",
        Rewritten::Dscp => "DSCP",
        Rewritten::Ecn => "ECN",
        Rewritten::Window => "window field",
        Rewritten::TimestampValue => "timestamp values",
        Rewritten::IpId => "IP identification",
    };
    let values = match change.from.is_empty() && change.to.is_empty() {
        true => String::new(),
        false => format!(" {} -> {}", change.from, change.to),
    };
    let near = names[change.direction.near().index()];
    format!("{field}{values} ({} from {near})", things(change.packets, "packet"))
}
