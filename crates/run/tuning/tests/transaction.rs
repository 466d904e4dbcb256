//! A transaction on a host in memory: failures, interruptions and crashes at every position leave the host as it was.

mod support;

use support::{Bed, at, change, changes, files, go_on, host, plan_for, tuned};
use wirespeed_inventory::{Manager, Setting};
use wirespeed_tuning::{
    ApplyError, Cause, Failed, Flow, PlanError, RevertError, State, apply, plan, resume, revert, still_set,
};

/// Points of a transaction of six changes and a file: more than it has.
const MANY: usize = 60;

#[test]
fn a_plan_is_applied_and_reverted() {
    let (bed, mut host, before) = (Bed::new(), host(), host().values);
    let _lock = bed.lock();
    let plan = plan_for(&mut host);
    assert_eq!((plan.steps.len(), plan.resets()), (6, vec!["eth0"]));
    let journal = apply(&mut host, &bed.folder, plan, bed.options(&files()), &mut go_on).unwrap();
    assert_eq!((journal.state(), &host.values), (State::Applied, &tuned()));
    assert_eq!(bed.persistent(), ["90-wirespeed.conf"]);
    assert_eq!(still_set(&mut host, &journal).len(), 6);
    assert_eq!(plan_for(&mut host).unchanged.len(), 6, "a second plan has nothing to do");
    let report = revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!((bed.newest().state(), host.values), (State::Reverted, before));
    assert!(bed.persistent().is_empty());
}

