//! Open files that this process may have: each flow needs up to three, and the usual limit of 1,024 ends the four-hundredth.

/// Enough for the most flows of a run.
const WANTED: libc::rlim_t = 1 << 16;

/// Raises the limit as far as this process may. A flow that finds no descriptor all the same ends early, with an error.
pub fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read or write one valid structure.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 || limit.rlim_cur >= WANTED {
            return;
        }
        let all = libc::rlimit { rlim_cur: WANTED, rlim_max: limit.rlim_max.max(WANTED) };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const all) != 0 {
            // Only root may exceed the hard limit.
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
