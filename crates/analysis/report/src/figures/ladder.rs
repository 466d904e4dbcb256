//! The way of the packets through every stage that the ledger counts: data down, acknowledgements up.

use super::Draw;
use crate::drawing::{Anchor, Drawing, Face, Paint, SHEET};
use crate::figure::{Figure, Ink};
use crate::html::run::share;
use crate::ledger::{Account, Balance, Line};
use crate::number::{Quantity, count, whole};
use crate::shorten::shorten;
use crate::source::Source;
use crate::svg::text_width;
use std::collections::BTreeMap;
use wirespeed_metrics::Values;
use wirespeed_record::{Direction, Entry, FlowSample, QueueSample, Stage};

pub(crate) struct Ladder;

/// What was lost.
pub(super) const LOSS: Ink = Ink::Place(1);

/// Places of a stage that are named; the others are summed.
const MOST_PLACES: usize = 4;
/// Letters of a place and its count: more would not fit between two columns.
const LONGEST_PLACE: usize = 27;
const BOX: [f64; 2] = [216.0, 30.0];
/// Where the boxes of a column begin in it.
const LEFT: f64 = 14.0;
const LINE: f64 = 16.0;
const GAP: f64 = 18.0;
/// Room above the first box of a band, for its name.
const HEAD: f64 = 34.0;

impl Draw for Ladder {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let accounts = Account::all(source.recording);
        // A direction in which nothing went is no ladder, nor is one whose first step is missing.
        let mut ladders: Vec<Way> = accounts.iter().filter_map(Way::of).collect();
        for way in &mut ladders {
            way.add_requeues(source);
            way.add_reading(source);
        }
        if ladders.is_empty() {
            return None;
        }
        let heights = [0, 1, 2].map(|band| {
            let heights = ladders.iter().map(|way| way.height(band));
            heights.fold(0.0, f64::max)
        });
        let mut drawing = Drawing::new();
        let mut top = 0.0;
        let mut tops = [0.0; 3];
        for (band, height) in heights.into_iter().enumerate() {
            tops[band] = top;
            if height > 0.0 {
                drawing.place([0.0, top, SHEET, height], Paint::Panel);
                let name = shorten(&ladders[0].band_name(band), 52);
                // A long name would lie on the arrow down the middle of the first column.
                let arrow = LEFT + BOX[0] / 2.0;
                let is_short = LEFT + text_width(&name, 13.5) < arrow - 8.0;
                let left = if is_short { LEFT } else { arrow + 12.0 };
                drawing.write(left, top + 20.0, Anchor::Start, Face::Strong, name);
                top += height + 10.0;
            }
        }
        drawing.height = top - 10.0;
        for (column, way) in ladders.iter().enumerate() {
            way.draw(&mut drawing, LEFT + column as f64 * (SHEET / 2.0), tops, heights);
        }
        let ways = match &ladders[..] {
            [down, up, ..] => {
                format!(
                    ": {} from the top down, {} from the bottom up",
                    down.account.packets, up.account.packets
                )
            }
            _ => String::new(),
        };
        let note = format!(
            "Packets that left each stage, from the loss ledger of the whole run{ways}. Beside a stage: what was lost in it, what was still in it at the end of the run, and what a full interface gave back."
        );
        Some(Figure::drawn("ladder", "Way of the packets", drawing).with_note(note))
    }
}

/// One direction.
struct Way<'a> {
    account: &'a Account,
    /// In the order of travel.
    steps: Vec<Step>,
}

struct Step {
    /// 0: the hosts that send data; 1: between; 2: the hosts that receive it.
    band: usize,
    name: String,
    /// What left it: packets, or what the application read.
    left: String,
    is_end: bool,
    /// What is said beside it.
    beside: Vec<(Face, String)>,
    hint: String,
}

impl Step {
    fn height(&self) -> f64 {
        BOX[1].max(self.beside.len() as f64 * LINE)
    }
}

