//! Packets lost per interval, by the place that lost them.

use super::Draw;
use crate::figure::{Figure, From, Ink, Layer, Shape};
use crate::number::Quantity;
use crate::source::{Source, growth_per_bin};
use std::collections::BTreeMap;
use wirespeed_record::{HostSample, Stage};

pub(crate) struct Drops;

/// More bars than this cannot be told apart.
const MOST_BARS: i64 = 300;

impl Draw for Drops {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let places = places(source);
        if places.is_empty() {
            return None;
        }
        let title = "Drops by place";
        let bin = (source.duration_ns() / MOST_BARS / source.bin_ns).max(1) * source.bin_ns;
        let width = source.time.at(bin);
        let mut layers = Vec::new();
        for (place, (name, readings)) in places.iter().enumerate() {
            let bins = growth_per_bin(readings, bin);
            let lost: u64 = bins.iter().map(|b| b.1).sum();
            if lost > 0 {
                let points = bins
                    .into_iter()
                    .filter(|b| b.1 > 0)
                    .map(|(t, packets)| (source.time.at(t), packets as f64))
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
                Figure::statement("drops", title, &format!("No packet was lost at {}.", names.join(", ")))
            }
        })
    }
}

type Readings = Vec<(i64, u64)>;

/// Every place that counts losses, with its cumulative readings, in the order of the stages.
fn places(source: &Source) -> Vec<(String, Readings)> {
    let links = &source.recording.info.links;
    let mut places: Vec<(Stage, String, Readings)> = Vec::new();
    for (name, samples) in source.queues() {
        let is_link = links.iter().any(|l| l.forward_queue == name || l.reverse_queue == name);
        let stage = if is_link { Stage::Network } else { Stage::Qdisc };
        let dropped = samples.iter().map(|s| (s.t_ns, s.dropped_packets)).collect();
        places.push((stage, format!("{name} full"), dropped));
        let lost: Readings = samples.iter().filter_map(|s| Some((s.t_ns, s.lost_packets?))).collect();
        places.push((Stage::Network, format!("{name} random loss"), lost));
    }
    let mut devices: BTreeMap<(&str, &str), Vec<&HostSample>> = BTreeMap::new();
    for sample in &source.recording.hosts {
        devices.entry((&sample.host, &sample.device)).or_default().push(sample);
    }
    let mut counted_softnet: Vec<&str> = Vec::new();
    for ((host, device), mut samples) in devices {
        samples.sort_by_key(|s| s.t_ns);
        let read = |value: fn(&HostSample) -> Option<u64>| -> Readings {
            samples.iter().filter_map(|s| Some((s.t_ns, value(s)?))).collect()
        };
        places.push((Stage::TxRing, format!("{host}/{device} transmit"), read(|s| Some(s.tx_dropped))));
        places.push((Stage::RxRing, format!("{host}/{device} receive"), read(|s| Some(s.rx_dropped))));
        // The softnet counter is the host's, whatever interface the row is about.
        if !counted_softnet.contains(&host) {
            counted_softnet.push(host);
            let name = format!("{host} softnet backlog");
            places.push((Stage::SoftnetBacklog, name, read(|s| s.softnet_dropped)));
        }
    }
    places.retain(|(_, _, readings)| !readings.is_empty());
    places.sort_by_key(|(stage, _, _)| *stage);
    places.into_iter().map(|(_, name, readings)| (name, readings)).collect()
}
