//! The order in which the runs of a campaign are executed.

use crate::executor::Task;

/// An order of execution. The order of results is always that of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// That of the study: right where one run cannot disturb another.
    Study,
    /// Randomised blocks: every setting once, in random order, before any is repeated. So what changes with the time of day, such
    /// as other traffic, falls on all settings alike (Fisher, The Design of Experiments, 1935). The order follows from the seeds of
    /// the runs, and so from the seed of the study.
    Blocks,
}

impl Order {
    pub(crate) fn arrange(self, tasks: &mut [Task<'_>]) {
        match self {
            Order::Study => {}
            Order::Blocks => {
                tasks.sort_by(|a, b| {
                    let key = |task: &Task<'_>| (task.run.repeat, task.run.seed);
                    key(a).cmp(&key(b)).then_with(|| a.run.id.cmp(&b.run.id))
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn blocks_have_every_setting_once_in_a_random_order() {
        let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
                    [run]\nduration = \"1 s\"\nrepeat = 4\n[sweep]\n\"path.rtt\" = [\"1 ms\", \"2 ms\", \"3 ms\", \"4 ms\", \"5 ms\", \"6 ms\"]\n";
        let runs = wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs;
        let ids = |order: Order| -> Vec<String> {
            let task = |(index, run)| Task { index, run, directory: "d".into(), command: String::new() };
            let mut tasks: Vec<Task> = runs.iter().enumerate().map(task).collect();
            order.arrange(&mut tasks);
            tasks.iter().map(|task| task.run.id.clone()).collect()
        };
        assert_eq!(ids(Order::Study), runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>());
        let blocks = ids(Order::Blocks);
        assert_eq!(blocks, ids(Order::Blocks), "the same seed gives the same order");
        let mut orders = BTreeSet::new();
        for (repeat, block) in blocks.chunks(6).enumerate() {
            let end = format!(",r{repeat}");
            let settings: Vec<&str> = block.iter().filter_map(|id| id.strip_suffix(&end)).collect();
            assert_eq!(settings.iter().collect::<BTreeSet<_>>().len(), 6, "{block:?}");
            orders.insert(settings.join(" "));
        }
        assert!(orders.len() > 1, "{orders:?}");
    }
}