#[test]
fn a_failure_at_any_change_restores_the_host() {
    for number in 0.. {
        let (bed, mut host, before) = (Bed::new(), host(), host().values);
        let _lock = bed.lock();
        host.failing = vec![number];
        let plan = plan_for(&mut host);
        match apply(&mut host, &bed.folder, plan, bed.options(&files()), &mut go_on) {
            Ok(_) => {
                assert_eq!(number, 6, "each change failed once");
                return;
            }
            Err(ApplyError::Failed { cause: Cause::Setting(_), report }) => {
                assert!(report.failed.is_empty(), "{:?}", report.failed);
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!(host.values, before, "change {number} failed");
        assert_eq!(bed.newest().state(), State::Reverted);
    }
}

#[test]
fn a_failure_of_a_restoration_is_reported_beside_the_first_and_can_be_reverted_later() {
    let (bed, mut host, before) = (Bed::new(), host(), host().values);
    let _lock = bed.lock();
    // The fourth change fails, and so does everything after it.
    host.failing = (3..100).collect();
    let plan = plan_for(&mut host);
    let error = apply(&mut host, &bed.folder, plan, bed.options(&[]), &mut go_on).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("not everything could be put back") && text.matches("injected").count() > 1,
        "{text}"
    );
    assert_eq!(bed.newest().state(), State::Unfinished);
    host.failing.clear();
    let report = revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(host.values, before);
}

#[test]
fn an_interruption_at_any_point_restores_the_host() {
    let mut interrupted = 0;
    for number in 0..MANY {
        let (bed, mut host, before) = (Bed::new(), host(), host().values);
        let _lock = bed.lock();
        let plan = plan_for(&mut host);
        match apply(&mut host, &bed.folder, plan, bed.options(&files()), &mut at(number, Flow::Interrupt)) {
            Ok(_) => break,
            Err(ApplyError::Failed { cause: Cause::Interrupted, report }) => {
                assert!(report.failed.is_empty())
            }
            Err(other) => panic!("{other}"),
        }
        interrupted += 1;
        assert_eq!((&host.values, bed.persistent().len()), (&before, 0), "point {number}");
    }
    assert_eq!(interrupted, 1 + 6 * 3 + 1);
}

#[test]
fn a_crash_at_any_point_is_reverted_also_if_the_reversion_crashes_at_any_point() {
    let mut pairs = 0;
    for first in 0..MANY {
        for second in 0..MANY {
            let (bed, mut host, before) = (Bed::new(), host(), host().values);
            let lock = bed.lock();
            let plan = plan_for(&mut host);
            let applied =
                apply(&mut host, &bed.folder, plan, bed.options(&files()), &mut at(first, Flow::Stop));
            drop(lock);
            if applied.is_ok() {
                assert!(pairs > 200, "only {pairs} pairs of crashes");
                return;
            }
            assert!(matches!(applied, Err(ApplyError::Stopped)));
            let again = plan_for(&mut host);
            let refused = apply(&mut host, &bed.folder, again, bed.options(&[]), &mut go_on);
            assert!(matches!(refused, Err(ApplyError::Unfinished(_))), "{refused:?}");
            let first_try = revert(&mut host, &mut bed.newest(), false, &mut at(second, Flow::Stop));
            let stopped = matches!(first_try, Err(RevertError::Stopped));
            if stopped {
                let report = revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
                assert!(report.failed.is_empty(), "{first} {second}: {:?}", report.failed);
            }
            assert_eq!(
                (&host.values, bed.persistent().len()),
                (&before, 0),
                "crashes at {first} and {second}"
            );
            assert_eq!(bed.newest().state(), State::Reverted);
            pairs += 1;
            if !stopped {
                break;
            }
        }
    }
}

#[test]
fn a_crash_at_any_point_is_resumed_and_then_reverted() {
    for number in 0..MANY {
        let (bed, mut host, before) = (Bed::new(), host(), host().values);
        let _lock = bed.lock();
        let plan = plan_for(&mut host);
        if apply(&mut host, &bed.folder, plan, bed.options(&files()), &mut at(number, Flow::Stop)).is_ok() {
            assert!(number > 18);
            return;
        }
        let journal = resume(&mut host, &bed.folder, &mut go_on).unwrap();
        assert_eq!((journal.state(), &host.values), (State::Applied, &tuned()), "point {number}");
        assert_eq!(bed.persistent().len(), 1);
        revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
        assert_eq!((&host.values, bed.persistent().len()), (&before, 0), "point {number}");
    }
}

#[test]
fn a_value_that_somebody_changed_since_is_left_unless_forced() {
    let (bed, mut host, before) = (Bed::new(), host(), host().values);
    let _lock = bed.lock();
    let plan = plan_for(&mut host);
    apply(&mut host, &bed.folder, plan, bed.options(&[]), &mut go_on).unwrap();
    let mtu = Setting::Mtu { interface: "eth0".into() };
    host.values.insert(mtu.clone(), "4000".into());
    let report = revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
    assert!(matches!(&report.failed[..], [Failed::Conflict { present, .. }] if present == "4000"));
    assert_eq!(host.values[&mtu], "4000");
    assert!(host.values.iter().all(|(setting, value)| *setting == mtu || before[setting] == *value));
    assert_eq!(bed.newest().state(), State::Unfinished);
    let report = revert(&mut host, &mut bed.newest(), true, &mut go_on).unwrap();
    assert!(report.failed.is_empty());
    assert_eq!((bed.newest().state(), host.values), (State::Reverted, before));
}

#[test]
fn resuming_is_rejected_if_a_waiting_setting_was_changed_by_somebody_else() {
    let (bed, mut host) = (Bed::new(), host());
    let _lock = bed.lock();
    assert!(matches!(resume(&mut host, &bed.folder, &mut go_on), Err(ApplyError::NothingToResume)));
    let plan = plan_for(&mut host);
    apply(&mut host, &bed.folder, plan, bed.options(&[]), &mut at(4, Flow::Stop)).unwrap_err();
    host.values.insert(Setting::Mtu { interface: "eth0".into() }, "4000".into());
    let refused = resume(&mut host, &bed.folder, &mut go_on).unwrap_err();
    assert!(matches!(&refused, ApplyError::Moved { found, .. } if found == "4000"), "{refused}");
}

/// Replaces text in the newest journal.
fn edit(bed: &Bed, from: &str, to: &str) {
    let path = bed.newest().path().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from));
    std::fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn after_another_boot_only_values_that_are_still_set_are_put_back() {
    let (bed, mut host, before) = (Bed::new(), host(), host().values);
    let _lock = bed.lock();
    let plan = plan_for(&mut host);
    let journal = apply(&mut host, &bed.folder, plan, bed.options(&files()), &mut go_on).unwrap();
    let boot = journal.header().identity.boot_id.clone();
    edit(&bed, &boot, "00000000-0000-0000-0000-000000000000");
    // A boot has put everything back but the sysctl, which the file sets.
    let name = Setting::Sysctl { name: "net.core.rmem_max".into() };
    host.values = before.clone();
    host.values.insert(name.clone(), "67108864".into());
    host.values.insert(Setting::Mtu { interface: "eth0".into() }, "2000".into());
    assert_eq!(still_set(&mut host, &bed.newest()).len(), 1);
    let report = revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.restored, std::slice::from_ref(&name));
    assert_eq!((&host.values[&name], bed.persistent().len()), (&before[&name], 0));
    assert_eq!(bed.newest().state(), State::Reverted);
}

