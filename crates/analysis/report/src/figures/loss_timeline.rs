//! Packets lost over time, by the stage of the ledger.

use super::Draw;
use crate::figure::{Figure, From, Ink, Layer, Shape};
use crate::number::Quantity;
use crate::source::Source;
use crate::thin::Point;
use std::collections::BTreeMap;
use wirespeed_metrics::timeline;
use wirespeed_record::{Direction, Stage};

pub(crate) struct LossTimeline;

/// More bars than this cannot be told apart.
const MOST_BARS: usize = 300;

impl Draw for LossTimeline {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let moments = timeline(&source.view);
        let borders: Vec<(i64, i64)> = {
            let mut borders: Vec<_> = moments.iter().map(|moment| (moment.from_ns, moment.to_ns)).collect();
            borders.dedup();
            borders
        };
        let group = borders.len().div_ceil(MOST_BARS).max(1);
        // Start and end of each bar; all but the last are of one width.
        let bars: Vec<(i64, i64)> = borders.chunks(group).map(|of| (of[0].0, of[of.len() - 1].1)).collect();
        let width_ns = bars.first().map(|(from, to)| to - from)?;
        let mut lost: BTreeMap<(Direction, Stage), Vec<i64>> = BTreeMap::new();
        let mut uncertain = 0;
        for moment in moments.iter().filter(|moment| moment.lost_anywhere() > 0) {
            uncertain = uncertain.max(moment.uncertain);
            let bar = bars.partition_point(|(_, to)| *to <= moment.from_ns);
            for place in &moment.lost {
                lost.entry((moment.direction, place.stage)).or_insert_with(|| vec![0; bars.len()])[bar] +=
                    place.packets;
            }
        }
        let of_reverse = format!("{} at ", source.recording.info.packets_of(Direction::Ack));
        let layers = lost.iter().enumerate().map(|(place, ((direction, stage), packets))| {
            let whose = if *direction == Direction::Ack { &*of_reverse } else { "" };
            let name = format!("{whose}{stage}: {}", crate::number::whole(packets.iter().sum()));
            let points: Vec<Point> = bars
                .iter()
                .zip(packets)
                .filter(|(_, packets)| **packets != 0)
                .map(|((from, _), packets)| (source.time.at(from + width_ns / 2), *packets as f64))
                .collect();
            Layer::shaped(name, Ink::Place(place), Shape::Bars { width: source.time.at(width_ns) }, points)
        });
        let quantity = Quantity::Plain("packets".into());
        let bar = Quantity::Seconds.text(width_ns as f64 / 1e9);
        let figure = Figure::over_time(
            "loss-timeline",
            "Losses by stage over time",
            &format!("Lost per {bar}"),
            &quantity,
            From::Zero,
            &source.time,
            layers.collect(),
            vec![],
        )?;
        let known = if uncertain == 0 {
            "the account of every interval is exact.".to_owned()
        } else {
            format!(
                "what was on its way at the border of an interval may belong to the next one: an interval is known within \
                 {} packets or better.",
                crate::number::whole(i64::try_from(uncertain).unwrap_or(i64::MAX))
            )
        };
        Some(figure.with_note(format!("The ledger by interval, totals in the legend; {known}")))
    }
}
