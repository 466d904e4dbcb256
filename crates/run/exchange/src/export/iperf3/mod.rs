//! iperf3 JSON, as `iperf3 -J --get-server-output` of version 3 prints it: a file for each test that iperf3 could have run.

mod document;
mod jitter;
mod test;
mod writer;

use super::{Export, ExportError, Planned};
use test::Test;
use wirespeed_record::Recording;

/// JSON of iperf3.
pub struct Iperf3;

impl Export for Iperf3 {
    fn name(&self) -> &'static str {
        "iperf3"
    }

    fn about(&self) -> &'static str {
        "iperf3 JSON (-J), a file for each pair of hosts, for programs that read iperf3's results"
    }

    fn plan<'a>(&self, run: &'a Recording) -> Result<Vec<Planned<'a>>, ExportError> {
        let (id, format) = (&run.info.id, self.name());
        if run.info.flows.is_empty() {
            return Err(ExportError::NoFlows { run: id.clone(), format });
        }
        super::with_series(run, format)?;
        let tests = test::tests(run);
        if tests.is_empty() {
            return Err(ExportError::NothingDelivered { run: id.clone(), format });
        }
        let is_only = tests.len() == 1;
        let planned = tests.into_iter().enumerate().map(|(number, test)| {
            let name = match is_only {
                true => format!("{id}.iperf3.json"),
                false => {
                    format!("{id}.{}-{}-{}.iperf3.json", number + 1, file_part(test.from), file_part(test.to))
                }
            };
            Planned::new(name, move |into| write(run, number, &test, into))
        });
        Ok(planned.collect())
    }
}

fn write(run: &Recording, number: usize, test: &Test, into: &mut dyn std::io::Write) -> std::io::Result<()> {
    let document = writer::document(run, number, test);
    serde_json::to_writer_pretty(&mut *into, &document)?;
    into.write_all(b"\n")
}

/// A host's name as a part of a file name.
fn file_part(host: &str) -> String {
    host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' }).collect()
}
