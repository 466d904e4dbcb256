//! Files that set the values of a plan again at each boot.

use super::output::note;
use crate::failure::Failure;
use wirespeed_diagnosis::audit::persist::{SYSCTL_FRAGMENT, UDEV_RULES, sysctl_fragment, udev_rules};
use wirespeed_inventory::{Change, Setting};
use wirespeed_tuning::{PersistentFile, Plan};

const HEADER: &str = "# Written by wirespeed (`wirespeed tune apply --persist`).\n\
                      # `wirespeed tune revert` removes this file if it is unchanged.\n";

/// A fragment of sysctl.d, and udev rules for the settings of interfaces. Others are printed as not persistent.
pub fn files(plan: &Plan) -> Result<Vec<PersistentFile>, Failure> {
    let changes: Vec<Change> = plan.steps.iter().map(|step| step.change.clone()).collect();
    for Change { setting, value, .. } in &changes {
        match (setting, setting.interface()) {
            (Setting::Sysctl { name }, _) => check(name, value)?,
            (_, Some(interface)) => check(interface, value)?,
            (_, None) => note(&format!("not persistent: {setting} is set until the next boot only")),
        }
    }
    let forms =
        [(SYSCTL_FRAGMENT, sysctl_fragment(HEADER, &changes)), (UDEV_RULES, udev_rules(HEADER, &changes))];
    let file = |(path, content): (&str, Option<String>)| {
        Some(PersistentFile { path: path.into(), content: content? })
    };
    Ok(forms.into_iter().filter_map(file).collect())
}

/// Names and values of a file that a shell of root reads have no special characters.
fn check(name: &str, value: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.,/ @".contains(c);
    match [name, value].into_iter().find(|text| !text.chars().all(plain)) {
        None => Ok(()),
        Some(text) => Err(Failure::Usage {
            message: format!("`{text}` has a character that is not written to a file of configuration"),
            remedy: "apply it without --persist".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_tuning::{Saved, Step};

    fn plan(changes: Vec<(Setting, &str)>) -> Plan {
        let step = |(setting, value): (Setting, &str)| Step {
            change: Change { setting, value: value.into(), rule: "r".into(), reason: "x".into() },
            before: Saved { value: "0".into(), exact: None, companions: Vec::new() },
        };
        Plan { steps: changes.into_iter().map(step).collect(), ..Default::default() }
    }

    #[test]
    fn sysctls_and_interfaces_have_a_file_each() {
        let name = || "net.core.rmem_max".to_owned();
        let made = files(&plan(vec![
            (Setting::Sysctl { name: name() }, "1"),
            (Setting::Mtu { interface: "e".into() }, "9000"),
            (Setting::InterruptAffinity { irq: 1 }, "0"),
        ]));
        let made = made.unwrap();
        assert_eq!(made.len(), 2);
        assert!(made.iter().all(|file| file.content.starts_with("# Written by wirespeed")));
        assert!(made[0].content.ends_with("net.core.rmem_max = 1\n"));
        assert!(made[1].content.contains("RUN+=\"/bin/sh -c 'ip link set dev e mtu 9000'\""));
        for (setting, value) in [
            (Setting::Sysctl { name: name() }, "1\nkernel.x = 1"),
            (Setting::Mtu { interface: "e'".into() }, "1"),
        ] {
            assert!(files(&plan(vec![(setting, value)])).is_err(), "{value}");
        }
    }
}
