//! A published study, run again: its scenarios and claims, the runs that these need, and their results.

pub mod claims;
mod conclusion;
mod folder;
mod measure;
mod page;
mod plan;
mod recorded;
mod results;
mod settings;
mod setup;
mod table;

pub use conclusion::{Conclusion, ConclusionRow, Support};
pub use folder::StudyFiles;
pub use measure::{Found, NoNumbers, read_all};
pub use page::page;
pub use plan::{CellPlan, ClaimPlan, FigurePlan, Plan, Wanted};
pub use recorded::Recorded;
pub use results::{CarriedOut, ClaimResult, Entry, FigureCell, Results, Summary};
pub use settings::{DrawRow, FigureRow, Form, Settings};
pub use table::{summary_lines, table};
