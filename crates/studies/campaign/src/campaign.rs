//! A campaign: the runs of a study, each of which is kept, copied or executed.

use crate::executor::{Executor, Observer, Outcome, Task};
use crate::order::Order;
use crate::series;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wirespeed_record::{Cost, RunDirectory, RunInfo, RunState, open, read_info};
use wirespeed_scenario::Run;
use wirespeed_substrates::{Substrate, SubstrateError};

/// The runs of a study on a substrate.
pub struct Campaign<'a> {
    /// The runs, in the order of their results.
    pub runs: &'a [Run],
    /// The substrate that they are for.
    pub substrate: &'a dyn Substrate,
    /// Executes those that are missing, on that substrate.
    pub executor: &'a dyn Executor,
    /// Each run gets a directory of its name in this folder.
    pub folder: &'a Path,
    /// Whether complete runs are executed again.
    pub fresh: bool,
    /// The order of execution.
    pub order: Order,
    /// The command that repeats a run, for its recording.
    pub command: &'a dyn Fn(&Run) -> String,
}

impl Campaign<'_> {
    /// Executes the runs that are missing; the outcomes are in the order of the runs. Setting `cancel` ends the
    /// campaign after tidying up; complete runs are kept.
    ///
    /// Repetitions that differ only in a seed that nothing draws from are executed once and copied.
    pub fn carry_out(&self, cancel: &AtomicBool, observer: &dyn Observer) -> Vec<Outcome> {
        let originals = originals(self.runs, self.substrate);
        let (copies, own): (Vec<usize>, Vec<usize>) =
            (0..self.runs.len()).partition(|index| originals.contains_key(index));
        let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
        // Copies last: their originals are there then.
        for part in [own, copies] {
            let mut tasks = Vec::new();
            for index in part {
                let run = &self.runs[index];
                let original = originals.get(&index).map(|index| &self.runs[*index]);
                match self.without_execution(index, original, cancel, observer) {
                    Some(outcome) => {
                        observer.ended(index, &outcome);
                        outcomes.insert(index, outcome);
                    }
                    None => tasks.push(Task {
                        index,
                        run,
                        directory: self.folder.join(&run.id),
                        command: (self.command)(run),
                    }),
                }
            }
            self.order.arrange(&mut tasks);
            let executed = self.executor.execute(&tasks, cancel, observer);
            outcomes.extend(tasks.iter().map(|task| task.index).zip(executed));
        }
        outcomes.into_values().collect()
    }

    /// The outcome of a run that is kept, or copied from its `original` if that is there; `None` if it has to be executed.
    fn without_execution(
        &self,
        index: usize,
        original: Option<&Run>,
        cancel: &AtomicBool,
        observer: &dyn Observer,
    ) -> Option<Outcome> {
        let run = &self.runs[index];
        let path = self.folder.join(&run.id);
        if cancel.load(Relaxed) {
            return Some(Outcome::Interrupted);
        }
        if !self.fresh
            && let Some(info) = self.there(&path, run)
        {
            return Some(match series::reduce(&path, &info, run) {
                Ok(()) => Outcome::Kept(path),
                Err(error) => Outcome::Failed(error.into()),
            });
        }
        let original =
            original.filter(|original| self.there(&self.folder.join(&original.id), original).is_some())?;
        observer.started(index);
        Some(match self.copy(run, original, &path) {
            Ok(()) => Outcome::Done(path),
            Err(error) => Outcome::Failed(error),
        })
    }

    /// The very same run if it is there, complete and with all rows that are wanted. It has the same resolved scenario, substrate
    /// and program.
    fn there(&self, path: &Path, run: &Run) -> Option<Box<RunInfo>> {
        let Ok(RunState::Complete(info)) = open(path) else { return None };
        let is_same = info.scenario == self.substrate.recorded(run)
            && info.substrate == self.substrate.kind()
            && info.kernel.as_ref().map(|kernel| kernel.build.clone())
                == self.substrate.build(run.kernel.as_ref())
            && info.tool.program.as_deref() == self.substrate.program();
        (is_same && info.series.suffices_for(series::wanted(run))).then_some(info)
    }

    fn copy(&self, run: &Run, original: &Run, path: &Path) -> Result<(), SubstrateError> {
        let from = self.folder.join(&original.id);
        let info = RunInfo {
            id: run.id.clone(),
            repeat: run.repeat,
            seed: run.seed,
            scenario: self.substrate.recorded(run),
            cost: Cost::default(),
            command: (self.command)(run),
            copy_of: Some(original.id.clone()),
            ..read_info(&from)?
        };
        Ok(RunDirectory::create(path)?.finish_as_copy(&from, &info)?)
    }
}

