//! What a run left behind.
//!
//! A [`Recording`] is the same whatever made it: nothing that reads one asks which substrate it came from.
//! On disk it is a directory: `run.json` ([`RunInfo`]), one Parquet file per table, and `raw/` for what the
//! substrate left (console log, captures). A directory is complete when `run.json` is there, which is written
//! last; until then it holds `INCOMPLETE` with the reason.

#[cfg(feature = "files")]
mod capture;
mod cause;
#[cfg(feature = "files")]
mod cell;
#[cfg(feature = "files")]
mod checksums;
mod delay_bucket;
mod drop_counters;
mod event_kind;
mod flow_group;
#[cfg(feature = "files")]
mod foreign;
#[cfg(feature = "files")]
mod guarded;
mod host_model;
mod info;
mod kept_series;
#[cfg(feature = "files")]
mod lock;
#[cfg(feature = "files")]
mod older;
mod path_check;
mod placement;
mod plain;
#[cfg(feature = "files")]
mod platform;
mod queue_class;
#[cfg(feature = "files")]
mod read;
#[cfg(feature = "files")]
mod reduce;
mod rows;
#[cfg(feature = "files")]
mod sample_files;
#[cfg(feature = "files")]
mod sheet;
#[cfg(feature = "files")]
mod sheet_reader;
#[cfg(feature = "files")]
mod spool;
mod stage;
#[cfg(feature = "files")]
mod store;
mod substrate_kind;
mod table;
#[cfg(feature = "files")]
mod table_file;
mod tables;
mod transport;
mod wall_clock;
#[cfg(feature = "files")]
mod window;
mod words;
#[cfg(feature = "files")]
mod write;

#[cfg(feature = "files")]
pub use capture::{Segment, capture};
pub use cause::Cause;
#[cfg(feature = "files")]
pub use cell::Cell;
#[cfg(feature = "files")]
pub use checksums::check as check_sums;
pub use delay_bucket::{delay_bucket, longest_of_bucket};
pub use drop_counters::{
    DROPPED, DUPLICATES, MISSED, SENT_AGAIN_FOR, SENT_AGAIN_SPURIOUS, SENT_AGAIN_UNMATCHED, WITHOUT_PAYLOAD,
};
pub use event_kind::EventKind;
pub use flow_group::{FlowClass, FlowGroup};
#[cfg(feature = "files")]
pub use guarded::panics_are_caught;
pub use host_model::{Applications, HostModel, Interrupts};
pub use info::{
    ApplicationInfo, Cost, FORMAT_VERSION, FORMAT_VERSION_OF_WHOLE_SERIES, FlowInfo, HostInfo, KernelInfo,
    Leg, LinkChange, LinkInfo, RunInfo, ToolInfo, ValidatedRegion,
};
pub use kept_series::KeptSeries;
#[cfg(feature = "files")]
pub use lock::FolderLock;
pub use path_check::PathCheck;
pub use placement::{Placement, QueueLine, Topology};
pub use plain::{is_command, plain, plain_line};
pub use queue_class::QueueClass;
#[cfg(feature = "files")]
pub use read::{Table, read, read_lazily};
pub use rows::Rows;
#[cfg(feature = "files")]
pub use sample_files::SampleFiles;
#[cfg(feature = "files")]
pub use sheet::{SheetColumn, SheetValues, write_sheet};
#[cfg(feature = "files")]
pub use sheet_reader::read_sheet;
pub use stage::{Direction, Entry, Stage};
#[cfg(feature = "files")]
pub use store::{
    ANALYSIS, RunDirectory, RunState, StoreError, find_runs, open, read_info, reduce_run, replace_file,
    replace_file_with, set_aside,
};
pub use substrate_kind::SubstrateKind;
pub use table::{Column, ColumnOf, Row};
pub use tables::{
    CoreSample, Counter, Datagram, Event, Exchange, FlowSample, HostSample, LedgerInterval, LedgerRow,
    QueueDelay, QueueSample, ThreadSample,
};
pub use transport::Transport;
pub use wall_clock::{file_stamp, rfc3339};
#[cfg(feature = "files")]
pub use write::TableWriter;

/// A run and all it recorded.
#[cfg(feature = "files")]
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// What was run and what it cost.
    pub info: RunInfo,
    /// Flow states on the sampling grid, in order of time, then flow.
    pub flows: Vec<FlowSample>,
    /// Queue states on the sampling grid.
    pub queues: Vec<QueueSample>,
    /// Interface states on the sampling grid.
    pub hosts: Vec<HostSample>,
    /// Where the time of cores went, on the sampling grid.
    pub cores: Vec<CoreSample>,
    /// What the threads of flows ran and waited, on the sampling grid.
    pub threads: Vec<ThreadSample>,
    /// Protocol counters before and after.
    pub counters: Vec<Counter>,
    /// What happened once.
    pub events: Vec<Event>,
    /// Every datagram of the UDP flows.
    pub datagrams: Vec<Datagram>,
    /// Files of data sets, and responses to requests.
    pub exchanges: Vec<Exchange>,
    /// How long packets waited in the classes of queues that have such.
    pub queue_delays: Vec<QueueDelay>,
    /// Where packets went.
    pub ledger: Vec<LedgerRow>,
    /// The same by interval, where it is known.
    pub ledger_intervals: Vec<LedgerInterval>,
    /// The run directory that has `flows`, `queues` and `hosts` while they are empty here ([`read_lazily`]). Who reads
    /// samples of a recording from elsewhere goes through [`Recording::flow_table`] and its like.
    pub samples_in: Option<SampleFiles>,
    /// The text of [`ANALYSIS`], which the directory has if its series were not kept as a whole ([`RunInfo::series`]). Numbers and
    /// findings are there then; they cannot be computed from the series.
    pub analysis: Option<Box<str>>,
}

/// Name, description and columns of every table, for documentation.
pub fn tables() -> Vec<(&'static str, &'static str, &'static [Column])> {
    fn of<R: Row>() -> (&'static str, &'static str, &'static [Column]) {
        (R::TABLE, R::DOC, R::COLUMNS)
    }
    vec![
        of::<FlowSample>(),
        of::<QueueSample>(),
        of::<HostSample>(),
        of::<CoreSample>(),
        of::<ThreadSample>(),
        of::<Counter>(),
        of::<Event>(),
        of::<Datagram>(),
        of::<Exchange>(),
        of::<QueueDelay>(),
        of::<LedgerRow>(),
        of::<LedgerInterval>(),
    ]
}
