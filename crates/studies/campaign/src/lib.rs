//! Executes the runs of a study on threads of this process or on a cluster, and resumes an interrupted campaign. Judges the
//! results by the study's expectations, and makes tables and one report of them.

mod budget;
mod campaign;
mod executor;
mod in_order;
mod order;
mod plan;
mod remaining;
mod repeats;
mod result_tables;
mod series;
mod shard;
mod slurm;
mod status;
mod threads;
mod verdict;
mod work;

pub use budget::Budget;
pub use campaign::Campaign;
pub use executor::{Executor, Observer, Outcome, Task};
pub use in_order::in_order;
pub use order::Order;
pub use plan::{Plan, PlanError};
pub use remaining::Remaining;
pub use repeats::{Repeats, Uncertain};
pub use result_tables::ResultTables;
pub use shard::{Shard, ShardError, shards_of};
pub use slurm::{Slurm, SlurmError, cancel_job, queue_of};
pub use status::{Status, StatusFile, campaigns_in, read_statuses};
pub use threads::Threads;
pub use verdict::{Judged, StudyReport, judge, judge_run};
