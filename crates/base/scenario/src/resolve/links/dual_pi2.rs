//! The settings of a queue `dualpi2`.

use super::direction::Side;
use crate::error::Complaint;
use crate::file::QueueTable;
use crate::resolve::{positive, within};
use crate::run::{DualPi2, Queue, Step};
use wirespeed_units::Span;

/// Defaults of Linux (net/sched/sch_dualpi2.c, `dualpi2_reset_default`), which are those of RFC 9332, appendix A.1, for a round-trip
/// time of 100 ms at most.
const TARGET: Span = Span::ms(15);
const TUPDATE: Span = Span::ms(16);
const ALPHA_PER_S: f64 = 0.16;
const BETA_PER_S: f64 = 3.2;
const COUPLING: f64 = 2.0;
const STEP: Span = Span::ms(1);
const CLASSIC_PROTECTION_PERCENT: u8 = 10;
/// The longest time that is plausible.
const LONGEST: Span = Span::secs(10);
/// The largest plausible gain and coupling factor. Linux has eight bits for the factor.
const LARGEST_GAIN: f64 = 1e6;
const LARGEST_COUPLING: f64 = 255.0;

impl Side<'_> {
    /// The queue of a table of that kind.
    pub(super) fn dual_pi2(&self, table: QueueTable) -> Result<Queue, Complaint> {
        let QueueTable::DualPi2 {
            target,
            tupdate,
            alpha,
            beta,
            coupling,
            step,
            step_packets,
            min_qlen_step,
            classic_protection,
            overload,
        } = table
        else {
            unreachable!("called for that kind only")
        };
        let time = |given: Option<Span>, default: Span, key: &str| {
            let (name, at) = self.queue_key(key);
            let span = given.unwrap_or(default);
            positive(span, &name, at, LONGEST).map(|()| span)
        };
        let number = |given: Option<f64>, default: f64, (least, most): (f64, f64), key: &str| {
            let (name, at) = self.queue_key(key);
            let value = given.unwrap_or(default);
            if (least..=most).contains(&value) {
                return Ok(value);
            }
            Err(Complaint::at(&at, format!("{name}: {value} is out of range"))
                .label("out of range")
                .help(format!("write a number from {least} to {most}; the default is {default}")))
        };
        if step.is_some()
            && let Some(packets) = step_packets
        {
            let (name, at) = self.queue_key("step_packets");
            return Err(Complaint::at(&at, format!("{name}: {packets} is a second threshold beside step"))
                .label("one threshold too many")
                .help("leave out step or step_packets"));
        }
        let protection = classic_protection.unwrap_or(CLASSIC_PROTECTION_PERCENT);
        let (name, at) = self.queue_key("classic_protection");
        within(protection.into(), 0..=100, &name, &at)?;
        Ok(Queue::DualPi2(DualPi2 {
            target: time(target, TARGET, "target")?,
            tupdate: time(tupdate, TUPDATE, "tupdate")?,
            alpha_per_s: number(alpha, ALPHA_PER_S, (0.0, LARGEST_GAIN), "alpha")?,
            beta_per_s: number(beta, BETA_PER_S, (0.0, LARGEST_GAIN), "beta")?,
            coupling: number(coupling, COUPLING, (1.0, LARGEST_COUPLING), "coupling")?,
            step: match step_packets {
                Some(packets) => Step::Packets(packets),
                None => Step::Time(time(step, STEP, "step")?),
            },
            min_qlen_step: min_qlen_step.unwrap_or(0),
            classic_protection_percent: protection,
            overload: overload.unwrap_or_default(),
        }))
    }
}
