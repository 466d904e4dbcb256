//! How long flows with a size take.

use crate::registry::{Better, Metric};
use crate::view::{ANY_GAP, FlowSeries, View};
use wirespeed_record::{FlowClass, FlowInfo, LinkInfo};
use wirespeed_statistics::{mean, quantile};

macro_rules! counted {
    () => {
        " Of TCP flows with a size (`bytes`), from the planned start until the receiver has read all. The omitted time \
         counts as well. Flows that did not end count as slower than all others: absent where they decide the value."
    };
}

macro_rules! fct_row {
    ($name:literal, $what:literal, $of:expr) => {
        Metric {
            name: $name,
            unit: "ns",
            definition: concat!($what, " of the flow completion time.", counted!()),
            reference: "Dukkipati and McKeown 2006 (flow completion time); quantiles: Hyndman and Fan 1996, type 7",
            better: Better::Lower,
            headline: false,
            compute: |view| $of(&times(view, &everything(view))),
        }
    };
}

macro_rules! slowdown_row {
    ($name:literal, $what:literal, $of:expr) => {
        Metric {
            name: $name,
            unit: "",
            definition: concat!(
                $what,
                " of the flow completion time over that of an empty path: base RTT, plus payload over the rate of the \
                 slowest link that the flow crosses.",
                counted!()
            ),
            reference: "Alizadeh et al. 2013, pFabric (normalised flow completion time); the empty path is ours",
            better: Better::Lower,
            headline: false,
            compute: |view| $of(&slowdowns(view, &everything(view))),
        }
    };
}

pub(crate) const ROWS: &[Metric] = &[
    fct_row!("fct_mean_ns", "Mean", mean_of),
    fct_row!("fct_median_ns", "Median", |values: &Values| quantile_of(values, 0.5)),
    fct_row!("fct_q95_ns", "95 % quantile", |values: &Values| quantile_of(values, 0.95)),
    fct_row!("fct_q99_ns", "99 % quantile", |values: &Values| quantile_of(values, 0.99)),
    slowdown_row!("slowdown_median", "Median", |values: &Values| quantile_of(values, 0.5)),
    slowdown_row!("slowdown_q99", "99 % quantile", |values: &Values| quantile_of(values, 0.99)),
    Metric {
        name: "unfinished_flows",
        unit: "",
        definition: "TCP flows with a size (`bytes`) whose receivers had not read all at the end of the run.",
        reference: "wirespeed",
        better: Better::Lower,
        headline: false,
        compute: |view| unfinished(view, &everything(view)),
    },
];

/// A value for each flow with a size; `None` if it did not end, or, of slowdowns, if the empty path is not known.
pub(crate) type Values = Vec<Option<f64>>;

fn everything(view: &View) -> Vec<u32> {
    (0..view.recording.info.flows.len() as u32).collect()
}

/// Completion times in ns of those of the flows that have a size.
pub(crate) fn times(view: &View, flows: &[u32]) -> Values {
    sized(view, flows).map(|(number, info, bytes)| time(view, number, info, bytes)).collect()
}

/// Completion times over those of an empty path.
pub(crate) fn slowdowns(view: &View, flows: &[u32]) -> Values {
    let slowdown = |(number, info, bytes)| Some(time(view, number, info, bytes)? / ideal(view, info, bytes)?);
    sized(view, flows).map(slowdown).collect()
}

/// How many flows with a size did not end; `None` if none has a size.
pub(crate) fn unfinished(view: &View, flows: &[u32]) -> Option<f64> {
    let times = times(view, flows);
    (!times.is_empty()).then(|| times.iter().filter(|time| time.is_none()).count() as f64)
}

/// The mean; `None` if a value is missing.
pub(crate) fn mean_of(values: &Values) -> Option<f64> {
    mean(&values.iter().copied().collect::<Option<Vec<f64>>>()?)
}

