//! Names that fit.

/// `text` in at most `to` characters; the end says more than the middle, so that is what goes.
pub(crate) fn shorten(text: &str, to: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= to {
        return text.into();
    }
    if to <= 1 {
        return "…".into();
    }
    let head = (to - 1) / 3;
    let tail = to - 1 - head;
    all[..head].iter().chain(&['…']).chain(&all[all.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(shorten("abcdefghijkl", 7), "ab…ijkl");
        assert_eq!(shorten("abc", 7), "abc");
        assert_eq!(shorten("abc", 1), "…");
    }
}
