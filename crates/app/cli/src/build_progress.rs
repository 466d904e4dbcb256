//! Live display of a kernel build.

use crate::progress::template;
use indicatif::ProgressBar;
use std::time::Duration;

/// Shows a kernel build.
pub struct BuildDisplay {
    bar: ProgressBar,
    phase: Option<&'static str>,
}

impl BuildDisplay {
    /// A display on standard error.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0).with_style(template("{msg:28} {wide_bar} {percent:>3} % {elapsed}"));
        bar.enable_steady_tick(Duration::from_millis(500));
        BuildDisplay { bar, phase: None }
    }

    /// Shows how far it is.
    pub fn show(&mut self, progress: &wirespeed_kernel::Progress) {
        let phase = progress.phase.name();
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            self.bar.set_message(phase);
            if self.bar.is_hidden() {
                eprintln!("kernel build: {phase}");
            }
        }
        self.bar.set_length(progress.total.max(1));
        self.bar.set_position(progress.done);
    }

    /// Takes the display away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
