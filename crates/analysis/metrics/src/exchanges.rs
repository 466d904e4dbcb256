//! Data sets of files over parallel streams, and responses to requests.

use crate::completion::{Values, quantile_of};
use crate::registry::{Better, Metric};
use crate::view::{FlowSeries, View};
use std::collections::BTreeMap;
use wirespeed_record::{ApplicationInfo, Exchange};
use wirespeed_statistics::quantile;

const WIRESPEED: &str = "wirespeed";

macro_rules! row {
    ($name:literal, $unit:literal, $better:ident, $definition:expr, $reference:expr, $compute:expr) => {
        Metric {
            name: $name,
            unit: $unit,
            definition: $definition,
            reference: $reference,
            better: Better::$better,
            headline: false,
            compute: |view| $compute(view, &everything(view)),
        }
    };
}

macro_rules! of_files {
    ($what:literal) => {
        concat!(
            $what,
            " of the time of a file of a data set: from when a stream began to send it until the receiver had read all of it. The \
             omitted time counts as well. Files that had not ended by the end of the run, or were not begun, count as slower than \
             all others: absent where they decide the value."
        )
    };
}

macro_rules! of_responses {
    ($what:literal, $until:literal) => {
        concat!(
            $what,
            " of the time from when the receiver wrote a request until it had read ",
            $until,
            " of the response. Of requests that were written in the measurement window and whose response ended by the end of the run."
        )
    };
}

pub(crate) const ROWS: &[Metric] = &[
    row!(
        "data_set_time_ns",
        "ns",
        Lower,
        "Completion time of a data set (`files`): from the planned start of its first stream until the receiver has read the last \
         byte of its last file. The omitted time counts as well. The longest of several data sets; absent if a file did not end.",
        WIRESPEED,
        data_set_time
    ),
    row!(
        "data_set_goodput_bps",
        "bit/s",
        Higher,
        "Bytes of all files of the data sets, over the time from the planned start of the first stream until the last byte of the \
         last file has been read. Absent if a file did not end.",
        WIRESPEED,
        data_set_goodput
    ),
    row!("file_time_median_ns", "ns", Lower, of_files!("Median"), WIRESPEED, |view, flows: &_| {
        quantile_of(&file_times(view, flows), 0.5)
    }),
    row!("file_time_q99_ns", "ns", Lower, of_files!("99 % quantile"), WIRESPEED, |view, flows: &_| {
        quantile_of(&file_times(view, flows), 0.99)
    }),
    row!(
        "straggler_fraction",
        "",
        Lower,
        "Part of a data set's completion time (data_set_time_ns) in which fewer than all its streams had a file: after the first \
         stream had finished its last file. 1 if a stream never had one. The largest of several data sets; absent if a file did \
         not end.",
        WIRESPEED,
        straggler_fraction
    ),
    row!(
        "straggler_ratio",
        "",
        Lower,
        "Time of the slowest file of the data sets, over file_time_median_ns. Absent if a file did not end.",
        "Dean and Ghemawat 2004, MapReduce, section 3.6 (stragglers); the ratio is ours",
        straggler_ratio
    ),
    row!(
        "unfinished_files",
        "",
        Lower,
        "Files of data sets that the receiver had not read completely by the end of the run, those included that were not begun.",
        WIRESPEED,
        unfinished_files
    ),
    row!(
        "response_time_median_ns",
        "ns",
        Lower,
        of_responses!("Median", "the last byte"),
        WIRESPEED,
        |view, flows: &_| response_time(view, flows, 0.5)
    ),
    row!(
        "response_time_q99_ns",
        "ns",
        Lower,
        of_responses!("99 % quantile", "the last byte"),
        WIRESPEED,
        |view, flows: &_| response_time(view, flows, 0.99)
    ),
    row!(
        "response_first_byte_median_ns",
        "ns",
        Lower,
        of_responses!("Median", "the first byte"),
        WIRESPEED,
        first_byte_time
    ),
    row!(
        "responses_per_s",
        "1/s",
        Higher,
        "Responses whose last byte was read in the measurement window, over its length.",
        WIRESPEED,
        response_rate
    ),
];

