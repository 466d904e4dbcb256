//! "Did you mean ...?"

/// The choice nearest to `given`, if it is near enough to be a slip: at most a third of the letters differ, or one
/// contains the other.
pub(crate) fn nearest<'a>(given: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    choices
        .into_iter()
        .map(|choice| {
            let contains =
                given.len() >= 3 && choice.len() >= 3 && (choice.contains(&given) || given.contains(choice));
            // Exchanging two neighbours counts once.
            let distance = strsim::osa_distance(&given, &choice.to_lowercase());
            (if contains { distance.min(1) } else { distance }, choice)
        })
        .filter(|(distance, choice)| distance * 3 <= choice.len().max(given.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, choice)| choice)
}

/// Help that lists the choices and names the nearest first.
pub fn choices(given: &str, what: &str, all: &[&str]) -> String {
    choices_with_aliases(given, what, all, &[])
}

/// The same where `aliases` are accepted, too: the nearest may be one of them, but the list has only the choices.
pub(crate) fn choices_with_aliases(given: &str, what: &str, all: &[&str], aliases: &[&str]) -> String {
    let list = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    match nearest(given, all.iter().chain(aliases).copied()) {
        Some(near) => format!("did you mean `{near}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        let names = ["cubic", "bic", "reno", "highspeed", "link_utilisation"];
        assert_eq!(nearest("cubci", names), Some("cubic"));
        assert_eq!(nearest("Reno", names), Some("reno"));
        assert_eq!(nearest("utilisation", names), Some("link_utilisation"));
        assert_eq!(nearest("quic", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn an_alias_can_be_the_nearest() {
        let help = choices_with_aliases("s_max", "parameters", &["max_increment", "beta"], &["smax"]);
        assert_eq!(help, "did you mean `smax`? parameters: max_increment, beta");
        assert_eq!(choices("s_max", "parameters", &["beta"]), "parameters: beta");
    }
}
