//! Carries out the runs of a study, several at a time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use wirespeed_record::{
    Cost, RunDirectory, RunInfo, RunState, SubstrateKind, ToolInfo, open, read_info, set_aside,
};
use wirespeed_scenario::Run;
use wirespeed_substrates::{Control, Progress, Substrate, SubstrateError};
use wirespeed_validation::region;

/// The folder beside that of the runs for measurements in whose place others came.
const EARLIER: &str = "earlier";

/// What became of a run.
#[derive(Debug)]
pub enum Outcome {
    /// Carried out now.
    Done(PathBuf),
    /// An earlier campaign had carried out the very same run.
    Kept(PathBuf),
    /// It was ended before its time; the recording has what was measured until then.
    Cut(PathBuf),
    /// It has no recording.
    Failed(SubstrateError),
    /// The campaign was interrupted before it or in it.
    Interrupted,
}

impl Outcome {
    /// Where the recording is, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Outcome::Done(path) | Outcome::Kept(path) | Outcome::Cut(path) => Some(path),
            Outcome::Failed(_) | Outcome::Interrupted => None,
        }
    }
}

/// Follows a campaign; called from several threads.
pub trait Observer: Sync {
    /// Run number `index` has begun.
    fn started(&self, index: usize);
    /// It has come this far.
    fn progressed(&self, index: usize, progress: Progress);
    /// It has ended.
    fn ended(&self, index: usize, outcome: &Outcome);
}

/// The runs of a study on a substrate.
pub struct Campaign<'a> {
    /// What to run.
    pub runs: &'a [Run],
    /// What carries them out.
    pub substrate: &'a dyn Substrate,
    /// Each run gets a directory of its name in here.
    pub folder: &'a Path,
    /// How many runs at a time, at least one.
    pub jobs: usize,
    /// Carry out again what is there already.
    pub fresh: bool,
    /// The program, for the recordings.
    pub tool: ToolInfo,
    /// The command that repeats a run, for its recording.
    pub command: &'a (dyn Fn(&Run) -> String + Sync),
}

