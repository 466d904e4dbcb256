//! Points of a transaction at which its caller is called.

use wirespeed_inventory::Setting;

/// A point between two actions. A crash at any of them must leave a host that [`crate::revert`] puts back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point<'a> {
    /// The journal with all old values is on the disk; nothing is changed yet.
    JournalWritten,
    /// The journal has the start of a step; the setting is not changed yet.
    Starting(&'a Setting),
    /// The setting is changed; the journal does not have it yet.
    Changed(&'a Setting),
    /// The journal has the change.
    Done(&'a Setting),
    /// A file of a persistent setting is written.
    FileWritten(&'a str),
    /// The journal has the start of a restoration; the setting is not put back yet.
    PuttingBack(&'a Setting),
    /// A setting is put back; the journal does not have it yet.
    PutBack(&'a Setting),
    /// The journal has the restoration.
    Restored(&'a Setting),
    /// A file is removed.
    FileRemoved(&'a str),
}

/// The decision of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    Continue,
    /// Restore everything, then end. A restoration that has begun is completed.
    Interrupt,
    /// End at once, as if the process were killed. For tests.
    Stop,
}

/// A caller that follows a transaction.
pub trait Observer {
    /// Called at each point.
    fn reached(&mut self, point: Point<'_>) -> Flow;
}

impl<F: FnMut(Point<'_>) -> Flow> Observer for F {
    fn reached(&mut self, point: Point<'_>) -> Flow {
        self(point)
    }
}
