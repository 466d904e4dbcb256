//! The columns of a table of samples, sorted by what the samples are of. A column is read when it is asked for, so that
//! a long recording takes the memory of the columns in use and not of all.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use wirespeed_record::{ColumnOf, Row, StoreError, Table};

/// The values of a column, in the order of [`Samples`]; not a number where the sample has none.
pub type Values = Rc<Vec<f64>>;

/// Columns that are kept because they may be asked for again, however long: ratios and rates take two, cycles of windows three.
const KEPT: usize = 3;

/// A column that was read more often than this is one of more columns than are kept: something goes through them flow by flow.
/// One more is kept then, since the time would grow with the square of the number of flows.
const PATIENCE: u32 = 3;

/// Values of all columns that are kept of a short table: 8 MB.
const KEPT_VALUES: usize = 1 << 20;

/// A cell as a number.
pub trait Number: wirespeed_record::Cell {
    /// The number; not a number for null.
    fn number(self) -> f64;
}

macro_rules! number {
    ($($type:ty),+) => {$(
        impl Number for $type {
            fn number(self) -> f64 {
                self as f64
            }
        }

        impl Number for Option<$type> {
            fn number(self) -> f64 {
                self.map_or(f64::NAN, |value| value as f64)
            }
        }
    )+};
}
number!(i64, u64, u32, f64);

impl Number for Option<bool> {
    fn number(self) -> f64 {
        self.map_or(f64::NAN, |value| f64::from(u8::from(value)))
    }
}

/// The samples of a table, in order of a key, then time, then their place in the table.
#[derive(Debug)]
pub struct Samples<'a, R> {
    table: Table<'a, R>,
    /// Where each row of the table is in that order.
    place: Vec<u32>,
    /// When they were taken, in that order.
    times: Vec<i64>,
    /// The columns last asked for, the newest last.
    kept: RefCell<Vec<(&'static str, Values)>>,
    /// How often each column was read.
    reads: RefCell<BTreeMap<&'static str, u32>>,
    /// Columns that are kept beyond the usual number.
    more: Cell<usize>,
    /// The first error of a column that was read in vain.
    failure: RefCell<Option<StoreError>>,
}

/// A key and where its samples are, in the order of [`Samples`].
pub type Group<K> = (Vec<K>, Range<usize>);

