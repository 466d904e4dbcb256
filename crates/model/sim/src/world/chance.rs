//! Whether chance plays a part in a run.

use wirespeed_congestion::algorithm;
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Direction, Flow, FlowKind, Host, LossModel, Queue};

/// Whether another seed could give another result: something of `run` draws. If not, all its repetitions are one.
///
/// A component that begins to draw has to be added here; the tests run random scenarios of which this says no with
/// two seeds.
pub fn depends_on_seed(run: &Run) -> bool {
    let mut links = run.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    let mut flows = run.flows.iter();
    links.any(link)
        || run.hosts.iter().any(host)
        || flows.any(|flow| draws(&flow.kind) || reads_time_stamps(run, flow))
}

fn link(direction: &Direction) -> bool {
    let loses = direction.states().any(|state| state.loss > 0.0)
        || !matches!(direction.loss_model, LossModel::Independent);
    let chooses = direction.reorder.is_some() || direction.duplicate.is_some();
    loses || chooses || matches!(direction.queue, Queue::Red { .. } | Queue::DualPi2(_))
}

/// The hash of receive queues, the scheduler and irqbalance draw.
fn host(host: &Host) -> bool {
    host.hardware.is_some()
}

/// Time stamps begin at a random number. TCP-LP computes with them in 32 bits that wrap around; every other algorithm and
/// the socket only compare or subtract those of one host.
fn reads_time_stamps(run: &Run, flow: &Flow) -> bool {
    let FlowKind::Tcp { congestion, .. } = &flow.kind else { return false };
    congestion.name == "lp" && [&flow.from, &flow.to].iter().all(|name| run.host(name).tcp.timestamps)
}

fn draws(kind: &FlowKind) -> bool {
    match kind {
        FlowKind::Tcp { congestion, .. } => algorithm(&congestion.name).is_none_or(|row| row.draws),
        FlowKind::Udp { .. } => false,
    }
}
