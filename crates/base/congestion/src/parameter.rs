//! Parameters of an algorithm and what can be wrong with them.

use std::collections::BTreeMap;
use thiserror::Error;

/// A parameter of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The name; where Linux has it, that under `/sys/module/tcp_*/parameters`.
    pub name: &'static str,
    /// A name from the literature, empty if there is none.
    pub alias: &'static str,
    /// What it sets, with its unit or scale.
    pub about: &'static str,
    /// The value if none is given.
    pub default: i64,
    /// Smallest value accepted.
    pub min: i64,
    /// Largest value accepted.
    pub max: i64,
    /// When Linux reads it; `None` if it is the model's own, which Linux does not have.
    pub linux: Option<When>,
}

/// When Linux reads a module parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At any time, through sysfs.
    Running,
    /// Only while loading, that is on the kernel's command line where the algorithm is built in.
    Loading,
}

/// The largest value of parameters that have no limit of their own (Linux' are `int`).
pub(crate) const LARGEST: i64 = i32::MAX as i64;

impl Parameter {
    /// A module parameter of Linux.
    pub(crate) const fn new(
        name: &'static str,
        default: i64,
        min: i64,
        max: i64,
        about: &'static str,
    ) -> Self {
        Parameter { name, alias: "", about, default, min, max, linux: Some(When::Running) }
    }

    /// A parameter that Linux does not have.
    pub(crate) const fn of_model(
        name: &'static str,
        default: i64,
        min: i64,
        max: i64,
        about: &'static str,
    ) -> Self {
        Parameter { linux: None, ..Parameter::new(name, default, min, max, about) }
    }

    pub(crate) const fn at_loading(self) -> Self {
        Parameter { linux: Some(When::Loading), ..self }
    }

    pub(crate) const fn known_as(self, alias: &'static str) -> Self {
        Parameter { alias, ..self }
    }

    /// Whether it goes by that name or alias.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || (!self.alias.is_empty() && self.alias == name)
    }
}

/// Why an algorithm could not be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// No algorithm has that name.
    #[error("the model has no congestion control `{name}`: it has {known}")]
    UnknownAlgorithm {
        /// As given.
        name: String,
        /// Those that exist, comma separated.
        known: String,
    },
    /// The algorithm has no such parameter.
    #[error("congestion control `{algorithm}` has no parameter `{name}`: it has {known}")]
    UnknownParameter {
        /// Whose parameter.
        algorithm: &'static str,
        /// As given.
        name: String,
        /// Those that exist, comma separated.
        known: String,
    },
    /// A parameter is given by its name and by its alias.
    #[error(
        "parameter `{name}` of congestion control `{algorithm}` is given twice: `{alias}` is the same, keep one"
    )]
    Twice {
        /// Whose parameter.
        algorithm: &'static str,
        /// The parameter.
        name: &'static str,
        /// Its other name.
        alias: &'static str,
    },
    /// The value is not accepted.
    #[error("parameter `{name}` of congestion control `{algorithm}` is {value}: use {min} to {max}{more}")]
    Range {
        /// Whose parameter.
        algorithm: &'static str,
        /// The parameter.
        name: &'static str,
        /// As given.
        value: i64,
        /// Smallest value accepted.
        min: i64,
        /// Largest value accepted.
        max: i64,
        /// A further condition, or empty.
        more: &'static str,
    },
}

/// A value for every parameter of one algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    algorithm: &'static str,
    parameters: &'static [Parameter],
    values: Vec<i64>,
}

impl Values {
    /// Defaults with `given` put in.
    ///
    /// # Errors
    /// If a name is unknown or a value out of range.
    pub fn resolve(
        algorithm: &'static str,
        parameters: &'static [Parameter],
        given: &BTreeMap<String, i64>,
    ) -> Result<Self, BuildError> {
        let mut values: Vec<i64> = parameters.iter().map(|p| p.default).collect();
        let mut set = vec![false; parameters.len()];
        for (name, &value) in given {
            let Some(index) = parameters.iter().position(|p| p.is_called(name)) else {
                let known = parameters.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".to_owned() } else { known };
                return Err(BuildError::UnknownParameter { algorithm, name: name.clone(), known });
            };
            let Parameter { name, alias, min, max, .. } = parameters[index];
            if set[index] {
                return Err(BuildError::Twice { algorithm, name, alias });
            }
            if !(min..=max).contains(&value) {
                return Err(BuildError::Range { algorithm, name, value, min, max, more: "" });
            }
            values[index] = value;
            set[index] = true;
        }
        Ok(Values { algorithm, parameters, values })
    }

    /// The value of a parameter of the row.
    ///
    /// # Panics
    /// If the row has no such parameter: a builder reads only what its row declares.
    pub fn get(&self, name: &str) -> i64 {
        let index = self.parameters.iter().position(|p| p.name == name);
        self.values[index.unwrap_or_else(|| panic!("row `{}` declares no `{name}`", self.algorithm))]
    }

    /// A value that is never negative.
    ///
    /// # Panics
    /// If the row has no such parameter, or lets it be negative.
    pub fn count(&self, name: &str) -> u64 {
        u64::try_from(self.get(name)).expect("the row's range starts at zero or above")
    }

    /// A switch: anything but zero is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) != 0
    }

    /// The error of a value that a builder cannot use although it lies in range.
    pub(crate) fn refuse(&self, name: &'static str, more: &'static str) -> BuildError {
        let row = self.parameters.iter().find(|p| p.name == name).expect("a builder names its own parameter");
        BuildError::Range {
            algorithm: self.algorithm,
            name,
            value: self.get(name),
            min: row.min,
            max: row.max,
            more,
        }
    }
}
