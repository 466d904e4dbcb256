//! Numbers of cores in text.

/// `0–3, 8` of 0, 1, 2, 3 and 8.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, second] => format!("{first}, {second}"),
        _ => format!("{}–{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_told_together() {
        assert_eq!(ranges(&[8, 0, 1, 3, 2, 2]), "0–3, 8");
        assert_eq!(ranges(&[5, 6]), "5, 6");
    }
}
