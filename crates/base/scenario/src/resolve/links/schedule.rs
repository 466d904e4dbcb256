//! Changes of a link from a file: a table of times and values, or a packet-delivery trace of mahimahi.

use super::changes::{MOST_CHANGES, Values, in_order, too_many};
use super::direction::Side;
use crate::error::Complaint;
use crate::file::ScheduleTable;
use crate::resolve::named_file::NamedFile;
use crate::resolve::{LONGEST_RUN, positive};
use crate::run::{Change, Direction};
use crate::suggest;
use crate::tree::{Node, Place, Source};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use wirespeed_units::{Rate, Span};

/// A packet of a trace of mahimahi: 1500 bytes and what its tunnel adds (mahimahi, link_queue.hh, `PACKET_SIZE`).
const MAHIMAHI_PACKET_BITS: u64 = 1504 * 8;
const MAHIMAHI_TICK: Span = Span::ms(1);
const COLUMNS: [&str; 6] = ["time", "rate", "rtt", "delay", "loss", "buffer"];
/// The files of all schedules of a scenario, as written.
pub fn files(scenario: &Node) -> Vec<PathBuf> {
    let schedule = scenario.get("schedule");
    let named = ["csv", "mahimahi"].into_iter().filter_map(|kind| schedule?.get(kind)?.text());
    let below = scenario.entries().iter().map(|entry| &entry.node).chain(scenario.elements());
    named.map(PathBuf::from).chain(below.flat_map(files)).collect()
}

/// A larger file cannot be a schedule: two hundred thousand lines of all columns are less.
const MOST_MIB: u64 = 64;