impl Campaign<'_> {
    /// Carries out what is not there yet; the outcomes are in the order of the runs. Setting `cancel` ends the
    /// campaign after tidying up; what was done is kept.
    ///
    /// Repetitions that differ by nothing but a seed that nothing draws from are carried out once and copied.
    pub fn carry_out(&self, cancel: &AtomicBool, observer: &dyn Observer) -> Vec<Outcome> {
        let originals = self.originals();
        let (copies, own): (Vec<usize>, Vec<usize>) =
            (0..self.runs.len()).partition(|index| originals.contains_key(index));
        let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(self.runs.iter().map(|_| None).collect());
        // Copies last: their originals are there then.
        for part in [own, copies] {
            let next = AtomicUsize::new(0);
            thread::scope(|scope| {
                for _ in 0..self.jobs.clamp(1, part.len().max(1)) {
                    scope.spawn(|| {
                        while let Some(index) = part.get(next.fetch_add(1, Relaxed)).copied() {
                            let original = originals.get(&index).map(|index| &self.runs[*index]);
                            let outcome = self.one(index, original, cancel, observer);
                            observer.ended(index, &outcome);
                            outcomes.lock().expect("workers do not panic holding the list")[index] =
                                Some(outcome);
                        }
                    });
                }
            });
        }
        let outcomes = outcomes.into_inner().expect("workers do not panic holding the list");
        outcomes.into_iter().map(|outcome| outcome.expect("every run was taken by a worker")).collect()
    }

    /// For each run that has to give what an earlier one gives, that one.
    fn originals(&self) -> BTreeMap<usize, usize> {
        let mut first: BTreeMap<String, usize> = BTreeMap::new();
        let mut originals = BTreeMap::new();
        for (index, run) in self.runs.iter().enumerate() {
            if self.substrate.depends_on_seed(run) {
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

    /// One run: kept, copied from its `original` if that is there, or carried out.
    fn one(
        &self,
        index: usize,
        original: Option<&Run>,
        cancel: &AtomicBool,
        observer: &dyn Observer,
    ) -> Outcome {
        let run = &self.runs[index];
        let path = self.folder.join(&run.id);
        if cancel.load(Relaxed) {
            return Outcome::Interrupted;
        }
        if !self.fresh && self.is_there(&path, run) {
            return Outcome::Kept(path);
        }
        observer.started(index);
        if let Some(original) =
            original.filter(|original| self.is_there(&self.folder.join(&original.id), original))
        {
            return match self.copy(run, original, &path) {
                Ok(()) => Outcome::Done(path),
                Err(error) => Outcome::Failed(error),
            };
        }
        let control = Control { cancel, progress: &|progress| observer.progressed(index, progress) };
        match self.record(run, &path, &control) {
            Ok(info) if info.interrupted => Outcome::Cut(path),
            Ok(_) => Outcome::Done(path),
            Err(SubstrateError::Interrupted) => Outcome::Interrupted,
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Whether the very same run is there, whole: same resolved scenario, same substrate. What another version of the model
    /// computed is not the same.
    fn is_there(&self, path: &Path, run: &Run) -> bool {
        let Ok(RunState::Complete(info)) = open(path) else { return false };
        info.scenario == self.substrate.recorded(run)
            && info.substrate == self.substrate.kind()
            && info.kernel.map(|kernel| kernel.build) == self.substrate.build()
            && info.tool.program.as_deref() == self.substrate.program()
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

    fn record(&self, run: &Run, path: &Path, control: &Control) -> Result<RunInfo, SubstrateError> {
        // A metric that needs clocks cannot be computed again.
        if self.substrate.one_at_a_time() {
            set_aside(path, &self.folder.with_file_name(EARLIER))?;
        }
        let directory = RunDirectory::create(path)?;
        match self.substrate.carry_out(run, &directory, control) {
            Ok(mut recording) => {
                let program = self.substrate.program().map(str::to_owned);
                recording.info.depends_on_seed = Some(self.substrate.depends_on_seed(run));
                recording.info.tool = ToolInfo { program, ..self.tool.clone() };
                recording.info.command = (self.command)(run);
                if self.substrate.kind() == SubstrateKind::Model {
                    recording.info.validated_region = Some(region::stamp(run));
                }
                directory.finish(&recording)?;
                Ok(recording.info)
            }
            Err(error) => {
                // The reason stays with what was measured; that it cannot be written must not hide the error.
                let _ = directory.mark(&error.to_string());
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::Recording;

    /// Carries out runs by writing down what they are; the second of the study fails.
    #[derive(Default)]
    struct Scribe {
        count: AtomicUsize,
        program: Option<&'static str>,
        kind: SubstrateKind,
        is_in_real_time: bool,
    }

    impl Substrate for Scribe {
        fn kind(&self) -> SubstrateKind {
            self.kind
        }
        fn build(&self) -> Option<String> {
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
            self.count.fetch_add(1, Relaxed);
            (control.progress)(Progress::default());
            if run.id.contains("=bic") {
                return Err(SubstrateError::Environment("no room".into()));
            }
            let info = RunInfo {
                id: run.id.clone(),
                seed: run.seed,
                substrate: self.kind,
                scenario: serde_json::to_value(run).unwrap(),
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

    fn campaign<'a>(runs: &'a [Run], scribe: &'a Scribe, folder: &'a Path, fresh: bool) -> Campaign<'a> {
        let tool = ToolInfo::default();
        Campaign {
            runs,
            substrate: scribe,
            folder,
            jobs: 2,
            fresh,
            tool,
            command: &|run| format!("run {}", run.id),
        }
    }

    #[test]
    fn only_runs_on_the_model_carry_the_stamp() {
        let runs = runs();
        for (kind, is_stamped) in [(SubstrateKind::Model, true), (SubstrateKind::Kernel, false)] {
            let (folder, scribe) = (tempfile::tempdir().unwrap(), Scribe { kind, ..Default::default() });
            campaign(&runs, &scribe, folder.path(), false).carry_out(&AtomicBool::new(false), &Silent);
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
        let first = campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent);
        assert!(matches!(first[..], [Outcome::Done(_), Outcome::Failed(_), Outcome::Done(_)]), "{first:?}");
        let again = campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent);
        assert!(matches!(again[..], [Outcome::Kept(_), Outcome::Failed(_), Outcome::Kept(_)]), "{again:?}");
        assert_eq!(scribe.count.load(Relaxed), 4);
        let fresh = campaign(&runs, &scribe, folder.path(), true).carry_out(&go, &Silent);
        assert!(matches!(fresh[0], Outcome::Done(_)));
    }

    #[test]
    fn measured_run_is_set_aside_before_another_takes_its_place() {
        for is_in_real_time in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let (runs, scribe) = (runs(), Scribe { is_in_real_time, ..Default::default() });
            for _ in 0..2 {
                campaign(&runs[..1], &scribe, &folder.path().join("runs"), true)
                    .carry_out(&AtomicBool::new(false), &Silent);
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
        campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent);
        runs[0].seed += 1;
        let again = campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent);
        assert!(matches!(again[0], Outcome::Done(_)), "{again:?}");
    }

    #[test]
    fn results_of_another_version_of_the_model_are_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, go) = (runs(), AtomicBool::new(false));
        let first_outcome = |program: Option<&'static str>| {
            let scribe = Scribe { program, ..Default::default() };
            campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent).swap_remove(0)
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
        let outcomes = campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done(_))), "{outcomes:?}");
        assert_eq!(scribe.count.load(Relaxed), 4);
        let copied: Vec<_> = runs
            .iter()
            .map(|run| read_info(&folder.path().join(&run.id)).unwrap())
            .map(|info| (info.copy_of.is_some(), info.id, info.seed))
            .collect();
        let expected = |(index, run): (usize, &Run)| ((1..3).contains(&index), run.id.clone(), run.seed);
        assert_eq!(copied, runs.iter().enumerate().map(expected).collect::<Vec<_>>());
        let again = campaign(&runs, &scribe, folder.path(), false).carry_out(&go, &Silent);
        assert!(again.iter().all(|outcome| matches!(outcome, Outcome::Kept(_))), "{again:?}");
    }

    #[test]
    fn a_cancelled_campaign_starts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe) = (runs(), Scribe::default());
        let outcomes =
            campaign(&runs, &scribe, folder.path(), false).carry_out(&AtomicBool::new(true), &Silent);
        assert!(outcomes.iter().all(|o| matches!(o, Outcome::Interrupted)));
        assert_eq!(scribe.count.load(Relaxed), 0);
    }

    #[test]
    fn the_reason_of_a_failure_stays_in_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, scribe) = (runs(), Scribe::default());
        campaign(&runs, &scribe, folder.path(), false).carry_out(&AtomicBool::new(false), &Silent);
        let state = open(&folder.path().join(&runs[1].id)).unwrap();
        assert_eq!(state, RunState::Incomplete("no room".into()));
    }
}
