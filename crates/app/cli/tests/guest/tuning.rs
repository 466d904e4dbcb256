//! `wirespeed tune` on interfaces with drivers of their own: rings, channels, interrupts and qdisc trees.

use super::support::bed::Bed;
use super::support::guest::{in_guest, with_a_ring_that_drops, with_queues};
use super::support::settings::{Settings, differences, parse, script};
use serde_json::{Value, json};
use std::process::Output;

/// Everything of interface `left` that can be read.
fn dump(bed: &Bed) -> Settings {
    // A change of rings or channels takes the link down and up.
    let changing = ["*/byte_queue_limits/*", "*/carrier_*"];
    let commands = [
        "ip -d link show dev left",
        "tc qdisc show dev left | sort",
        "ethtool -g left",
        "ethtool -l left",
        "ethtool -c left",
        "ethtool -k left",
        "ethtool -a left",
        "ethtool -x left",
        "grep -sH . /proc/irq/*/smp_affinity_list",
    ];
    parse(&bed.read(bed.name(-1), &script("left", &changing, &commands)))
}

fn tune(bed: &Bed, arguments: &[&str]) -> Output {
    let program = super::support::command(bed.folder(), &[]);
    let mut command = std::process::Command::new("ip");
    command.args(["netns", "exec", bed.name(-1)]).arg(program.get_program()).arg("tune").args(arguments);
    command.args(["--state", "state"]).current_dir(bed.folder());
    command.output().expect("the program was built for this test")
}

fn code(output: &Output, expected: i32) {
    let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert_eq!(output.status.code(), Some(expected), "{text}");
}

fn change(setting: Value, value: &str) -> Value {
    json!({ "setting": setting, "value": value, "rule": "a.rule", "reason": "the path needs it" })
}

/// Applies the changes, kills the process at some points, and reverts each time.
fn nothing_differs_after(bed: &Bed, changes: &[Value], points: &[usize]) {
    std::fs::write(bed.folder().join("changes.json"), Value::from(changes).to_string()).unwrap();
    let before = dump(bed);
    let apply = ["apply", "--changes", "changes.json"];
    code(&tune(bed, &apply), 0);
    let changed = differences(&before, &dump(bed));
    println!("{}", changed.join("\n"));
    assert!(changed.len() >= changes.len(), "{changed:?}");
    code(&tune(bed, &["revert"]), 0);
    assert_eq!(differences(&before, &dump(bed)), Vec::<String>::new(), "applied and reverted");
    for point in points {
        let killed = tune(bed, &[&apply[..], &["--kill-at", &point.to_string()]].concat());
        assert_eq!(killed.status.code(), None, "it is killed at point {point}");
        code(&tune(bed, &["revert"]), 0);
        assert_eq!(differences(&before, &dump(bed)), Vec::<String>::new(), "killed at point {point}");
    }
}

/// The first interrupt of the interface.
fn interrupt(bed: &Bed) -> u32 {
    let list = "ls /sys/class/net/left/device/msi_irqs /sys/class/net/left/device/../msi_irqs 2>/dev/null";
    let found = bed.read(bed.name(-1), list);
    let mut numbers: Vec<u32> = found.lines().filter_map(|line| line.trim().parse().ok()).collect();
    numbers.sort_unstable();
    // The first one of virtio is that of its configuration.
    *numbers.get(1).expect("the interface has interrupts")
}

#[test]
fn rings_and_qdiscs_of_a_driver_are_tuned_and_reverted() {
    in_guest("tuning::rings_and_qdiscs_of_a_driver_are_tuned_and_reverted", || {
        let bed = with_a_ring_that_drops();
        let left = |kind: &str| json!({ "kind": kind, "interface": "left" });
        let changes = [
            change(json!({ "kind": "ring", "interface": "left", "way": "rx" }), "2048"),
            change(left("mtu"), "4000"),
            change(left("qdisc"), "fq"),
            change(json!({ "kind": "feature", "interface": "left", "name": "rx-gro" }), "off"),
            change(json!({ "kind": "interrupt_affinity", "irq": interrupt(&bed) }), "1"),
        ];
        nothing_differs_after(&bed, &changes, &[2, 8, 14]);
    });
}

#[test]
fn channels_and_steering_of_a_driver_are_tuned_and_reverted() {
    in_guest("tuning::channels_and_steering_of_a_driver_are_tuned_and_reverted", || {
        let Some(bed) = with_queues() else { return };
        bed.inside(bed.name(-1), "ethtool -L left combined 4").unwrap();
        let left = |kind: &str| json!({ "kind": kind, "interface": "left" });
        let changes = [
            change(left("channels"), "2"),
            change(left("qdisc"), "fq"),
            change(json!({ "kind": "xps", "interface": "left", "queue": 0 }), "3"),
            change(json!({ "kind": "rps", "interface": "left", "queue": 1 }), "2"),
            change(json!({ "kind": "interrupt_affinity", "irq": interrupt(&bed) }), "3"),
        ];
        nothing_differs_after(&bed, &changes, &[2, 3, 5, 8, 14]);

        // A table that was set by hand names a queue that would no longer exist.
        bed.inside(bed.name(-1), "ethtool -X left equal 4").unwrap();
        let before = dump(&bed);
        let rejected = tune(&bed, &["apply", "--changes", "changes.json"]);
        bed.inside(bed.name(-1), "ethtool -X left default").unwrap();
        code(&rejected, 3);
        let text = String::from_utf8_lossy(&rejected.stderr).replace("\n  | ", " ");
        assert!(text.contains("RSS indirection table names queue 3"), "{text}");
        let after = dump(&bed);
        let table = |name: &String| name.contains("ethtool -x");
        let rest: Vec<_> = differences(&before, &after).into_iter().filter(|line| !table(line)).collect();
        assert_eq!(rest, Vec::<String>::new(), "rejected");
    });
}

/// Trees of kinds that the kernel of this machine may not have.
#[test]
fn qdisc_trees_of_the_guest_are_restored() {
    in_guest("tuning::qdisc_trees_of_the_guest_are_restored", || {
        let bed = with_a_ring_that_drops();
        let qdiscs = || bed.read(bed.name(-1), "tc qdisc show dev left | sort");
        let change = change(json!({ "kind": "qdisc", "interface": "left" }), "pfifo");
        std::fs::write(bed.folder().join("changes.json"), Value::from(vec![change]).to_string()).unwrap();
        for tree in [
            &["root handle 7: fq limit 5000 flow_limit 50 maxrate 1gbit ce_threshold 3ms"][..],
            &["root handle 7: fq_codel"],
            &["root handle 7: fq_codel target 7ms interval 70ms limit 999 ce_threshold 2ms noecn"],
            &["root handle 7: netem delay 3ms loss 1% limit 555"],
            &[
                "root handle 7: mq",
                "parent 7:1 handle 9: fq quantum 9000",
                "parent 7:2 fq_codel",
                "parent 7:3 fq",
            ],
        ] {
            for line in tree {
                bed.inside(bed.name(-1), &format!("tc qdisc replace dev left {line}")).unwrap();
            }
            let before = qdiscs();
            code(&tune(&bed, &["apply", "--changes", "changes.json"]), 0);
            let changed = qdiscs();
            assert!(changed.contains("pfifo ") && changed != before, "{changed}");
            code(&tune(&bed, &["revert"]), 0);
            assert_eq!(qdiscs(), before, "{tree:?}");
            println!("{before}");
            bed.inside(bed.name(-1), "tc qdisc del dev left root").unwrap();
        }
    });
}
