//! Escaped text for XML: pictures, and test results. The templates of the page write HTML only.

use crate::characters::is_printable;

/// `text` for XML, in content and in quoted attributes. Characters that XML cannot hold become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_printable(c) => out.push(c),
            _ => out.push(' '),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_leave_its_place() {
        assert_eq!(escape("<a b='c' d=\"e\">&\u{1b}"), "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp; ");
        assert_eq!(escape("fdp.\u{202e}exe"), "fdp. exe", "what turns the direction of writing");
    }
}
