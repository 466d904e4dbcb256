//! What limited a run, in a sentence: from the accounts of cores, stages and windows that its recording holds. The
//! same words serve a model and a live host.

use crate::core_time::{CoreTime, core_times};
use crate::view::{FlowSeries, View};
use wirespeed_record::{ColumnOf, Direction, FlowSample, LedgerRow, Recording, Stage};

/// A core that is busy for so large a part of the time has no room for more.
const FULL: f64 = 0.97;
/// A part of the packets that is worth a word.
const WORTH_A_WORD: f64 = 1e-6;
/// A part of the time that a window or a buffer must have stopped a flow to be called its limit.
const MOSTLY: f64 = 0.3;

/// One sentence about what limited the run, or `None` if the recording does not tell.
pub fn limiting(view: &View) -> Option<String> {
    let mut parts: Vec<String> = busy_cores(view.recording);
    parts.extend(losses(view.recording));
    if parts.is_empty() {
        parts.extend(windows(view));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The time of a core that [`KINDS`](crate::core_time::KINDS) splits further than a sentence needs.
struct Busy {
    softirq: f64,
    application: f64,
    other: f64,
}

impl Busy {
    fn of(core: &CoreTime) -> Busy {
        let [hardirq, softirq, ksoftirqd, application, capture, load] = core.parts;
        Busy { softirq: hardirq + softirq + ksoftirqd, application, other: capture + load }
    }
}

fn busy_cores(recording: &Recording) -> Vec<String> {
    let mut full = core_times(recording);
    full.retain(|core| core.busy() >= FULL);
    full.sort_by(|a, b| Busy::of(b).softirq.total_cmp(&Busy::of(a).softirq));
    let words = |core: &CoreTime| {
        let busy = Busy::of(core);
        let percent = |part: f64| format!("{:.0} %", part * 100.0);
        let kinds =
            [("softirq", busy.softirq), ("application", busy.application), ("other work", busy.other)];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(_, part)| *part >= 0.01)
            .map(|(kind, part)| format!("{kind} {}", percent(*part)))
            .collect();
        format!("{} core {}: {} busy", core.host, core.core, kinds.join(", "))
    };
    // More than two cores in a sentence say less, not more.
    let more = full.len().saturating_sub(2);
    let mut parts: Vec<String> = full.iter().take(2).map(words).collect();
    if more > 0 {
        parts.push(format!("{more} more core{} full", if more == 1 { "" } else { "s" }));
    }
    parts
}

fn losses(recording: &Recording) -> Vec<String> {
    let rows = &recording.ledger;
    let sent = |direction: Direction| {
        // Where nobody counts what is sent, what arrived is near enough to tell what is worth a word.
        let of = |entry: &str| rows.iter().find(|row| row.direction == direction && row.entry == entry);
        of("sent").or(of("delivered")).map_or(0, |row| row.packets).max(1) as f64
    };
    let mut lost: Vec<(&LedgerRow, f64)> = rows
        .iter()
        .filter(|row| row.entry == "lost")
        .map(|row| (row, row.packets as f64 / sent(row.direction)))
        .filter(|(_, part)| *part >= WORTH_A_WORD)
        .collect();
    lost.sort_by(|a, b| b.1.total_cmp(&a.1));
    lost.iter().take(2).filter_map(|(row, part)| Some(loss(row, row.stage?, *part))).collect()
}

fn loss(row: &LedgerRow, stage: Stage, part: f64) -> String {
    let what = match row.direction {
        Direction::Data => "packets",
        Direction::Ack => "ACKs",
    };
    let hint = match stage {
        Stage::RxRing => ": flow control cannot see this ring",
        Stage::SoftnetBacklog => ": flow control cannot see this backlog",
        Stage::Qdisc => ": the host's own queue is too short for its bursts",
        Stage::TcpBacklog => ": the reader held the socket for too long",
        Stage::RcvBuf => ": the application reads too slowly for this buffer",
        Stage::Network => "",
        _ => "",
    };
    format!("{} of {what} lost at {stage} ({}){hint}", share(part), row.place)
}

/// A part as a percentage of two digits.
fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1.0 => format!("{p:.1} %"),
        p if p >= 0.1 => format!("{p:.2} %"),
        p => format!("{p:.1e} %"),
    }
}

/// What stopped the senders for most of the time: a window or a buffer.
fn windows(view: &View) -> Option<String> {
    let sum = |column: ColumnOf<FlowSample, Option<i64>>| {
        let values = view.flow_samples.column(column);
        let last = |flow: &FlowSeries| values[flow.samples.clone()].last().copied();
        view.flows.iter().filter_map(last).filter(|value| !value.is_nan()).sum::<f64>()
    };
    let busy = sum(FlowSample::busy_ns).max(1.0);
    let (window, buffer) =
        (sum(FlowSample::rwnd_limited_ns) / busy, sum(FlowSample::sndbuf_limited_ns) / busy);
    if window.max(buffer) < MOSTLY {
        return None;
    }
    let (name, part) = if window >= buffer { ("receive window", window) } else { ("send buffer", buffer) };
    Some(format!("the {name} stopped the senders for {} of the time", share(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_time::softirq_sample;

    fn row(entry: &str, stage: Option<Stage>, place: &str, packets: i64) -> LedgerRow {
        LedgerRow {
            direction: Direction::Data,
            entry: entry.into(),
            stage,
            place: place.into(),
            packets,
            source: String::new(),
        }
    }

    #[test]
    fn a_full_core_and_its_ring_are_named() {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.cores = vec![softirq_sample(0, 3, 0), softirq_sample(1_000, 3, 1_000)];
        recording.ledger =
            vec![row("sent", None, "sender", 10_000), row("lost", Some(Stage::RxRing), "receiver/rx3", 40)];
        assert_eq!(
            limiting(&View::new(&recording).unwrap()).as_deref(),
            Some(
                "receiver core 3: softirq 100 % busy; 0.40 % of packets lost at rx_ring (receiver/rx3): flow control \
                 cannot see this ring"
            )
        );
    }

    #[test]
    fn what_did_not_limit_is_not_blamed() {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.cores = vec![softirq_sample(0, 3, 0), softirq_sample(1_000, 3, 400)];
        recording.ledger =
            vec![row("sent", None, "sender", 10_000), row("lost", Some(Stage::RxRing), "r", 0)];
        assert_eq!(limiting(&View::new(&recording).unwrap()), None);
    }
}
