//! Threads in a network namespace.

use crate::{run, skip};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::{io, thread};

/// Runs `work` in a thread that is in the namespace of that name.
///
/// # Panics
/// If there is no such namespace, or `work` panics.
pub fn within<R: Send>(name: &str, work: impl FnOnce() -> R + Send) -> R {
    let file = File::open(crate::row::path(name)).expect("the namespace exists");
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            // SAFETY: the file is a namespace; only this thread moves there.
            let result = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(result, 0, "{}", io::Error::last_os_error());
            work()
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs `work` in a thread with a new network namespace, which ends with the thread. Only its loopback interface is up.
/// Skips the test where that is not allowed.
///
/// # Panics
/// If `work` panics.
pub fn in_new_namespace(test: &str, work: fn()) {
    let thread = thread::spawn(move || {
        // SAFETY: unshare takes no pointers; only this thread's namespace changes.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(format!("a network namespace: {}", io::Error::last_os_error()));
        }
        run("ip", &["link", "set", "lo", "up"]).map_err(|error| error.to_string())?;
        work();
        Ok(())
    });
    match thread.join() {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => skip(test, &reason),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
