//! Flows that ended early, as a sentence of the report.

use crate::digest::RunDigest;
use crate::number::whole;
use std::collections::BTreeSet;
use wirespeed_record::{EventKind, Recording};

/// Flows of a run that ended early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndedEarly {
    /// How many.
    pub flows: usize,
    /// Label of the first, and the reason.
    pub first: String,
    pub reason: String,
}

impl EndedEarly {
    /// Those of a run, if there are any.
    pub fn of(recording: &Recording) -> Option<EndedEarly> {
        let mut errors = recording.events.iter().filter(|event| event.kind == EventKind::FlowError);
        let first = errors.next()?;
        let flows: BTreeSet<Option<u32>> = errors.map(|event| event.flow).chain([first.flow]).collect();
        let label = first.flow.and_then(|flow| recording.info.flows.get(flow as usize));
        Some(EndedEarly {
            flows: flows.len(),
            first: label.map_or("a flow", |flow| flow.label.as_str()).into(),
            reason: first.detail.clone(),
        })
    }
}

/// How many flows of `runs` ended early, and why the first did; `None` if none did.
pub(crate) fn sentence<'a>(runs: impl IntoIterator<Item = &'a RunDigest>) -> Option<String> {
    let runs: Vec<&RunDigest> = runs.into_iter().collect();
    let found: Vec<(&RunDigest, &EndedEarly)> =
        runs.iter().filter_map(|run| Some((*run, run.ended_early.as_ref()?))).collect();
    let (first, why) = found.first()?;
    let (flows, of): (usize, usize) = found
        .iter()
        .map(|(run, early)| (early.flows, run.info.flows.len()))
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let place = if runs.len() == 1 { String::new() } else { format!(" of {}", first.info.id) };
    let in_runs = match runs.len() {
        1 => String::new(),
        all => format!(" in {} of {} runs", whole(found.len() as i64), whole(all as i64)),
    };
    Some(format!(
        "{} of {} flows ended early{in_runs}; the first is {}{place}: {}.",
        whole(flows as i64),
        whole(of as i64),
        why.first,
        why.reason
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::RunResult;
    use wirespeed_diagnosis::Analysis;
    use wirespeed_record::Event;

    #[test]
    fn flows_are_counted_once_and_the_first_reason_is_named() {
        let mut recording = Recording::default();
        recording.info.id = "r0".into();
        let error = |flow, detail: &str| Event {
            t_ns: 1,
            kind: EventKind::FlowError,
            flow: Some(flow),
            host: None,
            detail: detail.into(),
            burst_packet: None,
        };
        let digest = |recording: &Recording| {
            RunDigest::plain(RunResult::of(recording), &Analysis::default(), &mut Pool::default())
        };
        let whole = digest(&recording);
        assert_eq!(sentence([&whole]), None);
        recording.events = vec![error(3, "no file"), error(3, "refused"), error(5, "refused")];
        let early = digest(&recording);
        assert_eq!(
            sentence([&early]).as_deref(),
            Some("2 of 0 flows ended early; the first is a flow: no file.")
        );
        assert_eq!(
            sentence([&whole, &early]).as_deref(),
            Some("2 of 0 flows ended early in 1 of 2 runs; the first is a flow of r0: no file.")
        );
    }
}
