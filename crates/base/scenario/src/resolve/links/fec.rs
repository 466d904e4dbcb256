//! Forward error correction of a direction.

use super::direction::{Side, Way};
use crate::error::Complaint;
use crate::file::FecTable;
use crate::resolve::{LONGEST_DELAY, check_delay, positive, within};
use crate::run::{Direction, Fec, Queue};
use wirespeed_units::Span;

impl Side<'_> {
    /// The forward error correction of `direction`, which has all its other settings.
    pub(super) fn fec(&self, direction: &Direction) -> Result<Option<Fec>, Complaint> {
        let (own, shared) = (&self.own().fec, self.way == Way::Forward);
        let Some(table) = own.as_ref().or(self.table.fec.as_ref().filter(|_| shared)) else {
            return Ok(None);
        };
        let FecTable { data, interleave, flush, hold } = table;
        let place = |key: &str| self.origin(own.is_some(), &["fec", key]);
        let (name, at) = place("data");
        within(u64::from(*data), 1..=u64::from(Fec::MOST_DATA), &name, &at)?;
        let flush = flush.unwrap_or(Fec::FLUSH);
        let (name, at) = place("flush");
        positive(flush, &name, at, LONGEST_DELAY)?;
        let hold = hold.unwrap_or(Span::ZERO);
        let (name, at) = place("hold");
        check_delay(hold, &name, at)?;
        self.check_interleave(interleave, own.is_some())?;
        if interleave.is_empty() {
            return Ok(None);
        }
        if let Some((what, remedy)) = excluded(direction) {
            let (name, at) = self.origin(own.is_some(), &["fec"]);
            return Err(Complaint::at(&at, format!("{name}: not on a direction with {what}"))
                .label("not available there")
                .help(remedy));
        }
        Ok(Some(Fec { data: *data, interleave: interleave.clone(), flush, hold }))
    }

    fn check_interleave(&self, interleave: &[u32], own: bool) -> Result<(), Complaint> {
        let (name, at) = self.origin(own, &["fec", "interleave"]);
        let fault = |wrong: String, label: &str, help: &str| {
            Err(Complaint::at(&at, format!("{name}: {wrong}")).label(label).help(help))
        };
        if interleave.len() > Fec::MOST_LAYERS {
            return fault(
                format!("{} layers are more than {}", interleave.len(), Fec::MOST_LAYERS),
                "too many",
                "write fewer layers, for example [1, 20, 40]",
            );
        }
        for value in interleave {
            within(u64::from(*value), 1..=u64::from(Fec::WIDEST), &name, &at)?;
        }
        if let Some(pair) = interleave.windows(2).find(|pair| pair[0] >= pair[1]) {
            return fault(
                format!("{} comes after {}", pair[1], pair[0]),
                "not in rising order",
                "write each interleave once, the smallest first, for example [1, 20, 40]",
            );
        }
        Ok(())
    }
}

/// A setting of a direction that excludes forward error correction, and the remedy.
fn excluded(direction: &Direction) -> Option<(&'static str, &'static str)> {
    if direction.reorder.is_some() {
        return Some(("`reorder`", "leave out fec, or reorder"));
    }
    if direction.duplicate.is_some() {
        return Some(("`duplicate`", "leave out fec, or duplicate"));
    }
    // These queues decide the fate of a packet after it has come, and the model needs it before.
    match direction.queue {
        Queue::CoDel { .. } => Some(("queue codel", "leave out fec, or choose another queue")),
        Queue::FqCodel { .. } => Some(("queue fq-codel", "leave out fec, or choose another queue")),
        Queue::DualPi2(_) => Some(("queue dualpi2", "leave out fec, or choose another queue")),
        Queue::DropTail { .. } | Queue::DropTailPackets { .. } | Queue::Red { .. } => None,
    }
}
