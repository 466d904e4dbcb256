//! A host in memory whose calls can fail, and the transaction that the tests make on it.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::path::Path;
use wirespeed_host::settings::{Place, Saved, SettingError};
use wirespeed_inventory::{Change, Setting, Way};
use wirespeed_tuning::{Flow, Folder, Host, Journal, Lock, Options, PersistentFile, Plan, Point, plan};

/// A host in memory.
#[derive(Debug, Clone, Default)]
pub struct FakeHost {
    pub values: BTreeMap<Setting, String>,
    /// Calls that change something, so far.
    pub calls: usize,
    /// The calls with these numbers fail, after they have left a wrong value.
    pub failing: Vec<usize>,
    /// Steering that a change of channels resets, as drivers do.
    pub reset_by_channels: bool,
    /// The qdisc can be restored only while there are eight channels.
    pub qdisc_needs_channels: bool,
}

impl FakeHost {
    fn change(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        self.read(setting)?;
        let number = self.calls;
        self.calls += 1;
        let fails = self.failing.contains(&number);
        let value = if fails { "damaged" } else { value };
        self.values.insert(setting.clone(), value.into());
        if self.reset_by_channels && matches!(setting, Setting::Channels { .. }) {
            let steering =
                self.values.iter_mut().filter(|(setting, _)| matches!(setting, Setting::Xps { .. }));
            steering.for_each(|(_, value)| *value = "0-7".into());
        }
        if !fails {
            return Ok(());
        }
        let source = std::io::Error::other("injected");
        Err(SettingError::Io { place: Place::of(setting), source })
    }
}

impl Host for FakeHost {
    fn read(&mut self, setting: &Setting) -> Result<String, SettingError> {
        self.values.get(setting).cloned().ok_or_else(|| SettingError::NotFound {
            place: Place::of(setting),
            missing: "it".into(),
            remedy: "none".into(),
        })
    }

    fn save(&mut self, setting: &Setting) -> Result<Saved, SettingError> {
        let mut companions = Vec::new();
        if self.reset_by_channels && matches!(setting, Setting::Channels { .. }) {
            let steering = self.values.iter().filter(|(setting, _)| matches!(setting, Setting::Xps { .. }));
            let saved = |value: &String| Saved { value: value.clone(), exact: None, companions: Vec::new() };
            companions.extend(steering.map(|(setting, value)| (setting.clone(), saved(value))));
        }
        Ok(Saved { value: self.read(setting)?, exact: None, companions })
    }

    fn write(&mut self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        self.change(setting, value)
    }

    fn restore(&mut self, setting: &Setting, saved: &Saved) -> Result<(), SettingError> {
        let eight = self
            .values
            .iter()
            .any(|(other, value)| matches!(other, Setting::Channels { .. }) && value == "8");
        if self.qdisc_needs_channels && !eight && matches!(setting, Setting::Qdisc { .. }) {
            let (wanted, found) = (saved.value.clone(), "two leaves".into());
            return Err(SettingError::Differs { place: Place::of(setting), wanted, found });
        }
        if self.read(setting)? != saved.value {
            self.change(setting, &saved.value)?;
        }
        saved.companions.iter().try_for_each(|(setting, saved)| self.restore(setting, saved))
    }
}

pub fn change(setting: Setting, value: &str) -> Change {
    Change { setting, value: value.into(), rule: "a.rule".into(), reason: "the path needs it".into() }
}

fn eth() -> String {
    "eth0".into()
}

/// Changes of six kinds.
pub fn changes() -> Vec<Change> {
    vec![
        change(Setting::Ring { interface: eth(), way: Way::Rx }, "4096"),
        change(Setting::Channels { interface: eth() }, "4"),
        change(Setting::Xps { interface: eth(), queue: 0 }, "2"),
        change(Setting::Sysctl { name: "net.core.rmem_max".into() }, "67108864"),
        change(Setting::Qdisc { interface: eth() }, "fq"),
        change(Setting::Mtu { interface: eth() }, "9000"),
    ]
}

/// The host before.
pub fn host() -> FakeHost {
    let old = ["256", "8", "1", "212992", "pfifo_fast", "1500"];
    let values =
        changes().into_iter().zip(old).map(|(change, old)| (change.setting, old.to_owned())).collect();
    FakeHost { values, reset_by_channels: true, qdisc_needs_channels: true, ..Default::default() }
}

/// The values after the changes.
pub fn tuned() -> BTreeMap<Setting, String> {
    changes().into_iter().map(|change| (change.setting, change.value)).collect()
}

pub fn plan_for(host: &mut FakeHost) -> Plan {
    plan(host, changes(), &[], &[]).unwrap()
}

/// A folder of journals, and a root folder for files.
pub struct Bed {
    pub temporary: tempfile::TempDir,
    pub folder: Folder,
}

impl Bed {
    pub fn new() -> Bed {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::new(temporary.path().join("journals"));
        Bed { temporary, folder }
    }

    pub fn root(&self) -> &Path {
        self.temporary.path()
    }

    pub fn lock(&self) -> Lock {
        self.folder.lock().unwrap()
    }

    pub fn options<'a>(&'a self, files: &'a [PersistentFile]) -> Options<'a> {
        Options { files, root: self.root(), timer: None }
    }

    pub fn newest(&self) -> Journal {
        self.folder.journals().unwrap().pop().unwrap()
    }

    /// Files below the folder for persistent settings.
    pub fn persistent(&self) -> Vec<String> {
        let found = std::fs::read_dir(self.root().join("etc/sysctl.d")).into_iter().flatten().flatten();
        found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

pub fn files() -> Vec<PersistentFile> {
    let content = "# Written by wirespeed.\nnet.core.rmem_max = 67108864\n".to_owned();
    vec![PersistentFile { path: "/etc/sysctl.d/90-wirespeed.conf".into(), content }]
}

pub fn go_on(_: Point<'_>) -> Flow {
    Flow::Continue
}

/// An observer that decides at the Nth point.
pub fn at(number: usize, flow: Flow) -> impl FnMut(Point<'_>) -> Flow {
    let mut seen = 0;
    move |_| {
        seen += 1;
        if seen == number + 1 { flow } else { Flow::Continue }
    }
}
