//! The congestion controls of the grid, from the committed list.

use serde::Deserialize;
use std::sync::LazyLock;

/// A congestion control of the grid.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Its name in scenarios.
    pub name: String,
    /// What it goes by; plots give every family a colour.
    pub family: String,
}

/// All of them, in the order from which the grid's rounds are shuffled.
pub fn controls() -> &'static [Control] {
    #[derive(Deserialize)]
    struct File {
        control: Vec<Control>,
    }
    static CONTROLS: LazyLock<Vec<Control>> = LazyLock::new(|| {
        let text = include_str!("../../../../docs/validation/controls.toml");
        toml::from_str::<File>(text).expect("a test reads the committed list").control
    });
    &CONTROLS
}

/// Every family once, in the order in which the list first names them.
pub fn families() -> Vec<&'static str> {
    let mut families: Vec<&str> = Vec::new();
    for control in controls() {
        if !families.contains(&control.family.as_str()) {
            families.push(&control.family);
        }
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::congestion_control;

    #[test]
    fn every_control_is_one_a_scenario_may_name() {
        for control in controls() {
            assert!(congestion_control(&control.name).is_some(), "{}", control.name);
        }
        assert!(families().len() < controls().len());
    }
}
