//! Patterns of counter names.

/// Matches a counter's name. In the pattern `{queue}` stands for the number of a queue, `{n}` for any other number,
/// `*` for anything, also for nothing.
///
/// Returns the number of the queue if the pattern has one.
pub fn matches(pattern: &str, name: &str) -> Option<Option<u32>> {
    let Some(at) = pattern.find(['{', '*']) else { return (pattern == name).then_some(None) };
    let (literal, rest) = pattern.split_at(at);
    let name = name.strip_prefix(literal)?;
    if let Some(rest) = rest.strip_prefix('*') {
        return (0..=name.len())
            .filter(|at| name.is_char_boundary(*at))
            .find_map(|at| matches(rest, &name[at..]));
    }
    let (word, rest) = rest[1..].split_once('}')?;
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = name[..digits].parse().ok()?;
    let found = matches(rest, &name[digits..])?;
    Some(if word == "queue" { Some(number) } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_the_pattern_says() {
        assert_eq!(matches("rx{queue}_packets", "rx12_packets"), Some(Some(12)));
        assert_eq!(matches("rx{queue}_packets", "rx_packets"), None);
        assert_eq!(matches("[{queue}]: rx_discards", "[3]: rx_discards"), Some(Some(3)));
        assert_eq!(matches("rx_prio{n}_pause", "rx_prio3_pause"), Some(None));
        assert_eq!(matches("rx_drops", "rx_drops"), Some(None));
        assert_eq!(matches("rx_drops", "rx_drops2"), None);
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert_eq!(matches("*crc_err*", "port.rx_crc_errors"), Some(None));
        assert_eq!(matches("*drop*", "rx_queue_0_packets"), None);
        assert_eq!(matches("*_{queue}_drops", "rx_queue_7_drops"), Some(Some(7)));
    }

    #[test]
    fn a_number_too_large_for_a_queue_is_none() {
        assert_eq!(matches("rx{queue}_packets", "rx99999999999999_packets"), None);
    }
}
