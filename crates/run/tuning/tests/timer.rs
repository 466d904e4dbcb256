//! The dead-man timer on a host in memory.

mod support;

use std::time::Duration;
use support::{Bed, go_on, host, plan_for, tuned};
use wirespeed_tuning::{
    ApplyError, ConfirmError, Identity, Options, State, Timer, TimerOutcome, apply, confirm,
    wait_for_confirmation,
};

/// Applies the changes with a timer whose process is this one.
fn applied(bed: &Bed, host: &mut support::FakeHost, within: Duration) {
    let _lock = bed.lock();
    let plan = plan_for(host);
    let mut start = |_: &std::path::Path| Identity::here().map(|here| here.process);
    let timer = Some(Timer { within, start: &mut start });
    let options = Options { files: &[], root: bed.root(), timer };
    let journal = apply(host, &bed.folder, plan, options, &mut go_on).unwrap();
    assert_eq!(journal.state(), State::Unconfirmed);
    assert!(journal.timer().is_some_and(|process| process.is_running()));
}

#[test]
fn without_a_confirmation_everything_is_put_back() {
    let (bed, mut host, before) = (Bed::new(), host(), host().values);
    let within = Duration::from_millis(300);
    applied(&bed, &mut host, within);
    let path = bed.newest().path().to_owned();
    let outcome = wait_for_confirmation(&mut host, &bed.folder, &path, within, &mut go_on).unwrap();
    assert!(matches!(outcome, TimerOutcome::TimedOut(report) if report.failed.is_empty()));
    assert_eq!((host.values, bed.newest().state()), (before, State::Reverted));
    assert!(matches!(confirm(&bed.folder), Err(ConfirmError::TooLate(_))));
}

#[test]
fn a_confirmation_in_time_keeps_the_changes() {
    let (bed, mut host) = (Bed::new(), host());
    applied(&bed, &mut host, Duration::from_secs(60));
    let plan = plan_for(&mut host);
    let refused = apply(&mut host, &bed.folder, plan, bed.options(&[]), &mut go_on);
    assert!(matches!(refused, Err(ApplyError::Unconfirmed(_))));
    let path = bed.newest().path().to_owned();
    let outcome = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let within = Duration::from_secs(60);
            wait_for_confirmation(&mut host, &bed.folder, &path, within, &mut go_on).unwrap()
        });
        std::thread::sleep(Duration::from_millis(200));
        confirm(&bed.folder).unwrap();
        waiting.join().unwrap()
    });
    assert!(matches!(outcome, TimerOutcome::Confirmed));
    assert_eq!((host.values, bed.newest().state()), (tuned(), State::Applied));
    assert!(matches!(confirm(&bed.folder), Err(ConfirmError::NothingWaits)));
}

#[test]
fn nothing_is_confirmed_where_nothing_waits() {
    let bed = Bed::new();
    assert!(matches!(confirm(&bed.folder), Err(ConfirmError::NothingWaits)));
}
