//! How often flows reduced their congestion windows.

use crate::registry::{Better, Metric};
use crate::view::{FlowSeries, View};
use wirespeed_record::FlowSample;

pub(crate) const ROWS: &[Metric] = &[Metric {
    name: "window_cycles",
    unit: "",
    definition: "Times a TCP flow reduced its congestion window in the measurement window; the least over flows. A \
                 sample counts if packets were retransmitted since the one before, or it shows CWR, recovery or loss \
                 (ca_state), and the one before showed none of these states; and if it shows another finite ssthresh \
                 than the one before, which Vegas and YeAH move without a loss. What lies between two samples counts once.",
    reference: "RFC 5681, sections 3.1 and 3.2; tcpi_ca_state, tcpi_snd_ssthresh",
    better: Better::Neither,
    headline: false,
    compute: |view| view.measured().filter_map(|f| window_cycles(view, f)).reduce(f64::min),
}];

/// The metric `window_cycles` of one flow. `None` of a flow without a measurement window or recorded retransmissions.
pub fn window_cycles(view: &View, flow: &FlowSeries) -> Option<f64> {
    let times = view.flow_samples.times();
    let (from, to) = flow.own;
    if to <= from {
        return None;
    }
    let again = view.flow_samples.column(FlowSample::retrans_packets);
    let state = view.flow_samples.column(FlowSample::ca_state);
    let ssthresh = view.flow_samples.column(FlowSample::ssthresh_bytes);
    if again[flow.samples.clone()].iter().all(|count| count.is_nan()) {
        return None;
    }
    /// CWR, the first of the states in which the window is being reduced.
    const CWR: f64 = 2.0;
    let grew = |i: usize| i > flow.samples.start && again[i] > again[i - 1];
    // Where the state is not recorded, retransmissions stand for it.
    let reducing = |i: usize| if state[i].is_nan() { grew(i) } else { state[i] >= CWR };
    let begins = |i: usize| (grew(i) || reducing(i)) && !reducing(i - 1);
    let another =
        |i: usize| ssthresh[i] != ssthresh[i - 1] && !ssthresh[i].is_nan() && !ssthresh[i - 1].is_nan();
    let measured = flow.samples.clone().skip(1).filter(|i| times[*i] > from && times[*i] <= to);
    Some(measured.filter(|i| begins(*i) || another(*i)).count() as f64)
}
