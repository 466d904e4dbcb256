//! The end of an agent's process, which nothing that it is asked puts off for long.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How an agent ends when its controller is gone, or its time is over.
pub const ABANDONED: i32 = 4;

/// When the process is gone, whatever happens.
pub struct End(Arc<Mutex<Instant>>);

impl End {
    /// So long from now.
    pub fn after(time: Duration) -> End {
        let at = Arc::new(Mutex::new(Instant::now() + time));
        let watched = Arc::clone(&at);
        thread::spawn(move || {
            loop {
                let left = watched.lock().expect("nobody panics holding it").duration_since(Instant::now());
                if left.is_zero() {
                    std::process::exit(ABANDONED);
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
