//! Risks of a plan: ceilings of hosts, and conditions that it depends on.

use crate::answer::Rate;
use crate::axis::Axis;
use crate::budget::{Budget, Crossing};
use crate::host;
use crate::question::Question;
use crate::text::counted;
use serde::Serialize;
use wirespeed_diagnosis::audit::needs::{core_ceiling_bps, rate, receive_ring, window_ceiling_bps};
use wirespeed_diagnosis::audit::{Path, Profile};

/// A ceiling or a condition that the plan depends on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Risk {
    /// Its subject.
    pub what: &'static str,
    /// The risk in a sentence, with its numbers.
    pub text: String,
}

/// A budget is small if the path's own value is closer to it than this factor.
const MARGIN: f64 = 3.0;

/// The risks of a plan, worst first.
pub(crate) fn of(question: &Question, rates: &[Rate], budgets: &[Budget]) -> Vec<Risk> {
    let mut risks = Vec::new();
    let mut add = |what, text| risks.push(Risk { what, text });
    let (asked, one) = (question.rate.get(), question.path(1));
    if let Some(ceiling) = window_ceiling_bps(&one).filter(|ceiling| *ceiling < asked) {
        add(
            "window",
            format!("a flow carries at most {}: the largest window is 1 GiB (RFC 7323)", rate(ceiling)),
        );
    }
    let core = core_ceiling_bps(&one);
    if core < asked {
        let text = format!(
            "a flow on one core carried {} in kit-2019 (MTU {}); newer cores carry more, `wirespeed probe` measures it",
            rate(core),
            one.mtu_bytes
        );
        add("core", text);
    }
    if let Some(text) = ring(&one) {
        add("receive ring", text);
    }
    if let Some(pcie) = pcie(question) {
        add("PCIe", pcie);
    }
    if question.is_buffer_assumed {
        let text = format!(
            "the buffer of {} is an assumption; give --buffer, the table of budgets shows what depends on it",
            question.buffer
        );
        add("buffer", text);
    }
    for budget in budgets.iter().filter(|budget| budget.axis == Axis::Loss && question.loss > 0.0) {
        if let Crossing::At { value, .. } = budget.crossing
            && value < question.loss * MARGIN
        {
            let text = format!(
                "{} with {} falls to {:.0} % of the rate at a loss rate of {value:.1e}, the path has {:.1e}",
                budget.congestion,
                counted(budget.flows),
                budget.left * 100.0,
                question.loss
            );
            add("loss", text);
        }
    }
    let short = rates.iter().filter(|rate| !rate.measured.is_settled).count();
    if short > 0 {
        let text = format!(
            "{short} of {} rates are those of the first seconds: to settle takes longer than --effort {} simulates",
            rates.len(),
            match question.effort {
                crate::Effort::Low => "low",
                crate::Effort::Normal => "normal",
                crate::Effort::High => "high",
            }
        );
        add("length", text);
    }
    risks
}

/// A ring that is larger than what interfaces have.
fn ring(path: &Path) -> Option<String> {
    /// Descriptors of the largest ring of usual interfaces of 100 Gbit/s and more (mlx5, ice).
    const LARGEST: u64 = 8192;
    let need = receive_ring(path, Profile::Wan, 0);
    (need.value > LARGEST).then(|| {
        format!(
            "one queue needs {} descriptors for a pause of 4 ms, and usual rings end at {LARGEST}: spread the flows over queues",
            need.value
        )
    })
}

/// The bus of a preset that is slower than the path.
fn pcie(question: &Question) -> Option<String> {
    let name = question.host.as_deref()?;
    let hardware = host::hardware(question)?;
    let ceiling = hardware.nic.bus?.get();
    (ceiling < question.rate.get())
        .then(|| format!("the interface of {name} is on a bus of {}, slower than the path", rate(ceiling)))
}