fn everything(view: &View) -> Vec<u32> {
    (0..view.recording.info.flows.len() as u32).collect()
}

/// A data set, as far as some flows are its streams.
struct DataSet<'v> {
    files: u64,
    bytes: u64,
    /// Planned start of its first stream.
    start_ns: i64,
    /// By stream: files that it has begun.
    streams: BTreeMap<u32, Vec<&'v Exchange>>,
    until_ns: i64,
}

impl DataSet<'_> {
    /// When the last file of each stream had been read, in no order; a stream without files ends with its start. `None` if a file
    /// of the set did not end.
    fn ends(&self) -> Option<Vec<i64>> {
        let ended = |rows: &Vec<&Exchange>| rows.iter().filter(|row| self.end(row).is_some()).count() as u64;
        let all: u64 = self.streams.values().map(ended).sum();
        let last = |rows: &Vec<&Exchange>| rows.iter().filter_map(|row| self.end(row)).max();
        let ends = self.streams.values().map(|rows| last(rows).unwrap_or(self.start_ns)).collect();
        (all == self.files).then_some(ends)
    }

    /// When a file had been read, if that was within the run.
    fn end(&self, row: &Exchange) -> Option<i64> {
        row.end_ns.filter(|end| *end <= self.until_ns)
    }

    /// How long its files took; `None` for each that did not end.
    fn times(&self) -> Values {
        let rows = self.streams.values().flatten();
        let mut times: Values =
            rows.map(|row| self.end(row).map(|end| (end - row.begin_ns) as f64)).collect();
        times.resize(times.len().max(self.files as usize), None);
        times
    }
}

/// The data sets of which some flows are streams, by their numbers.
fn data_sets<'v>(view: &'v View, flows: &[u32]) -> Vec<DataSet<'v>> {
    let mut sets: BTreeMap<u32, DataSet> = BTreeMap::new();
    let mut set_of: BTreeMap<u32, u32> = BTreeMap::new();
    for flow in flows {
        let Some(info) = view.recording.info.flows.get(*flow as usize) else { continue };
        let Some(ApplicationInfo::DataSet { set, files, bytes }) = info.application else { continue };
        let until_ns = view.recording.info.duration_ns;
        let found = sets.entry(set).or_insert(DataSet {
            files,
            bytes,
            start_ns: info.start_ns,
            streams: BTreeMap::new(),
            until_ns,
        });
        found.start_ns = found.start_ns.min(info.start_ns);
        found.streams.entry(*flow).or_default();
        set_of.insert(*flow, set);
    }
    for row in &view.recording.exchanges {
        if let Some(set) = set_of.get(&row.flow).and_then(|set| sets.get_mut(set)) {
            set.streams.entry(row.flow).or_default().push(row);
        }
    }
    sets.into_values().collect()
}

/// The largest value of the data sets; `None` if there are none, or one has no value.
fn largest(sets: &[DataSet], of: impl Fn(&DataSet) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = sets.iter().map(of).collect();
    values?.into_iter().reduce(f64::max)
}

/// Completion time of the data sets of some flows, ns.
pub(crate) fn data_set_time(view: &View, flows: &[u32]) -> Option<f64> {
    largest(&data_sets(view, flows), |set| {
        let last = set.ends()?.into_iter().max()?;
        Some((last - set.start_ns) as f64)
    })
}

/// Goodput of the data sets of some flows, bit/s.
pub(crate) fn data_set_goodput(view: &View, flows: &[u32]) -> Option<f64> {
    let sets = data_sets(view, flows);
    let first = sets.iter().map(|set| set.start_ns).min()?;
    let ends: Option<Vec<i64>> = sets.iter().map(|set| set.ends()?.into_iter().max()).collect();
    let time = ends?.into_iter().max()? - first;
    let bytes: u64 = sets.iter().map(|set| set.bytes).sum();
    (time > 0).then(|| bytes as f64 * 8e9 / time as f64)
}

/// Times of the files of some flows' data sets, ns.
pub(crate) fn file_times(view: &View, flows: &[u32]) -> Values {
    data_sets(view, flows).iter().flat_map(DataSet::times).collect()
}

