//! The numbers of a run that a person can judge: a text table beside its fingerprint, and the bounds that physics sets.

use super::support::{invariants, samples};
use std::fmt::Write;
use wirespeed_record::FlowSample;
use wirespeed_scenario::Run;
use wirespeed_sim::Outcome;

/// A table of the flows, a line of drops by queue and cause, and one of drops at hosts. All numbers are whole, so that every
/// build prints the same. Times are means over the samples.
pub fn table(run: &Run, outcome: &Outcome) -> String {
    let mut out = format!(
        "    {:<12} {:>15} {:>11} {:>10} {:>10} {:>10} {:>15}\n",
        "flow", "goodput kbit/s", "mean RTT us", "min RTT us", "sent", "arrived", "retransmissions"
    );
    for (index, flow) in run.flows.iter().enumerate() {
        let rows = samples(outcome, index as u32);
        let Some(last) = rows.last() else { continue };
        let number = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
        let _ = writeln!(
            out,
            "    {:<12} {:>15} {:>11} {:>10} {:>10} {:>10} {:>15}",
            flow.label,
            goodput_kbps(run, flow, last),
            number(mean(&rows, |row| row.rtt_ns).map(|ns| ns / 1000)),
            number(last.min_rtt_ns.map(|ns| ns.unsigned_abs() / 1000)),
            number(last.data_packets_out),
            number(last.data_packets_in),
            number(last.retrans_packets),
        );
    }
    let by_queue = outcome.drops.iter().flat_map(|(queue, causes)| {
        causes.iter().map(move |(cause, packets)| (format!("{queue} {}", cause.word()), *packets))
    });
    let places = by_queue.chain(at_end_of_hosts(outcome)).filter(|(_, packets)| *packets > 0);
    let drops: Vec<String> = places.map(|(place, packets)| format!("{place} {packets}")).collect();
    let drops = if drops.is_empty() { "none".into() } else { drops.join(", ") };
    let _ = writeln!(out, "    drops: {drops}");
    out
}

/// Packets that the interfaces and the backlogs of hosts dropped.
fn at_end_of_hosts(outcome: &Outcome) -> impl Iterator<Item = (String, u64)> {
    let end = outcome.hosts.last().map_or(0, |row| row.t_ns);
    outcome.hosts.iter().filter(move |row| row.t_ns == end).flat_map(|row| {
        [("rx", row.rx_dropped), ("tx", row.tx_dropped), ("softnet", row.softnet_dropped.unwrap_or(0))]
            .map(|(place, packets)| (format!("{}/{place}", row.host), packets))
    })
}

/// Over the time in which the flow may send.
fn goodput_kbps(run: &Run, flow: &wirespeed_scenario::run::Flow, last: &FlowSample) -> u64 {
    let ns = flow.stop.min(run.duration).nanoseconds() - flow.start.nanoseconds();
    let bits = u128::from(last.delivered_bytes.unwrap_or(0)) * 8;
    u64::try_from(bits * 1_000_000 / u128::from(ns.unsigned_abs().max(1))).expect("a rate of this world")
}

fn mean(rows: &[&FlowSample], value: impl Fn(&FlowSample) -> Option<i64>) -> Option<u64> {
    let values: Vec<u64> = rows.iter().filter_map(|row| value(row)).map(i64::unsigned_abs).collect();
    (!values.is_empty()).then(|| values.iter().sum::<u64>() / values.len() as u64)
}

/// What no change of the model may break, whatever its numbers become.
///
/// # Panics
/// If the numbers are not those of packets on a link.
pub fn assert_plausible(name: &str, run: &Run, outcome: &Outcome) {
    invariants::check(run, outcome).unwrap_or_else(|why| panic!("{name}: {why}"));
    let (mut goodput, mut unarrived, mut retransmitted, mut duplicates, mut busy) = (0, 0, 0, 0, 0);
    for (index, flow) in run.flows.iter().enumerate() {
        let rows = samples(outcome, index as u32);
        let last = rows.last().unwrap_or_else(|| panic!("{name}: {} has no samples", flow.label));
        goodput += u128::from(last.delivered_bytes.expect("the model sees both ends")) * 8;
        let base = run.base_rtt(flow).nanoseconds();
        let least = rows.iter().filter_map(|row| row.min_rtt_ns).min();
        assert!(
            least.is_none_or(|least| least >= base),
            "{name}: {} has an RTT of {least:?} < {base} ns",
            flow.label
        );
        let mean = mean(&rows, |row| row.rtt_ns);
        assert!(
            mean.is_none_or(|mean| mean >= base.unsigned_abs()),
            "{name}: {} has a mean RTT of {mean:?} < {base} ns",
            flow.label
        );
        let (sent, arrived) = (last.data_packets_out.unwrap_or(0), last.data_packets_in.unwrap_or(0));
        unarrived +=
            sent.checked_sub(arrived).unwrap_or_else(|| panic!("{name}: {} arrives twice", flow.label));
        retransmitted += last.retrans_packets.unwrap_or(0);
        duplicates += u64::from(last.dsack_dups.unwrap_or(0));
        busy += u64::from(last.delivered_bytes > Some(0));
    }
    let link = &run.links[0].forward;
    let room =
        u128::from(link.rate.get()) * u128::from(run.duration.nanoseconds().unsigned_abs()) / 1_000_000_000;
    assert!(goodput <= room, "{name}: {goodput} bits of payload on a link that carries {room}");
    assert!(busy > 0, "{name}: nothing is delivered");
    // A packet is sent again if one did not arrive, or for nothing, which the receiver reports.
    assert!(
        retransmitted <= unarrived + duplicates,
        "{name}: {retransmitted} retransmissions, but {unarrived} packets did not arrive and {duplicates} came twice"
    );
    let dropped: u64 = outcome.drops.values().flatten().map(|(_, packets)| packets).sum::<u64>()
        + at_end_of_hosts(outcome).map(|(_, packets)| packets).sum::<u64>();
    assert!(
        dropped > 0 || retransmitted <= duplicates,
        "{name}: {retransmitted} retransmissions, though nothing was dropped and {duplicates} packets came twice"
    );
}
