//! Packets lost per interval, by the place that lost them.

use super::Draw;
use crate::figure::{Figure, From, Ink, Layer, Shape};
use crate::number::Quantity;
use crate::rings::ring_name;
use crate::source::{Source, growth_per_bin};
use std::collections::BTreeSet;
use std::ops::Range;
use wirespeed_metrics::{Number, Samples};
use wirespeed_record::{ColumnOf, Entry, HostSample, LedgerRow, QueueSample, Row, Stage};

pub(crate) struct Drops;

/// More bars than this cannot be told apart.
const MOST_BARS: i64 = 300;
/// Places named where nothing was lost.
const MOST_NAMES: usize = 8;

impl Draw for Drops {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let bin = (source.duration_ns() / MOST_BARS / source.bin_ns).max(1) * source.bin_ns;
        let places = places(source, bin);
        if places.is_empty() {
            return None;
        }
        let title = "Drops by place";
        let width = source.time.at(bin);
        let mut layers = Vec::new();
        for (place, (name, bins)) in places.iter().enumerate() {
            let lost: u64 = bins.iter().map(|b| b.1).sum();
            if lost > 0 {
                let points = bins
                    .iter()
                    .filter(|b| b.1 > 0)
                    .map(|(t, packets)| (source.time.at(*t), *packets as f64))
                    .collect();
                let name = format!("{name}: {}", crate::number::whole(lost as i64));
                layers.push(Layer::shaped(name, Ink::Place(place), Shape::Bars { width }, points));
            }
        }
        let quantity = Quantity::Plain("packets".into());
        let bin = Quantity::Seconds.text(bin as f64 / 1e9);
        let what = format!("Lost per {bin}");
        let figure =
            Figure::over_time("drops", title, &what, &quantity, From::Zero, &source.time, layers, vec![]);
        Some(match figure {
            Some(figure) => {
                figure.with_note(format!("Packets lost in each interval of {bin}; totals in the legend."))
            }
            None => {
                let names: Vec<_> = places.iter().map(|(name, _)| name.as_str()).collect();
                Figure::statement("drops", title, &format!("No packet was lost at {}.", listed(&names)))
            }
        })
    }
}

/// Names in a sentence; of a host with many rings the first ones.
fn listed(names: &[&str]) -> String {
    match names.len().saturating_sub(MOST_NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more places", names[..MOST_NAMES].join(", ")),
    }
}

/// Packets by bin, which is given by its middle.
type Bins = Vec<(i64, u64)>;

/// Every place that counts losses, with what it lost in each bin, in the order of the stages.
fn places(source: &Source, bin: i64) -> Vec<(String, Bins)> {
    let links = &source.recording.info.links;
    let mut places: Vec<(Stage, String, Bins)> = Vec::new();
    let mut add = |stage, name, bins: Option<Bins>| places.extend(bins.map(|bins| (stage, name, bins)));
    let has_rings = |host: &str| source.rings.iter().any(|ring| ring.host == host);
    for (name, rows) in source.queues() {
        let is_link = links.iter().any(|l| l.forward_queue == name || l.reverse_queue == name);
        let stage = match is_link {
            true => Stage::Network,
            false if ring_name(name).is_some_and(|(host, _)| has_rings(host)) => Stage::RxRing,
            false => Stage::Qdisc,
        };
        let samples = &source.view.queue_samples;
        let ledger = &source.recording.ledger;
        let dropped = lost(samples, rows, QueueSample::dropped_packets, bin);
        // A ring drops what finds no descriptor, and nothing else.
        let why = if stage == Stage::RxRing { "full".into() } else { causes(ledger, name, false) };
        add(stage, format!("{name} {why}"), dropped);
        let behind = lost(samples, rows, QueueSample::lost_packets, bin);
        add(Stage::Network, format!("{name} {}", causes(ledger, name, true)), behind);
    }
    let mut counted_softnet: Vec<&str> = Vec::new();
    for (name, rows) in &source.devices {
        let [host, device] = &name[..] else { continue };
        let samples = &source.host_samples;
        let sending = lost(samples, rows, HostSample::tx_dropped, bin);
        add(Stage::TxRing, format!("{host}/{device} transmit"), sending);
        // What the rings of an interface dropped is in its own counter again.
        if !has_rings(host) {
            let receiving = lost(samples, rows, HostSample::rx_dropped, bin);
            add(Stage::RxRing, format!("{host}/{device} receive"), receiving);
        }
        // The softnet counter is the host's, whatever interface the row is about.
        if !counted_softnet.contains(&host.as_str()) {
            counted_softnet.push(host);
            let softnet = lost(samples, rows, HostSample::softnet_dropped, bin);
            add(Stage::SoftnetBacklog, format!("{host} softnet backlog"), softnet);
        }
    }
    places.sort_by_key(|(stage, _, _)| *stage);
    places.into_iter().map(|(_, name, bins)| (name, bins)).collect()
}

/// Why a queue dropped packets, or why they were lost behind it, as far as the ledger says: causes that lost some, otherwise
/// those that could have.
fn causes(ledger: &[LedgerRow], queue: &str, behind: bool) -> String {
    let rows = || {
        let rows = ledger.iter().filter(|row| row.entry == Entry::Lost && row.place == queue);
        rows.filter_map(|row| Some((row.cause?, row.packets))).filter(|(c, _)| c.is_behind_queue() == behind)
    };
    let names = |least: i64| -> BTreeSet<&str> {
        rows().filter(|(_, packets)| *packets >= least).map(|(cause, _)| cause.name()).collect()
    };
    let found = if names(1).is_empty() { names(0) } else { names(1) };
    match (found.is_empty(), behind) {
        (true, false) => "drops".into(),
        (true, true) => "losses".into(),
        _ => found.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// What a counter of losses grew by in each bin; `None` if it was never read.
fn lost<R: Row, T: Number>(
    samples: &Samples<R>,
    rows: &Range<usize>,
    column: ColumnOf<R, T>,
    bin: i64,
) -> Option<Bins> {
    let values = samples.column(column);
    let both = rows.clone().map(|i| (samples.times()[i], values[i]));
    let readings: Vec<_> = both.filter(|(_, n)| !n.is_nan()).map(|(t, n)| (t, n as u64)).collect();
    (!readings.is_empty()).then(|| growth_per_bin(&readings, bin))
}

#[cfg(test)]
mod tests {
    use super::{causes, listed};
    use wirespeed_record::{Cause, Direction, Entry, LedgerRow, Stage};

    #[test]
    fn losses_of_a_queue_have_the_causes_of_the_ledger() {
        let row = |cause, packets| LedgerRow {
            direction: Direction::Data,
            entry: Entry::Lost,
            stage: Some(Stage::Network),
            place: "a/forward".into(),
            cause,
            packets,
            source: String::new(),
        };
        let mut ledger = vec![row(None, 5)];
        let told = |ledger: &[LedgerRow]| [false, true].map(|behind| causes(ledger, "a/forward", behind));
        assert_eq!(told(&ledger), ["drops", "losses"], "nothing is known of the cause");
        ledger.extend([Cause::Policer, Cause::QueueFull, Cause::Outage].map(|cause| row(Some(cause), 0)));
        assert_eq!(told(&ledger), ["policer, queue full", "outage"]);
        ledger[1].packets = 7;
        assert_eq!(told(&ledger), ["policer", "outage"]);
        assert_eq!(causes(&ledger, "b/forward", false), "drops");
    }

    #[test]
    fn of_many_places_the_first_are_named() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a"; 40]), format!("{}a and 32 more places", "a, ".repeat(7)));
    }
}
