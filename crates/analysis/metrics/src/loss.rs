//! The loss ledger as numbers: how much was lost, and where.

use crate::registry::{Better, Metric};
use crate::view::View;
use std::collections::BTreeMap;
use wirespeed_record::{Direction, Entry, LedgerRow, Stage};

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "loss_fraction",
        unit: "",
        definition: "Data packets lost anywhere over data packets sent in the measurement window, from the ledger, \
                     all flows together. Absent where nobody counts what arrives, and where run.omit is not 0 and \
                     the counters were not read at its end.",
        reference: "RFC 7680 (one-way loss), as a ratio over the window",
        better: Better::Lower,
        headline: true,
        compute: |view| {
            let sent = sent(view, Direction::Data).filter(|_| !unseen(view, Direction::Data))?;
            Some(total(rows(view, Direction::Data, Entry::Lost)).unwrap_or(0.0) / sent)
        },
    },
    Metric {
        name: "unexplained_packets",
        unit: "packets",
        definition: "Packets that the ledger cannot account for: |sent - delivered - lost - in flight| as the \
                     ledger's rows `unexplained` state it (worked out from the other rows where a direction has \
                     none), data and ACKs added. Counts the whole run.",
        reference: "wirespeed's loss ledger",
        better: Better::Lower,
        headline: false,
        compute: |view| Direction::ALL.iter().filter_map(|d| unexplained(view, *d)).reduce(|a, b| a + b),
    },
];

macro_rules! stage_rows {
    ($($stage:ident $word:literal,)+) => {
        pub(crate) const STAGE_ROWS: &[Metric] = &[$(
            Metric {
                name: concat!("loss_fraction_", $word),
                unit: "",
                definition: concat!(
                    "Data packets lost at the stage ", $word, " over data packets sent, in the measurement \
                     window, from the ledger, all flows together. Absent if nothing was counted there or then."
                ),
                reference: "cornell-2010, loss by location; stages as in wirespeed's ledger",
                better: Better::Lower,
                headline: false,
                compute: |view| Some(lost(view, Direction::Data, Stage::$stage)? / sent(view, Direction::Data)?),
            },
            Metric {
                name: concat!("lost_", $word, "_packets"),
                unit: "packets",
                definition: concat!(
                    "Data packets lost at the stage ", $word, ", in the measurement window, from the ledger, all \
                     flows together. Absent if nothing was counted there or then."
                ),
                reference: "cornell-2010, loss by location; stages as in wirespeed's ledger",
                better: Better::Lower,
                headline: false,
                compute: |view| lost(view, Direction::Data, Stage::$stage),
            },
            Metric {
                name: concat!("lost_ack_", $word, "_packets"),
                unit: "packets",
                definition: concat!(
                    "ACKs lost at the stage ", $word, " of their way back, in the measurement window, from the \
                     ledger, all flows together. Absent if nothing was counted there or then."
                ),
                reference: "cornell-2010, loss by location; stages as in wirespeed's ledger",
                better: Better::Lower,
                headline: false,
                compute: |view| lost(view, Direction::Ack, Stage::$stage),
            },
        )+];

        #[cfg(test)]
        const STAGES: &[(Stage, &str)] = &[$((Stage::$stage, $word),)+];
    };
}

stage_rows! {
    SndBuf "sndbuf",
    IpOut "ip_out",
    Qdisc "qdisc",
    TxRing "tx_ring",
    Network "network",
    NetworkOrHost "network_or_host",
    RxRing "rx_ring",
    SoftnetBacklog "softnet_backlog",
    Netfilter "netfilter",
    TcpBacklog "tcp_backlog",
    TcpOfo "tcp_ofo",
    RcvBuf "rcvbuf",
    App "app",
}

/// The numbers behind the claims that speak of all stages at once. `loss_fraction_by_stage`: by stage, of the data
/// packets. `lost_packets_by_stage`: by `data.STAGE` and `ack.STAGE`. Only stages that the ledger counts. `None`
/// for another family.
pub fn by_stage(view: &View, family: &str) -> Option<BTreeMap<String, f64>> {
    let stages = || Stage::ALL.iter().copied();
    match family {
        "loss_fraction_by_stage" => {
            let fraction = |s| Some(lost(view, Direction::Data, s)? / sent(view, Direction::Data)?);
            Some(stages().filter_map(|s| Some((s.to_string(), fraction(s)?))).collect())
        }
        "lost_packets_by_stage" => {
            let of =
                |d: Direction| stages().filter_map(move |s| Some((format!("{d}.{s}"), lost(view, d, s)?)));
            Some(Direction::ALL.iter().flat_map(|d| of(*d)).collect())
        }
        _ => None,
    }
}

/// Rows of the measurement window; none where the ledger is known of the whole run only.
fn rows<'v>(view: &'v View, direction: Direction, entry: Entry) -> impl Iterator<Item = &'v LedgerRow> {
    of(view.window_ledger.as_deref().unwrap_or_default(), direction, entry)
}

fn of(ledger: &[LedgerRow], direction: Direction, entry: Entry) -> impl Iterator<Item = &LedgerRow> {
    ledger.iter().filter(move |r| r.direction == direction && r.entry == entry)
}

/// Sum of the packets of `rows`; `None` if there are none.
fn total<'v>(rows: impl Iterator<Item = &'v LedgerRow>) -> Option<f64> {
    rows.map(|r| r.packets).reduce(|a, b| a + b).map(|n| n as f64)
}

fn lost(view: &View, direction: Direction, stage: Stage) -> Option<f64> {
    let is_unknown = |row: &LedgerRow| row.stage == Some(Stage::NetworkOrHost);
    // Where the network's losses cannot be told from a host's, nobody knows the network's.
    if stage == Stage::Network && rows(view, direction, Entry::Lost).any(is_unknown) {
        return None;
    }
    total(rows(view, direction, Entry::Lost).filter(|r| r.stage == Some(stage)))
}

fn sent(view: &View, direction: Direction) -> Option<f64> {
    total(rows(view, direction, Entry::Sent)).filter(|n| *n > 0.0)
}

/// Whether there is nobody at the other end who counts what arrives.
fn unseen(view: &View, direction: Direction) -> bool {
    rows(view, direction, Entry::Unseen).next().is_some()
}

/// Of the whole run: a gap in the account is one, whenever it came about.
fn unexplained(view: &View, direction: Direction) -> Option<f64> {
    let entry = |name| of(&view.recording.ledger, direction, name);
    let stated: Vec<_> = entry(Entry::Unexplained).map(|r| r.packets.unsigned_abs() as f64).collect();
    if !stated.is_empty() {
        return Some(stated.iter().sum());
    }
    if entry(Entry::Unseen).next().is_some() {
        return None;
    }
    total(entry(Entry::Sent))?;
    let sum = |entries: [Entry; 4]| entries.into_iter().filter_map(|name| total(entry(name))).sum::<f64>();
    Some((sum(Entry::OFFERED) - sum(Entry::KNOWN)).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_its_rows_under_its_word() {
        assert!(STAGES.iter().map(|(stage, _)| *stage).eq(Stage::ALL.iter().copied()));
        assert!(STAGES.iter().all(|(stage, word)| stage.word() == *word));
    }
}