/// Part of a data set's time in which a stream had no file any more.
pub(crate) fn straggler_fraction(view: &View, flows: &[u32]) -> Option<f64> {
    largest(&data_sets(view, flows), |set| {
        let ends = set.ends()?;
        let (first, last) = (*ends.iter().min()?, *ends.iter().max()?);
        let time = last - set.start_ns;
        (time > 0).then(|| (last - first) as f64 / time as f64)
    })
}

/// The slowest file over the median.
pub(crate) fn straggler_ratio(view: &View, flows: &[u32]) -> Option<f64> {
    let times: Vec<f64> = file_times(view, flows).into_iter().collect::<Option<_>>()?;
    let slowest = times.iter().copied().reduce(f64::max)?;
    Some(slowest / quantile(&times, 0.5).filter(|median| *median > 0.0)?)
}

/// Files that did not end; `None` if there are no data sets.
pub(crate) fn unfinished_files(view: &View, flows: &[u32]) -> Option<f64> {
    let times = file_times(view, flows);
    (!times.is_empty()).then(|| times.iter().filter(|time| time.is_none()).count() as f64)
}

/// Responses of some flows that ended within the run.
fn responses<'v>(view: &'v View, flows: &[u32]) -> impl Iterator<Item = (&'v Exchange, i64)> {
    let asks = |flow: &u32| {
        let info = view.recording.info.flows.get(*flow as usize);
        info.is_some_and(|info| matches!(info.application, Some(ApplicationInfo::Requests { .. })))
    };
    let flows: Vec<u32> = flows.iter().copied().filter(asks).collect();
    let until = view.recording.info.duration_ns;
    let rows = view.recording.exchanges.iter().filter(move |row| flows.contains(&row.flow));
    rows.filter_map(move |row| Some((row, row.end_ns.filter(|end| *end <= until)?)))
}

/// A quantile of response times, ns.
pub(crate) fn response_time(view: &View, flows: &[u32], q: f64) -> Option<f64> {
    let rows = responses(view, flows).filter(|(row, _)| row.begin_ns >= view.from_ns);
    let times: Vec<f64> = rows.map(|(row, end)| (end - row.begin_ns) as f64).collect();
    quantile(&times, q)
}

/// Median time to the first byte of a response, ns.
pub(crate) fn first_byte_time(view: &View, flows: &[u32]) -> Option<f64> {
    let rows = responses(view, flows).filter(|(row, _)| row.begin_ns >= view.from_ns);
    let times: Option<Vec<f64>> = rows.map(|(row, _)| Some((row.first_ns? - row.begin_ns) as f64)).collect();
    quantile(&times?, 0.5)
}

/// Responses in a second.
pub(crate) fn response_rate(view: &View, flows: &[u32]) -> Option<f64> {
    let is_asked = flows.iter().any(|flow| {
        let info = view.recording.info.flows.get(*flow as usize);
        info.is_some_and(|info| matches!(info.application, Some(ApplicationInfo::Requests { .. })))
    });
    let count = responses(view, flows).filter(|(_, end)| *end >= view.from_ns).count();
    is_asked.then_some(count as f64 / view.seconds()?)
}

pub(crate) fn flow_file_time(view: &View, flow: &FlowSeries) -> Option<f64> {
    let is_begun = |row: &&Exchange| row.flow == flow.number;
    let application = flow.info.and_then(|info| info.application.as_ref());
    if !matches!(application, Some(ApplicationInfo::DataSet { .. })) {
        return None;
    }
    let until = view.recording.info.duration_ns;
    let rows = view.recording.exchanges.iter().filter(is_begun);
    let times: Values =
        rows.map(|row| Some((row.end_ns.filter(|end| *end <= until)? - row.begin_ns) as f64)).collect();
    quantile_of(&times, 0.5)
}

pub(crate) fn flow_response_time(view: &View, flow: &FlowSeries, q: f64) -> Option<f64> {
    response_time(view, &[flow.number], q)
}

pub(crate) fn flow_response_rate(view: &View, flow: &FlowSeries) -> Option<f64> {
    response_rate(view, &[flow.number])
}
