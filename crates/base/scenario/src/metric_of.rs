//! The subject of a metric: a run, one of its flows, or a group of them.

use crate::error::Complaint;
use crate::suggest;
use crate::tree::Place;

/// The subject of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'n> {
    /// The whole run.
    Run,
    /// The flow of this label.
    Flow(&'n str),
    /// The group of flows of this label.
    Group(&'n str),
}

/// The subject of a metric, and its name in the registry: `flow.LABEL.METRIC` is of a flow, `group.LABEL.METRIC` of a group,
/// and every other name of the run. Labels may contain dots.
pub fn metric_of(name: &str) -> (Subject<'_>, &str) {
    let after = |prefix: &str| name.strip_prefix(prefix)?.rsplit_once('.');
    match (after("flow."), after("group.")) {
        (Some((label, metric)), _) => (Subject::Flow(label), metric),
        (_, Some((label, metric))) => (Subject::Group(label), metric),
        (None, None) => (Subject::Run, name),
    }
}

/// The labels that the runs of a study have.
#[derive(Debug)]
pub(crate) struct Labels<'l> {
    pub flows: Vec<&'l str>,
    pub groups: Vec<&'l str>,
}

impl Labels<'_> {
    /// The metric of `name`; fails if it is of a flow or a group that is not here.
    pub fn check<'n>(&self, name: &'n str, at: &Place) -> Result<&'n str, Complaint> {
        let (subject, metric) = metric_of(name);
        let (kind, label, known) = match subject {
            Subject::Run => return Ok(metric),
            Subject::Flow(label) => ("flow", label, &self.flows),
            Subject::Group(label) => ("group", label, &self.groups),
        };
        match known.contains(&label) {
            true => Ok(metric),
            false => Err(Complaint::at(at, format!("`{name}`: no {kind} has the label `{label}`"))
                .label(format!("no such {kind}"))
                .help(suggest::choices(label, "labels", known))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_have_dots_and_metrics_have_none() {
        assert_eq!(metric_of("flow.a.b.goodput_bps"), (Subject::Flow("a.b"), "goodput_bps"));
        assert_eq!(metric_of("group.mice.fct_q99_ns"), (Subject::Group("mice"), "fct_q99_ns"));
        assert_eq!(metric_of("goodput_bps"), (Subject::Run, "goodput_bps"));
        assert_eq!(metric_of("group.goodput_bps"), (Subject::Run, "group.goodput_bps"));
    }
}