impl<'a> Way<'a> {
    fn of(account: &'a Account) -> Option<Way<'a>> {
        let sent = account.sent.filter(|sent| *sent > 0)?;
        let is_data = account.direction == Direction::Data;
        let band = |place: usize| if is_data { place } else { 2 - place };
        let end = |name: Entry, place: usize, left: i64| Step {
            band: band(place),
            name: name.word().into(),
            left: count(left),
            is_end: true,
            beside: Vec::new(),
            hint: String::new(),
        };
        let mut steps = vec![end(Entry::Sent, 0, sent)];
        let mut stages: BTreeMap<Option<Stage>, Vec<&Line>> = BTreeMap::new();
        let is_on_the_way = |line: &&Line| {
            !matches!(line.entry, Entry::Sent | Entry::Delivered | Entry::Unseen | Entry::Unexplained)
        };
        for line in account.lines.iter().filter(is_on_the_way) {
            stages.entry(line.stage).or_default().push(line);
        }
        // A row without a stage comes after those that have one: nobody knows where on the way it was.
        let unplaced = stages.remove(&None);
        // Where nothing at all is known to have a place, there is no way to show.
        if stages.is_empty() && unplaced.is_some() {
            return None;
        }
        let stages = stages.into_iter().chain(unplaced.map(|lines| (None, lines)));
        let mut left = sent;
        for (stage, lines) in stages {
            left -= lines
                .iter()
                .map(|line| if Entry::OFFERED.contains(&line.entry) { -line.packets } else { line.packets })
                .sum::<i64>();
            let (name, place) = match stage {
                Some(Stage::SndBuf | Stage::IpOut | Stage::Qdisc | Stage::TxRing) => {
                    (stage.map_or("", Stage::word), 0)
                }
                Some(Stage::Network) => ("network", 1),
                Some(stage) => (stage.word(), 2),
                None => ("elsewhere", 2),
            };
            let counters = lines.iter().map(|l| format!("{}: {} ({})", l.place, whole(l.packets), l.source));
            let hint = counters.collect::<Vec<_>>().join("\n");
            let beside = beside(&lines, sent);
            let (name, left) = (name.into(), count(left));
            steps.push(Step { band: band(place), name, left, is_end: false, beside, hint });
        }
        let sum = |entry: Entry| {
            let lines = account.lines.iter().filter(|line| line.entry == entry);
            lines.map(|line| line.packets).reduce(|a, b| a + b)
        };
        if let Some(delivered) = sum(Entry::Delivered) {
            let mut last = end(Entry::Delivered, 2, delivered);
            let off = match account.balance {
                Balance::Unexplained(packets) => format!("{} unexplained", whole(packets)),
                Balance::Wrong(packets) => format!("does not add up: off by {}", whole(packets)),
                Balance::Even | Balance::Unseen(_) | Balance::Open => String::new(),
            };
            if !off.is_empty() {
                last.beside.push((Face::Coloured(LOSS), off));
            }
            steps.push(last);
        }
        Some(Way { account, steps })
    }

    /// What a full interface gave back to the queue before it, in all: it went out later, and the capture saw it twice.
    fn add_requeues(&mut self, source: &Source) {
        let requeues = source.view.queue_samples.column(QueueSample::requeues);
        let of = |queue: &str| source.view.queues.get(queue).and_then(|queue| queue.samples.clone().last());
        let queues = self.account.lines.iter();
        let queues = queues.filter(|line| line.entry == Entry::Lost && line.stage == Some(Stage::Qdisc));
        let back: i64 = queues.filter_map(|line| of(&line.place)).map(|last| requeues[last] as i64).sum();
        let step = |stage: Stage| self.steps.iter().position(|step| step.name == stage.word());
        if back > 0
            && let Some(place) = step(Stage::TxRing).or(step(Stage::Qdisc))
        {
            self.steps[place].beside.push((Face::Plain, format!("{} back to the queue", whole(back))));
        }
    }

    /// What the receiving applications read, and what they left: the end of the way of data.
    fn add_reading(&mut self, source: &Source) {
        if self.account.direction != Direction::Data {
            return;
        }
        let samples = &source.view.flow_samples;
        // The last reading of each flow; a flow without any says nothing of what its application did.
        let sum = |values: &Values| {
            let last = |rows: &std::ops::Range<usize>| {
                values[rows.clone()].iter().rev().find(|v| !v.is_nan()).copied()
            };
            source.flows().filter_map(|(_, _, rows)| last(rows)).reduce(|a, b| a + b)
        };
        let Some(read) = sum(&samples.column(FlowSample::read_bytes)) else { return };
        let delivered = sum(&samples.column(FlowSample::delivered_bytes)).unwrap_or(read);
        let mut beside = Vec::new();
        if delivered > read {
            beside.push((Face::Plain, format!("{} unread", Quantity::Bytes.text(delivered - read))));
        }
        self.steps.push(Step {
            band: 2,
            name: "application read".into(),
            left: Quantity::Bytes.text(read),
            is_end: false,
            beside,
            hint: "read_bytes of all flows at their last sample".into(),
        });
    }

    fn band_name(&self, band: usize) -> String {
        let (first, last) = match self.account.direction {
            Direction::Data => (Entry::Sent, Entry::Delivered),
            Direction::Ack => (Entry::Delivered, Entry::Sent),
        };
        let places = |entry: Entry, otherwise: &str| {
            let lines = self.account.lines.iter().filter(|l| l.entry == entry && !l.place.is_empty());
            let places: Vec<&str> = lines.map(|line| &*line.place).collect();
            if places.is_empty() { otherwise.to_string() } else { places.join(", ") }
        };
        match band {
            0 => places(first, "sending side"),
            1 => "network".into(),
            _ => places(last, "receiving side"),
        }
    }

    /// The steps of a band from the top down.
    fn steps_of(&self, band: usize) -> Vec<&Step> {
        let steps = self.steps.iter().filter(|step| step.band == band);
        match self.account.direction {
            Direction::Data => steps.collect(),
            Direction::Ack => steps.rev().collect(),
        }
    }

    fn height(&self, band: usize) -> f64 {
        let steps = self.steps_of(band);
        if steps.is_empty() {
            return 0.0;
        }
        HEAD + steps.iter().map(|step| step.height()).sum::<f64>() + (steps.len() - 1) as f64 * GAP + 14.0
    }

    fn draw(&self, drawing: &mut Drawing, left: f64, tops: [f64; 3], heights: [f64; 3]) {
        let is_data = self.account.direction == Direction::Data;
        let [width, height] = BOX;
        let middle = left + width / 2.0;
        let mut last: Option<f64> = None;
        for band in 0..3 {
            // A ladder that is shorter than its neighbour stands close to the network.
            let steps = self.steps_of(band);
            let room = (heights[band] - self.height(band)).max(0.0);
            let mut top = tops[band] + HEAD + room * [1.0, 0.5, 0.0][band];
            for step in steps {
                if let Some(last) = last {
                    let (from, to) = ((middle, last + 2.0), (middle, top - 3.0));
                    if is_data {
                        drawing.point(from, to);
                    } else {
                        drawing.point((middle, top - 2.0), (middle, last + 3.0));
                    }
                }
                let hint = step.hint.clone();
                drawing.place_with_hint([left, top, width, height], Paint::Frame, hint);
                let base = top + 19.5;
                let name = if step.is_end {
                    format!("{} {}", self.account.packets.trim_end_matches(" packets"), step.name)
                } else {
                    step.name.replace('_', " ")
                };
                let face = if step.is_end { Face::Strong } else { Face::Plain };
                drawing.write(left + 10.0, base, Anchor::Start, face.clone(), name);
                drawing.write(left + width - 10.0, base, Anchor::End, face, step.left.clone());
                let lines = step.beside.len() as f64 * LINE;
                let first = top + (height - lines).max(0.0) / 2.0 + 12.0;
                for (index, (face, text)) in step.beside.iter().enumerate() {
                    let base = first + index as f64 * LINE;
                    drawing.write(left + width + 12.0, base, Anchor::Start, face.clone(), text.clone());
                }
                last = Some(top + height);
                top += step.height() + GAP;
            }
        }
    }
}

/// What a stage kept: lost packets with their places, most first, then those in flight.
fn beside(lines: &[&Line], sent: i64) -> Vec<(Face, String)> {
    let sum = |entry: Entry| lines.iter().filter(|l| l.entry == entry).map(|l| l.packets).sum::<i64>();
    let lost = sum(Entry::Lost);
    let mut out = Vec::new();
    if lost != 0 {
        out.push((Face::Coloured(LOSS), format!("−{} lost ({})", whole(lost), share(lost, sent))));
        let mut places: Vec<&&Line> =
            lines.iter().filter(|l| l.entry == Entry::Lost && l.packets != 0).collect();
        places.sort_by_key(|line| -line.packets);
        let more: i64 = places.iter().skip(MOST_PLACES).map(|line| line.packets).sum();
        for line in places.iter().take(MOST_PLACES).filter(|line| !line.place.is_empty()) {
            let count = if places.len() > 1 { format!("{} ", whole(line.packets)) } else { String::new() };
            out.push((Face::Quiet, shorten(&format!("{count}at {}", line.place), LONGEST_PLACE)));
        }
        if more != 0 {
            let count = places.len() - MOST_PLACES;
            out.push((Face::Quiet, format!("{} at {count} more", whole(more))));
        }
    } else if lines.iter().any(|line| line.entry == Entry::Lost) {
        out.push((Face::Quiet, "none lost".into()));
    }
    let copied = sum(Entry::Copied);
    if copied != 0 {
        out.push((Face::Plain, format!("+{} copied", whole(copied))));
    }
    let (repair, decoded, recovered) = (sum(Entry::Repair), sum(Entry::Decoded), sum(Entry::Recovered));
    if repair != 0 {
        out.push((Face::Plain, format!("+{} repair packets, {} decoded", whole(repair), whole(decoded))));
    }
    if recovered != 0 {
        out.push((Face::Plain, format!("+{} recovered", whole(recovered))));
    }
    let in_flight = sum(Entry::InFlight);
    if in_flight != 0 {
        out.push((Face::Plain, format!("{} in flight", whole(in_flight))));
    }
    out
}
