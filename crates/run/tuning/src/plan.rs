//! A plan: changes that make a difference, in their order, with the state before.

use crate::{Host, managers, order};
use serde::{Deserialize, Serialize};
use std::fmt;
use wirespeed_host::settings::Saved;
use wirespeed_inventory::{Change, Manager, Setting};

/// A change with the state that is put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The change; its value is in canonical form.
    pub change: Change,
    /// The state before.
    pub before: Saved,
}

/// A change of a setting that a running program owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The change.
    pub change: Change,
    /// The program.
    pub manager: Manager,
}

/// A change that cannot be made here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Impossible {
    /// The change.
    pub change: Change,
    /// The reason, with a remedy.
    pub reason: String,
}

/// A list of changes for one host. [`apply`](crate::apply) takes only plans without conflicts and impossible changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// Changes to make, in their order.
    pub steps: Vec<Step>,
    /// Changes whose value is already in effect.
    pub unchanged: Vec<Change>,
    /// Changes of settings that a running program owns.
    pub conflicts: Vec<Conflict>,
    /// Changes that cannot be made here.
    pub impossible: Vec<Impossible>,
}

/// Changes that do not make a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Two changes ask for different values.
    #[error(
        "{setting}: rule {} asks for `{}`, and rule {} for `{}`; leave one of them out",
        first.0, first.1, second.0, second.1
    )]
    Contradiction {
        /// The setting.
        setting: String,
        /// Rule and value.
        first: (String, String),
        /// Rule and value.
        second: (String, String),
    },
}

/// Makes a plan from the present values. Settings of the managers in `overridden` are changed all the same.
///
/// # Errors
/// If two changes contradict each other.
pub fn plan(
    host: &mut dyn Host,
    changes: Vec<Change>,
    managers: &[Manager],
    overridden: &[String],
) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    let mut wanted: Vec<Change> = Vec::new();
    for mut change in changes {
        match host.canonical(&change.setting, &change.value) {
            Ok(value) => change.value = value,
            Err(error) => {
                plan.impossible.push(Impossible { reason: error.to_string(), change });
                continue;
            }
        }
        match wanted.iter().find(|other| other.setting == change.setting) {
            None => wanted.push(change),
            Some(other) if other.value == change.value => {}
            Some(other) => {
                return Err(PlanError::Contradiction {
                    setting: change.setting.to_string(),
                    first: (other.rule.clone(), other.value.clone()),
                    second: (change.rule, change.value),
                });
            }
        }
    }
    order::sort(&mut wanted);
    // A manager that the same plan stops, or that is overridden, does not count.
    let stopped = |name: &str| {
        let stops = |change: &Change| {
            matches!(&change.setting, Setting::Service { name: service } if service == name)
                && change.value == "inactive"
        };
        wanted.iter().any(stops) || overridden.iter().any(|other| other == name)
    };
    let active: Vec<Manager> = managers.iter().filter(|manager| !stopped(&manager.name)).cloned().collect();
    for change in wanted {
        match host.read(&change.setting) {
            Ok(value) if value == change.value => {
                plan.unchanged.push(change);
                continue;
            }
            Ok(_) => {}
            Err(error) => {
                plan.impossible.push(Impossible { reason: error.to_string(), change });
                continue;
            }
        }
        if let Some(manager) = managers::owner(&change.setting, &active) {
            plan.conflicts.push(Conflict { manager: manager.clone(), change });
            continue;
        }
        match host.save(&change.setting) {
            Ok(before) => plan.steps.push(Step { change, before }),
            Err(error) => plan.impossible.push(Impossible { reason: error.to_string(), change }),
        }
    }
    Ok(plan)
}

impl Plan {
    /// Interfaces whose link many drivers take down for some change of the plan.
    pub fn resets(&self) -> Vec<&str> {
        let settings = self.steps.iter().map(|step| &step.change.setting);
        let mut names: Vec<&str> =
            settings.filter(|setting| setting.resets_link()).filter_map(Setting::interface).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The plan without the changes that cannot be made or that a running program owns.
    #[must_use]
    pub fn without_obstacles(self) -> Plan {
        Plan { conflicts: Vec::new(), impossible: Vec::new(), ..self }
    }
}

/// An empty set of CPUs is an empty text.
fn shown(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut announced = false;
        for Step { change, before } in &self.steps {
            if change.setting.resets_link() && !announced {
                announced = true;
                writeln!(f, "The link of {} may go down for seconds:\n", self.resets().join(", "))?;
            }
            writeln!(f, "{}", change.setting)?;
            writeln!(f, "  - {}\n  + {}", shown(&before.value), shown(&change.value))?;
            writeln!(f, "    {}: {}\n", change.rule, change.reason)?;
        }
        for Conflict { change, manager } in &self.conflicts {
            let (setting, value, name) = (&change.setting, shown(&change.value), &manager.name);
            writeln!(f, "conflict: {setting} = {value}: {name} runs, and sets it by itself")?;
            writeln!(f, "    stop it with `systemctl stop {name}`, or add `--override {name}`\n")?;
        }
        for Impossible { change, reason } in &self.impossible {
            writeln!(f, "not possible: {} = {}\n    {reason}\n", change.setting, shown(&change.value))?;
        }
        let [steps, unchanged, conflicts, impossible] =
            [self.steps.len(), self.unchanged.len(), self.conflicts.len(), self.impossible.len()];
        write!(f, "{steps} to change, {unchanged} as wanted already")?;
        if conflicts + impossible > 0 {
            write!(f, ", {conflicts} in conflict, {impossible} not possible")?;
        }
        writeln!(f)
    }
}
