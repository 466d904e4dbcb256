//! What a run's scenario says about the inside of a host. What it does not say is not known.

use serde_json::Value;
use wirespeed_record::RunInfo;

/// The hardware of a host, as it was resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine<'a>(&'a Value);

/// Which cores serve the interrupts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// Ring i that of the ith core, in turn.
    Cores(Vec<u32>),
    /// They are moved, after each such time.
    Moved(String),
}

impl<'a> Machine<'a> {
    /// Of the host `name`, if the scenario describes it.
    pub fn of(info: &'a RunInfo, name: &str) -> Option<Machine<'a>> {
        let hosts = info.scenario.get("hosts")?.as_array()?;
        let host = hosts.iter().find(|host| host.get("name").and_then(Value::as_str) == Some(name))?;
        host.get("hardware").filter(|hardware| hardware.is_object()).map(Machine)
    }

    fn number(self, path: &str) -> Option<u32> {
        self.0.pointer(path)?.as_u64()?.try_into().ok()
    }

    /// NUMA nodes.
    pub fn nodes(self) -> Option<u32> {
        self.number("/machine/nodes")
    }

    /// Cores of each node, without hyper-threads.
    pub fn cores_of_node(self) -> Option<u32> {
        self.number("/machine/cores_per_node")
    }

    /// Whether each core has a twin.
    pub fn has_twins(self) -> bool {
        self.0.pointer("/machine/twin_speed").is_some_and(|speed| !speed.is_null())
    }

    /// The node that the interface is on.
    pub fn node_of_interface(self) -> Option<u32> {
        self.number("/nic/node")
    }

    /// Descriptors of each receive ring.
    pub fn ring_size(self) -> Option<u32> {
        self.number("/nic/rx_ring")
    }

    pub fn interrupts(self) -> Option<Interrupts> {
        let irq = self.0.get("irq")?;
        if let Some(cores) = irq.get("cores").and_then(cores) {
            return Some(Interrupts::Cores(cores));
        }
        irq.get("balanced")?.as_str().map(|span| Interrupts::Moved(span.into()))
    }

    /// How applications find their cores: `pinned` or `free`, and which those are.
    pub fn applications(self) -> Option<(&'static str, Vec<u32>)> {
        ["pinned", "free"].into_iter().find_map(|way| Some((way, cores(self.0.get("apps")?.get(way)?)?)))
    }
}

fn cores(list: &Value) -> Option<Vec<u32>> {
    let cores: Option<Vec<u32>> =
        list.as_array()?.iter().map(|core| core.as_u64()?.try_into().ok()).collect();
    cores.filter(|cores| !cores.is_empty())
}

/// `0–3, 8` of 0, 1, 2, 3 and 8.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, second] => format!("{first}, {second}"),
        _ => format!("{}–{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_scenario_does_not_say_is_not_known() {
        let mut info = RunInfo::default();
        assert!(Machine::of(&info, "a").is_none());
        info.scenario = json!({"hosts": [{"name": "b", "hardware": null}, {"name": "a", "hardware": {
            "irq": {"balanced": "10 s"}, "apps": {"pinned": [3, "x"]}, "nic": {"node": -1},
        }}]});
        assert!(Machine::of(&info, "b").is_none());
        let machine = Machine::of(&info, "a").expect("it is described");
        assert_eq!(machine.interrupts(), Some(Interrupts::Moved("10 s".into())));
        assert_eq!(
            (machine.applications(), machine.node_of_interface(), machine.nodes()),
            (None, None, None)
        );
    }

    #[test]
    fn neighbours_are_told_together() {
        assert_eq!(ranges(&[8, 0, 1, 3, 2, 2]), "0–3, 8");
        assert_eq!(ranges(&[5, 6]), "5, 6");
    }
}
