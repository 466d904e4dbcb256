//! Changes of a host's settings as a transaction.
//!
//! [`plan()`] reads the present values, drops changes that are already in effect, and orders the rest. [`apply`] writes a
//! [`Journal`] with every old value first, then changes, reads back, and restores everything on any failure.
//! [`revert`] puts the old values back, also after a `kill -9` at any point. [`wait_for_confirmation`] is the
//! dead-man timer: it reverts unless [`confirm`] comes in time.

mod apply;
mod deadman;
mod folder;
mod host;
mod identity;
mod journal;
mod managers;
mod observer;
mod order;
mod persist;
mod plan;
mod revert;

pub use apply::{ApplyError, Cause, Options, Timer, apply, check_ready, resume};
pub use deadman::{ConfirmError, TimerOutcome, confirm, wait_for_confirmation};
pub use folder::{DEFAULT_FOLDER, Folder, FolderError, Lock};
pub use host::{Host, ThisHost};
pub use identity::{Identity, Process};
pub use journal::{Header, Journal, Mark, State, StepState};
pub use managers::owner;
pub use observer::{Flow, Observer, Point};
pub use persist::{FileRecord, PersistError, PersistentFile};
pub use plan::{Conflict, Impossible, Plan, PlanError, Step, plan};
pub use revert::{Failed, Report, RevertError, revert, still_set};
pub use wirespeed_host::settings::{Saved, SettingError};
