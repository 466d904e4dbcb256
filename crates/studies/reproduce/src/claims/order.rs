//! `a > b ~ c > d, e`.

use thiserror::Error;

/// What is within this of each other is level.
pub(super) const LEVEL: f64 = 0.05;

/// Tiers, the largest first: each of a tier gives more than each of the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// As written.
    pub text: String,
    tiers: Vec<Vec<Vec<String>>>,
}

/// One thing that an order says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation<'a> {
    /// The first gives more than the second.
    More(&'a str, &'a str),
    /// Both are within 5 % of each other.
    Level(&'a str, &'a str),
}

/// Why a text is not an order.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OrderError {
    /// A sign has nothing on one of its sides.
    #[error("a name is missing beside `>`, `~` or `,`")]
    NameMissing,
    /// There is one name alone.
    #[error("there is nothing to compare with")]
    OneName,
    /// A name occurs again.
    #[error("`{0}` is there twice")]
    Twice(String),
}

impl Order {
    /// Reads `a > b ~ c > d, e`: `>` is more, `~` within 5 %, and `,` lists what is not compared with each other.
    ///
    /// # Errors
    /// If a name is missing, alone or there twice.
    pub fn parse(text: &str) -> Result<Self, OrderError> {
        let tiers: Vec<Vec<Vec<String>>> = text
            .split('>')
            .map(|tier| {
                tier.split(',')
                    .map(|group| group.split('~').map(|name| name.trim().to_owned()).collect())
                    .collect()
            })
            .collect();
        let order = Order { text: text.trim().to_owned(), tiers };
        let names: Vec<&String> = order.levels().collect();
        if names.iter().any(|name| name.is_empty()) {
            return Err(OrderError::NameMissing);
        }
        if names.len() < 2 {
            return Err(OrderError::OneName);
        }
        if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            return Err(OrderError::Twice(twice.1.to_string()));
        }
        Ok(order)
    }

    /// Every name in it.
    pub fn levels(&self) -> impl Iterator<Item = &String> {
        self.tiers.iter().flatten().flatten()
    }

    /// Everything it says.
    pub fn relations(&self) -> Vec<Relation<'_>> {
        let mut relations = Vec::new();
        for tier in &self.tiers {
            for group in tier {
                relations.extend(group.windows(2).map(|pair| Relation::Level(&pair[0], &pair[1])));
            }
        }
        for pair in self.tiers.windows(2) {
            for upper in pair[0].iter().flatten() {
                relations.extend(pair[1].iter().flatten().map(|lower| Relation::More(upper, lower)));
            }
        }
        relations
    }
}

#[cfg(test)]
mod tests {
    use super::Relation::{Level, More};
    use super::*;

    #[test]
    fn tiers_ties_and_lists() {
        let order = Order::parse("bic > htcp > highspeed ~ cubic > reno").unwrap();
        assert_eq!(
            order.relations(),
            [
                Level("highspeed", "cubic"),
                More("bic", "htcp"),
                More("htcp", "highspeed"),
                More("htcp", "cubic"),
                More("highspeed", "reno"),
                More("cubic", "reno")
            ]
        );
        let order = Order::parse("1:1, 3:1 > 2:2").unwrap();
        assert_eq!(order.relations(), [More("1:1", "2:2"), More("3:1", "2:2")]);
        let order = Order::parse("cubic > bic, scalable").unwrap();
        assert_eq!(order.relations(), [More("cubic", "bic"), More("cubic", "scalable")]);
    }

    #[test]
    fn nothing_to_compare_is_a_mistake() {
        for text in ["", "a", "a >", "a > a", "a , ~ b"] {
            assert!(Order::parse(text).is_err(), "{text}");
        }
    }
}
