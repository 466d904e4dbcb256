//! CSV (RFC 4180): a file for each table, with the columns of the table as its header.

use super::{Export, ExportError, Planned};
use serde::Serialize;
use std::io::{self, Write};
use wirespeed_record::{FlowInfo, KeptSeries, Recording, Row};

/// CSV, a folder for each run.
pub struct Csv;

impl Export for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "a folder for each run with a CSV file for each table, for spreadsheets, R and pandas"
    }

    fn plan<'a>(&self, run: &'a Recording) -> Result<Vec<Planned<'a>>, ExportError> {
        let id = &run.info.id;
        let flows = Planned::new(format!("{id}/flow_list.csv"), |into| flow_list(&run.info.flows, into));
        let mut files = vec![flows];
        // A table that was not kept has no file: an empty one would mean that there was nothing.
        if run.info.series != KeptSeries::None {
            files.extend([table(id, &run.flows), table(id, &run.queues), table(id, &run.hosts)]);
            files.extend([table(id, &run.cores), table(id, &run.threads)]);
        }
        files.extend([table(id, &run.counters), table(id, &run.events)]);
        if !run.exchanges.is_empty() {
            files.push(table(id, &run.exchanges));
        }
        if run.info.series.is_all() {
            files.extend([table(id, &run.datagrams), table(id, &run.queue_delays)]);
        }
        files.extend([table(id, &run.ledger), table(id, &run.ledger_intervals)]);
        Ok(files)
    }
}

fn table<'a, R: Row + Serialize>(run: &str, rows: &'a [R]) -> Planned<'a> {
    let header = R::COLUMNS.iter().map(|column| column.name);
    Planned::new(format!("{run}/{}.csv", R::TABLE), |into| write(header, rows, into))
}

/// A header, and a line for each row. A missing value is an empty field.
fn write<R: Serialize>(
    header: impl Iterator<Item = &'static str>,
    rows: &[R],
    into: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(into);
    writer.write_record(header)?;
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()
}

/// A flow that the other files have by its number.
#[derive(Serialize)]
struct Listed<'a> {
    flow: usize,
    label: &'a str,
    kind: &'static str,
    congestion: Option<&'a str>,
    from: &'a str,
    to: &'a str,
    start_ns: i64,
    stop_ns: i64,
    base_rtt_ns: i64,
}

fn flow_list(flows: &[FlowInfo], into: &mut dyn Write) -> io::Result<()> {
    const HEADER: [&str; 9] =
        ["flow", "label", "kind", "congestion", "from", "to", "start_ns", "stop_ns", "base_rtt_ns"];
    let rows: Vec<Listed> = flows
        .iter()
        .enumerate()
        .map(|(flow, info)| Listed {
            flow,
            label: &info.label,
            kind: info.kind.word(),
            congestion: info.congestion.as_deref(),
            from: &info.from,
            to: &info.to,
            start_ns: info.start_ns,
            stop_ns: info.stop_ns,
            base_rtt_ns: info.base_rtt_ns,
        })
        .collect();
    write(HEADER.into_iter(), &rows, into)
}