impl Side<'_> {
    /// The file with the changes of this direction, and whether it is its own and not that of the link.
    pub(super) fn schedule(&self) -> Option<(&ScheduleTable, bool)> {
        let own = self.own().schedule.as_ref().map(|schedule| (schedule, true));
        own.or_else(|| self.table.schedule.as_ref().map(|schedule| (schedule, false)))
    }

    /// The changes in a file.
    pub(super) fn scheduled(
        &self,
        first: &Direction,
        file: &ScheduleTable,
        own: bool,
    ) -> Result<Vec<Change>, Complaint> {
        let (name, at) = self.origin(own, &["schedule"]);
        match (&file.csv, &file.mahimahi) {
            (Some(csv), None) => {
                let every = file.every;
                if let Some(every) = every {
                    let (name, at) = self.origin(own, &["schedule", "every"]);
                    positive(every, &name, at, LONGEST_RUN)?;
                }
                let source = self.read(csv, own, "csv")?;
                self.again_and_again(self.table_of(&source, first, own)?, every, &name, &at)
            }
            (None, Some(trace)) => {
                if file.every.is_some() {
                    let (name, at) = self.origin(own, &["schedule", "every"]);
                    return Err(Complaint::at(&at, format!("{name}: a trace of mahimahi repeats by itself"))
                        .label("has no effect")
                        .help("leave it out"));
                }
                let (ticks, period) = ticks(&self.read(trace, own, "mahimahi")?)?;
                self.again_and_again(ticks, Some(period), &name, &at)
            }
            _ => Err(Complaint::at(&at, format!("{name}: one file, of one kind"))
                .label("csv or mahimahi")
                .help("write schedule = { csv = \"FILE\" } or { mahimahi = \"FILE\" }")),
        }
    }

    /// A file from the folder of the scenario that names it.
    fn read(&self, file: &Path, own: bool, key: &str) -> Result<Arc<Source>, Complaint> {
        let (name, at) = self.origin(own, &["schedule", key]);
        NamedFile::new(&at, &name, file, "").read(MOST_MIB)
    }

    /// The lines of a file of comma-separated values.
    fn table_of(&self, source: &Arc<Source>, first: &Direction, own: bool) -> Result<Vec<Change>, Complaint> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .flexible(true)
            .from_reader(source.text.as_bytes());
        let broken = |error: &csv::Error| {
            let from = error.position().map_or(0, |position| position.byte() as usize);
            Complaint::at(&line_at(source, from), format!("not comma-separated values: {error}"))
        };
        let header = reader.headers().map_err(|error| broken(&error))?.clone();
        let columns = header.iter().map(|title| Column::of(title, source)).collect::<Result<Vec<_>, _>>()?;
        if !columns.iter().any(|column| column.key == "time") {
            return Err(Complaint::at(&line_at(source, 0), "no column is called `time`")
                .label("the columns")
                .help("name the columns in the first line, for example time,rate,rtt"));
        }
        let mut changes: Vec<Change> = Vec::new();
        let mut before = None;
        for record in reader.records() {
            let record = record.map_err(|error| broken(&error))?;
            let at = line_at(source, record.position().map_or(0, |position| position.byte() as usize));
            if record.len() > columns.len() {
                return Err(Complaint::at(
                    &at,
                    format!("{} values for {} columns", record.len(), columns.len()),
                )
                .label("this line")
                .help("separate by commas, and write numbers with a point"));
            }
            let (mut time, mut values) = (None, Values::default());
            for (column, text) in columns.iter().zip(&record).filter(|(_, text)| !text.is_empty()) {
                match column.key {
                    "time" => time = Some(column.value::<Span>(text, &at)?),
                    "rate" => values.rate = Some(column.value(text, &at)?),
                    "rtt" => values.rtt = Some(column.value(text, &at)?),
                    "delay" => values.delay = Some(column.value(text, &at)?),
                    "loss" => values.loss = Some(column.value(text, &at)?),
                    _ => values.buffer = Some(column.value(text, &at)?),
                }
            }
            let time = time.ok_or_else(|| Complaint::at(&at, "no time").label("this line"))?;
            if before.is_some_and(|before| time <= before) {
                return Err(Complaint::at(&at, format!("{time} is not after the time of the line before"))
                    .label("this line")
                    .help("put the lines in order of time"));
            }
            before = Some(time);
            if own && values.rtt.is_some() {
                return Err(Complaint::at(&at, "rtt: the file is that of one direction")
                    .label("both directions")
                    .help("call the column delay, or name the file in the link's own schedule"));
            }
            if !own && values.delay.is_some() {
                return Err(Complaint::at(&at, "delay: the direction is missing")
                    .label("one direction only")
                    .help("call the column rtt, or name the file under forward or reverse"));
            }
            let values = self.without_shared_loss(values, own);
            let place = |key: &str| (key.to_owned(), at.clone());
            changes.push(Change { at: time, ..self.new_values(&values, first, &place)? });
            if changes.len() > MOST_CHANGES {
                return Err(too_many("schedule", &at));
            }
        }
        if changes.is_empty() {
            return Err(
                Complaint::at(&line_at(source, 0), "no line but that of the columns").label("this file")
            );
        }
        Ok(changes)
    }

    /// The changes of a file up to the run's end, begun again every so often.
    fn again_and_again(
        &self,
        changes: Vec<Change>,
        every: Option<Span>,
        name: &str,
        at: &Place,
    ) -> Result<Vec<Change>, Complaint> {
        let last = changes.last().map_or(Span::ZERO, |change| change.at);
        let Some(every) = every else { return Ok(in_order(changes, self.duration)) };
        if last >= every {
            return Err(Complaint::at(
                at,
                format!("{name}: it begins again after {every}, but ends at {last}"),
            )
            .label("too soon")
            .help("raise every above the last time of the file"));
        }
        let mut all = Vec::new();
        let mut begin = Span::ZERO;
        while begin < self.duration {
            let left = self.duration - begin;
            let shifted = changes.iter().take_while(|change| change.at < left);
            all.extend(shifted.map(|change| Change { at: begin + change.at, ..*change }));
            if all.len() > MOST_CHANGES {
                return Err(too_many(name, at));
            }
            begin += every;
        }
        Ok(in_order(all, self.duration))
    }
}