impl<'a, R: Row> Samples<'a, R> {
    /// Sorts the rows of `table` by the columns `keys`, then by `time`; also returns what the keys are and where.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn new<K: wirespeed_record::Cell + Ord>(
        table: Table<'a, R>,
        time: ColumnOf<R, i64>,
        keys: &[ColumnOf<R, K>],
    ) -> Result<(Self, Vec<Group<K>>), StoreError> {
        let mut ids = vec![0; table.rows()?];
        let mut names: Vec<Vec<K>> = vec![Vec::new()];
        for key in keys {
            let mut found = Names::default();
            let mut rows = ids.iter_mut();
            table.each(*key, |value: K| {
                if let Some(id) = rows.next() {
                    *id = found.number((*id, value));
                }
            })?;
            let whole = |(before, last): (u32, K)| {
                let mut name = names[before as usize].clone();
                name.push(last);
                name
            };
            names = found.names.into_iter().map(whole).collect();
        }
        // From the order in which keys came to their own.
        let mut sorted: Vec<u32> = (0..names.len() as u32).collect();
        sorted.sort_by(|a, b| names[*a as usize].cmp(&names[*b as usize]));
        let mut counts = vec![0; names.len()];
        ids.iter().for_each(|id| counts[*id as usize] += 1);
        let mut next = vec![0; names.len()];
        let mut groups = Vec::new();
        let mut at = 0;
        for id in sorted {
            let from = at;
            at += counts[id as usize];
            next[id as usize] = from as u32;
            if at > from {
                groups.push((std::mem::take(&mut names[id as usize]), from..at));
            }
        }
        // An id becomes a place.
        for id in &mut ids {
            let place = &mut next[*id as usize];
            *id = *place;
            *place += 1;
        }
        let mut samples = Samples {
            table,
            place: ids,
            times: Vec::new(),
            kept: RefCell::default(),
            reads: RefCell::default(),
            more: Cell::new(0),
            failure: RefCell::default(),
        };
        samples.times = samples.placed(time, |t| t)?;
        groups.iter().for_each(|(_, range)| samples.sort(range.clone()));
        Ok((samples, groups))
    }

    /// Sorts a group by time.
    fn sort(&mut self, range: Range<usize>) {
        let times = &self.times[range.clone()];
        if times.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|index| times[*index]);
        let sorted: Vec<i64> = order.iter().map(|index| times[*index]).collect();
        let mut moved = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, from)| moved[*from] = to);
        self.times[range.clone()].copy_from_slice(&sorted);
        for place in &mut self.place {
            if range.contains(&(*place as usize)) {
                *place = (range.start + moved[*place as usize - range.start]) as u32;
            }
        }
    }

    fn placed<T: wirespeed_record::Cell, V: Default + Clone>(
        &self,
        column: ColumnOf<R, T>,
        value: impl Fn(T) -> V,
    ) -> Result<Vec<V>, StoreError> {
        let mut values = vec![V::default(); self.place.len()];
        let mut places = self.place.iter();
        self.table.each(column, |cell| {
            if let Some(place) = places.next() {
                values[*place as usize] = value(cell);
            }
        })?;
        Ok(values)
    }

    /// When the samples were taken.
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// The values of a column. If it cannot be read there are none: every number is missing, and
    /// [`Samples::intact`] says why.
    pub fn column<T: Number>(&self, column: ColumnOf<R, T>) -> Values {
        let mut kept = self.kept.borrow_mut();
        if let Some(index) = kept.iter().position(|(name, _)| *name == column.name) {
            let found = kept.remove(index);
            kept.push(found);
        } else {
            let mut reads = self.reads.borrow_mut();
            let count = reads.entry(column.name).or_default();
            *count += 1;
            if *count > PATIENCE {
                *count = 0;
                self.more.set(self.more.get() + 1);
            }
            // Before the new one is read, so that there are never more.
            let too_many = (kept.len() + 1).saturating_sub(self.most_kept());
            kept.drain(..too_many);
            let values = self.placed(column, T::number).unwrap_or_else(|error| {
                self.failure.borrow_mut().get_or_insert(error);
                vec![f64::NAN; self.place.len()]
            });
            kept.push((column.name, Rc::new(values)));
        }
        Rc::clone(&kept[kept.len() - 1].1)
    }

    /// How many columns are kept.
    fn most_kept(&self) -> usize {
        (KEPT_VALUES / self.place.len().max(1)).max(KEPT) + self.more.get()
    }

    /// Whether every column that was asked for could be read.
    ///
    /// # Errors
    /// The first that could not, once.
    pub fn intact(&self) -> Result<(), StoreError> {
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Numbers names in the order in which they come.
struct Names<K> {
    names: Vec<K>,
    numbers: BTreeMap<K, u32>,
    /// By number: what came after it the last time, for samples come in rounds.
    after: Vec<u32>,
    last: u32,
}

impl<K> Default for Names<K> {
    fn default() -> Self {
        Names { names: Vec::new(), numbers: BTreeMap::new(), after: Vec::new(), last: 0 }
    }
}

impl<K: Ord + Clone> Names<K> {
    fn number(&mut self, name: K) -> u32 {
        let guess = self.after.get(self.last as usize).copied().unwrap_or(0);
        let number = if self.names.get(guess as usize) == Some(&name) {
            guess
        } else if let Some(number) = self.numbers.get(&name) {
            *number
        } else {
            let number = self.names.len() as u32;
            self.names.push(name.clone());
            self.numbers.insert(name, number);
            self.after.push(0);
            number
        };
        if let Some(after) = self.after.get_mut(self.last as usize) {
            *after = number;
        }
        self.last = number;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{FlowSample, Recording};

    #[test]
    fn rows_are_sorted_by_key_and_time_and_equals_stay_in_order() {
        let row = |t_ns, flow, rtt| FlowSample { rtt_ns: rtt, ..FlowSample::empty(t_ns, flow) };
        let flows = vec![
            row(0, 9, Some(1)),
            row(0, 2, None),
            row(3, 9, Some(2)),
            row(1, 9, Some(3)),
            row(1, 9, Some(4)),
        ];
        let recording = Recording { flows, ..Recording::default() };
        let (samples, groups) =
            Samples::new(recording.flow_table(), FlowSample::t_ns, &[FlowSample::flow]).unwrap();
        assert_eq!(groups, [(vec![2], 0..1), (vec![9], 1..5)]);
        assert_eq!(samples.times(), [0, 0, 1, 1, 3]);
        let rtts = samples.column(FlowSample::rtt_ns);
        assert!(rtts[0].is_nan());
        assert_eq!(rtts[1..], [1.0, 3.0, 4.0, 2.0]);
        samples.column(FlowSample::t_ns);
        samples.column(FlowSample::flow);
        assert_eq!(samples.kept.borrow().len(), 3);
        assert!(samples.intact().is_ok());
    }

    #[test]
    fn long_table_keeps_only_the_columns_last_asked_for() {
        let flows: Vec<_> = (0..KEPT_VALUES as i64 / 2).map(|t| FlowSample::empty(t, 0)).collect();
        let recording = Recording { flows, ..Recording::default() };
        let (samples, _) =
            Samples::new(recording.flow_table(), FlowSample::t_ns, &[FlowSample::flow]).unwrap();
        samples.column(FlowSample::rtt_ns);
        samples.column(FlowSample::rttvar_ns);
        samples.column(FlowSample::t_ns);
        samples.column(FlowSample::flow);
        let kept: Vec<_> = samples.kept.borrow().iter().map(|(name, _)| *name).collect();
        assert_eq!(kept, ["rttvar_ns", "t_ns", "flow"]);
    }

    #[test]
    fn columns_that_are_read_in_turns_are_kept_after_some_turns() {
        let flows: Vec<_> = (0..KEPT_VALUES as i64 / 2).map(|t| FlowSample::empty(t, 0)).collect();
        let recording = Recording { flows, ..Recording::default() };
        let (samples, _) =
            Samples::new(recording.flow_table(), FlowSample::t_ns, &[FlowSample::flow]).unwrap();
        let turn = || {
            samples.column(FlowSample::rtt_ns);
            samples.column(FlowSample::rttvar_ns);
            samples.column(FlowSample::cwnd_bytes);
            samples.column(FlowSample::ssthresh_bytes);
            samples.column(FlowSample::sent_bytes);
        };
        (0..2 * PATIENCE).for_each(|_| turn());
        let reads = samples.reads.borrow().clone();
        (0..100).for_each(|_| turn());
        assert_eq!(*samples.reads.borrow(), reads);
        assert_eq!(samples.kept.borrow().len(), 5);
    }

    #[test]
    fn unreadable_table_is_missing_with_its_reason() {
        let samples_in = Some(wirespeed_record::SampleFiles::new("/nowhere"));
        let recording = Recording { samples_in, ..Recording::default() };
        assert!(Samples::new(recording.flow_table(), FlowSample::t_ns, &[FlowSample::flow]).is_err());
        let none = Recording::default();
        let (mut samples, _) =
            Samples::new(none.flow_table(), FlowSample::t_ns, &[FlowSample::flow]).unwrap();
        samples.table = recording.flow_table();
        assert!(samples.column(FlowSample::rtt_ns).is_empty());
        assert!(samples.intact().is_err());
    }
}
