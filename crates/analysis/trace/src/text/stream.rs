//! UDP streams.

use super::quantity::{count, duration, percent, rate, size, things};
use super::table::table;
use super::words;
use crate::distribution::Bucket;
use crate::result::Trace;
use crate::udp::{Gaps, Jitter, Numbers, UdpStream};
use std::cmp::Reverse;

/// The finding about a stream, in a line.
pub(super) fn finding(stream: &UdpStream) -> String {
    let mut parts = vec![match stream.payload_rate_bps {
        Some(bps) => format!("{} in {}", rate(bps), duration(stream.last_ns - stream.first_ns)),
        None => things(stream.packets, "packet"),
    }];
    match &stream.numbers {
        Some(numbers) => {
            parts.push(losses(numbers));
            if numbers.reordered > 0 {
                parts.push(format!("{} reordered", count(numbers.reordered)));
            }
            if numbers.duplicates > 0 {
                parts.push(things(numbers.duplicates, "duplicate"));
            }
        }
        None => parts.push("losses unknown: its datagrams have no numbers that are read".into()),
    }
    format!("UDP stream {}, {} -> {}: {}.", stream.number, stream.from, stream.to, parts.join("; "))
}

fn losses(numbers: &Numbers) -> String {
    match numbers.lost {
        0 => "no loss before the capture point".into(),
        lost => format!(
            "{} of {} lost before the capture point ({})",
            count(lost),
            things(numbers.expected, "datagram"),
            percent(numbers.loss_share)
        ),
    }
}

/// The streams with most payload, at most `rows`.
pub(super) fn streams(trace: &Trace, rows: usize) -> String {
    let mut found: Vec<&UdpStream> = trace.streams.iter().collect();
    found.sort_by_key(|stream| (Reverse(stream.payload_bytes), stream.number));
    let shown = found.len().min(rows);
    let line = |stream: &&UdpStream| {
        let numbers = stream.numbers.as_ref();
        let number = |of: fn(&Numbers) -> u64| numbers.map_or("-".into(), |numbers| count(of(numbers)));
        let jitter = numbers.and_then(|numbers| numbers.jitter);
        vec![
            stream.number.to_string(),
            stream.from.clone(),
            stream.to.clone(),
            size(stream.payload_bytes),
            duration(stream.last_ns - stream.first_ns),
            stream.payload_rate_bps.map_or("-".into(), rate),
            count(stream.datagrams),
            number(|numbers| numbers.lost),
            number(|numbers| numbers.reordered),
            number(|numbers| numbers.duplicates),
            jitter.map_or("-".into(), |jitter| duration(jitter.last_ns as i64)),
        ]
    };
    let head = [
        "UDP stream",
        "from",
        "to",
        "data",
        "time",
        "rate",
        "datagrams",
        "lost",
        "reordered",
        "duplicates",
        "jitter",
    ];
    let lines: Vec<Vec<String>> = found[..shown].iter().map(line).collect();
    let mut text = table(&head, &lines, 3);
    let hidden = trace.total_streams - shown as u64;
    if hidden > 0 {
        text +=
            &format!("{} with less data; --all prints those that are kept.\n", things(hidden, "more stream"));
    }
    text
}

/// All about one stream.
pub fn stream(stream: &UdpStream) -> String {
    let mut text = format!("UDP stream {}, {} -> {}\n", stream.number, stream.from, stream.to);
    let mut lines = vec![("data", data(stream))];
    match &stream.numbers {
        Some(numbers) => {
            lines.push(("numbers", range(numbers)));
            lines.push(("losses", lost(numbers)));
            lines.push(("reordering", reordering(numbers)));
            lines.push(("duplicates", count(numbers.duplicates)));
            lines.push(("jitter", jitter(numbers.jitter)));
        }
        None => lines.push(("numbers", "none that are read: losses and reordering do not show".into())),
    }
    if let Some(gaps) = &stream.gaps {
        lines.push(("gaps", quantiles(gaps)));
    }
    for (name, line) in lines {
        text += &format!("  {name:<16} {line}\n");
    }
    if let Some(gaps) = stream.gaps.as_ref().filter(|gaps| gaps.quantiles.count > 1) {
        text += &format!("\nTime between packets\n{}", histogram(gaps));
    }
    text
}