/// A column of a file, and the unit of its numbers.
struct Column {
    key: &'static str,
    unit: Option<String>,
}

impl Column {
    /// `rate`, or `rate (Mbit/s)`.
    fn of(title: &str, source: &Arc<Source>) -> Result<Column, Complaint> {
        let (key, unit) = match title.split_once(['(', '[']) {
            Some((key, unit)) => (key.trim(), Some(unit.trim_end_matches([')', ']']).trim().to_owned())),
            None => (title, None),
        };
        let known = COLUMNS.iter().find(|known| known.eq_ignore_ascii_case(key));
        let key = *known.ok_or_else(|| {
            Complaint::at(&line_at(source, 0), format!("unknown column `{key}`"))
                .label("the columns")
                .help(suggest::choices(key, "columns", &COLUMNS))
        })?;
        Ok(Column { key, unit })
    }

    /// A value, of which a bare number has the unit of its column.
    fn value<T: FromStr>(&self, text: &str, at: &Place) -> Result<T, Complaint>
    where
        T::Err: std::fmt::Display,
    {
        let is_bare = text.parse::<f64>().is_ok();
        let with_unit = match &self.unit {
            Some(unit) if is_bare => format!("{text} {unit}"),
            _ => text.to_owned(),
        };
        with_unit.parse().map_err(|error: T::Err| {
            Complaint::at(at, format!("{}: {error}", self.key))
                .label("this line")
                .help(format!("write a unit with each value, or once with the column: {} (UNIT)", self.key))
        })
    }
}

/// The rate of each millisecond of a trace, where it differs from that of the one before, and the length of the trace.
fn ticks(source: &Arc<Source>) -> Result<(Vec<Change>, Span), Complaint> {
    let mut packets: Vec<u64> = Vec::new();
    let mut from = 0;
    let mut last = 0;
    for line in source.text.split_inclusive('\n') {
        let at = line_at(source, from);
        from += line.len();
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let fault = |wrong: String| {
            Complaint::at(&at, wrong)
                .label("this line")
                .help("a line of a trace is a time in whole milliseconds")
        };
        let ms: usize =
            text.parse().map_err(|_| fault(format!("`{text}` is not a number of milliseconds")))?;
        if ms < last {
            return Err(fault(format!("{ms} ms is before the {last} ms of a line above")));
        }
        last = ms;
        if ms > MOST_CHANGES {
            return Err(fault(format!("more than {MOST_CHANGES} ms")));
        }
        packets.resize(packets.len().max(ms + 1), 0);
        packets[ms] += 1;
    }
    // The last line's millisecond is when the trace begins again (mm-link): its packets are the first ones' of the next round.
    if last == 0 {
        return Err(
            Complaint::at(&line_at(source, 0), "a trace that ends at 0 ms has no rate").label("this file")
        );
    }
    let again = packets.pop().unwrap_or_default();
    packets[0] += again;
    let mut changes: Vec<Change> = Vec::new();
    let mut before = None;
    for (ms, count) in packets.into_iter().enumerate() {
        if before.replace(count) == Some(count) {
            continue;
        }
        let rate = Rate::bps(count * MAHIMAHI_PACKET_BITS * 1000);
        let at = Span::ps(MAHIMAHI_TICK.picoseconds() * ms as i64);
        changes.push(Change { at, rate: Some(rate), ..Change::default() });
    }
    Ok((changes, Span::ps(MAHIMAHI_TICK.picoseconds() * last as i64)))
}

/// The line that begins there.
fn line_at(source: &Arc<Source>, from: usize) -> Place {
    let rest = source.text.get(from..).unwrap_or_default();
    let length = rest.find('\n').unwrap_or(rest.len());
    Place::new(source, from..from + length)
}
