//! Characters that pages and pictures can hold.

use wirespeed_record::is_command;

/// Whether HTML and XML can hold `c`, and it does not change how other characters are shown.
pub(crate) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | '\t') || !(is_command(c) || matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// `text` with a space for every other character.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if is_printable(c) { c } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_replace_control_and_direction_characters() {
        assert_eq!(printable("a\u{1b}b\n\tc\u{ffff}"), "a b\n\tc ");
        assert_eq!(printable("fdp.\u{202e}exe"), "fdp. exe");
    }
}