#[test]
fn a_journal_of_another_namespace_is_rejected() {
    let (bed, mut host) = (Bed::new(), host());
    let _lock = bed.lock();
    let plan = plan_for(&mut host);
    let journal = apply(&mut host, &bed.folder, plan, bed.options(&[]), &mut go_on).unwrap();
    let namespace = journal.header().identity.namespace;
    edit(&bed, &format!("\"namespace\":{namespace}"), "\"namespace\":1");
    let refused = revert(&mut host, &mut bed.newest(), true, &mut go_on).unwrap_err();
    assert!(matches!(refused, RevertError::Namespace { namespace: 1, .. }), "{refused}");
    assert_eq!(host.values, tuned());
}

#[test]
fn a_setting_that_is_gone_blocks_the_reversion_unless_forced() {
    let (bed, mut host) = (Bed::new(), host());
    let _lock = bed.lock();
    let plan = plan_for(&mut host);
    apply(&mut host, &bed.folder, plan, bed.options(&[]), &mut go_on).unwrap();
    host.values.retain(|setting, _| setting.interface().is_none());
    let report = revert(&mut host, &mut bed.newest(), false, &mut go_on).unwrap();
    assert_eq!(report.failed.len(), 5);
    let report = revert(&mut host, &mut bed.newest(), true, &mut go_on).unwrap();
    assert_eq!((report.failed.len(), report.gone.len()), (0, 5));
    assert_eq!(bed.newest().state(), State::Reverted);
}

#[test]
fn plans_name_conflicts_impossible_changes_and_contradictions() {
    let mut host = host();
    let irq = Setting::InterruptAffinity { irq: 7 };
    host.values.insert(irq.clone(), "0".into());
    let irqbalance = [Manager { name: "irqbalance".into(), ..Default::default() }];
    let mut all =
        vec![change(irq.clone(), "1"), change(Setting::Rps { interface: "no".into(), queue: 0 }, "x")];
    let made = plan(&mut host, all.clone(), &irqbalance, &[]).unwrap();
    assert_eq!((made.steps.len(), made.conflicts.len(), made.impossible.len()), (0, 1, 1));
    let text = made.to_string();
    assert!(text.contains("--override irqbalance") && text.contains("is not a valid value"), "{text}");
    let made = plan(&mut host, all.clone(), &irqbalance, &["irqbalance".into()]).unwrap();
    assert_eq!((made.steps.len(), made.conflicts.len()), (1, 0));
    // The same plan stops the manager.
    let service = Setting::Service { name: "irqbalance".into() };
    host.values.insert(service.clone(), "active".into());
    all.push(change(service, "inactive"));
    let made = plan(&mut host, all, &irqbalance, &[]).unwrap();
    assert_eq!((made.steps.len(), made.conflicts.len()), (2, 0));
    assert!(matches!(made.steps[0].change.setting, Setting::Service { .. }), "it is stopped first");
    let two = vec![change(irq.clone(), "1"), change(irq, "0")];
    assert!(matches!(plan(&mut host, two, &[], &[]), Err(PlanError::Contradiction { .. })));
}

#[test]
fn a_plan_with_obstacles_is_applied_only_without_them() {
    let (bed, mut host) = (Bed::new(), host());
    let _lock = bed.lock();
    let mut all = changes();
    all.push(change(Setting::Mtu { interface: "no".into() }, "9000"));
    let made = plan(&mut host, all, &[], &[]).unwrap();
    let refused = apply(&mut host, &bed.folder, made.clone(), bed.options(&[]), &mut go_on);
    assert!(matches!(refused, Err(ApplyError::Obstacles(1))));
    apply(&mut host, &bed.folder, made.without_obstacles(), bed.options(&[]), &mut go_on).unwrap();
    assert_eq!(host.values, tuned());
}

#[test]
fn a_plan_prints_old_and_new_values_with_reasons_and_announces_the_reset() {
    let mut host = host();
    let text = plan_for(&mut host).to_string();
    assert!(
        text.contains("net.core.rmem_max\n  - 212992\n  + 67108864\n    a.rule: the path needs it\n"),
        "{text}"
    );
    let reset = text.find("The link of eth0 may go down").expect("it is announced");
    assert!(text.find("eth0: rx ring").unwrap() > reset && text.find("net.core.rmem_max").unwrap() < reset);
    assert!(text.ends_with("6 to change, 0 as wanted already\n"), "{text}");
}