/// The quantile, in which missing values are the largest; `None` if one of them decides it.
pub(crate) fn quantile_of(values: &Values, q: f64) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    if known.len() == values.len() {
        return quantile(&known, q);
    }
    let last = (values.len().checked_sub(1)? as f64 * q).ceil() as usize;
    // Any value above all others gives the same, as the quantile lies below it.
    let most = known.iter().copied().reduce(f64::max)?;
    let padded: Vec<f64> = values.iter().map(|value| value.unwrap_or(most)).collect();
    (last < known.len()).then(|| quantile(&padded, q)).flatten()
}

fn sized<'v>(view: &'v View, flows: &'v [u32]) -> impl Iterator<Item = (u32, &'v FlowInfo, u64)> {
    flows.iter().filter_map(|number| {
        let info = view.recording.info.flows.get(*number as usize)?;
        let is_finite = info.class() == FlowClass::Finite;
        Some((*number, info, info.bytes.filter(|_| is_finite)?))
    })
}

/// How long a flow took; `None` if it did not end, or was stopped before it had sent all.
fn time(view: &View, number: u32, info: &FlowInfo, bytes: u64) -> Option<f64> {
    let end = view.noted_end(number).filter(|end| *end < view.recording.info.duration_ns)?;
    let delivered = || {
        view.flow(number).and_then(|flow| flow.payload.at(end, ANY_GAP)).is_some_and(|d| d >= bytes as f64)
    };
    // A flow that is stopped ends as well.
    let is_stopped = info.stop_ns > info.start_ns && end >= info.stop_ns;
    (end > info.start_ns && (!is_stopped || delivered())).then_some((end - info.start_ns) as f64)
}

/// How long a flow would take on an empty path, in ns; `None` if the rate of a link that it crosses is not known. The path of
/// a flow that splitters cut is that of all its legs.
fn ideal(view: &View, info: &FlowInfo, bytes: u64) -> Option<f64> {
    let all = &view.recording.info.links;
    let legs: Vec<&FlowInfo> = match &info.leg {
        None => vec![info],
        Some(_) => view.recording.info.flows.iter().filter(|other| other.is_of_same_flow(info)).collect(),
    };
    let is_crossed = |link: &&LinkInfo| {
        legs.iter().any(|leg| leg.links.contains(&link.name) || leg.links.is_empty() && all.len() == 1)
    };
    let rates: Option<Vec<u64>> = all
        .iter()
        .filter(is_crossed)
        .map(|link| Some(link.rate_bps).filter(|rate| *rate > 0 && !link.is_assumed))
        .collect();
    let slowest = rates?.into_iter().min()? as f64;
    let base_rtt_ns: i64 = legs.iter().map(|leg| leg.base_rtt_ns).sum();
    Some(base_rtt_ns as f64 + bytes as f64 * 8e9 / slowest)
}

/// The payload of a flow with a size that came and went within the measurement window, in bytes.
pub(crate) fn payload_within(view: &View, flow: u32) -> Option<f64> {
    let flow = [flow];
    let (number, info, bytes) = sized(view, &flow).next()?;
    let end = info.start_ns + time(view, number, info, bytes)? as i64;
    (info.start_ns >= view.from_ns && end <= view.to_ns).then_some(bytes as f64)
}

/// Completion time of one flow with a size, ns.
pub(crate) fn flow_time(view: &View, flow: &FlowSeries) -> Option<f64> {
    times(view, &[flow.number]).first().copied().flatten()
}

/// Slowdown of one flow with a size.
pub(crate) fn flow_slowdown(view: &View, flow: &FlowSeries) -> Option<f64> {
    slowdowns(view, &[flow.number]).first().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_did_not_end_are_the_slowest() {
        let values: Values = vec![Some(1.0), Some(2.0), Some(3.0), None, None];
        assert_eq!(quantile_of(&values, 0.5), Some(3.0));
        assert_eq!(quantile_of(&values, 0.25), Some(2.0));
        assert_eq!(quantile_of(&values, 0.6), None);
        assert_eq!(quantile_of(&vec![None], 0.5), None);
        assert_eq!(mean_of(&values), None);
        assert_eq!(mean_of(&vec![Some(1.0), Some(2.0)]), Some(1.5));
    }
}
