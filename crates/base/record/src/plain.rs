//! Text that somebody else wrote - an agent, a server, whoever made a recording - on its way to a terminal.

use std::borrow::Cow;

/// The text without what could move the cursor, colour the screen, or turn the direction of writing, so that other words seem to
/// stand there; lines stay lines.
pub fn plain(text: &str) -> Cow<'_, str> {
    let is_harmless = |c: char| c == '\n' || !is_command(c);
    match text.chars().all(is_harmless) {
        true => text.into(),
        false => text.chars().map(|c| if is_harmless(c) { c } else { ' ' }).collect::<String>().into(),
    }
}

/// The same in one line.
pub fn plain_line(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_command) {
        false => text.into(),
        true => text.chars().map(|c| if is_command(c) { ' ' } else { c }).collect::<String>().into(),
    }
}

/// Control characters, and those that turn the direction of writing (Unicode Standard Annex 9, section 2).
pub fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_a_terminal_are_spaces() {
        assert_eq!(plain("a\x1b[2J\u{9b}1mb\r\nc\td\u{202e}e"), "a [2J 1mb \nc d e");
        assert_eq!(plain_line("a\x1b[2J\nb"), "a [2J b");
    }

    #[test]
    fn words_of_any_language_stay_as_they_are() {
        let words = "Größe ≤ 3 µs: 速い\nשלום";
        assert_eq!(plain(words), words);
    }
}
