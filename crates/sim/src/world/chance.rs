//! Whether chance plays a part in a run.

use wirespeed_congestion::algorithm;
use wirespeed_scenario::Run;
use wirespeed_scenario::run::{Direction, FlowKind, Host, LossModel, Queue};

/// Whether another seed could give another result: something of `run` draws. If not, all its repetitions are one.
///
/// A component that begins to draw has to be added here; the tests run random scenarios of which this says no with
/// two seeds.
pub fn depends_on_seed(run: &Run) -> bool {
    let mut links = run.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    links.any(link) || run.hosts.iter().any(host) || run.flows.iter().any(|flow| draws(&flow.kind))
}

fn link(direction: &Direction) -> bool {
    let loses = direction.loss > 0.0 || !matches!(direction.loss_model, LossModel::Independent);
    loses || matches!(direction.queue, Queue::Red { .. })
}

/// The hash of receive queues, the scheduler and irqbalance draw; time stamps begin at a random number.
fn host(host: &Host) -> bool {
    host.hardware.is_some() || host.tcp.timestamps
}

fn draws(kind: &FlowKind) -> bool {
    match kind {
        FlowKind::Tcp { congestion, .. } => algorithm(&congestion.name).is_none_or(|row| row.draws),
        FlowKind::Udp { .. } => false,
    }
}
