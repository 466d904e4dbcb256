//! What a link can lose packets to, and how much it has lost to each.

use super::link::LinkStatistics;
use super::settings::{LinkSettings, LossSettings, QueueSettings};
use wirespeed_record::Cause;

/// The causes of drops and losses that the settings of a link allow.
#[derive(Debug, Clone)]
pub struct Causes(Vec<Cause>);

impl Causes {
    /// Those of `settings`. fq drops for several limits, which are not told apart: it has none.
    pub fn of(settings: &LinkSettings) -> Causes {
        let queue: &[Cause] = match settings.queue {
            QueueSettings::Fq(_) => return Causes(Vec::new()),
            QueueSettings::Red(_) => &[Cause::QueueFull, Cause::Red],
            QueueSettings::CoDel(_) | QueueSettings::FqCodel(_) => &[Cause::QueueFull, Cause::CoDel],
            QueueSettings::DualPi2(_) => &[Cause::QueueFull, Cause::Pi2],
            QueueSettings::DropTailBytes { .. }
            | QueueSettings::DropTailPackets { .. }
            | QueueSettings::PtrRing { .. } => &[Cause::QueueFull],
        };
        let mut causes: Vec<Cause> = settings.policer.map(|_| Cause::Policer).into_iter().collect();
        causes.extend(queue);
        causes.extend(settings.port_limit.map(|_| Cause::PortLimit));
        causes.push(random(settings));
        causes.extend((!settings.outages.is_empty()).then_some(Cause::Outage));
        Causes(causes)
    }

    /// Packets dropped or lost by each of them, in the order in which a link decides.
    pub fn packets(&self, s: &LinkStatistics) -> Vec<(Cause, u64)> {
        let of = |cause: &Cause| match cause {
            Cause::Policer => s.policed_packets,
            Cause::QueueFull => s.overflow_packets - s.policed_packets - s.managed_packets,
            Cause::Red | Cause::CoDel | Cause::Pi2 => s.managed_packets,
            Cause::PortLimit => s.port_packets,
            Cause::RandomLoss | Cause::BitErrors | Cause::BurstLoss => {
                s.lost_packets - s.port_packets - s.outage_packets
            }
            Cause::Outage => s.outage_packets,
        };
        self.0.iter().map(|cause| (*cause, of(cause))).collect()
    }
}

/// How losses at random come about. Without any it is said of the plainest that there were none.
fn random(settings: &LinkSettings) -> Cause {
    match settings.loss {
        LossSettings::None | LossSettings::Random { .. } => Cause::RandomLoss,
        LossSettings::BitError { .. } => Cause::BitErrors,
        LossSettings::GilbertElliott { .. } => Cause::BurstLoss,
    }
}