fn data(stream: &UdpStream) -> String {
    let mut text = format!(
        "{} in {} of at most {} bytes",
        size(stream.payload_bytes),
        things(stream.packets, "packet"),
        count(stream.largest_payload_bytes.into())
    );
    if let Some(bps) = stream.payload_rate_bps {
        text += &format!(", {}, {}", duration(stream.last_ns - stream.first_ns), rate(bps));
    }
    if stream.super_packets > 0 {
        text += &format!(
            "; {} of segmentation offload, {} on the wire",
            things(stream.super_packets, "super-packet"),
            things(stream.datagrams, "datagram")
        );
    }
    text
}

fn range(numbers: &Numbers) -> String {
    let mut text =
        format!("{} to {}, of {}", numbers.lowest, numbers.highest, words::numbering(numbers.numbering));
    if numbers.restarts > 0 {
        text += &format!("; they began again {}", things(numbers.restarts, "time"));
    }
    if numbers.unnumbered > 0 {
        text += &format!("; {} without a number", things(numbers.unnumbered, "packet"));
    }
    text
}

fn lost(numbers: &Numbers) -> String {
    if numbers.lost == 0 {
        return losses(numbers);
    }
    let mut text = format!(
        "{}, in {}, the longest of {}",
        losses(numbers),
        things(numbers.loss_runs, "run"),
        count(numbers.longest_loss_run)
    );
    if numbers.too_late > 0 {
        text += &format!("; up to {} of them came too late to know", count(numbers.too_late));
    }
    text
}

fn reordering(numbers: &Numbers) -> String {
    match numbers.reordered {
        0 => "none".into(),
        reordered => format!(
            "{}, at most {} late and {} late",
            things(reordered, "datagram"),
            things(numbers.max_extent, "datagram"),
            duration(numbers.max_late_ns)
        ),
    }
}

fn jitter(jitter: Option<Jitter>) -> String {
    let Some(jitter) = jitter else {
        return "unknown: the datagrams do not have their time of sending".into();
    };
    format!(
        "{} at the end, {} mean, {} largest (RFC 3550)",
        duration(jitter.last_ns as i64),
        duration(jitter.mean_ns as i64),
        duration(jitter.max_ns as i64)
    )
}

fn quantiles(gaps: &Gaps) -> String {
    let numbers = gaps.quantiles;
    format!(
        "{} least, {} at 1 %, {} median, {} at 95 %, {} at 99 %, {} largest, {} mean",
        duration(numbers.min),
        duration(gaps.p01),
        duration(numbers.median),
        duration(numbers.p95),
        duration(gaps.p99),
        duration(numbers.max),
        duration(numbers.mean as i64)
    )
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `value`, in nanoseconds.
fn round_up(value: i64) -> i64 {
    let mut decade = 1i64;
    loop {
        for step in [1, 2, 5] {
            let limit = decade.saturating_mul(step);
            if limit >= value {
                return limit;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

/// The distribution in steps of 1, 2 and 5, with cumulative shares. A range of the histogram belongs where its middle is.
fn histogram(gaps: &Gaps) -> String {
    let mut rows: Vec<(i64, u64)> = Vec::new();
    for bucket in &gaps.histogram {
        let limit = round_up(middle(bucket));
        match rows.last_mut().filter(|(last, _)| *last == limit) {
            Some((_, count)) => *count += bucket.count,
            None => rows.push((limit, bucket.count)),
        }
    }
    let total = gaps.quantiles.count.max(1) as f64;
    let mut below = 0;
    let lines: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(limit, number)| {
            below += number;
            vec![
                duration(limit),
                count(number),
                percent(number as f64 / total),
                percent(below as f64 / total),
            ]
        })
        .collect();
    table(&["up to", "gaps", "share", "cumulative"], &lines, 0)
}

fn middle(bucket: &Bucket) -> i64 {
    bucket.from + (bucket.to - bucket.from) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;

    #[test]
    fn histogram_has_steps_of_1_2_and_5_and_reaches_all() {
        let mut values = Distribution::default();
        for value in [0, 900, 1_000, 1_500, 40_000] {
            values.add(value);
        }
        let quantiles = values.quantiles().unwrap();
        let gaps = Gaps { quantiles, p01: 0, p99: 0, p999: 0, histogram: values.histogram() };
        let text = histogram(&gaps);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["1.00", "ns", "1", "20", "%", "20", "%"]);
        assert_eq!(rows[2], ["1.00", "us", "2", "40", "%", "60", "%"]);
        assert_eq!(rows[3], ["2.00", "us", "1", "20", "%", "80", "%"]);
        assert_eq!(rows[4], ["50.0", "us", "1", "20", "%", "100", "%"]);
        assert_eq!(round_up(i64::MAX), i64::MAX);
    }
}
