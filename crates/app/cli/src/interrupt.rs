//! Ctrl-C, SIGTERM and SIGHUP ask the work to stop; asking a second time does not wait for it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Set when the user wants to stop.
pub fn flag() -> &'static AtomicBool {
    static CANCEL: AtomicBool = AtomicBool::new(false);
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let handler = || {
            if CANCEL.swap(true, SeqCst) {
                // Guests die with this process.
                std::process::exit(130);
            }
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            eprintln!("warning: Ctrl-C will end wirespeed at once, without a report: {error}");
        }
    });
    &CANCEL
}
