//! The host model of a question's preset, and how its cores are limited.

use crate::question::Question;
use wirespeed_scenario::run::Hardware;
use wirespeed_scenario::{Scenario, Table};
use wirespeed_units::Span;

/// More cores are not tried: each doubling adds a row of runs.
const MOST_CORES: u32 = 16;

/// The host model of the question's preset; `None` without a preset, or if the preset has no machine.
pub(crate) fn hardware(question: &Question) -> Option<Hardware> {
    let name = question.host.as_deref()?;
    let host = || Table::new().set("preset", name);
    let scenario = Scenario::new("plan")
        .path(Table::new().set("rate", question.rate).set("rtt", question.rtt))
        .host("sender", host())
        .host("receiver", host())
        .flow(Table::new())
        .run(Table::new().set("duration", Span::secs(1)));
    let study = scenario.study("plan", &[], None).ok()?;
    study.runs.first()?.hosts.first()?.hardware.as_deref().cloned()
}

/// Numbers of cores to try: powers of two, ascending, up to the cores of the machine. Empty without a machine.
pub(crate) fn core_counts(question: &Question) -> Vec<u32> {
    let most = hardware(question).map_or(0, |hardware| cores(&hardware).len() as u32).min(MOST_CORES);
    (0..u32::BITS).map(|power| 1 << power).take_while(|count| *count <= most).collect()
}

/// Limits the flows and the interrupts of a host to `count` cores, with a receive queue for each: what `taskset`,
/// `smp_affinity_list` and `ethtool -L` do. Hyper-threads are left idle.
pub(crate) fn limited(host: Table, hardware: &Hardware, count: u32) -> Table {
    let list: Vec<String> =
        cores(hardware).iter().take(count as usize).map(|core: &u32| core.to_string()).collect();
    let list = list.join(",");
    host.set("apps", list.as_str()).set("irq", list.as_str()).set("rx_queues", count)
}

/// The cores without their hyper-threads, those of the interface's node first.
fn cores(hardware: &Hardware) -> Vec<u32> {
    let (machine, near) = (&hardware.machine, hardware.nic.node);
    let others = (0..machine.nodes).filter(|node| *node != near);
    let size = machine.cores_per_node;
    std::iter::once(near).chain(others).flat_map(|node| node * size..(node + 1) * size).collect()
}

#[cfg(test)]
mod tests {
    use crate::experiment::Length;
    use crate::point::Point;
    use crate::question::{Effort, Question};
    use wirespeed_scenario::run::{Apps, Irq};
    use wirespeed_units::{Bytes, Rate, Span};

    fn question(host: &str) -> Question {
        Question {
            rate: Rate::gbit(100),
            rtt: Span::ms(1),
            loss: 0.0,
            buffer: Bytes::new(1_000_000),
            is_buffer_assumed: false,
            mtu: Bytes::new(9000),
            flows: vec![8],
            congestion: vec!["cubic".into()],
            host: Some(host.into()),
            bytes: None,
            effort: Effort::Low,
        }
    }

    #[test]
    fn flows_and_interrupts_are_limited_to_cores_of_the_interfaces_node_first() {
        let question = question("kit-2019-tuned");
        let of = |cores: u32| {
            let point = Point { cores: Some(cores), ..Point::of(&question, "cubic", 8) };
            let length = Length::measured_in_second_half(Span::ms(100));
            let study = point.scenario(&question, length, 0).study("plan", &[], None).unwrap();
            assert!(point.name().ends_with(&format!("-cores{cores}")), "{}", point.name());
            study.runs[0].hosts.clone()
        };
        for (count, expected) in
            [(1, vec![8]), (4, vec![8, 9, 10, 11]), (10, vec![8, 9, 10, 11, 12, 13, 14, 15, 0, 1])]
        {
            for host in of(count) {
                let hardware = host.hardware.unwrap();
                assert_eq!(hardware.apps, Apps::Pinned(expected.clone()));
                assert_eq!(hardware.irq, Irq::Cores(expected.clone()));
                assert_eq!(hardware.nic.rx_queues, count);
            }
        }
    }

    #[test]
    fn numbers_of_cores_end_with_those_of_the_machine_or_16() {
        assert_eq!(super::core_counts(&question("kit-2019-tuned")), [1, 2, 4, 8, 16]);
        assert_eq!(super::core_counts(&question("epyc-2024-400g")), [1, 2, 4, 8, 16]);
        assert!(super::core_counts(&question("tuned")).is_empty());
    }
}