/// For each run that has to give what an earlier one gives, that one.
pub(crate) fn originals(runs: &[Run], substrate: &dyn Substrate) -> BTreeMap<usize, usize> {
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut originals = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        if substrate.depends_on_seed(run) {
            continue;
        }
        match first.entry(run.settings_but(&["id", "repeat", "seed"])) {
            Entry::Vacant(entry) => {
                entry.insert(index);
            }
            Entry::Occupied(entry) => {
                originals.insert(index, *entry.get());
            }
        }
    }
    originals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::{EARLIER, Threads};
    use std::sync::atomic::AtomicUsize;
    use wirespeed_record::{Recording, SubstrateKind, ToolInfo};
    use wirespeed_scenario::run::KernelChoice;
    use wirespeed_substrates::{Control, Progress};

    /// Carries out runs by writing down what they are; the second of the study fails.
    #[derive(Default)]
    struct Scribe {
        count: AtomicUsize,
        program: Option<&'static str>,
        kind: SubstrateKind,
        is_in_real_time: bool,
        /// So many executions fail before the first one succeeds.
        failures: usize,
        retries: u32,
    }

    impl Substrate for Scribe {
        fn kind(&self) -> SubstrateKind {
            self.kind
        }
        fn build(&self, _: Option<&KernelChoice>) -> Option<String> {
            None
        }
        fn program(&self) -> Option<&'static str> {
            self.program
        }
        fn check(&self, _: &Run) -> Result<(), SubstrateError> {
            Ok(())
        }
        fn one_at_a_time(&self) -> bool {
            self.is_in_real_time
        }
        fn depends_on_seed(&self, run: &Run) -> bool {
            run.links[0].forward.loss > 0.0
        }
        fn carry_out(
            &self,
            run: &Run,
            _: &RunDirectory,
            control: &Control,
        ) -> Result<Recording, SubstrateError> {
            let earlier = self.count.fetch_add(1, Relaxed);
            (control.progress)(Progress::default());
            if earlier < self.failures {
                return Err(SubstrateError::Environment(format!("failure {earlier}")));
            }
            if run.id.contains("=bic") {
                return Err(SubstrateError::Environment("no room".into()));
            }
            let info = RunInfo {
                id: run.id.clone(),
                seed: run.seed,
                substrate: self.kind,
                scenario: run.recorded(),
                ..Default::default()
            };
            Ok(Recording { info, ..Default::default() })
        }
    }

    struct Silent;
    impl Observer for Silent {
        fn started(&self, _: usize) {}
        fn progressed(&self, _: usize, _: Progress) {}
        fn ended(&self, _: usize, _: &Outcome) {}
    }

    fn runs() -> Vec<Run> {
        let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n\
                    [[flow]]\n[run]\nduration = \"1 s\"\n[sweep]\n\"flow.congestion\" = [\"reno\", \"bic\", \"cubic\"]\n";
        wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs
    }

    /// The outcomes of a campaign with a pool of two threads.
    fn carry_out(
        runs: &[Run],
        scribe: &Scribe,
        folder: &Path,
        fresh: bool,
        cancel: &AtomicBool,
    ) -> Vec<Outcome> {
        let command: &dyn Fn(&Run) -> String = &|run| format!("run {}", run.id);
        let threads = Threads { retries: scribe.retries, ..Threads::new(scribe, 2, ToolInfo::default()) };
        let order = Order::Study;
        let campaign =
            Campaign { runs, substrate: scribe, executor: &threads, folder, fresh, order, command };
        campaign.carry_out(cancel, &Silent)
    }

    #[test]
    fn only_runs_on_the_model_carry_the_stamp() {
        let runs = runs();
        for (kind, is_stamped) in [(SubstrateKind::Model, true), (SubstrateKind::Kernel, false)] {
            let (folder, scribe) = (tempfile::tempdir().unwrap(), Scribe { kind, ..Default::default() });
            carry_out(&runs, &scribe, folder.path(), false, &AtomicBool::new(false));
            let info = read_info(&folder.path().join(&runs[0].id)).unwrap();
            let stamp = info.validated_region.map(|region| region.to_string());
            assert_eq!(stamp.as_deref(), is_stamped.then_some("Validated region: inside (section paths)"));
        }
    }

    #[test]
    fn complete_runs_are_kept_and_failed_ones_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe) = (runs(), Scribe::default());
        let go = AtomicBool::new(false);
        let first = carry_out(&runs, &scribe, folder.path(), false, &go);
        assert!(matches!(first[..], [Outcome::Done(_), Outcome::Failed(_), Outcome::Done(_)]), "{first:?}");
        let again = carry_out(&runs, &scribe, folder.path(), false, &go);
        assert!(matches!(again[..], [Outcome::Kept(_), Outcome::Failed(_), Outcome::Kept(_)]), "{again:?}");
        assert_eq!(scribe.count.load(Relaxed), 4);
        let fresh = carry_out(&runs, &scribe, folder.path(), true, &go);
        assert!(matches!(fresh[0], Outcome::Done(_)));
    }

    #[test]
    fn failed_run_is_tried_again_and_its_recording_has_the_causes() {
        for (failures, is_done) in [(2, true), (3, false)] {
            let folder = tempfile::tempdir().unwrap();
            let (runs, go) = (runs(), AtomicBool::new(false));
            let scribe = Scribe { failures, retries: 2, ..Default::default() };
            let outcomes = carry_out(&runs[..1], &scribe, folder.path(), false, &go);
            assert_eq!(matches!(outcomes[..], [Outcome::Done(_)]), is_done, "{outcomes:?}");
            assert_eq!(scribe.count.load(Relaxed), 3);
            let state = open(&folder.path().join(&runs[0].id)).unwrap();
            match state {
                RunState::Complete(info) => assert_eq!(
                    info.warnings,
                    ["attempt 1 of 3 failed: failure 0", "attempt 2 of 3 failed: failure 1"]
                ),
                RunState::Incomplete(reason) => assert_eq!(reason, "failure 2"),
            }
        }
    }

    #[test]
    fn run_beyond_the_budget_is_postponed() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe, go) = (runs(), Scribe::default(), AtomicBool::new(false));
        let budget = Some(crate::Budget::new(std::time::Duration::ZERO));
        let threads = Threads { budget, ..Threads::new(&scribe, 2, ToolInfo::default()) };
        let tasks: Vec<Task> = runs
            .iter()
            .enumerate()
            .map(|(index, run)| Task {
                index,
                run,
                directory: folder.path().join(&run.id),
                command: String::new(),
            })
            .collect();
        let outcomes = threads.execute(&tasks, &go, &Silent);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Postponed)), "{outcomes:?}");
        assert_eq!(scribe.count.load(Relaxed), 0);
    }

    /// Executes nothing, and keeps the numbers of the runs that it was asked for.
    #[derive(Default)]
    struct Idle(std::sync::Mutex<Vec<usize>>);

    impl Executor for Idle {
        fn execute(&self, tasks: &[Task<'_>], _: &AtomicBool, _: &dyn Observer) -> Vec<Outcome> {
            self.0.lock().unwrap().extend(tasks.iter().map(|task| task.index));
            tasks.iter().map(|_| Outcome::Interrupted).collect()
        }
    }

    #[test]
    fn executor_gets_the_missing_runs_only() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe, idle) = (runs(), Scribe::default(), Idle::default());
        let go = AtomicBool::new(false);
        carry_out(&runs[..2], &scribe, folder.path(), false, &go);
        let campaign = Campaign {
            runs: &runs,
            substrate: &scribe,
            executor: &idle,
            folder: folder.path(),
            fresh: false,
            order: Order::Study,
            command: &|_| String::new(),
        };
        let outcomes = campaign.carry_out(&go, &Silent);
        assert!(
            matches!(outcomes[..], [Outcome::Kept(_), Outcome::Interrupted, Outcome::Interrupted]),
            "{outcomes:?}"
        );
        assert_eq!(*idle.0.lock().unwrap(), [1, 2]);
    }

    #[test]
    fn measured_run_is_set_aside_before_another_takes_its_place() {
        for is_in_real_time in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let (runs, scribe) = (runs(), Scribe { is_in_real_time, ..Default::default() });
            for _ in 0..2 {
                carry_out(&runs[..1], &scribe, &folder.path().join("runs"), true, &AtomicBool::new(false));
            }
            let earlier = wirespeed_record::find_runs(&folder.path().join(EARLIER)).unwrap_or_default();
            assert_eq!(earlier.len(), usize::from(is_in_real_time));
        }
    }

    #[test]
    fn a_changed_run_is_not_taken_for_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let (mut runs, scribe) = (runs(), Scribe::default());
        let go = AtomicBool::new(false);
        carry_out(&runs, &scribe, folder.path(), false, &go);
        runs[0].seed += 1;
        let again = carry_out(&runs, &scribe, folder.path(), false, &go);
        assert!(matches!(again[0], Outcome::Done(_)), "{again:?}");
    }

    #[test]
    fn results_of_another_version_of_the_model_are_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, go) = (runs(), AtomicBool::new(false));
        let first_outcome = |program: Option<&'static str>| {
            let scribe = Scribe { program, ..Default::default() };
            carry_out(&runs, &scribe, folder.path(), false, &go).swap_remove(0)
        };
        // A recording of before programs were told apart is of nobody knows which.
        assert!(matches!(first_outcome(None), Outcome::Done(_)));
        assert!(matches!(first_outcome(Some("a")), Outcome::Done(_)));
        assert!(matches!(first_outcome(Some("a")), Outcome::Kept(_)));
        assert!(matches!(first_outcome(Some("b")), Outcome::Done(_)));
    }

    /// Three repetitions of a path without losses and of one with: one run and two copies, and three runs.
    #[test]
    fn repetitions_that_nothing_distinguishes_are_one_run() {
        let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n\
                    [[flow]]\n[run]\nduration = \"1 s\"\nrepeat = 3\n[sweep]\n\"path.loss\" = [0, 0.01]\n";
        let runs = wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs;
        let folder = tempfile::tempdir().unwrap();
        let scribe = Scribe::default();
        let go = AtomicBool::new(false);
        let outcomes = carry_out(&runs, &scribe, folder.path(), false, &go);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done(_))), "{outcomes:?}");
        assert_eq!(scribe.count.load(Relaxed), 4);
        let copied: Vec<_> = runs
            .iter()
            .map(|run| read_info(&folder.path().join(&run.id)).unwrap())
            .map(|info| (info.copy_of.is_some(), info.id, info.seed))
            .collect();
        let expected = |(index, run): (usize, &Run)| ((1..3).contains(&index), run.id.clone(), run.seed);
        assert_eq!(copied, runs.iter().enumerate().map(expected).collect::<Vec<_>>());
        let again = carry_out(&runs, &scribe, folder.path(), false, &go);
        assert!(again.iter().all(|outcome| matches!(outcome, Outcome::Kept(_))), "{again:?}");
    }

    #[test]
    fn a_cancelled_campaign_starts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe) = (runs(), Scribe::default());
        let outcomes = carry_out(&runs, &scribe, folder.path(), false, &AtomicBool::new(true));
        assert!(outcomes.iter().all(|o| matches!(o, Outcome::Interrupted)));
        assert_eq!(scribe.count.load(Relaxed), 0);
    }

    #[test]
    fn the_reason_of_a_failure_stays_in_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe) = (runs(), Scribe::default());
        carry_out(&runs, &scribe, folder.path(), false, &AtomicBool::new(false));
        let state = open(&folder.path().join(&runs[1].id)).unwrap();
        assert_eq!(state, RunState::Incomplete("no room".into()));
    }
}
