//! `wirespeed trace --out`: the time-sequence figures of the connection that is shown in detail.

use crate::failure::Failure;
use std::path::Path;
use wirespeed_record::{replace_file, replace_file_with};
use wirespeed_sequence::{Plot, Subject, page};
use wirespeed_trace::{ConnectionTrace, Trace};

/// Name of the page.
const PAGE: &str = "time-sequence.html";

/// Writes the page into `folder`, and the files for xplot on request. Returns a remark, if there is nothing to draw or not everything
/// was drawn.
pub fn write(
    folder: &Path,
    trace: &Trace,
    detailed: Option<&ConnectionTrace>,
    capture: &Path,
    xplot: bool,
) -> Result<Option<String>, Failure> {
    let Some(connection) = detailed else { return Ok(None) };
    if connection.from_client.is_none() && connection.from_server.is_none() {
        return Ok(Some(format!("Connection {} has no data, and no figures.", connection.number)));
    }
    let Some(sequence) = trace.sequence.as_ref().filter(|sequence| sequence.number == connection.number)
    else {
        return Ok(Some(format!(
            "{PAGE} was not written: the points of all connections take too much memory. Add `--connection {}`.",
            connection.number
        )));
    };
    let name = capture.file_name().unwrap_or(capture.as_os_str()).to_string_lossy();
    let name = if name == "-" { "standard input".into() } else { name };
    let generated_by = format!("wirespeed {}", crate::VERSION);
    let subject = Subject { connection, sequence, capture: &name, generated_by: &generated_by };
    let failed = |file: &Path| {
        let what = file.display().to_string();
        move |source| Failure::Output { what, source }
    };
    let file = folder.join(PAGE);
    replace_file(&file, page(&subject).as_bytes()).map_err(failed(&file))?;
    for plot in Plot::all(subject).into_iter().filter(|_| xplot) {
        let file = folder.join(plot.file_name());
        replace_file_with(&file, |out| plot.write(out)).map_err(failed(&file))?;
    }
    let omitted: u64 =
        [&sequence.from_client, &sequence.from_server].into_iter().flatten().map(|flow| flow.omitted).sum();
    Ok((omitted > 0).then(|| {
        format!(
            "The figures lack the last {omitted} packets: they have {} of a direction. Cut the capture with `editcap`.",
            wirespeed_trace::FlowSequence::MOST
        )
    }))
}
