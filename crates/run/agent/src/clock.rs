//! The run's clock: nanoseconds of CLOCK_MONOTONIC since the start of the run.

use std::io;

/// The time of a thread's CPU clock; `None` if there is no such thread.
pub fn of_thread(clock: libc::clockid_t) -> Option<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the answer is valid.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// Where the run's time starts.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: i64,
    realtime_offset_ns: i64,
}

impl Clock {
    /// A clock that starts `after_ns` from now or up to a millisecond later: with a whole one, as the clocks begin that TCP
    /// counts milliseconds by. What depends on their phase is then the same in each run, and in the model.
    pub fn starting_in(after_ns: i64) -> Self {
        let earliest = monotonic() + after_ns;
        Clock::starting_at(earliest + (-earliest).rem_euclid(1_000_000))
    }

    /// A clock that starts at a time of CLOCK_MONOTONIC.
    pub fn starting_at(origin_ns: i64) -> Self {
        Clock { origin_ns, realtime_offset_ns: read(libc::CLOCK_REALTIME) - monotonic() }
    }

    /// Where the run's time begins, by CLOCK_MONOTONIC.
    pub fn origin_ns(&self) -> i64 {
        self.origin_ns
    }

    /// What is added to the run's time to have that of another clock of this kernel's, now.
    pub fn to_clock(self, clock: libc::clockid_t) -> i64 {
        match clock {
            libc::CLOCK_MONOTONIC => self.origin_ns,
            other => self.origin_ns + read(other) - monotonic(),
        }
    }

    /// Time since the start of the run; negative before it.
    pub fn now(&self) -> i64 {
        monotonic() - self.origin_ns
    }

    /// The run's time of a CLOCK_REALTIME stamp, as the kernel puts on packets.
    pub fn of_realtime(&self, seconds: i64, nanoseconds: i64) -> i64 {
        seconds * 1_000_000_000 + nanoseconds - self.realtime_offset_ns - self.origin_ns
    }

    /// The same, of a packet that came not long ago, after one that came at `before_ns`. Whoever steps CLOCK_REALTIME in a run
    /// must not move what came later.
    pub fn of_arrival(&mut self, seconds: i64, nanoseconds: i64, before_ns: i64) -> i64 {
        const STEP_NS: i64 = 1_000_000_000;
        let told = self.of_realtime(seconds, nanoseconds);
        if (told - before_ns).abs() < STEP_NS {
            return told;
        }
        // It is long ago, or the clock was stepped: then it is another distance from CLOCK_MONOTONIC now.
        self.realtime_offset_ns = read(libc::CLOCK_REALTIME) - monotonic();
        let now = self.now();
        let again = self.of_realtime(seconds, nanoseconds);
        // Stamped before the step and read after it.
        if (now - again).abs() < STEP_NS { again } else { now }
    }

    /// Sleeps until `t_ns` of the run; returns at once if that is past.
    pub fn sleep_until(&self, t_ns: i64) {
        let at = self.origin_ns + t_ns;
        let at = libc::timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 };
        // SAFETY: `at` outlives the call.
        while unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &at, std::ptr::null_mut())
        } == libc::EINTR
        {}
    }
}

/// CLOCK_MONOTONIC in nanoseconds: nobody steps it.
pub fn monotonic() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place for the answer.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Makes the calling thread's sleeps exact instead of up to 50 us late.
///
/// # Errors
/// As `prctl(2)`.
pub fn exact_sleeps() -> io::Result<()> {
    // SAFETY: takes no pointers.
    if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Lets the calling thread go before others of this machine where that is permitted: who samples must not be late because
/// what it samples keeps the processors busy.
pub fn go_first() {
    const HIGHEST: i32 = -20;
    // SAFETY: takes no pointers. An ordinary user may not, and is only later.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stamp of a packet that comes now, by a clock that is so much ahead.
    fn stamp(ahead_ns: i64) -> (i64, i64) {
        let now = read(libc::CLOCK_REALTIME) + ahead_ns;
        (now / 1_000_000_000, now % 1_000_000_000)
    }

    #[test]
    fn an_arrival_has_the_runs_time() {
        let mut clock = Clock::starting_in(0);
        let (seconds, nanoseconds) = stamp(0);
        assert!((clock.of_arrival(seconds, nanoseconds, 0) - clock.now()).abs() < 100_000_000);
        // The first packet of a flow that starts late.
        assert!((clock.of_arrival(seconds, nanoseconds, -7_000_000_000) - clock.now()).abs() < 100_000_000);
    }

    #[test]
    fn a_clock_that_was_stepped_moves_no_arrival() {
        // The run began when the clock was five seconds behind what it is now: it was set forward.
        let mut clock = Clock::starting_in(0);
        clock.realtime_offset_ns -= 5_000_000_000;
        let (seconds, nanoseconds) = stamp(0);
        let told = clock.of_arrival(seconds, nanoseconds, 0);
        assert!((told - clock.now()).abs() < 100_000_000, "{told}");
        // Stamped before it was set back by five seconds, read after.
        let (seconds, nanoseconds) = stamp(5_000_000_000);
        let told = clock.of_arrival(seconds, nanoseconds, 0);
        assert!((told - clock.now()).abs() < 100_000_000, "{told}");
    }
}
