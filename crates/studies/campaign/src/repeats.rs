//! How often each setting of a study is repeated, if the results decide.

use std::collections::BTreeMap;
use wirespeed_scenario::Run;
use wirespeed_statistics::Level;
use wirespeed_statistics::sequential::{Decision, needed};

/// Repeats every setting until the mean of a metric is certain enough, or the most repeats are reached.
#[derive(Debug)]
pub struct Repeats {
    width: f64,
    most: u32,
    settings: BTreeMap<String, Setting>,
}

#[derive(Debug)]
struct Setting {
    /// Whether repeats can differ.
    has_chance: bool,
    wanted: u32,
    /// The metric by repetition; `None` of a run that does not have it.
    values: BTreeMap<u32, Option<f64>>,
}

/// A setting that is not certain enough at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertain {
    /// The setting, as in the names of its runs.
    pub setting: String,
    /// Repeats that have the metric.
    pub repeats: usize,
    /// Repeats that are missing to certainty by the scatter so far; `None`: no number of repeats suffices.
    pub missing: Option<usize>,
}

impl Repeats {
    /// Of the settings of `runs`, which have all repeats that are allowed. Each begins with `least` repeats, or with one if its
    /// repeats cannot differ (`has_chance`). `width` is half of the 95 % interval as a share of the mean: 0.05 for 5 %.
    pub fn new(runs: &[Run], least: u32, width: f64, has_chance: &dyn Fn(&Run) -> bool) -> Repeats {
        let most = runs.iter().map(|run| run.repeat + 1).max().unwrap_or(1);
        let mut settings: BTreeMap<String, Setting> = BTreeMap::new();
        for run in runs {
            settings.entry(setting(run)).or_insert_with(|| {
                let has_chance = has_chance(run);
                let wanted = if has_chance { least.clamp(1, most) } else { 1 };
                Setting { has_chance, wanted, values: BTreeMap::new() }
            });
        }
        Repeats { width, most, settings }
    }

    /// Whether a run belongs to the repeats that are wanted by now.
    pub fn wants(&self, run: &Run) -> bool {
        self.settings.get(&setting(run)).is_some_and(|setting| run.repeat < setting.wanted)
    }

    /// Whether the value of a run is known.
    pub fn knows(&self, run: &Run) -> bool {
        self.settings.get(&setting(run)).is_some_and(|setting| setting.values.contains_key(&run.repeat))
    }

    /// Takes the metric of a run that has ended; `None` if the run does not have it, or failed.
    pub fn learn(&mut self, run: &Run, value: Option<f64>) {
        if let Some(known) = self.settings.get_mut(&setting(run)) {
            known.values.insert(run.repeat, value);
        }
    }

    /// Adds the repeats that are needed by the scatter so far; `false` if none are.
    pub fn extend(&mut self) -> bool {
        let mut is_more = false;
        for setting in self.settings.values_mut() {
            if let Decision::More(count) = setting.decide(self.width) {
                let more = u32::try_from(count).unwrap_or(u32::MAX);
                let wanted = setting.wanted.saturating_add(more).min(self.most);
                is_more |= wanted > setting.wanted;
                setting.wanted = wanted;
            }
        }
        is_more
    }

    /// The settings that are not certain enough.
    pub fn uncertain(&self) -> Vec<Uncertain> {
        let uncertain = self.settings.iter().filter_map(|(name, setting)| {
            let missing = match setting.decide(self.width) {
                Decision::Enough => return None,
                Decision::More(count) => Some(count),
                Decision::Impossible(_) => None,
            };
            let repeats = setting.known().len();
            Some(Uncertain { setting: name.clone(), repeats, missing })
        });
        uncertain.collect()
    }
}

impl Setting {
    fn known(&self) -> Vec<f64> {
        self.values.values().flatten().copied().collect()
    }

    fn decide(&self, width: f64) -> Decision {
        match self.has_chance {
            true => needed(&self.known(), Level::NINETY_FIVE, width),
            false => Decision::Enough,
        }
    }
}

/// The name of a run without its repetition.
fn setting(run: &Run) -> String {
    let end = format!("r{}", run.repeat);
    let name = run.id.strip_suffix(&end).unwrap_or(&run.id);
    name.trim_end_matches(',').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random: the fractional parts of multiples of the golden ratio, around 1.
    fn scatter(run: &Run, size: f64) -> f64 {
        1.0 + size * (f64::from(run.repeat) * 0.618_033_988_749_895).fract() - size / 2.0
    }

    fn runs(most: u32) -> Vec<Run> {
        let text = format!(
            "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
             [run]\nduration = \"1 s\"\nrepeat = {most}\n[sweep]\n\"path.loss\" = [1e-6, 1e-5, 1e-4]\n"
        );
        wirespeed_scenario::parse(&text, "t.toml", &[], None).unwrap().runs
    }

    #[test]
    fn setting_that_scatters_is_repeated_and_the_others_are_not() {
        let runs = runs(200);
        let mut repeats = Repeats::new(&runs, 5, 0.05, &|_| true);
        let sizes = [0.0, 0.5, 1e3];
        let mut rounds = 0;
        loop {
            for run in &runs {
                let place = ["1e-6", "1e-5", "1e-4"].iter().position(|loss| run.id.contains(loss)).unwrap();
                if repeats.wants(run) && !repeats.knows(run) {
                    repeats.learn(run, Some(scatter(run, sizes[place])));
                }
            }
            rounds += 1;
            assert!(rounds < 20, "it comes to an end");
            if !repeats.extend() {
                break;
            }
        }
        let count =
            |loss: &str| runs.iter().filter(|run| run.id.contains(loss) && repeats.wants(run)).count();
        assert_eq!(count("1e-6"), 5, "equal repeats are enough");
        // Of values that are spread evenly over half of their mean: 0.144 deviation, t of 97.5 % twice: some 50.
        assert!((20..=100).contains(&count("1e-5")), "{}", count("1e-5"));
        assert_eq!(count("1e-4"), 200);
        let uncertain = repeats.uncertain();
        assert_eq!(uncertain.len(), 1, "{uncertain:?}");
        assert!(uncertain[0].setting.contains("1e-4") && uncertain[0].missing > Some(1000), "{uncertain:?}");
    }

    #[test]
    fn setting_without_chance_has_one_run() {
        let runs = runs(8);
        let mut repeats = Repeats::new(&runs, 5, 0.05, &|run| !run.id.contains("1e-5"));
        let wanted = |repeats: &Repeats| runs.iter().filter(|run| repeats.wants(run)).count();
        assert_eq!(wanted(&repeats), 1 + 5 + 5);
        for run in &runs {
            if repeats.wants(run) {
                repeats.learn(run, Some(1.0));
            }
        }
        assert!(!repeats.extend() && repeats.uncertain().is_empty());
        assert_eq!(wanted(&repeats), 11);
    }

    #[test]
    fn setting_whose_runs_fail_is_not_repeated_for_ever() {
        let runs = runs(8);
        let mut repeats = Repeats::new(&runs, 5, 0.05, &|_| true);
        for _ in 0..20 {
            for run in &runs {
                if repeats.wants(run) {
                    repeats.learn(run, None);
                }
            }
            repeats.extend();
        }
        assert!(runs.iter().all(|run| repeats.wants(run)));
        assert!(!repeats.extend());
        assert!(repeats.uncertain().iter().all(|setting| setting.repeats == 0));
    }
}
