//! Episodes of loss, and the window before and after each.

use crate::retransmission::RetransmissionKind;

/// The begin of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LossEvent {
    /// Time of the first retransmission.
    pub t_ns: i64,
    /// Kind of the first retransmission.
    pub kind: RetransmissionKind,
    /// Bytes in flight before it.
    pub before: i64,
    /// Bytes in flight when data was sent first after the recovery.
    pub after: Option<i64>,
}

impl LossEvent {
    /// So many are kept.
    pub(crate) const MOST: usize = 2_048;

    /// The window after, as a share of that before; not after a timeout, which resets it.
    pub(crate) fn factor(&self) -> Option<f64> {
        let is_fast = matches!(self.kind, RetransmissionKind::Fast | RetransmissionKind::Rack);
        let after = self.after.filter(|_| is_fast && self.before > 0)?;
        Some(after as f64 / self.before as f64)
    }
}
