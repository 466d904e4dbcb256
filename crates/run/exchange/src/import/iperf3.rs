//! JSON of iperf3, of one side of a test or of both. Crate `iperf3` reads it.

use super::{Content, Import, ImportError, Source};
use wirespeed_iperf3::{parse, recording};
use wirespeed_record::Recording;

/// iperf3.
pub struct Iperf3;

impl Import for Iperf3 {
    fn name(&self) -> &'static str {
        "iperf3"
    }

    fn about(&self) -> &'static str {
        "JSON of iperf3 (`iperf3 -c SERVER -J --logfile FILE`)"
    }

    fn recognises(&self, content: &Content) -> bool {
        ["start", "intervals", "event"].iter().any(|name| content.has_field(name))
    }

    fn recording(&self, sources: &[Source]) -> Result<Recording, ImportError> {
        let read = |Source { name, content }: &Source| {
            let report =
                parse(content.text()).map_err(|source| ImportError::Iperf3 { file: name.clone(), source })?;
            Ok(wirespeed_iperf3::Source { name: name.clone(), report })
        };
        let reports = sources.iter().map(read).collect::<Result<Vec<_>, ImportError>>()?;
        Ok(recording(reports)?)
    }
}
