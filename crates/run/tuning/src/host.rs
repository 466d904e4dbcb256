//! The host that is changed, behind a trait, so that tests can let any call fail.

use wirespeed_host::settings::{self, Saved, SettingError};
use wirespeed_inventory::Setting;

/// A host whose settings can be read, changed and restored.
pub trait Host {
    /// The present value, as canonical text.
    ///
    /// # Errors
    /// If the host has no such setting, or it cannot be read.
    fn read(&mut self, setting: &Setting) -> Result<String, SettingError>;

    /// The state that [`Host::restore`] puts back.
    ///
    /// # Errors
    /// As [`Host::read`]; also if the state could not be restored.
    fn save(&mut self, setting: &Setting) -> Result<Saved, SettingError>;

    /// Sets a value and reads it back.
    ///
    /// # Errors
    /// If the value is rejected, or reads back as another one.
    fn write(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError>;

    /// Puts back a saved state and reads it back.
    ///
    /// # Errors
    /// As [`Host::write`].
    fn restore(&mut self, setting: &Setting, saved: &Saved) -> Result<(), SettingError>;

    /// A value in the form in which [`Host::read`] gives it.
    ///
    /// # Errors
    /// If the text cannot be a value of the setting.
    fn canonical(&mut self, setting: &Setting, value: &str) -> Result<String, SettingError> {
        settings::canonical(setting, value)
    }
}

/// The host on which this program runs, in the network namespace of the calling thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisHost;

impl Host for ThisHost {
    fn read(&mut self, setting: &Setting) -> Result<String, SettingError> {
        settings::read(setting)
    }

    fn save(&mut self, setting: &Setting) -> Result<Saved, SettingError> {
        settings::save(setting)
    }

    fn write(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        settings::write(setting, value)
    }

    fn restore(&mut self, setting: &Setting, saved: &Saved) -> Result<(), SettingError> {
        settings::restore(setting, saved)
    }
}
