//! A network namespace with a view of its own on /sys, for the thread of one test.

use std::process::Command;

/// Runs a test in a new namespace; `false` where this process may not make one.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) -> bool {
    let thread = std::thread::spawn(|| {
        // SAFETY: unshare takes no pointers, and the strings are constants; only this thread moves.
        let made = unsafe {
            let none = std::ptr::null();
            libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWNS) == 0
                && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
                && libc::mount(c"sysfs".as_ptr(), c"/sys".as_ptr(), c"sysfs".as_ptr(), 0, none.cast()) == 0
        };
        if made {
            test();
        }
        made
    });
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs a program with words of a line; returns what it printed.
///
/// # Errors
/// If it fails, with its error.
pub fn shell(line: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", line]).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("{line}: {}", text(&output.stderr)))
}

/// A pair of interfaces with four queues each, up.
pub fn pair() {
    let queues = "numtxqueues 4 numrxqueues 4";
    shell(&format!("ip link add name va {queues} type veth peer name vb {queues}")).unwrap();
    shell("ip link set va up && ip link set vb up && ip link set lo up").unwrap();
    // Addresses of IPv6 are complete after a while.
    shell("while ip addr show | grep -q tentative; do sleep 0.1; done").unwrap();
}
