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
            let distance = distance(&given, &choice.to_lowercase());
            (if contains { distance.min(1) } else { distance }, choice)
        })
        .filter(|(distance, choice)| distance * 3 <= choice.len().max(given.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, choice)| choice)
}

/// Help that lists the choices and names the nearest first.
pub fn choices(given: &str, what: &str, all: &[&str]) -> String {
    let list = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    match nearest(given, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {what}: {list}"),
        None => format!("{what}: {list}"),
    }
}

/// Edit distance in which exchanging two neighbours counts once (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let exchange = usize::from(a[i - 1] != b[j - 1]);
                let mut best =
                    (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + exchange);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
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
}
