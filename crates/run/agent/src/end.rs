//! The end of an agent's process, which nothing that it is asked puts off for long.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Exit code of an agent whose controller is gone, or whose time is over.
pub const ABANDONED: i32 = 4;

/// Ends the process of an agent that is abandoned, whatever its threads do. The program decides how: with [`ABANDONED`].
pub type Abandon = fn() -> !;

/// When the process is gone, whatever happens.
pub struct End(Arc<Mutex<Instant>>);

impl End {
    /// After this time, by `abandon`.
    pub fn after(time: Duration, abandon: Abandon) -> End {
        let at = Arc::new(Mutex::new(Instant::now() + time));
        let watched = Arc::clone(&at);
        thread::spawn(move || {
            loop {
                let left = watched.lock().expect("nobody panics holding it").duration_since(Instant::now());
                if left.is_zero() {
                    abandon();
                }
                thread::sleep(left);
            }
        });
        End(at)
    }

    /// Moves it: what comes next takes so long.
    pub fn put_off(&self, time: Duration) {
        *self.0.lock().expect("nobody panics holding it") = Instant::now() + time;
    }
}
