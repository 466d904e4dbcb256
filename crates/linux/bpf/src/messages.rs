//! What libbpf says while it loads: kept for the error, if there is one, instead of printed.

use libbpf_rs::{PrintLevel, set_print};
use std::sync::{Mutex, MutexGuard, PoisonError};

static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
/// The verifier's log may have a million lines; its end says what is wrong.
const KEPT: usize = 12;

/// From here to its end what libbpf says belongs to one load.
pub(crate) struct Listening {
    _turn: MutexGuard<'static, ()>,
}

/// Listens; whoever else wants to load waits.
pub(crate) fn listen() -> Listening {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    said().clear();
    set_print(Some((PrintLevel::Warn, |_, text| {
        let mut said = said();
        said.extend(text.lines().map(|line| line.trim_start_matches("libbpf: ").trim_end().to_owned()));
        let surplus = said.len().saturating_sub(KEPT);
        said.drain(..surplus);
    })));
    Listening { _turn: turn }
}

impl Listening {
    /// The last lines of what was said.
    pub fn heard(&self) -> String {
        said().join("\n")
    }
}

fn said() -> MutexGuard<'static, Vec<String>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}
